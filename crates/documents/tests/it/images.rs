//! Many images in one request: an API may let them be large as long as they are few, over the whole history.

use attache_core::{Document, ErrorKind, ModelCapabilities};
use attache_documents::{ConvertedText, DocumentOutcome, Materials, ReasonKind, RouteOptions, Routing, plan};

use crate::builder::{Chat, doc, model, outcomes, shown};
use crate::fitting::sized;

fn claude() -> ModelCapabilities {
    let claude = model("anthropic");
    assert_eq!((claude.files.many_images, claude.files.many_images_pixels), (Some(20), Some(2_000)));
    claude
}

fn screenshot(number: usize) -> Document {
    sized(&format!("{number}.png"), 2_880, 1_800)
}

fn icon(number: usize) -> Document {
    sized(&format!("i{number}.png"), 32, 32)
}

fn each_in_a_round(documents: impl IntoIterator<Item = Document>) -> Chat {
    documents.into_iter().fold(Chat::new().user("?"), |chat, document| chat.tool(&[document]))
}

fn routed(chat: &Chat) -> Routing {
    chat.routed(&claude(), &Materials::new(), &RouteOptions::new()).unwrap()
}

/// The number of notes at the start; the others are native.
fn left_out(chat: &Chat) -> usize {
    let routing = routed(chat);
    let outcomes = outcomes(&routing);
    let notes = outcomes.iter().take_while(|outcome| **outcome == "note").count();
    assert!(outcomes[notes..].iter().all(|outcome| *outcome == "native"), "{outcomes:?}");
    notes
}

// The oldest go, a quarter of the limit at a time; the newest stay as large as they are.
#[test]
fn the_oldest_of_many_large_images_are_left_out() {
    let screens = |count: usize| each_in_a_round((0..count).map(screenshot));
    assert_eq!([20, 21, 25, 26].map(|count| left_out(&screens(count))), [0, 5, 5, 10]);
    let routing = routed(&screens(21));
    assert_eq!(routing.report.decisions[0].reason.kind(), ReasonKind::TooMany);
    assert_eq!(
        routing.report.decisions[0].reason.as_str(),
        "a request to this model holds at most 20 images if one of them has more than 2000 pixels on a side, and \
         newer documents are in it"
    );
    let plan = plan(&screens(21).messages, &claude(), &RouteOptions::new(), &Materials::new());
    assert!(plan.transcode.iter().all(|(_, form)| form.max_pixels == Some(8_000)), "none has to be smaller");
}

// One that is shown once counts once, however often it was returned.
#[test]
fn repeats_of_an_image_do_not_count() {
    let routing = routed(&each_in_a_round((0..21).map(|_| screenshot(0))));
    assert_eq!(
        (routing.report.count(DocumentOutcome::Native), routing.report.count(DocumentOutcome::Note)),
        (1, 20)
    );
    let mut both: Vec<_> = (0..20).map(screenshot).collect();
    both.extend((0..20).map(screenshot));
    let routing = routed(&each_in_a_round(both));
    assert_eq!(routing.report.count(DocumentOutcome::Native), 20);
}

#[test]
fn small_images_may_be_many() {
    assert_eq!(left_out(&each_in_a_round((0..40).map(icon))), 0);
    // Without its oldest, which is large, the others may stay.
    let one_large = std::iter::once(screenshot(0)).chain((0..30).map(icon));
    assert_eq!(left_out(&each_in_a_round(one_large)), 1);
    // A newer large one is worth more than old small ones.
    let newest_large = (0..30).map(icon).chain(std::iter::once(screenshot(0)));
    assert_eq!(left_out(&each_in_a_round(newest_large)), 15);
}

// C25: documents of tools never fail a run, and take nothing from what its author attached.
#[test]
fn screenshots_of_tools_never_fail_a_run() {
    let photo = sized("photo.png", 2_880, 1_800);
    let chat = (0..20).fold(Chat::new().author("see", &[photo]), |chat, n| chat.tool(&[screenshot(n)]));
    let words = outcomes(&routed(&chat));
    assert_eq!(words[0], "native", "the author's");
    assert_eq!(words[1..6], ["note"; 5]);
    assert_eq!(words[6..], ["native"; 15]);
}

// An image that an author attaches in one turn is not thinned out: it has to be smaller, or it is an error.
#[test]
fn many_images_of_one_turn_must_be_smaller() {
    let photos: Vec<_> = (0..21).map(screenshot).collect();
    let chat = Chat::new().author("see", &photos);
    let error = chat.routed(&claude(), &Materials::new(), &RouteOptions::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let why = "takes at most 2000 on a side where there are more than 20 images";
    assert!(error.message().ends_with(why), "{error}");
    let wanted = plan(&chat.messages, &claude(), &RouteOptions::new(), &Materials::new());
    assert_eq!(wanted.transcode.len(), 21);
    assert!(wanted.transcode.iter().all(|(_, form)| form.max_pixels == Some(2_000)));
    let few = Chat::new().author("see", &photos[..20]);
    assert_eq!(left_out(&few), 0);
    // In the next turn they are old.
    let later = chat.reply("ok").user("and now?");
    assert_eq!(left_out(&later), 5);
}

#[test]
fn images_inside_documents_count_too() {
    let mail = doc("m.eml", b"Subject: photos", "message/rfc822");
    let mut have = Materials::new();
    let attached = (0..21).map(screenshot);
    have.insert(&mail, attached.fold(ConvertedText::new("photos"), ConvertedText::with_attachment));
    let chat = Chat::new().user("?").tool(&[mail]);
    let routing = chat.routed(&claude(), &have, &RouteOptions::new()).unwrap();
    assert_eq!(
        (routing.report.count(DocumentOutcome::Native), routing.report.count(DocumentOutcome::Note)),
        (16, 5)
    );
}

// An image at an address may be of any size.
#[test]
fn images_at_addresses_count_as_large() {
    let options = RouteOptions::new().with_external(attache_documents::ExternalDocuments::PassUrl);
    let at = |n: usize| {
        let known = crate::builder::id(&format!("{n}-at"));
        Document::external(format!("https://files.example/{n}.png")).with_id(known)
    };
    let routing = each_in_a_round((0..21).map(at)).routed(&claude(), &Materials::new(), &options).unwrap();
    assert_eq!(routing.report.count(DocumentOutcome::Native), 16);
}

// Heirs: what stood at an image that is left out is shown where it comes again, and counts there.
#[test]
fn an_image_that_comes_again_is_shown_again() {
    let mut all: Vec<_> = (0..21).map(screenshot).collect();
    all.push(screenshot(0));
    let routing = routed(&each_in_a_round(all));
    let words = outcomes(&routing);
    assert_eq!(words.iter().filter(|word| **word == "native").count(), 16);
    assert_eq!((words[0], words[21]), ("note", "native"));
    let Some(last) = routing.messages.last() else { panic!() };
    assert_eq!(shown(last), ["(image/png 0.png)"]);
}
