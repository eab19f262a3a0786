//! Models and assertions as users have them, on agents.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use attache_agent::{Agent, MemoryJournal, tool_fn};
use attache_core::{
    ChatRequest, Document, ErrorKind, Message, ModelHandle, ModelSettings, ResponseFormat, ToolDefinition,
    ToolSet, Usage,
};
use serde_json::json;

use crate::{Fixed, FunctionModel, ScriptedModel, Sight, TestModel, Turn, documents};

/// The message that dropping the last handle panics with.
fn dropped(model: impl Sized) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(|| drop(model))).err()?;
    Some(panic.downcast_ref::<String>().expect("a message").clone())
}

async fn ask(model: &ScriptedModel) {
    let rent = tool_fn("rent", "The rent.", || Ok("EUR 900"));
    let agent = Agent::builder(model.clone()).tool(rent).build().unwrap();
    _ = agent.run("What is the rent?").outcome().await;
}

fn lease() -> Document {
    Document::from_bytes("%PDF-1.7 rent: 900", "application/pdf").with_file_name("lease.pdf")
}

/// An agent whose tool returns `document` was asked.
async fn shown(document: &Document, family: &str, name: &str) -> ScriptedModel {
    let returned = document.clone();
    let find = tool_fn("find", "Finds it.", move || Ok(returned.clone()));
    let turns = [Turn::call("find", json!({})), Turn::text("done")];
    let model = ScriptedModel::new(turns);
    // As it is, it takes text.
    let model = if family == "scripted" { model } else { model.with_capabilities_of(family, name) };
    Agent::builder(model.clone()).tool(find).build().unwrap().run("Find it.").outcome().await.unwrap();
    model
}

#[tokio::test]
async fn a_script_that_went_as_written_is_silent() {
    let model = ScriptedModel::new([Turn::call("rent", json!({})), Turn::text("EUR 900.")]);
    ask(&model).await;
    assert_eq!(dropped(model), None);
}

#[tokio::test]
async fn turns_that_are_left_are_told_at_the_end() {
    let model = ScriptedModel::new([Turn::text("EUR 900."), Turn::call("rent", json!({"a": 1}))]);
    ask(&model).await;
    let clone = model.clone();
    assert_eq!(dropped(model), None, "there is another handle");
    insta::assert_snapshot!(dropped(clone).unwrap(), @r#"
    the ScriptedModel was not used as the test says:
    - nobody asked for the last 1 turn of the script; the next is the call rent({"a":1})
    (where that is meant: `.unverified()`)
    "#);
}

#[tokio::test]
async fn a_script_that_ran_out_is_told_at_the_end_and_at_once() {
    let model = ScriptedModel::new([Turn::call("rent", json!({}))]);
    let rent = tool_fn("rent", "The rent.", || Ok("EUR 900"));
    let agent = Agent::builder(model.clone()).tool(rent).build().unwrap();
    let error = agent.run("What is the rent?").outcome().await.unwrap_err();
    drop(agent);
    let causes: Vec<String> =
        std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source())
            .map(ToString::to_string)
            .collect();
    assert!(
        causes.iter().any(|cause| cause.contains("the script of the ScriptedModel ended before call 2")),
        "{causes:?}"
    );
    assert!(dropped(model).unwrap().contains("ended before call 2"));
}

#[tokio::test]
async fn a_call_of_a_tool_that_does_not_exist_is_told_at_the_end() {
    let model = ScriptedModel::new([Turn::call("rnet", json!({})), Turn::text("EUR 900.")]);
    ask(&model).await;
    let told = dropped(model).unwrap();
    assert!(
        told.contains("call 1 of the model was answered with a call of `rnet`, but the request offers rent"),
        "{told}"
    );
}

#[tokio::test]
async fn verification_can_be_switched_off() {
    let model =
        ScriptedModel::new([Turn::call("rnet", json!({})), Turn::text("a"), Turn::text("b")]).unverified();
    ask(&model).await;
    assert_eq!(dropped(model), None);
}

#[test]
fn a_test_that_fails_already_keeps_its_own_message() {
    let failed = catch_unwind(|| {
        let _model = ScriptedModel::new([Turn::text("never asked for")]);
        panic!("the test's own");
    });
    assert_eq!(failed.unwrap_err().downcast_ref::<&str>(), Some(&"the test's own"));
}

