//! The invariants, over random conversations, materials, models and options.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use attache_core::capability::Place;
use attache_core::message::UserOrigin;
use attache_core::{
    Document, DocumentId, DocumentSource, MediaKind, Message, ModelCapabilities, ToolSet, UserPart,
};
use attache_documents::{
    BackReferences, DocumentBudget, DocumentOutcome, ExternalDocuments, Material, Materials, ReadLabel,
    ReasonKind, RouteOptions, Routing, explain, plan, route, unfence,
};
use proptest::prelude::*;

use crate::builder::Chat;
use crate::random::{
    Case, HIDDEN_PAGES, LARGE, THREE_PAGES, any_model, any_options, case, luck, settled, tight_model,
};

fn routed(
    messages: &[Arc<Message>],
    capabilities: &ModelCapabilities,
    materials: &Materials,
    options: &RouteOptions,
) -> Option<Routing> {
    route(messages, capabilities, &ToolSet::default(), materials, options).ok()
}

/// Every captured document with the call that it belongs to, and every document of events and authors.
fn captured(messages: &[Arc<Message>]) -> HashMap<(Option<String>, DocumentId, usize), usize> {
    let mut captured = HashMap::new();
    for (at, message) in messages.iter().enumerate() {
        match &**message {
            Message::ToolResults(results) => {
                for result in &results.results {
                    let call = result.provider_id.as_ref().unwrap().to_string();
                    for document in result.tree.documents() {
                        *captured.entry((Some(call.clone()), document.id().clone(), 0)).or_default() += 1;
                    }
                }
            }
            Message::User(user) => {
                for part in &user.parts {
                    let documents = match part {
                        UserPart::Document(document) => std::slice::from_ref(document),
                        UserPart::Object(tree) => tree.documents(),
                        _ => &[],
                    };
                    for document in documents {
                        *captured.entry((None, document.id().clone(), at)).or_default() += 1;
                    }
                }
            }
            _ => {}
        }
    }
    captured
}

fn totals(
    counts: impl IntoIterator<Item = ((Option<String>, DocumentId), usize)>,
) -> HashMap<(Option<String>, DocumentId), usize> {
    let mut totals = HashMap::new();
    for (key, count) in counts {
        *totals.entry(key).or_default() += count;
    }
    totals
}

/// The ids of documents whose content is not in memory.
fn unseen(messages: &[Arc<Message>]) -> HashSet<DocumentId> {
    let documents = messages.iter().flat_map(|message| message.documents());
    documents.filter(|document| document.bytes().is_none()).map(|document| document.id().clone()).collect()
}

/// Each content that is shown, with its place.
fn emitted(messages: &[Arc<Message>]) -> Vec<(Place, UserPart)> {
    let mut emitted = Vec::new();
    let mut beside = false;
    for message in messages {
        match &**message {
            Message::Assistant(_) => beside = false,
            Message::ToolResults(results) => {
                beside = true;
                for result in &results.results {
                    let place = if result.is_error() { Place::FailedResult } else { Place::ToolResult };
                    emitted.extend(result.attached().iter().map(|content| (place, content.clone())));
                }
            }
            Message::User(user) => {
                let place = if beside { Place::AfterToolResults } else { Place::User };
                emitted.extend(user.shown().iter().map(|content| (place, content.clone())));
            }
            _ => {}
        }
    }
    emitted
}

fn without_synthetic(messages: &[Arc<Message>]) -> Vec<&Arc<Message>> {
    messages.iter().filter(|message| !message.is_tool_call_documents()).collect()
}

