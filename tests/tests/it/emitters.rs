//! Each codec can write all that its rows of the capability table declare, in each place, and nothing else: every row ×
//! place × media type, judged as the real API would and decoded back. documents.md 9.2 D4, D5: no row promises what its
//! codec refuses, and none forbids what it writes.

use std::sync::Arc;

use attache_conformance::{SeenPlace, seen_documents, sha256_hex};
use attache_core::capability::{Place, ReasoningExcludes};
use attache_core::message::Routed;
use attache_core::{
    Arguments, AssistantMessage, Capture, ChatRequest, Document, MediaKind, MediaType, Message,
    ModelCapabilities, ModelSettings, Reasoning, ResultStatus, ToolCall, ToolDefinition, ToolResult,
    ToolResultsMessage, ToolSet, UserMessage, UserPart,
};
use attache_documents::{DocumentOutcome, Materials, RouteOptions, Routing, route};
use attache_tests::{APIS, Api};
use serde_json::{Value, json};

/// One of each kind, with the least that its type is known by.
fn samples() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde".to_vec();
    vec![
        ("image/png", "a.png", png),
        ("image/jpeg", "a.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xd9".to_vec()),
        ("image/gif", "a.gif", b"GIF89a\x01\0\x01\0\0\0\0;".to_vec()),
        ("image/webp", "a.webp", b"RIFF\x1a\0\0\0WEBPVP8L\r\0\0\0/\0\0\0\0\0\0\0\0\0\0\0\0".to_vec()),
        ("image/heic", "a.heic", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic".to_vec()),
        ("image/bmp", "a.bmp", b"BM\x1e\0\0\0\0\0\0\0\x1a\0\0\0".to_vec()),
        ("application/pdf", "a.pdf", b"%PDF-1.4\n%\xe2\xe3\n".to_vec()),
        ("text/plain", "a.txt", b"Rent is due on the first.".to_vec()),
        ("text/csv", "a.csv", b"date,amount\n2026-03-01,12.50\n".to_vec()),
        ("application/json", "a.json", b"{\"rent\":12}".to_vec()),
        ("audio/wav", "a.wav", b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0".to_vec()),
        ("audio/mpeg", "a.mp3", b"ID3\x03\0\0\0\0\0\0".to_vec()),
        ("video/mp4", "a.mp4", b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom".to_vec()),
        ("application/zip", "a.zip", b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec()),
        (
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "a.docx",
            b"PK\x03\x04\x14\0\0\0\0\0".to_vec(),
        ),
    ]
}

fn window(place: Place, document: &Document) -> Vec<Arc<Message>> {
    if place == Place::User {
        let parts = [UserPart::text("What is this?"), Some(UserPart::Document(document.clone()))];
        return vec![Message::User(UserMessage::new(parts)).shared()];
    }
    let call = ToolCall::new("find", Arguments::new("{}"));
    let found = std::collections::BTreeMap::from([("found", document)]);
    let tree = Capture::new().finish(&found).unwrap();
    let status = if place == Place::FailedResult { ResultStatus::Error } else { ResultStatus::Ok };
    vec![
        Message::user("go").shared(),
        Message::Assistant(AssistantMessage::new([call.clone().into()])).shared(),
        Message::ToolResults(ToolResultsMessage::new([ToolResult::new(&call, status, tree)])).shared(),
    ]
}

/// Models that stand for the rows of an API, each under its own row.
fn models(api: Api) -> Vec<(String, ModelCapabilities)> {
    let (matrix, family) = (api.matrix(), api.capabilities().family);
    let names = matrix.patterns(&family).into_iter().map(|pattern| {
        let inner = pattern.trim_matches('*').trim_end_matches(['-', '.']);
        let inner = inner.replace("claude-*", "claude-sonnet").replace('*', "x");
        // Ids of one provider begin with the region.
        if pattern.starts_with('*') { format!("us.{inner}") } else { inner }
    });
    let resolved = names.map(|name| {
        let row = matrix.resolve(&family, &name);
        (name, row)
    });
    // The requests here offer a tool, which a model that always reasons may not take.
    let takes_tools =
        |row: &ModelCapabilities| !always_excludes_tools(row) || row.reasoning.iter().any(|way| way == "off");
    resolved.filter(|(_, row)| takes_tools(row)).collect()
}

/// True if a model takes no tools while it reasons, which it does unasked.
fn always_excludes_tools(row: &ModelCapabilities) -> bool {
    row.reasons_unasked && row.reasoning_excludes(ReasoningExcludes::Tools)
}

fn rendered(api: Api, model: &str, routing: &Routing, tools: &Arc<ToolSet>) -> Result<Value, String> {
    encoded(api, model, routing.messages.clone(), tools)
}

fn encoded(
    api: Api,
    model: &str,
    messages: Vec<Arc<Message>>,
    tools: &Arc<ToolSet>,
) -> Result<Value, String> {
    let request = ChatRequest::new(messages).with_tools(Arc::clone(tools)).streaming(false);
    let codec = api.codec_of(model);
    let row = codec.capabilities();
    // Such a model takes tools once it does not reason.
    let settings = match always_excludes_tools(row) {
        true => ModelSettings::new().with_reasoning(Reasoning::Off),
        false => ModelSettings::new(),
    };
    let encoded = codec.encode(attache_transport::Ask::new(&request, &settings, None));
    let encoded = encoded.map_err(|error| format!("the codec refuses: {error}"))?;
    let body = serde_json::from_slice(&encoded.parts.body.to_vec()).map_err(|error| error.to_string())?;
    api.judge_of(model, &body).map_err(|violation| format!("the API refuses: {violation}"))?;
    Ok(body)
}

#[test]
fn emitters_write_every_declared_media_type_and_nothing_else() {
    let tool = ToolDefinition::new("find", "Finds", json!({ "type": "object", "properties": {} }));
    let offered = Arc::new(ToolSet::new([tool]).unwrap());
    let (mut checked, mut misses) = (0, Vec::new());
    for api in APIS {
        for (model, row) in models(api) {
            for place in [Place::User, Place::ToolResult, Place::FailedResult] {
                if place != Place::User && !row.tools {
                    continue;
                }
                let tools = if row.tools { Arc::clone(&offered) } else { Arc::default() };
                for (media, name, bytes) in samples() {
                    let media = MediaType::parse(media).unwrap();
                    let document = Document::from_bytes(bytes.clone(), media.essence()).with_file_name(name);
                    let context = format!("{} {model} {} {media}", api.name(), place.as_str());
                    let declared = row.place(place).accepts(&media);
                    let window = window(place, &document);
                    let routing = route(&window, &row, &tools, &Materials::new(), &RouteOptions::new());
                    let routing = match routing {
                        Ok(routing) => routing,
                        Err(error) if place == Place::User && !declared => {
                            // C25: what its author attached fails loudly.
                            assert_eq!(error.kind().as_str(), "unsupported", "{context}");
                            continue;
                        }
                        Err(error) => {
                            misses.push(format!("{context}: routing refuses: {error}"));
                            continue;
                        }
                    };
                    checked += 1;
                    let outcome = routing.report.decisions[0].outcome;
                    let body = match rendered(api, &model, &routing, &tools) {
                        Ok(body) => body,
                        Err(problem) => {
                            misses.push(format!("{context} ({outcome:?}): {problem}"));
                            continue;
                        }
                    };
                    // Inside a JSON text the text is escaped once more.
                    let text = json!(String::from_utf8_lossy(&bytes).trim_end()).to_string();
                    let twice = json!(text).to_string();
                    let written = body.to_string();
                    let holds = |text: &str| written.contains(text.trim_matches(['"', '\\']));
                    let shown_as_text = media.kind() == MediaKind::Text && (holds(&text) || holds(&twice));
                    let native: Vec<SeenPlace> = seen_documents(api.conformance(), &body)
                        .into_iter()
                        .filter(|seen| seen.sha256.as_deref() == Some(sha256_hex(&bytes).as_str()))
                        .map(|seen| seen.place)
                        .collect();
                    let wanted = if place == Place::User { SeenPlace::User } else { SeenPlace::ToolResult };
                    let there = native.contains(&wanted) || shown_as_text;
                    if declared && !there {
                        misses.push(format!(
                            "{context}: declared, and not there ({outcome:?}, seen {native:?})"
                        ));
                    }
                    if !declared && native.contains(&wanted) {
                        misses.push(format!("{context}: not declared, and there"));
                    }
                    if matches!(outcome, DocumentOutcome::Synthetic) && native.is_empty() && !shown_as_text {
                        misses.push(format!("{context}: said to be shown, and not there"));
                    }
                }
            }
        }
    }
    assert!(checked > 1000, "{checked} combinations");
    assert!(misses.is_empty(), "{} of {checked} differ:\n{}", misses.len(), misses.join("\n"));
}

/// The window with `shown` in place of its document, as routing leaves it.
fn cleared(place: Place, shown: &Document) -> Vec<Arc<Message>> {
    let mut messages = window(place, shown);
    let routed = Some(Routed::new(vec![UserPart::Document(shown.clone())], 1));
    let last = messages.pop().unwrap();
    messages.push(match (*last).clone() {
        Message::User(mut user) => {
            let parts = [UserPart::text("What is this?"), Some(UserPart::Document(shown.clone()))];
            user.routed = Some(Routed::new(parts.into_iter().flatten().collect(), 1));
            Message::User(user).shared()
        }
        Message::ToolResults(mut results) => {
            results.results[0].routed = routed;
            Message::ToolResults(results).shared()
        }
        _ => panic!("a window ends with the document"),
    });
    messages
}

// An address is passed on where the provider takes one. A row says which types of what place its codec writes as an
// address, and the API takes exactly these.
#[test]
fn addresses_are_written_where_a_row_takes_them_and_nowhere_else() {
    let tool = ToolDefinition::new("find", "Finds", json!({ "type": "object", "properties": {} }));
    let offered = Arc::new(ToolSet::new([tool]).unwrap());
    let (mut written, mut refused, mut misses) = (0, 0, Vec::new());
    for api in APIS {
        for (model, row) in models(api) {
            for place in [Place::User, Place::ToolResult, Place::FailedResult] {
                if place != Place::User && !row.tools {
                    continue;
                }
                let tools = if row.tools { Arc::clone(&offered) } else { Arc::default() };
                for (media, name, _) in samples() {
                    let media = MediaType::parse(media).unwrap();
                    let context = format!("{} {model} {} {media}", api.name(), place.as_str());
                    let url = format!("https://files.example/{name}?sig=canary");
                    let document = Document::external(&url).with_media_type(media.essence());
                    // A document that nobody routed is refused, whatever the row says.
                    let unrouted = encoded(api, &model, window(place, &document), &tools);
                    assert!(unrouted.is_err_and(|error| !error.contains("canary")), "{context}");
                    let body = encoded(api, &model, cleared(place, &document), &tools);
                    match (row.takes_url(place, &media), body) {
                        (true, Ok(body)) => {
                            let wanted =
                                if place == Place::User { SeenPlace::User } else { SeenPlace::ToolResult };
                            let seen = seen_documents(api.conformance(), &body);
                            let there = seen.iter().any(|seen| {
                                seen.place == wanted && seen.reference.as_deref() == Some(url.as_str())
                            });
                            if !there {
                                misses.push(format!("{context}: declared, and not there: {seen:?}"));
                            }
                            written += 1;
                        }
                        (true, Err(problem)) => misses.push(format!("{context}: declared, and {problem}")),
                        (false, Ok(_)) => misses.push(format!("{context}: not declared, and written")),
                        (false, Err(problem)) => {
                            let codec =
                                problem.starts_with("the codec refuses") && !problem.contains("canary");
                            if !codec {
                                misses.push(format!("{context}: {problem}"));
                            }
                            refused += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(written > 300 && refused > 1000, "{written} written, {refused} refused");
    assert!(misses.is_empty(), "{} differ:\n{}", misses.len(), misses.join("\n"));
}