#[tokio::test]
async fn calls_are_those_of_the_model_with_their_arguments() {
    let turns = [Turn::call("rent", json!({"a": 1})).and_call("rent", "{broken"), Turn::text("EUR 900.")];
    let model = ScriptedModel::new(turns);
    ask(&model).await;
    let asked = model.asked();
    assert_eq!(asked.called("rent"), [json!({"a": 1}), json!("{broken")]);
    assert!(asked.called("other").is_empty());
    let panic = catch_unwind(AssertUnwindSafe(|| asked.assert_called("other"))).unwrap_err();
    let told = panic.downcast_ref::<String>().unwrap();
    assert_eq!(told, "the model did not call `other`; it called rent, rent");
}

#[tokio::test]
async fn a_document_is_seen_in_a_tool_result_and_in_the_message_behind_it() {
    for (family, name) in [("anthropic", "claude-sonnet-4-5"), ("openai-chat", "gpt-4o")] {
        let model = shown(&lease(), family, name).await;
        assert_eq!(model.asked().sight(&lease()), Sight::Native, "{family}");
        model.asked().assert_saw(&lease());
        let other = Document::from_bytes("%PDF-1.7 rent: 950", "application/pdf");
        assert_eq!(model.asked().sight(&other), Sight::Nothing, "{family}");
    }
}

#[tokio::test]
async fn another_version_under_the_same_id_is_not_seen() {
    let first = lease();
    let second = Document::from_bytes("%PDF-1.7 rent: 950", "application/pdf").with_id(first.id().clone());
    let asked = shown(&first, "anthropic", "claude-sonnet-4-5").await.asked();
    assert!(asked.saw(&first) && !asked.saw(&second));
}

#[tokio::test]
async fn text_counts_as_seen_where_all_of_it_is_shown() {
    let notes = Document::inline("rent: 900\ndeposit: 2700").with_file_name("notes.txt");
    let asked = shown(&notes, "scripted", "model").await.asked();
    assert_eq!(asked.sight(&notes), Sight::Text);
    // Nor is another document whose words are among them.
    assert_eq!(asked.sight(&Document::inline("900")), Sight::Nothing);
    assert_eq!(asked.sight(&Document::inline("data")), Sight::Nothing);
    // The same words in somebody's message are not the document.
    let model = ScriptedModel::new([Turn::text("So it is.")]);
    let request = ChatRequest::new([Message::user("rent: 900\ndeposit: 2700").shared()]);
    ModelHandle::new(model.clone()).complete(request).await.unwrap();
    assert_eq!(model.asked().sight(&notes), Sight::Nothing);
}

#[tokio::test]
async fn a_note_names_a_document_that_is_not_seen() {
    let lease = lease();
    let asked = shown(&lease, "scripted", "model").await.asked();
    assert_eq!(asked.sight(&lease), Sight::Named);
    assert!(!asked.saw(&lease));
    let panic = catch_unwind(AssertUnwindSafe(|| asked.assert_saw(&lease))).unwrap_err();
    let told = panic.downcast_ref::<String>().unwrap();
    assert!(told.starts_with("the model did not see lease.pdf, application/pdf, 18 bytes itself"), "{told}");
}

/// A run: its transcript, its log with ids and times, its id.
async fn fixed_run() -> (String, String, String) {
    let _fixed = Fixed::new();
    let model = TestModel::new().answering("Found.").with_capabilities_of("openai-chat", "gpt-4o");
    let find = tool_fn("find", "Finds the lease.", || Ok(lease()));
    let agent = Agent::builder(model.clone()).system("You are terse.").tool(find).build().unwrap();
    let journal = Arc::new(MemoryJournal::new());
    let outcome = agent.run_in(journal.clone(), "What is the rent?").outcome().await.unwrap();
    let log = serde_json::to_string(&journal.entries()).unwrap();
    (model.asked().transcript(), log, outcome.run_id)
}

// P03: the time of the last reply does not go back with the clock
#[test]
fn the_last_time_of_a_state_never_goes_back() {
    let cell = attache_core::provider::StateCell::default();
    cell.finished(Ok(&Usage::default()));
    let before = cell.state().last_time;
    let _fixed = Fixed::new();
    assert!(Some(attache_core::fresh::now()) < before, "the clock was set back");
    cell.finished(Ok(&Usage::default()));
    assert_eq!(cell.state().last_time, before);
}

