//! Requests as they go over the wire.

use std::sync::Arc;

use attache_cohere::CohereCodec;
use attache_core::capability::Matrix;
use attache_core::message::{OpaquePart, ReplayData, Routed, UserOrigin};
use attache_core::{
    AssistantMessage, AssistantPart, Capture, ChatRequest, ContentTree, Document, DocumentId, ErrorKind,
    Message, MessageId, ModelSettings, ReasoningPart, ResultStatus, Secret, ToolCall, ToolCallId,
    ToolDefinition, ToolResult, ToolSet, Transcript, UserMessage, UserPart,
};
use attache_documents::{DocumentOutcome, Materials, RouteOptions, route};
use attache_transport::{Ask, Codec as _};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::common::{MODEL, PNG, answers, asks, body, call, codec, encode, shown, tools, user};

const VISION: &str = "command-a-vision-07-2025";

fn csv(name: &str) -> Document {
    let id = DocumentId::parse(format!("{name}-id")).unwrap();
    Document::from_bytes(&b"a;b\n1;2"[..], "text/csv").with_id(id).with_file_name(name)
}

fn opaque(kind: &str, model: &str, json: &Value) -> Option<AssistantPart> {
    let raw = RawValue::from_string(json.to_string()).unwrap();
    Some(AssistantPart::Opaque(OpaquePart::new(kind, ReplayData::new("cohere", model, raw))))
}

fn thought(family: &str, text: &str) -> Option<AssistantPart> {
    let raw = RawValue::from_string("{}".to_owned()).unwrap();
    Some(AssistantPart::Reasoning(ReasoningPart::new(text).with_replay(ReplayData::new(family, MODEL, raw))))
}

fn says(parts: impl IntoIterator<Item = Option<AssistantPart>>) -> Arc<Message> {
    Message::Assistant(AssistantMessage::new(parts)).shared()
}

#[test]
fn plain() {
    let request = ChatRequest::new([Message::system("Be brief.").shared(), user("Hi \"there\"")]);
    let key = Secret::new("canary-0123456789");
    let settings = ModelSettings::new().with_system("You are kind.").with_extra_header("X-Client-Name", "t");
    let encoded = codec().encode(Ask::new(&request, &settings, Some(&key))).unwrap();
    let headers: Vec<_> =
        encoded.parts.shown_headers().map(|(name, value)| format!("{name}: {value}")).collect();
    let body = String::from_utf8(encoded.parts.body.to_vec()).unwrap();
    insta::assert_snapshot!(format!(
        "{} {}\n{}\n\n{body}",
        encoded.parts.method,
        encoded.parts.url,
        headers.join("\n")
    ));
    assert!(!format!("{encoded:?} {:?}", codec()).contains("canary"));
}

// cohere.md 3: the system's turn is the first, and there is one
#[test]
fn instructions_behind_other_messages_are_words_of_the_user() {
    let system = |text: &str| Message::system(text).shared();
    let request = ChatRequest::new([system("One."), system("Two."), user("Hi"), system("Now three.")]);
    let expected = json!([
        {"role": "system", "content": "One.\n\nTwo."},
        {"role": "user", "content": "Hi"},
        {"role": "user", "content": "Now three."},
    ]);
    assert_eq!(body(&codec(), &request)["messages"], expected);
    // A conversation of which the beginning is gone may begin with them.
    let transcript = Transcript::new();
    let kept = |messages: Vec<Arc<Message>>| {
        body(&codec(), &ChatRequest::new(messages).with_transcript(transcript.clone()))["messages"].clone()
    };
    let (late, asked) = (system("Now three."), user("So?"));
    assert_eq!(kept(vec![user("Hi"), Arc::clone(&late), Arc::clone(&asked)])[1]["role"], "user");
    assert_eq!(kept(vec![late, asked])[0], json!({"role": "system", "content": "Now three."}));
}

