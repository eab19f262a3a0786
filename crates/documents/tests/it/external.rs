//! Documents at addresses: fetched once and kept, passed to who fetches himself, shown by policy, never for a label.
//! documents.md 9.3; C23, D17, D19, D23.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use attache_core::fetcher::{FetchError, FetchErrorKind, Fetched, Fetcher};
use attache_core::{
    BoxFuture, Document, DocumentId, DocumentSource, DocumentStore, MediaType, Message, ModelCapabilities,
    StoreError, StoreErrorKind, UserPart,
};
use attache_documents::{
    BackReferences, ExternalDocuments, Label, LabelProfile, Material, Materials, ReasonKind, RouteOptions,
    Routing, gather, load,
};
use bytes::Bytes;

use crate::builder::{Chat, PDF, PNG, id, model, outcomes, shown, transcript, tree};
use crate::gathering::ready;
use crate::logging::logged;

/// Holds what is put into it, and fails on request.
#[derive(Default)]
struct Shelf {
    kept: Mutex<HashMap<DocumentId, Bytes>>,
    fails: Option<StoreErrorKind>,
}

impl DocumentStore for Shelf {
    fn id(&self) -> &str {
        "shelf"
    }

    fn put<'a>(&'a self, document: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        let bytes = document.bytes().unwrap();
        let put = match self.fails {
            Some(kind) => Err(StoreError::new(kind, "canary")),
            None => {
                self.kept.lock().unwrap().insert(document.id().clone(), bytes);
                Ok(())
            }
        };
        Box::pin(std::future::ready(put))
    }

    fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        let found = self.kept.lock().unwrap().get(id).cloned();
        let kind = self.fails.unwrap_or(StoreErrorKind::NotFound);
        Box::pin(std::future::ready(found.ok_or_else(|| StoreError::new(kind, "canary"))))
    }

    fn delete<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        self.kept.lock().unwrap().remove(id);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Answers with what it was given, and counts.
#[derive(Default)]
struct Web {
    pages: HashMap<&'static str, Fetched>,
    asked: Mutex<Vec<String>>,
}