#[tokio::test]
async fn fixed_runs_are_the_same_each_time() {
    let (first, second) = (fixed_run().await, fixed_run().await);
    assert_eq!(first, second);
    assert!(first.1.contains("1767225600000"), "{}", first.1);
    assert_eq!(first.2, "00000001-0000-4000-8000-000000000000");
    insta::assert_snapshot!(first.0, @r#"
    tools: find
    system: You are terse.
    user: What is the rent?
    assistant: find({})
    tool find: {"attache.document":"stored","documentId":"00000001-0000-4000-8000-000000000000","storeId":"memory","metadata":{"contentType":"application/pdf","fileName":"lease.pdf","size":18}}
    user (documents): Documents extracted from tool call results:
    user (documents): <document tool-name="find" tool-call-id="call_0" document-short-id="00000001" filename="lease.pdf" />
    user (documents): [lease.pdf, application/pdf, 18 bytes]
    assistant: Found.
    "#);
    assert_ne!(Document::inline("a").id().short(), "00000001", "nothing is fixed any more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_spawned_is_fixed_where_it_is_wrapped() {
    let fixed = Fixed::new();
    let short = async || Document::inline("a").id().short().to_owned();
    let wrapped = tokio::spawn(fixed.around(async move { short().await })).await.unwrap();
    assert_eq!(wrapped, "00000001");
    assert_eq!(Document::inline("b").id().short(), "00000002");
    let bare = tokio::spawn(async { Document::inline("a").id().short().to_owned() }).await.unwrap();
    assert_ne!(bare, "00000003");
}

#[tokio::test]
async fn tools_that_block_a_thread_are_fixed_too() {
    let _fixed = Fixed::new();
    let find = tool_fn("find", "Finds the lease.", || Ok(lease())).with_spec(|spec| spec.with_blocking(true));
    let model = TestModel::new();
    Agent::builder(model.clone()).tool(find).build().unwrap().run("?").outcome().await.unwrap();
    let request = model.asked().requests().last().unwrap().clone();
    assert_eq!(documents(&request)[0].id().short(), "00000001");
}

#[test]
fn threads_count_for_themselves() {
    let _fixed = Fixed::new();
    let other = std::thread::spawn(|| {
        let _fixed = Fixed::new();
        Document::inline("a").id().short().to_owned()
    });
    assert_eq!(Document::inline("a").id().short(), "00000001");
    assert_eq!(other.join().unwrap(), "00000001");
    drop(Fixed::new());
    assert_eq!(Document::inline("b").id().short(), "00000002", "an inner one gives back the outer");
}

#[tokio::test]
async fn a_function_sees_the_request_and_its_number() {
    let model = FunctionModel::new(|request, call| match call {
        0 => Turn::call("find", json!({})),
        _ => Turn::text(documents(request)[0].file_name().unwrap()),
    });
    let find = tool_fn("find", "Finds the lease.", || Ok(lease()));
    let outcome = Agent::builder(model.clone()).tool(find).build().unwrap().run("?").outcome().await.unwrap();
    assert_eq!(outcome.text, "lease.pdf");
    assert_eq!(dropped(model), None);
}

#[tokio::test]
async fn a_test_model_calls_all_tools_at_each_question() {
    let model = TestModel::new();
    let tools =
        [("one", "1"), ("two", "2")].map(|(name, said)| tool_fn(name, "Says a number.", move || Ok(said)));
    let [one, two] = tools;
    let agent = Agent::builder(model.clone()).tool(one).tool(two).build().unwrap();
    let outcome = agent.run("Count.").outcome().await.unwrap();
    assert_eq!(outcome.text, "one: 1\ntwo: 2");
    let again = attache_agent::RunInput::from("Again.").with_history(outcome.messages);
    assert_eq!(agent.run(again).outcome().await.unwrap().text, "one: 1\ntwo: 2");
    assert_eq!(model.asked().called("two").len(), 2);
}

#[tokio::test]
async fn a_test_model_calls_the_tools_before_it_gives_a_typed_answer() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Plan {
        days: u8,
    }
    // A tool has effects unless it says otherwise, and none that has them runs beside the answer.
    let booked = Arc::new(AtomicUsize::new(0));
    let book = || {
        let booked = Arc::clone(&booked);
        tool_fn("book", "Books a room.", move || {
            booked.fetch_add(1, Ordering::SeqCst);
            Ok("booked")
        })
    };
    for model in [TestModel::new(), TestModel::new().calling(["book"])] {
        booked.store(0, Ordering::SeqCst);
        let agent = Agent::builder(model.clone()).tool(book()).build().unwrap();
        let plan = agent.run("Plan.").typed::<Plan>().await.unwrap();
        assert_eq!((plan.value.days, booked.load(Ordering::SeqCst)), (1, 1));
        assert_eq!(model.asked().called("final_answer").len(), 1);
        assert_eq!(model.asked().requests().count(), 2);
    }
}

#[tokio::test]
async fn a_test_model_calls_the_tools_that_it_may_call() {
    let tools =
        ["one", "two"].map(|name| ToolDefinition::new(name, "Says a number.", json!({"type": "object"})));
    let request = ChatRequest::new([Message::user("Count.").shared()])
        .with_tools(ToolSet::new(tools).unwrap())
        .with_allowed_tools(["two"]);
    let reply = ModelHandle::new(TestModel::new()).complete(request).await.unwrap();
    let called: Vec<&str> = reply.message.tool_calls().map(|call| call.name.as_str()).collect();
    assert_eq!(called, ["two"]);
}

#[tokio::test]
async fn a_test_model_answers_in_the_form_that_is_asked_for() {
    let schema = json!({"type": "object", "required": ["total"], "properties": {"total": {"type": "number", "minimum": 2}}});
    let format = ResponseFormat::JsonSchema { name: "sum".to_owned(), schema: schema.into(), strict: true };
    let request = ChatRequest::new([Message::user("Sum up.").shared()])
        .with_settings(ModelSettings::new().with_response_format(format));
    let reply = ModelHandle::new(TestModel::new()).complete(request).await.unwrap();
    assert_eq!(reply.message.text(), r#"{"total":2}"#);
}

#[tokio::test]
async fn arguments_that_cannot_be_made_are_given() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Iban {
        #[schemars(regex(pattern = "^DE[0-9]{20}$"))]
        iban: String,
    }
    let pay = || tool_fn("pay", "Pays.", |to: Iban| Ok(to.iban));
    let iban = "DE02120300000000202051";
    let model = TestModel::new().with_arguments("pay", json!({ "iban": iban })).answering("paid");
    let agent = Agent::builder(model.clone()).tool(pay()).build().unwrap();
    assert_eq!(agent.run("Pay.").outcome().await.unwrap().text, "paid");
    assert_eq!(model.asked().called("pay"), [json!({ "iban": iban })]);

    let agent = Agent::builder(TestModel::new()).tool(pay()).build().unwrap();
    let panic = tokio::spawn(agent.run("Pay.").outcome()).await.unwrap_err().into_panic();
    let told = panic.downcast_ref::<String>().unwrap();
    assert!(told.contains("`pay`") && told.contains(".with_arguments(\"pay\""), "{told}");
}

#[tokio::test]
async fn a_transcript_tells_of_failures_and_changes() {
    let model = ScriptedModel::new([
        Turn::text("First.\n\nIn two parts.").and_thinking("hm"),
        Turn::text("cut").then_error(ErrorKind::Overloaded),
    ]);
    let handle = ModelHandle::new(model.clone());
    for question in ["One?", "Two?"] {
        _ = handle.complete(ChatRequest::new([Message::user(question).shared()])).await;
    }
    insta::assert_snapshot!(model.asked().transcript(), @r"
    user: One?
    assistant:
      First.

      In two parts.
    assistant (thinks): hm
    --- another conversation:
    user: Two?
    the model failed: the script says so
    ");
}

#[test]
fn fixed_ids_end_with_the_last_guard_whatever_the_order() {
    let id = || Document::inline("x").id().as_str().to_owned();
    let first = Fixed::new();
    assert!(id().starts_with("00000001-"));
    // As by assignment: the new one is made before the old one is dropped.
    let second = Fixed::new();
    drop(first);
    assert!(id().starts_with("00000001-") && id().starts_with("00000002-"));
    let third = Fixed::new();
    drop(second);
    assert!(id().starts_with("00000001-"));
    drop(third);
    assert!(!id().starts_with("0000000"));
}

#[test]
fn a_model_of_a_family_that_is_not_there_is_a_mistake() {
    let wrong = || ScriptedModel::new([]).unverified().with_capabilities_of("openai", "gpt-5");
    let panic = catch_unwind(wrong).unwrap_err();
    let told = panic.downcast_ref::<String>().unwrap();
    assert!(told.contains("no family \"openai\"; it has ") && told.contains("openai-responses"), "{told}");
}