#[test]
fn a_turn_with_tools() {
    let (rome, clock, gone) = (
        call("weather.now", "c1", "{\"city\": \"Rome\"}"),
        call("clock", "c2", "{\"cut"),
        call("clock", "c3", "{}"),
    );
    let mut table =
        ToolResult::new(&rome, ResultStatus::Ok, ContentTree::value(&json!({"t": [1.0, "é\"\n"]})));
    table.routed =
        Some(Routed::new(vec![UserPart::text("a note").unwrap(), UserPart::Document(csv("a.csv"))], 1));
    let plan = json!("I will look.");
    let request = ChatRequest::new([
        user("Weather?"),
        says([
            thought("cohere", "Hm."),
            AssistantPart::text("Let me see."),
            opaque("tool_plan", "another-model", &plan),
            rome.into(),
            clock.clone().into(),
            gone.clone().into(),
        ]),
        // Results are sent in the order of the calls, whatever order they came in.
        answers([ToolResult::error(&clock, "no \"time\""), table, ToolResult::cancelled(&gone)]),
    ])
    .with_tools(tools());
    insta::assert_snapshot!(shown(&body(&codec().with_strict_tools(true), &request)));
}

#[test]
fn content_of_users_is_written() {
    let parts = [
        UserPart::text("What is this?"),
        Document::from_bytes(PNG, "image/png").into(),
        Document::external("https://files.example/a.png").into(),
        csv("a.csv").into(),
        Some(UserPart::Object(ContentTree::value(&json!({"event": 1})))),
    ];
    let mut message = UserMessage::new(parts);
    message.routed = Some(Routed::new(message.parts.clone(), 1));
    let request = ChatRequest::new([Message::User(message).shared()]).streaming(false);
    insta::assert_snapshot!(shown(&body(&CohereCodec::new(VISION), &request)));
}

// A part that only this model made goes back to it alone; one that nobody signed goes to its kin too.
#[test]
fn reasoning_and_opaque_parts_go_back_to_their_origin() {
    let citations = json!([{"start": 0, "end": 2, "text": "12"}]);
    let audio = json!({"type": "audio", "rate": 1});
    let message = says([
        thought("cohere", "ours"),
        thought("anthropic", "theirs"),
        Some(AssistantPart::Reasoning(ReasoningPart::new("nobody's"))),
        AssistantPart::text("12"),
        opaque("audio", MODEL, &audio),
        opaque("tool_plan", MODEL, &json!("a plan without calls")),
        opaque("citations", MODEL, &citations),
    ]);
    let sent = |model: &str, message: &Arc<Message>| {
        let request = ChatRequest::new([Arc::clone(message), user("Go on")]);
        body(&CohereCodec::new(model), &request)["messages"][0].clone()
    };
    let text = json!({"type": "text", "text": "12"});
    let thinking = json!({"type": "thinking", "thinking": "ours"});
    assert_eq!(
        sent(MODEL, &message),
        json!({"role": "assistant", "content": [thinking, text, audio]}),
        "a block is missing, so citations are too"
    );
    assert_eq!(sent("command-newer", &message)["content"], json!([thinking, text]));
    assert_eq!(sent("command-a-03-2025", &message), json!({"role": "assistant", "content": [text]}));
    let cited = says([AssistantPart::text("12"), opaque("citations", MODEL, &citations)]);
    assert_eq!(sent(MODEL, &cited)["citations"], citations);
    assert_eq!(sent("command-newer", &cited).get("citations"), None);
}