impl Web {
    fn of(pages: impl IntoIterator<Item = (&'static str, Fetched)>) -> Self {
        Self { pages: pages.into_iter().collect(), asked: Mutex::default() }
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

impl Fetcher for Web {
    fn fetch<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        self.asked.lock().unwrap().push(url.to_owned());
        let gone = || FetchError::new(FetchErrorKind::NotFound, "its server answers with status 404");
        Box::pin(std::future::ready(self.pages.get(url).cloned().ok_or_else(gone)))
    }
}

const LEASE: &str = "https://files.example/d/lease?sig=canary";
const PLAN: &str = "https://files.example/plan.png?sig=canary";
const NOTES: &str = "https://files.example/notes.txt?sig=canary";

fn at(url: &str, name: &str) -> Document {
    Document::external(url).with_id(id(&format!("{name}-4f6a-8b1d")))
}

fn web() -> Web {
    let lease = Fetched::new(PDF)
        .with_media_type(MediaType::parse("application/pdf"))
        .with_file_name(Some("lease.pdf".to_owned()));
    Web::of([(LEASE, lease), (PLAN, Fetched::new(PNG)), (NOTES, Fetched::new(&b"rent is due"[..]))])
}

fn routed(
    chat: &Chat,
    capabilities: &ModelCapabilities,
    options: &RouteOptions,
    (materials, store, web): (&mut Materials, &Shelf, Option<&Web>),
) -> Routing {
    let fetcher = web.map(|web| web as &dyn Fetcher);
    ready(gather(materials, &chat.messages, capabilities, options, store, fetcher, &[]));
    chat.routed(capabilities, materials, options).unwrap()
}

fn no_secret(routing: &Routing) {
    let said = format!("{} {:?}", transcript(&routing.messages), routing.report);
    for secret in ["canary", "files.example", "://"] {
        assert!(!said.contains(secret), "{said}");
    }
}

// D17: fetched once for a run. C23, invariant 4: a resumed run neither fetches again nor sees other content.
#[test]
fn what_was_fetched_is_fetched_once_and_stays_as_it_was() {
    let documents = [at(LEASE, "lease"), at(PLAN, "plan"), at(NOTES, "notes")];
    let chat = Chat::new().user("?").tool(&documents);
    let later = chat.clone().reply("ok").user("and?").tool(&[at(LEASE, "lease")]);
    for family in ["anthropic", "openai-chat", "gemini", "bedrock-converse"] {
        let (model, options, store, web) = (model(family), RouteOptions::new(), Shelf::default(), web());
        let mut materials = Materials::new();
        let first = routed(&chat, &model, &options, (&mut materials, &store, Some(&web)));
        assert_eq!(web.asked(), [LEASE, PLAN, NOTES], "{family}");
        no_secret(&first);
        let next = routed(&later, &model, &options, (&mut materials, &store, Some(&web)));
        assert_eq!(web.asked().len(), 0, "{family}: the same document is known");
        assert_eq!(next.messages[..first.messages.len()], first.messages);
        // Another process, with the same store: nothing is at the addresses any more.
        let empty = Web::default();
        let resumed = routed(&later, &model, &options, (&mut Materials::new(), &store, Some(&empty)));
        assert_eq!(empty.asked().len(), 0, "{family}");
        assert_eq!(transcript(&resumed.messages), transcript(&next.messages), "{family}");
        let stamps = |routing: &Routing| routing.messages.iter().map(|m| m.stamp()).collect::<Vec<_>>();
        assert_eq!(stamps(&resumed), stamps(&next), "{family}");
    }
}

// A gateway hands a document of ours to others: with the type and the name of its server, the second time from the store.
#[test]
fn a_document_is_loaded_with_what_its_server_says_of_it() {
    let (store, web) = (Shelf::default(), web());
    for asked in [&[LEASE][..], &[]] {
        let lease = ready(load(&at(LEASE, "lease"), &store, Some(&web))).unwrap();
        assert_eq!(lease.bytes().as_deref(), Some(PDF));
        assert_eq!((lease.media_type().essence(), lease.file_name()), ("application/pdf", Some("lease.pdf")));
        assert_eq!(web.asked(), asked);
    }
    assert_eq!(
        ready(load(&at(PLAN, "lost"), &store, None)).unwrap_err(),
        "it is at an address that is not fetched"
    );
    let own = Document::new(PNG);
    assert_eq!(ready(load(&own, &store, None)).unwrap(), own);
    let lost = ready(load(&at("https://files.example/x", "x"), &store, Some(&web))).unwrap_err();
    assert_eq!(lost, "its server answers with status 404");
}

/// Whoever deletes a document or keeps it does so with its facts, and knows of nothing else beside it.
#[test]
fn the_word_of_the_server_is_a_fact_about_the_document() {
    let (store, web) = (Shelf::default(), web());
    let chat = Chat::new().user("?").tool(&[at(LEASE, "lease")]);
    routed(&chat, &model("anthropic"), &RouteOptions::new(), (&mut Materials::new(), &store, Some(&web)));
    let lease = at(LEASE, "lease").id().clone();
    let kept: HashSet<DocumentId> = store.kept.lock().unwrap().keys().cloned().collect();
    assert_eq!(kept, HashSet::from([lease.facts(), lease]));
}

#[test]
fn type_and_name_of_the_server_count_where_they_say_more() {
    let routed = |document: Document, fetched: Fetched| {
        let mut materials = Materials::new();
        materials.insert(&document, fetched);
        let chat = Chat::new().user("?").tool(&[document]);
        let routing = chat.routed(&model("anthropic"), &materials, &RouteOptions::new()).unwrap();
        let decision = routing.report.decisions[0].clone();
        // Of what is not shown natively the reason names the type.
        let media_type = match decision.reason.kind() {
            ReasonKind::Unsupported => decision.reason.to_string(),
            _ => decision.media_type.essence().to_owned(),
        };
        (decision.outcome.as_str(), media_type, decision.file_name)
    };
    let said = |bytes: &'static [u8], media: &str, name: &str| {
        Fetched::new(bytes).with_media_type(MediaType::parse(media)).with_file_name(Some(name.to_owned()))
    };
    let bare = || at("https://h.example/d/1", "a");
    let named = |name: &str| at(&format!("https://h.example/{name}"), "a");
    assert_eq!(
        routed(bare(), said(PDF, "application/pdf", "a.pdf")),
        ("native", "application/pdf".to_owned(), Some("a.pdf".to_owned()))
    );
    // The bytes are believed before the server.
    assert_eq!(routed(bare(), said(PNG, "text/html", "")).1, "image/png");
    assert_eq!(routed(named("a.png"), said(PDF, "image/png", "")).1, "application/pdf");
    // A page that says that the picture is gone is no picture.
    assert_eq!(routed(named("a.png"), said(b"<p>gone</p>", "text/html; charset=utf-8", "")).0, "text");
    assert_eq!(routed(named("a.png"), said(b"gone", "text/plain", "")).0, "text");
    // Servers call what they can read plain text, and office files archives.
    assert_eq!(routed(named("a.csv"), said(b"a,b", "text/plain", "")).1, "text/csv");
    let docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    assert!(routed(named("a.docx"), said(b"PK\x03\x04", "application/zip", "")).1.contains(docx));
    assert!(routed(bare(), said(b"PK\x03\x04", "application/zip", "a.docx")).1.contains(docx));
    // The conversation's own name stays.
    let own = named("a.pdf").with_file_name("mine.pdf");
    assert_eq!(routed(own, said(PDF, "application/pdf", "theirs.pdf")).2.as_deref(), Some("mine.pdf"));
}

// D23: a label never touches the network. Nothing is fetched whose content will not be shown.
#[test]
fn nothing_is_fetched_for_a_label() {
    let (lease, plan) = (at(LEASE, "lease"), at(PLAN, "plan"));
    for profile in [LabelProfile::Spec, LabelProfile::Refs] {
        let label = Label::new(&lease).with_url(true).render(profile);
        assert!(!label.is_empty());
    }
    let web = web();
    let fetched = |chat: &Chat, capabilities: &ModelCapabilities, options: &RouteOptions| {
        routed(chat, capabilities, options, (&mut Materials::new(), &Shelf::default(), Some(&web)));
        web.asked()
    };
    let options = RouteOptions::new().with_profile(LabelProfile::Refs).with_show_urls(true);
    // Withheld, cancelled, the same twice, shown before.
    let both = [("find", tree(&[lease, plan.clone()]))];
    let withheld = Chat::new().user("?").calls_with(&both, |_, result| {
        result.withheld = result.documents.drain(..).map(|document| document.id().clone()).collect();
    });
    assert_eq!(fetched(&withheld, &model("anthropic"), &options).len(), 0);
    let cancelled = Chat::new()
        .user("?")
        .calls_with(&both, |_, result| result.status = attache_core::ResultStatus::Cancelled);
    assert_eq!(fetched(&cancelled, &model("anthropic"), &options).len(), 0);
    let renamed = plan.clone().with_file_name("again.png");
    let again = Chat::new().user("?").tool(&[plan.clone(), renamed]).tool(std::slice::from_ref(&plan));
    assert_eq!(fetched(&again, &model("anthropic"), &options), [PLAN]);
    // Left out for a limit: only what is shown is fetched.
    let mut one = model("anthropic");
    one.tool_result.max_count = Some(1);
    let old = at("https://files.example/b.png", "b");
    let two = Chat::new().user("?").tool(&[old]).reply("ok").user("?").tool(&[plan]);
    assert_eq!(fetched(&two, &one, &options), [PLAN]);
    // Documents that no place takes and nothing can be made of.
    let film = at("https://files.example/a.mp4", "a");
    let mut have = Materials::new();
    have.insert(&film, Material::Unconvertible("there is no converter for video/mp4".into()));
    let author = Chat::new().author("?", &[film]).reply("no").user("well");
    let planned = attache_documents::plan(&author.messages, &model("anthropic"), &options, &have);
    assert!(planned.is_empty(), "{planned:?}");
}

// D19
#[test]
fn the_model_sees_an_address_by_policy_alone() {
    let (lease, gone) = (at(LEASE, "lease"), at("https://files.example/gone.pdf?sig=canary", "gone"));
    let chat = Chat::new().author("look", &[at(PLAN, "plan")]).tool(&[lease, gone]);
    for profile in [LabelProfile::Spec, LabelProfile::Refs] {
        for family in ["anthropic", "openai-chat", "offline"] {
            let options = RouteOptions::new().with_profile(profile).with_label_native(true);
            let mut capabilities = model(family);
            if family == "offline" {
                capabilities.user.media.push("image/*".to_owned());
            }
            let given = (&mut Materials::new(), &Shelf::default(), Some(&web()));
            no_secret(&routed(&chat, &capabilities, &options, given));
            // Without a fetcher all of them are notes; an author's would be an error.
            let tools_only = Chat::of(chat.messages[1..].to_vec());
            let given = (&mut Materials::new(), &Shelf::default(), None);
            let routing = routed(&tools_only, &capabilities, &options, given);
            no_secret(&routing);
            let at_an_address =
                |d: &attache_documents::DocumentDecision| d.reason.as_str().ends_with("not fetched");
            assert!(routing.report.decisions.iter().all(at_an_address), "{:?}", routing.report);
        }
    }
    let options = RouteOptions::new().with_profile(LabelProfile::Refs).with_show_urls(true);
    let given = (&mut Materials::new(), &Shelf::default(), Some(&web()));
    let routing = routed(&chat, &model("openai-chat"), &options, given);
    assert!(transcript(&routing.messages).contains("canary"), "the policy allows it");
}

// Invariant 11: nothing of the address in what is logged, whatever fails.
#[test]
fn nothing_of_an_address_is_logged() {
    let lines = logged(|| {
        let documents = [at(LEASE, "lease"), at("https://files.example/gone.pdf?sig=canary-url", "gone")];
        let chat = Chat::new().user("?").tool(&documents);
        for fails in [None, Some(StoreErrorKind::NotFound), Some(StoreErrorKind::Unavailable)] {
            let store = Shelf { fails, ..Shelf::default() };
            let given = (&mut Materials::new(), &store, Some(&web()));
            routed(&chat, &model("anthropic"), &RouteOptions::new(), given);
        }
    });
    let all = lines.join("\n");
    assert!(all.contains("cannot be fetched") && all.contains("cannot be kept"), "{all}");
    for secret in ["sig=", "files.example", "canary-url"] {
        assert!(!all.contains(secret), "{all}");
    }
}

// A store that does not answer may hold what was shown: what is at the address now may be something else.
#[test]
fn a_store_that_fails_is_no_reason_to_fetch() {
    let store = Shelf { fails: Some(StoreErrorKind::Unavailable), ..Shelf::default() };
    let (web, chat) = (web(), Chat::new().user("?").tool(&[at(PLAN, "plan")]));
    let given = (&mut Materials::new(), &store, Some(&web));
    let routing = routed(&chat, &model("anthropic"), &RouteOptions::new(), given);
    assert_eq!((outcomes(&routing), web.asked().len()), (vec!["note"], 0));
    // One that is only full serves for this run.
    let store = Shelf { fails: Some(StoreErrorKind::NotFound), ..Shelf::default() };
    let given = (&mut Materials::new(), &store, Some(&web));
    assert_eq!(outcomes(&routed(&chat, &model("anthropic"), &RouteOptions::new(), given)), ["native"]);
}

// C25: what its author attached fails loudly if it cannot be fetched, and says why without its address.
#[test]
fn an_authors_address_that_leads_nowhere_is_an_error() {
    let chat = Chat::new().author("?", &[at("https://files.example/gone.pdf?sig=canary", "gone")]);
    let mut materials = Materials::new();
    let (options, store, web) = (RouteOptions::new(), Shelf::default(), web());
    ready(gather(&mut materials, &chat.messages, &model("anthropic"), &options, &store, Some(&web), &[]));
    let error = chat.routed(&model("anthropic"), &materials, &options).unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(text.contains("status 404") && !text.contains("canary"), "{text}");
    let later = chat.reply("sorry").user("go on");
    assert!(later.routed(&model("anthropic"), &materials, &options).is_ok());
}

fn external_parts(messages: &[Arc<Message>]) -> Vec<String> {
    let mut found = Vec::new();
    for message in messages {
        let contents: Vec<&UserPart> = match &**message {
            Message::User(user) => user.shown().iter().collect(),
            Message::ToolResults(results) => {
                results.results.iter().flat_map(|result| result.attached()).collect()
            }
            _ => Vec::new(),
        };
        for content in contents {
            if let UserPart::Document(document) = content
                && let DocumentSource::External { url } = document.source()
            {
                found.push(url.to_string());
            }
        }
    }
    found
}

// documents.md 9.3: an address is passed on where the provider takes one.
#[test]
fn an_address_is_passed_to_who_takes_it_and_else_fetched() {
    let options = RouteOptions::new().with_external(ExternalDocuments::PassUrl);
    let pdf = at("https://files.example/lease.pdf?sig=canary", "lease");
    let (plan, notes, unknown) = (at(PLAN, "plan"), at(NOTES, "notes"), at(LEASE, "unknown"));
    let chat = Chat::new().user("?").tool(&[pdf.clone(), plan, notes, unknown]);
    for (family, passed, words) in [
        ("anthropic", 2, ["native", "native", "text", "native"]),
        ("openai-responses", 2, ["native", "native", "text", "native"]),
        // Files are not fetched there, pictures are; results hold neither.
        ("openai-chat", 1, ["note", "synthetic", "text", "synthetic"]),
        ("gemini", 2, ["synthetic", "synthetic", "text", "synthetic"]),
        ("bedrock-converse", 0, ["note", "native", "text", "native"]),
    ] {
        let (store, web) = (Shelf::default(), web());
        let given = (&mut Materials::new(), &store, Some(&web));
        let routing = routed(&chat, &model(family), &options, given);
        assert_eq!(outcomes(&routing), words, "{family}");
        assert_eq!(external_parts(&routing.messages).len(), passed, "{family}");
        let kinds = routing.report.decisions.iter().map(|decision| decision.reason.kind());
        assert_eq!(kinds.filter(|kind| *kind == ReasonKind::PassedUrl).count(), passed, "{family}");
        assert_eq!(web.asked().len() + passed, 4, "{family}: what is passed is not fetched");
        // The address goes to the provider, not into text that the model reads.
        no_secret(&routing);
    }
    // Where nobody can, it is a note.
    let given = (&mut Materials::new(), &Shelf::default(), None);
    let routing = routed(&chat, &model("bedrock-converse"), &options, given);
    assert_eq!(outcomes(&routing), ["note"; 4]);
    // Not what is said to be larger than the place takes, or does not look public.
    let large = pdf.with_size(1 << 40);
    let inside = at("https://10.0.0.1/a.png", "inside");
    let chat = Chat::new().user("?").tool(&[large, inside]);
    let given = (&mut Materials::new(), &Shelf::default(), None);
    let routing = routed(&chat, &model("anthropic"), &options, given);
    assert_eq!(external_parts(&routing.messages).len(), 0, "{:?}", routing.report);
}

#[test]
fn a_passed_address_stands_once_and_for_authors_too() {
    let options = RouteOptions::new()
        .with_external(ExternalDocuments::PassUrl)
        .with_back_references(BackReferences::AcrossMessages);
    let plan = at(PLAN, "plan");
    let chat = Chat::new().author("?", &[plan]).tool(&[at(PLAN, "plan")]);
    let routing = chat.routed(&model("anthropic"), &Materials::new(), &options).unwrap();
    assert_eq!(outcomes(&routing), ["native", "note"]);
    assert_eq!(external_parts(&routing.messages), [PLAN]);
    let Message::User(user) = &*routing.messages[0] else { panic!() };
    assert!(user.routed.is_some(), "a codec sees that it was cleared");
    assert!(shown(&routing.messages[0]).iter().all(|text| !text.contains("canary")));
    // Where no address can stand, it refers back as well, and is not fetched.
    let mut beside = model("anthropic");
    (beside.failed_result.media, beside.tool_result.media) = (vec!["image/*".to_owned()], Vec::new());
    beside.beside_result.media = vec!["text".to_owned()];
    let call = [("find", tree(&[at(PLAN, "plan")]))];
    let chat =
        chat.calls_with(&call, |_, result| result.status = attache_core::ResultStatus::Error).calls(&call);
    let (web, store) = (web(), Shelf::default());
    let seen = routed(&chat, &beside, &options, (&mut Materials::new(), &store, Some(&web)));
    assert_eq!((outcomes(&seen), web.asked().len()), (vec!["native", "note", "note", "note"], 0));
    let kinds: Vec<_> = seen.report.decisions.iter().map(|decision| decision.reason.kind()).collect();
    assert_eq!(kinds[1..], [ReasonKind::ShownBefore; 3]);
    // Its own output leads to the same.
    let again =
        Chat::of(routing.messages.clone()).routed(&model("anthropic"), &Materials::new(), &options).unwrap();
    assert_eq!(again, routing);
}
