//! Invariants 1 and 2 over whole runs: random outputs with documents anywhere in them, conversations that move from one
//! API to another in their middle. Each request is one that the API takes, and no document is lost on the way.

use std::collections::HashMap;
use std::sync::Arc;

use attache_agent::{Agent, EventKind, NoArguments, RunInput, tool_fn};
use attache_conformance::{MockProvider, Reply, seen_documents, sha256_hex};
use attache_core::converter::{ConvertedText, ConverterError, ConverterErrorKind, MediaLimits, Transcoded};
use attache_core::{
    BoxFuture, Converter, Document, DocumentId, MediaType, Message, ModelHandle, ModelSettings, ToolError,
    UserMessage, UserPart,
};
use attache_documents::{DocumentOutcome, RoutingReport};
use attache_tests::Party;
use bytes::Bytes;
use proptest::prelude::*;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0";

/// Documents of all sorts; the number makes their bytes differ.
fn document(number: usize) -> Document {
    let (name, bytes): (&str, Vec<u8>) = match number % 7 {
        0 => ("a.pdf", format!("%PDF-1.4\n% {number}\n").into_bytes()),
        1 => ("b.png", [PNG, number.to_string().as_bytes()].concat()),
        2 => ("c.csv", format!("number,{number}\n").into_bytes()),
        3 => ("d.zip", format!("PK\x03\x04 {number}").into_bytes()),
        4 => ("e.bmp", format!("BM\0\0\0\0\0\0 {number}").into_bytes()),
        5 => ("f.docx", format!("PK\x03\x04 word {number}").into_bytes()),
        _ => ("g.pdf", Vec::new()),
    };
    let id = DocumentId::parse(format!("{number:08x}-0000-4000-8000-000000000000")).unwrap();
    Document::from_bytes(bytes, "").with_file_name(name).with_id(id)
}

/// The output of a tool: anything, with documents anywhere.
#[derive(Clone, Debug)]
enum Tree {
    Nothing,
    Number(i32),
    Text(String),
    Document(usize),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nothing => serializer.serialize_none(),
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => text.serialize(serializer),
            Self::Document(number) => document(*number).serialize(serializer),
            Self::List(list) => {
                let mut seq = serializer.serialize_seq(Some(list.len()))?;
                list.iter().try_for_each(|item| seq.serialize_element(item))?;
                seq.end()
            }
            Self::Map(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                members.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
        }
    }
}

impl Tree {
    fn planted(&self, found: &mut Vec<usize>) {
        match self {
            Self::Document(number) if !found.contains(number) => found.push(*number),
            Self::List(list) => list.iter().for_each(|item| item.planted(found)),
            Self::Map(members) => members.iter().for_each(|(_, value)| value.planted(found)),
            _ => {}
        }
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        1 => Just(Tree::Nothing),
        1 => any::<i32>().prop_map(Tree::Number),
        2 => "\\PC{0,20}".prop_map(Tree::Text),
        4 => (0_usize..40).prop_map(Tree::Document),
    ];
    leaf.prop_recursive(4, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Tree::List),
            prop::collection::vec(("[a-z]{1,6}", inner), 0..4).prop_map(Tree::Map),
        ]
    })
}

#[derive(Clone, Debug)]
struct Turn {
    party: prop::sample::Index,
    attached: Option<usize>,
    outputs: Vec<(Tree, bool)>,
}

fn turn() -> impl Strategy<Value = Turn> {
    let outputs = prop::collection::vec((tree(), prop::bool::weighted(0.2)), 0..3);
    (any::<prop::sample::Index>(), prop::option::of(0_usize..40), outputs)
        .prop_map(|(party, attached, outputs)| Turn { party, attached, outputs })
}

/// Makes something of half of what it is asked for.
struct Moody;

impl Converter for Moody {
    fn converts(&self, media_type: &MediaType) -> bool {
        media_type.essence() != "application/zip"
    }

    fn convert<'a>(
        &'a self,
        document: &'a Document,
        _: Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, ConverterError>> {
        let text = match document.size() {
            Some(size) if size % 2 == 0 => Ok(ConvertedText::new(format!("text of {}", document.id()))),
            _ => Err(ConverterError::new(ConverterErrorKind::Malformed, "it is damaged")),
        };
        Box::pin(std::future::ready(text))
    }

    fn transcodes(&self, _: &MediaType, _: &MediaLimits) -> bool {
        true
    }

    fn transcode<'a>(
        &'a self,
        document: &'a Document,
        _: Bytes,
        _: &'a MediaLimits,
    ) -> BoxFuture<'a, Result<Transcoded, ConverterError>> {
        let fitted = match document.media_type().essence() {
            "image/bmp" => Ok(Transcoded::changed(PNG, MediaType::parse("image/png").unwrap(), "re-encoded")),
            "application/pdf" if document.size().unwrap_or_default() % 5 == 1 => {
                Err(ConverterError::new(ConverterErrorKind::Encrypted, "it is encrypted"))
            }
            _ => Ok(Transcoded::unchanged().with_pages(2)),
        };
        Box::pin(std::future::ready(fitted))
    }
}