fn size(document: &Document) -> u64 {
    document.bytes().map_or(0, |bytes| bytes.len() as u64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    // Invariant 1: every captured document has exactly one decision, also where routing fails
    #[test]
    fn no_document_is_lost(case in case(), capabilities in tight_model(), options in any_options(), luck in luck()) {
        let materials = settled(&case, &capabilities, &options, &luck);
        let Case { chat, .. } = case;
        let report = explain(&chat.messages, &capabilities, &ToolSet::default(), &materials, &options);
        let own = report.decisions.iter().filter(|decision| decision.inside.is_none());
        let decided = totals(own.map(|d| ((d.tool_call_id.clone(), d.document_id.clone()), 1)));
        let expected = totals(captured(&chat.messages).into_iter().map(|((call, id, _), n)| ((call, id), n)));
        let unseen = unseen(&chat.messages);
        for (key, handles) in &expected {
            // A content that is not in memory may turn out to be that of another handle of its id.
            let least = if unseen.contains(&key.1) { 1 } else { *handles };
            let decided = decided.get(key).copied().unwrap_or_default();
            prop_assert!((least..=*handles).contains(&decided), "{:?}: {} of {}", key, decided, handles);
        }
        prop_assert_eq!(decided.len(), expected.len());
        let routing = routed(&chat.messages, &capabilities, &materials, &options);
        match &routing {
            Some(routing) => prop_assert_eq!(&routing.report, &report),
            None => prop_assert!(report.count(DocumentOutcome::Error) > 0),
        }
        // The request holds what the report says, no more and no less.
        let Some(routing) = routing else { return Ok(()) };
        let emitted = emitted(&routing.messages);
        let own =
            |outcomes: &[DocumentOutcome]| report.decisions.iter().filter(|d| outcomes.contains(&d.outcome)).count();
        let natives = emitted.iter().filter(|(_, content)| matches!(content, UserPart::Document(_))).count();
        prop_assert_eq!(natives, own(&[DocumentOutcome::Native, DocumentOutcome::Synthetic, DocumentOutcome::Reencoded, DocumentOutcome::Rendered]));
        let texts = |test: &dyn Fn(&str) -> bool| {
            emitted.iter().filter(|(_, content)| matches!(content, UserPart::Text(text) if test(text.text()))).count()
        };
        // Of a PDF that is cut the other pages follow as text.
        let rests = report.decisions.iter().filter(|d| d.reason.as_str().ends_with(", the others as text"));
        let rests = rests.filter(|d| d.outcome == DocumentOutcome::Reencoded && d.reason.kind() == ReasonKind::Transcoded).count();
        prop_assert_eq!(texts(&|text| unfence(text).is_some()), own(&[DocumentOutcome::Text, DocumentOutcome::Converted]) + rests);
        // Documents inside a document follow it.
        for (at, decision) in report.decisions.iter().enumerate() {
            let Some(holder) = &decision.inside else { continue };
            let before = &report.decisions[..at];
            prop_assert!(before.iter().any(|earlier| earlier.document_id == *holder));
        }
        prop_assert_eq!(texts(&|text| ReadLabel::split_note(text).is_some()), own(&[DocumentOutcome::Note]));
        let bytes: u64 = report.decisions.iter().map(|decision| decision.bytes).sum();
        let natives = natives - report.decisions.iter().filter(|d| d.reason.kind() == ReasonKind::PassedUrl).count();
        // A limit of one byte leaves nothing of a text whose first character is longer, and its fence says so.
        let texts = texts(&|text| unfence(text).is_some_and(|shown| !shown.is_empty()));
        prop_assert_eq!(bytes > 0, natives + texts > 0);
    }

    // A reference back leads to content, whatever was left out to keep a limit.
    #[test]
    fn references_back_lead_somewhere(case in case(), capabilities in tight_model(), options in any_options(), luck in luck()) {
        let materials = settled(&case, &capabilities, &options, &luck);
        let Case { chat, .. } = case;
        let report = explain(&chat.messages, &capabilities, &ToolSet::default(), &materials, &options);
        for (at, decision) in report.decisions.iter().enumerate() {
            if decision.reason.kind() != ReasonKind::ShownBefore || decision.outcome == DocumentOutcome::Error {
                continue;
            }
            let shows = |earlier: &&attache_documents::DocumentDecision| {
                let is_there = matches!(
                    earlier.outcome,
                    DocumentOutcome::Native
                        | DocumentOutcome::Synthetic
                        | DocumentOutcome::Reencoded
                        | DocumentOutcome::Rendered
                        | DocumentOutcome::Text
                        | DocumentOutcome::Converted
                );
                earlier.document_id == decision.document_id && is_there
            };
            prop_assert!(report.decisions[..at].iter().any(|earlier| shows(&earlier)), "{:?}", decision);
        }
    }

    // Invariant 2, C27: pure and idempotent, report included
    #[test]
    fn routing_is_pure_and_idempotent(case in case(), capabilities in tight_model(), options in any_options(), luck in luck()) {
        let materials = settled(&case, &capabilities, &options, &luck);
        let Case { chat, .. } = case;
        let Some(once) = routed(&chat.messages, &capabilities, &materials, &options) else { return Ok(()) };
        // The copy has decoded nothing yet.
        let copy = materials.clone();
        let fresh = routed(&chat.messages, &capabilities, &copy, &options).unwrap();
        prop_assert_eq!(&fresh, &once);
        let twice = routed(&once.messages, &capabilities, &materials, &options).unwrap();
        prop_assert_eq!(twice, once);
    }

    // Invariant 2: ids, order, calls and texts are preserved; synthetic messages follow their anchors
    #[test]
    fn what_was_said_is_preserved(case in case(), capabilities in any_model(), options in any_options(), luck in luck()) {
        let materials = settled(&case, &capabilities, &options, &luck);
        let Case { chat, .. } = case;
        let Some(routing) = routed(&chat.messages, &capabilities, &materials, &options) else { return Ok(()) };
        let kept = without_synthetic(&routing.messages);
        prop_assert_eq!(kept.len(), chat.messages.len());
        for (after, before) in kept.into_iter().zip(&chat.messages) {
            prop_assert_eq!((after.id(), after.metadata()), (before.id(), before.metadata()));
            let documents = !captured(std::slice::from_ref(before)).is_empty();
            prop_assert!(documents || Arc::ptr_eq(after, before));
            match (&**after, &**before) {
                (Message::User(after), Message::User(before)) => {
                    prop_assert_eq!((&after.parts, after.origin), (&before.parts, before.origin));
                    prop_assert_eq!(after.routed.is_some(), documents);
                }
                (Message::ToolResults(after), Message::ToolResults(before)) => {
                    for (after, before) in after.results.iter().zip(&before.results) {
                        let mut bare = after.clone();
                        bare.routed = None;
                        prop_assert_eq!(&bare, before);
                        prop_assert!(!after.is_unrouted());
                    }
                }
                (after, before) => prop_assert_eq!(after, before),
            }
        }
        for pair in routing.messages.windows(2) {
            if let Message::User(synthetic) = &*pair[1] && synthetic.origin == UserOrigin::ToolCallDocuments {
                prop_assert_eq!(&synthetic.id, &pair[0].id().derived("documents"));
                prop_assert!(matches!(&*pair[0], Message::ToolResults(_)));
                prop_assert!(pair[1].stamp() != 0);
                prop_assert!(synthetic.parts.len() >= 2);
                let notes = synthetic.parts.iter().filter(|part| {
                    matches!(part, UserPart::Text(text) if ReadLabel::split_note(text.text()).is_some())
                });
                // The other pages of a PDF that is cut follow it as text.
                let rests = synthetic.parts.windows(2).filter(|pair| {
                    matches!(pair, [UserPart::Document(_), UserPart::Text(text)] if unfence(text.text()).is_some())
                });
                // Each page that is an image has a marker; the document's label stands before them.
                let marked = synthetic.parts.windows(2).filter(|pair| {
                    matches!(pair, [_, UserPart::Text(text)] if text.text().starts_with("[page "))
                });
                let pairs = synthetic.parts.len() - notes.count() - rests.count() - marked.count();
                prop_assert_eq!(pairs % 2, 1, "1 + 2n, the notes, the rests of PDFs, and the markers of pages");
            }
        }
    }

    // Invariant 2, D5: nothing that the matrix does not allow
    #[test]
    fn nothing_is_emitted_that_the_model_does_not_take(
        case in case(), capabilities in tight_model(), options in any_options(), luck in luck()
    ) {
        let materials = settled(&case, &capabilities, &options, &luck);
        let Case { chat, .. } = case;
        let Some(routing) = routed(&chat.messages, &capabilities, &materials, &options) else { return Ok(()) };
        let emitted = emitted(&routing.messages);
        let mut wire: u64 = 0;
        for (place, content) in &emitted {
            let takes = capabilities.place(*place);
            match content {
                // An address is cleared by policy alone, and only for who takes it.
                UserPart::Document(document) if matches!(document.source(), DocumentSource::External { .. }) => {
                    prop_assert_eq!(options.external, ExternalDocuments::PassUrl);
                    prop_assert!(capabilities.takes_url(*place, document.media_type()), "{:?}", place);
                }
                UserPart::Document(document) => {
                    let media = document.media_type();
                    prop_assert!(takes.accepts(media), "{:?} {}", place, media);
                    prop_assert!(size(document) > 0);
                    prop_assert!(takes.byte_limit(media).is_none_or(|limit| size(document) <= limit));
                    wire += size(document).div_ceil(3) * 4;
                }
                UserPart::Text(text) => {
                    // D19
                    prop_assert!(options.show_urls || !text.text().contains("x.example"), "{}", text.text());
                    prop_assert!(takes.accepts_text() || *place == Place::AfterToolResults, "{:?}", place);
                    wire += unfence(text.text()).map_or(0, str::len) as u64;
                }
                UserPart::Object(tree) => prop_assert!(tree.documents().is_empty()),
                other => prop_assert!(false, "{:?}", other),
            }
        }
        let natives: Vec<_> = emitted
            .iter()
            .filter_map(|(_, content)| match content {
                UserPart::Document(document) => Some(document),
                _ => None,
            })
            .collect();
        prop_assert!(capabilities.user.max_count.is_none_or(|most| natives.len() as u64 <= most));
        // Many images are small ones; authors attach none in these tests.
        let images = natives.iter().filter(|document| document.media_type().kind() == MediaKind::Image);
        let large = images.clone().any(|image| image.bytes().is_none_or(|bytes| bytes.as_ref() == LARGE));
        prop_assert!(!large || capabilities.files.many_images.is_none_or(|most| images.count() as u64 <= most));
        // The pages of all PDFs, as far as one can see them.
        let pages = |document: &&Document| match document.bytes() {
            // Of the hidden ones a converter says that there are three.
            Some(bytes) if [THREE_PAGES, HIDDEN_PAGES].contains(&bytes.as_ref()) => 3,
            _ => 0,
        };
        let pages: u64 = natives.iter().map(pages).sum();
        prop_assert!(capabilities.files.max_pages.is_none_or(|most| pages <= most), "{} pages", pages);
        let authors = routing.report.decisions.iter().filter(|d| d.outcome == DocumentOutcome::Text && d.tool_call_id.is_none());
        let authors: u64 = authors.map(|d| d.bytes).sum();
        prop_assert!(capabilities.files.max_request_bytes.is_none_or(|most| wire <= most.max(authors)));
    }

    // Invariant 2: with a window that drops whole leading turns, routing commutes
    #[test]
    fn routing_commutes_with_the_window(
        case in case(), capabilities in any_model(), options in any_options(), at in any::<prop::sample::Index>()
    ) {
        // A budget announces what it takes away, as limits do.
        let options = options.with_budget(DocumentBudget::Unlimited);
        let Case { chat, materials, starts, .. } = case;
        let start = *at.get(&starts);
        let window = &chat.messages[start..];
        let Some(whole) = routed(&chat.messages, &capabilities, &materials, &options) else { return Ok(()) };
        let windowed = routed(window, &capabilities, &materials, &options).unwrap();
        let kept: Vec<_> = {
            let first = window[0].id();
            let skipped = whole.messages.iter().position(|message| message.id() == first).unwrap();
            whole.messages[skipped..].to_vec()
        };
        // Whatever the options: windowing before or after a first routing leads to the same request.
        prop_assert_eq!(&routed(&kept, &capabilities, &materials, &options).unwrap(), &windowed);
        // Message by message, unless a document of a dropped turn comes again and is to be referred to.
        let dropped = captured(&chat.messages[..start]);
        let shared =
            captured(window).keys().any(|(_, id, _)| dropped.keys().any(|(_, other, _)| other == id));
        if options.back_references == BackReferences::Never || !shared {
            prop_assert_eq!(&kept, &windowed.messages);
            let decisions = &whole.report.decisions;
            let skipped = decisions.len() - windowed.report.decisions.len();
            prop_assert_eq!(&decisions[skipped..], &windowed.report.decisions[..]);
        }
    }

    // Invariant 4: what was sent stays the prefix of what is sent next
    #[test]
    fn later_messages_leave_the_prefix(case in case(), mut capabilities in any_model(), options in any_options()) {
        // A budget announces what it takes away, as limits do: Bedrock takes five files.
        let options = options.with_budget(DocumentBudget::Unlimited);
        capabilities.files.max_files = None;
        let Case { chat, materials, requests, .. } = case;
        let mut sent: Vec<Arc<Message>> = Vec::new();
        for request in requests {
            let Some(routing) = routed(&chat.messages[..request], &capabilities, &materials, &options) else { continue };
            prop_assert_eq!(&routing.messages[..sent.len()], &sent[..]);
            let stamps = |messages: &[Arc<Message>]| messages.iter().map(|m| m.stamp()).collect::<Vec<_>>();
            prop_assert_eq!(stamps(&routing.messages[..sent.len()]), stamps(&sent));
            sent = routing.messages;
        }
    }

    // #103: a switch of the model routes everything anew, from whatever was routed before, with other options, and
    // with materials of its own; what it needs is the same too
    #[test]
    fn switching_models_leaves_no_trace(
        case in case(), first in tight_model(), second in tight_model(), before in any_options(), options in any_options()
    ) {
        let made = settled(&case, &second, &options, &[1, 0, 2, 3]);
        let Case { chat, materials, .. } = case;
        let Some(before) = routed(&chat.messages, &first, &materials, &before) else { return Ok(()) };
        for materials in [materials, Materials::new(), made] {
            let wanted = |messages| plan(messages, &second, &options, &materials);
            prop_assert_eq!(wanted(&before.messages), wanted(&chat.messages));
            let route = |messages| route(messages, &second, &ToolSet::default(), &materials, &options);
            let (switched, direct) = (route(&before.messages), route(&chat.messages));
            let failure = |routing: &Result<Routing, _>| routing.as_ref().err().map(ToString::to_string);
            prop_assert_eq!(failure(&switched), failure(&direct));
            prop_assert_eq!(switched.ok(), direct.ok());
        }
    }

    // C25: whatever an author sent once, in whatever state it is now, the next turn goes on, on any model.
    #[test]
    fn nothing_that_was_sent_once_fails_a_later_turn(
        case in case(), capabilities in tight_model(), options in any_options(), luck in luck()
    ) {
        let chat = Chat::new().author("ask", &case.pool).reply("answer").user("go on");
        let case = Case { chat, ..case };
        for materials in [case.materials.clone(), settled(&case, &capabilities, &options, &luck)] {
            let routing = routed(&case.chat.messages, &capabilities, &materials, &options);
            prop_assert!(routing.is_some());
        }
    }

    // A stamp stands for what is shown.
    #[test]
    fn stamps_differ_when_content_does(case in case(), first in any_model(), second in any_model()) {
        let Case { chat, materials, .. } = case;
        let options = RouteOptions::new();
        let one = routed(&chat.messages, &first, &materials, &options);
        let two = routed(&chat.messages, &second, &materials, &options);
        let (Some(one), Some(two)) = (one, two) else { return Ok(()) };
        let shown = |message: &Message| match message {
            Message::User(user) => vec![user.shown().to_vec()],
            Message::ToolResults(results) => results.results.iter().map(|r| r.attached().to_vec()).collect(),
            _ => Vec::new(),
        };
        for (a, b) in without_synthetic(&one.messages).into_iter().zip(without_synthetic(&two.messages)) {
            prop_assert_eq!(a.stamp() == b.stamp(), shown(a) == shown(b));
        }
    }

    // A plan asks for each document once, never for what is withheld, and comes to an end.
    #[test]
    fn plans_come_to_an_end(case in case(), capabilities in tight_model(), options in any_options()) {
        let Case { chat, mut materials, .. } = case;
        let mut rounds = 0;
        loop {
            let next = plan(&chat.messages, &capabilities, &options, &materials);
            if next.is_empty() {
                break;
            }
            rounds += 1;
            prop_assert!(rounds <= 20, "{:?}", next);
            let mut seen = Vec::new();
            for document in next.load.iter().chain(&next.convert) {
                // Two contents under one id are two documents.
                let known = (document.id().clone(), document.hash());
                prop_assert!(!seen.contains(&known));
                seen.push(known);
            }
            for document in next.load {
                prop_assert!(document.bytes().is_none());
                materials.insert(&document, Material::Bytes(b"%PDF-1.7 fetched".as_slice().into()));
            }
            let mut asked = Vec::new();
            for (document, form) in next.transcode {
                prop_assert!(document.bytes().is_some());
                let known = (document.id().clone(), document.hash(), form.clone());
                prop_assert!(!asked.contains(&known));
                materials.insert(&document, Material::Untranscodable(form.clone(), "no".into()));
                asked.push(known);
            }
            for document in next.convert {
                prop_assert!(document.bytes().is_some());
                materials.insert(&document, Material::Unconvertible("no converter".into()));
            }
            for (document, request) in next.render {
                prop_assert!(document.bytes().is_some());
                materials.insert(&document, Material::Unrenderable(request.clone(), "no renderer".into()));
            }
        }
        let report = explain(&chat.messages, &capabilities, &ToolSet::default(), &materials, &options);
        let lost = report.decisions.iter().filter(|d| d.reason.as_str() == "it was not loaded");
        prop_assert_eq!(lost.count(), 0);
    }
}