// E17
#[test]
fn messages_that_say_nothing_are_left_out() {
    let request =
        ChatRequest::new([user("Hi"), asks("", &[]), says([thought("x", "hm")]), user(" \n"), answers([])]);
    assert_eq!(body(&codec(), &request)["messages"], json!([{"role": "user", "content": "Hi"}]));
    let nothing = ChatRequest::new([user("")]);
    let error = codec().encode(Ask::new(&nothing, &nothing.settings, None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidHistory);
    let told = ModelSettings::new().with_system("Say hello.");
    assert!(codec().encode(Ask::new(&nothing, &told, None)).is_ok());
}

#[test]
fn calls_and_results_pair_up() {
    let none = ToolCall::new("clock", attache_core::Arguments::new("{}"))
        .with_id(ToolCallId::parse("call_mine").unwrap());
    let twice = [call("clock", "c", "{}"), call("clock", "c", "{}").with_id(ToolCallId::new())];
    let calls = [&none, &twice[0], &twice[1]];
    let request = ChatRequest::new([asks("", &calls), answers(calls.map(|call| ToolResult::ok(call, " ")))]);
    let body = body(&codec(), &request);
    let ids: Vec<_> = (0..3).map(|at| body["messages"][0]["tool_calls"][at]["id"].clone()).collect();
    assert_eq!(ids, ["call_mine", "c", "c_2"]);
    let answered: Vec<_> = (1..4).map(|at| body["messages"][at]["tool_call_id"].clone()).collect();
    assert_eq!(answered, ids);
    assert!(body["messages"][1]["content"][0]["text"].as_str().is_some_and(|text| !text.trim().is_empty()));

    let unanswered = ChatRequest::new([asks("", &[&none]), user("Well?")]);
    let error = codec().encode(Ask::new(&unanswered, &unanswered.settings, None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidHistory);
}

// C25
#[test]
fn documents_are_never_lost_in_silence() {
    let fail = |model: &str, messages: Vec<Arc<Message>>| {
        let request = ChatRequest::new(messages);
        CohereCodec::new(model).encode(Ask::new(&request, &request.settings, None)).unwrap_err().kind()
    };
    let user_with = |document: Document| vec![Message::User(UserMessage::new([document.into()])).shared()];
    let png = || Document::from_bytes(PNG, "image/png");
    assert_eq!(fail(MODEL, user_with(png())), ErrorKind::Unsupported);
    let pdf = Document::from_bytes(&b"%PDF-1.7"[..], "application/pdf");
    assert_eq!(fail(VISION, user_with(pdf)), ErrorKind::Unsupported);
    let stored = Document::stored(DocumentId::new(), "s", "image/png");
    assert_eq!(fail(VISION, user_with(stored)), ErrorKind::Unsupported);
    assert_eq!(fail(MODEL, user_with(Document::external("https://x/a.png"))), ErrorKind::Unsupported);
    // Routing decides which addresses may be shown.
    assert_eq!(fail(VISION, user_with(Document::external("https://x/a.png"))), ErrorKind::Unsupported);

    let ask = call("clock", "c1", "{}");
    let tree = Capture::new().finish(&png()).unwrap();
    let event = Message::User(UserMessage::event(tree.clone())).shared();
    assert_eq!(fail(MODEL, vec![event]), ErrorKind::InvalidHistory, "nobody routed it");
    let result = ToolResult::new(&ask, ResultStatus::Ok, tree);
    assert_eq!(fail(MODEL, vec![asks("", &[&ask]), answers([result.clone()])]), ErrorKind::InvalidHistory);
    let mut attached = result;
    attached.routed = Some(Routed::new(vec![UserPart::Document(png())], 1));
    assert_eq!(fail(MODEL, vec![asks("", &[&ask]), answers([attached])]), ErrorKind::Unsupported);
}

// C24: what routing makes of a tool's documents for the capabilities of this codec, this codec emits
#[test]
fn routing_and_encoding_agree() {
    let matrix = Matrix::bundled().merged_with("[cohere]\nuser.media = ['+image/png']").unwrap();
    for (matrix, outcomes) in [
        (Matrix::bundled(), [DocumentOutcome::Text, DocumentOutcome::Note]),
        (&matrix, [DocumentOutcome::Text, DocumentOutcome::Synthetic]),
    ] {
        let mut codec = codec();
        codec.set_matrix(matrix);
        let ask = call("clock", "c1", "{}");
        let png = Document::from_bytes(PNG, "image/png").with_file_name("b.png");
        let tree = Capture::new().finish(&[csv("a.csv"), png]).unwrap();
        let messages =
            [user("Read"), asks("", &[&ask]), answers([ToolResult::new(&ask, ResultStatus::Ok, tree)])];
        let (materials, options) = (Materials::new(), RouteOptions::new());
        let routed =
            route(&messages, codec.capabilities(), &ToolSet::default(), &materials, &options).unwrap();
        let made: Vec<_> = routed.report.decisions.iter().map(|decision| decision.outcome).collect();
        assert_eq!(made, outcomes);
        let request = ChatRequest::new(routed.messages);
        let text = body(&codec, &request).to_string();
        assert!(text.contains("a;b\\n1;2"), "{text}");
        assert_eq!(
            text.contains("data:image/png;base64,"),
            outcomes[1] == DocumentOutcome::Synthetic,
            "{text}"
        );
    }
}

#[test]
fn the_synthetic_message_may_show_what_stands_beside_results() {
    let ask = call("clock", "c1", "{}");
    let png = Document::from_bytes(PNG, "image/png");
    let mut synthetic = UserMessage::new([UserPart::text("[b.png]"), png.into()]);
    synthetic.origin = UserOrigin::ToolCallDocuments;
    let messages =
        [asks("", &[&ask]), answers([ToolResult::ok(&ask, "x")]), Message::User(synthetic).shared()];
    let request = ChatRequest::new(messages);
    let mut codec = codec();
    assert!(codec.encode(Ask::new(&request, &request.settings, None)).is_err());
    codec.set_matrix(&Matrix::parse("[cohere]\nbeside_result.media = ['+image/png']").unwrap());
    assert_eq!(body(&codec, &request)["messages"][2]["content"][1]["type"], "image_url");
}

#[test]
fn addresses() {
    let url = |base: &str| {
        let mut codec = codec();
        codec.set_base_url(base.to_owned());
        let request = ChatRequest::new([user("Hi")]);
        codec
            .encode(Ask::new(&request, &request.settings, None))
            .map(|encoded| encoded.parts.url)
            .map_err(|error| error.kind())
    };
    assert_eq!(url("https://h/x/").as_deref(), Ok("https://h/x/v2/chat"));
    assert_eq!(url("https://h/v2?k=1").as_deref(), Ok("https://h/v2/chat?k=1"));
    assert_eq!(url("h"), Err(ErrorKind::Configuration));
}

// invariant 5: what was rendered once is not rendered again
#[test]
fn a_transcript_holds_what_was_rendered() {
    let transcript = Transcript::new();
    let tools = Arc::new(tools());
    let id = MessageId::parse("m1").unwrap();
    let request = |text: &str| {
        ChatRequest::new([Message::user(text).with_id(id.clone()).shared()])
            .with_tools(Arc::clone(&tools))
            .with_transcript(transcript.clone())
    };
    let first = body(&codec(), &request("one"));
    // A message of the same identity is the same message.
    assert_eq!(body(&codec(), &request("two")), first);
    let other = CohereCodec::new("command-a-03-2025");
    assert_eq!(body(&other, &request("two"))["messages"][0]["content"], "two", "models keep apart");
    let mut wider = codec();
    wider.set_matrix(&Matrix::parse("[cohere]\nuser.media = ['+image/png']").unwrap());
    assert_eq!(body(&wider, &request("three"))["messages"][0]["content"], "three", "so do capabilities");
    let more = ToolSet::new([ToolDefinition::new("new", "", json!({}))]).unwrap();
    let renamed = encode(&wider, &request("four").with_tools(more));
    assert!(String::from_utf8(renamed.parts.body.to_vec()).unwrap().contains("\"four\""), "and tools");
}

// Results are written with the ids of the calls before them, whichever these are now.
#[test]
fn results_follow_their_calls() {
    let transcript = Transcript::new();
    let asked = call("clock", "first", "{}");
    let results = answers([ToolResult::ok(&asked, "12")]);
    let sent = |call: &ToolCall| {
        let request = ChatRequest::new([asks("", &[call]), Arc::clone(&results)]);
        body(&codec(), &request.with_transcript(transcript.clone()))["messages"][1]["tool_call_id"].clone()
    };
    assert_eq!(sent(&asked), "first");
    let again = asked.with_provider_id(attache_core::ProviderCallId::parse("second"));
    assert_eq!(sent(&again), "second");
}