fn texts(value: &Value, found: &mut String) {
    match value {
        Value::String(text) => {
            found.push_str(text);
            found.push('\n');
        }
        Value::Array(list) => list.iter().for_each(|value| texts(value, found)),
        Value::Object(members) => members.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

/// The request holds what the report says of each document.
fn check(party: Party, body: &Value, report: &RoutingReport) -> Result<(), TestCaseError> {
    let seen = seen_documents(party.api.conformance(), body);
    let mut said = String::new();
    texts(body, &mut said);
    for decision in &report.decisions {
        let number = usize::from_str_radix(decision.document_id.short(), 16).unwrap();
        let there = |bytes: &[u8]| {
            let hash = sha256_hex(bytes);
            seen.iter().any(|seen| seen.sha256.as_deref() == Some(hash.as_str()))
        };
        let fine = match decision.outcome {
            DocumentOutcome::Native | DocumentOutcome::Synthetic => there(&document(number).bytes().unwrap()),
            DocumentOutcome::Reencoded => there(PNG),
            DocumentOutcome::Text => said.contains(&format!("number,{number}\n")),
            DocumentOutcome::Converted => said.contains(&format!("text of {}", decision.document_id)),
            DocumentOutcome::Note => {
                said.contains(decision.document_id.short()) && said.contains("Content not shown here: ")
            }
            _ => true,
        };
        prop_assert!(fine, "{} {:?}", party.name(), decision);
    }
    Ok(())
}

fn takes(model: &ModelHandle, number: usize) -> bool {
    model.capabilities().user.accepts(document(number).media_type())
}

/// The party of a turn, or the first after it that takes these documents of an author.
async fn counterpart(turn: &Turn, documents: &[usize]) -> (Party, MockProvider, ModelHandle) {
    let parties = Party::all();
    let first = turn.party.index(parties.len());
    for party in parties.iter().cycle().skip(first).take(parties.len()) {
        let mock = party.mock().await.unwrap();
        let model = party.connected(&mock, ModelSettings::new()).unwrap();
        if documents.iter().all(|number| takes(&model, *number)) {
            return (*party, mock, model);
        }
    }
    panic!("nobody takes {documents:?}");
}

async fn converse(turns: Vec<Turn>) -> Result<(), TestCaseError> {
    let mut history: Vec<Arc<Message>> = Vec::new();
    // Every document of a tool so far, by call, and of an author.
    let mut expected: HashMap<(bool, usize), usize> = HashMap::new();
    for turn in turns {
        // A document that an author attached and the model cannot take is an error, which other tests look at: the
        // conversation moves to the next party that takes it.
        let earlier: Vec<usize> =
            expected.keys().filter(|(author, _)| *author).map(|(_, number)| *number).collect();
        let (party, mock, model) = counterpart(&turn, &earlier).await;
        let attached = turn.attached.filter(|number| matches!(number % 7, 1 | 2) && takes(&model, *number));
        let mut agent = Agent::builder(model).converter(Moody);
        let mut calls = Reply::new().text("I look.");
        for (at, (tree, fails)) in turn.outputs.iter().enumerate() {
            let (name, tree, fails) = (format!("look_{at}"), tree.clone(), *fails);
            calls = calls.call(format!("call0000{at}"), &name, json!({}));
            agent = agent.tool(tool_fn(&name, "Looks", move |_: NoArguments| {
                let tree = tree.clone();
                async move { if fails { Err(ToolError::new("it is broken")) } else { Ok(tree) } }
            }));
        }
        if !turn.outputs.is_empty() {
            mock.enqueue(calls);
        }
        mock.enqueue(Reply::new().text("done"));
        let parts = [UserPart::text("Look.")].into_iter();
        let parts = parts.chain(attached.map(|number| Some(UserPart::Document(document(number)))));
        let input =
            RunInput::new([Message::User(UserMessage::new(parts)).shared()]).with_history(history.clone());
        let mut run = agent.build().unwrap().run(input);
        let mut report = Arc::new(RoutingReport::default());
        let outcome = loop {
            match run.next().await.unwrap().kind {
                EventKind::DocumentsRouted(routed) => report = routed,
                EventKind::Finished(result) => break result,
                _ => {}
            }
        };
        prop_assert!(mock.violations().is_empty(), "{}: {:?}", party.name(), mock.violations());
        let outcome = outcome.map_err(|error| TestCaseError::fail(format!("{}: {error:?}", party.name())))?;
        prop_assert_eq!(&outcome.text, "done");
        for (tree, _) in turn.outputs.iter().filter(|(_, fails)| !fails) {
            let mut planted = Vec::new();
            tree.planted(&mut planted);
            planted.into_iter().for_each(|number| *expected.entry((false, number)).or_default() += 1);
        }
        attached.into_iter().for_each(|number| *expected.entry((true, number)).or_default() += 1);
        // Invariant 1: one decision for each.
        let mut decided: HashMap<(bool, usize), usize> = HashMap::new();
        for decision in &report.decisions {
            let number = usize::from_str_radix(decision.document_id.short(), 16).unwrap();
            *decided.entry((decision.tool_call_id.is_none(), number)).or_default() += 1;
        }
        prop_assert_eq!(&decided, &expected, "{}", party.name());
        check(party, mock.requests().last().unwrap().json(), &report)?;
        history = outcome.messages;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_document_is_lost_when_a_conversation_moves(turns in prop::collection::vec(turn(), 1..5)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(converse(turns))?;
    }
}
