//! The outcomes of tools, as an agent changes them and as it shows them.

use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use crate::common::kit::{all, end, pdf, results, roles, told};
use crate::common::{Counter, Number, double};
use attache_agent::{Agent, Disposition, EndReason, EventKind, NoArguments, RunInput, tool_fn};
use attache_core::citation::{Citation, How, Source};
use attache_core::tool::ToolSpec;
use attache_core::{
    Arguments, Document, DocumentId, Effect, Message, Tool, ToolContext, ToolDefinition, ToolError,
    ToolErrorKind, ToolHandler,
};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

fn fails(kind: ToolErrorKind) -> impl Tool + 'static {
    tool_fn("fails", "", move |_: NoArguments| {
        Err::<(), _>(ToolError::new("no connection to db-7").with_kind(kind).with_source("canary"))
    })
    .with_effect(Effect::Read)
}

// S04: of all tools, behind what a tool does for itself
#[tokio::test]
async fn results_are_converted_for_one_tool_and_for_all() {
    let turn = Turn::call("double", json!({"n": 2})).and_call("page", "{}").and_call("nothing", "{}");
    let model = ScriptedModel::new([turn, Turn::text("done")]);
    let page = tool_fn("page", "", |_: NoArguments| Ok(pdf("a.pdf")));
    let own =
        |outcome: Result<attache_core::ToolOutput, ToolError>| outcome.map(|output| output.with_text("four"));
    let agent = Agent::builder(model)
        .tool(double(&Counter::default()).with_outcome(own))
        .tool(page)
        .tool(tool_fn("nothing", "", || Ok(())))
        .tool_outcome(|spec, outcome| {
            outcome.map(|output| {
                let text = format!("{}: {}", spec.definition.name(), output.tree.model_text());
                if spec.definition.name() == "page" {
                    output.with_text("see the page")
                } else {
                    output.with_text(&text)
                }
            })
        })
        .build()
        .unwrap();
    let outcome = agent.run("x").outcome().await.unwrap();
    let expected =
        ["double: four", "see the page", "nothing: Tool execution succeeded, but returned no result."];
    assert_eq!(told(&outcome.messages), expected);
    assert_eq!(results(&outcome.messages)[1].documents.len(), 1, "documents stay");
}

// S23: by default the model reads the text that is meant for it
#[tokio::test]
async fn a_failure_is_told_or_rewritten_or_ends_the_run() {
    let call = || [Turn::call("fails", "{}"), Turn::text("done")];
    let agent =
        Agent::builder(ScriptedModel::new(call())).tool(fails(ToolErrorKind::Unavailable)).build().unwrap();
    assert_eq!(told(&agent.run("x").outcome().await.unwrap().messages), ["no connection to db-7"]);

    let agent = Agent::builder(ScriptedModel::new(call()))
        .tool(fails(ToolErrorKind::Unavailable))
        .tool_outcome(|spec, outcome| {
            outcome.map_err(|error| {
                assert!(error.source().is_some(), "it knows the cause");
                ToolError::new(format!("{} cannot be reached", spec.definition.name()))
                    .with_kind(error.kind())
            })
        })
        .build()
        .unwrap();
    assert_eq!(told(&agent.run("x").outcome().await.unwrap().messages), ["fails cannot be reached"]);

    let throws = |kind| {
        let model = ScriptedModel::new(call()).unverified();
        Agent::builder(model).tool(fails(kind)).abort_on_tool_error(true).build().unwrap()
    };
    let error = throws(ToolErrorKind::Failed).run("x").outcome().await.unwrap_err();
    assert_eq!(error.reason(), &EndReason::ToolAbort);
    assert_eq!(told(&error.partial().messages), ["no connection to db-7"]);
    // The model is told of a failure that it can mend.
    assert!(throws(ToolErrorKind::Retry).run("x").outcome().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn timeouts_and_panics_are_rewritten_too() {
    let hangs = tool_fn("hangs", "", |_: NoArguments| async {
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        Ok::<_, ToolError>(())
    });
    let panics = tool_fn("panics", "", |_: NoArguments| -> Result<(), ToolError> { panic!("canary") });
    let turn = Turn::call("hangs", "{}").and_call("panics", "{}");
    let agent = Agent::builder(ScriptedModel::new([turn, Turn::text("done")]))
        .tool(hangs.with_effect(Effect::Read))
        .tool(panics.with_effect(Effect::Read))
        .tool_outcome(|spec, outcome| {
            let text = |error: &ToolError| format!("{} {:?}", spec.definition.name(), error.kind());
            outcome.map_err(|error| ToolError::new(text(&error)).with_kind(error.kind()))
        })
        .build()
        .unwrap();
    let outcome = agent.run("x").outcome().await.unwrap();
    assert_eq!(told(&outcome.messages), ["hangs Timeout", "panics Panicked"]);
}

// A hook with a bug fails the call, not the run.
#[tokio::test]
async fn a_hook_that_panics_is_a_failed_result() {
    let model = ScriptedModel::new([Turn::call("double", json!({"n": 2})), Turn::text("done")]);
    let agent = Agent::builder(model)
        .tool(double(&Counter::default()))
        .tool_outcome(|_, _| panic!("canary"))
        .build()
        .unwrap();
    assert_eq!(told(&agent.run("x").outcome().await.unwrap().messages), ["the tool failed unexpectedly"]);
}

// S03: on one thread for all futures; and whose call it is stays known there (spring-projects/spring-ai#2506)
#[tokio::test]
async fn a_blocking_tool_leaves_the_workers_alone() {
    let (send, receive) = std::sync::mpsc::channel::<&str>();
    let receive = std::sync::Mutex::new(receive);
    let here = std::thread::current().id();
    let waits = tool_fn("waits", "", move |context: ToolContext| {
        assert_ne!(std::thread::current().id(), here);
        let said = receive.lock().unwrap().recv_timeout(Duration::from_secs(20))?;
        Ok((said, context.principal))
    });
    let sends = tool_fn("sends", "", move |_: NoArguments| {
        assert_eq!(std::thread::current().id(), here);
        Ok(send.send("hello")?)
    });
    let turn = Turn::call("waits", "{}").and_call("sends", "{}");
    let agent = Agent::builder(ScriptedModel::new([turn, Turn::text("done")]))
        .tool(waits.with_spec(|spec| spec.with_blocking(true)))
        .tool(sends)
        .principal("ann")
        .build()
        .unwrap();
    let told = told(&agent.run("x").outcome().await.unwrap().messages);
    assert_eq!(told[0], r#"["hello","ann"]"#, "{told:?}");
}

// So does one of a family.
#[tokio::test]
async fn a_blocking_tool_of_a_family_leaves_the_workers_alone() {
    struct Family(Mutex<Receiver<&'static str>>, Sender<&'static str>, ThreadId);

    impl ToolHandler for Family {
        type Output = String;

        fn name(&self) -> &'static str {
            "family"
        }

        async fn tools(&self) -> Result<Vec<ToolSpec>, ToolError> {
            let spec =
                |name| ToolSpec::new(ToolDefinition::new(name, "", json!({}))).with_effect(Effect::Read);
            Ok(vec![spec("waits").with_blocking(true), spec("sends")])
        }

        async fn call(&self, tool: &str, _: &Arguments, context: ToolContext) -> Result<String, ToolError> {
            let is_here = std::thread::current().id() == self.2;
            if tool == "waits" {
                let said = self.0.lock().unwrap().recv_timeout(Duration::from_secs(20))?;
                return Ok(format!("{said} {} {is_here}", context.principal.unwrap_or_default()));
            }
            self.1.send("hello")?;
            Ok(is_here.to_string())
        }
    }

    let (send, receive) = std::sync::mpsc::channel();
    let family = Family(Mutex::new(receive), send, std::thread::current().id());
    let turn = Turn::call("waits", "{}").and_call("sends", "{}");
    let agent = Agent::builder(ScriptedModel::new([turn, Turn::text("done")])).handler(family);
    let outcome = agent.principal("ann").build().unwrap().run("x").outcome().await.unwrap();
    assert_eq!(told(&outcome.messages), ["hello ann false", "true"]);
}

// R20, R21: a failed call leaves its siblings alone, and says whose result it is
#[tokio::test]
async fn a_failed_result_has_its_call_its_name_and_a_text() {
    let blank =
        tool_fn("blank", "", |_: NoArguments| Err::<(), _>(ToolError::new(" "))).with_effect(Effect::Read);
    let turn = Turn::call("blank", "{}").and_call("double", json!({"n": 2})).and_call("fails", "{}");
    let agent = Agent::builder(ScriptedModel::new([turn, Turn::text("done")]))
        .tool(blank)
        .tool(double(&Counter::default()))
        .tool(fails(ToolErrorKind::Failed))
        .build()
        .unwrap();
    let outcome = agent.run("x").outcome().await.unwrap();
    let results = results(&outcome.messages);
    let expected = [
        ("blank", true, "the tool failed"),
        ("double", false, "4"),
        ("fails", true, "no connection to db-7"),
    ];
    for ((result, call), (name, is_error, text)) in results.iter().zip(&outcome.calls).zip(expected) {
        assert_eq!((result.tool_name.as_deref(), result.is_error()), (Some(name), is_error));
        assert_eq!((&result.call_id, &*result.tree.model_text()), (&call.id, text));
    }
    assert_eq!(results.len(), 3);
}

// A76: people see that a tool was called and if it worked; the model reads all
#[tokio::test]
async fn events_without_details_show_success_or_failure_alone() {
    let secret = tool_fn("secret", "", |Number { n }: Number| Ok((n, Document::inline("canary"))));
    let turn = Turn::call("secret", json!({"n": 47110815})).and_call("fails", json!({"note": "canary"}));
    let source = Source::Document { id: DocumentId::new(), name: Some("canary.txt".to_owned()) };
    let cited = Citation::new(source, How::Native).with_quote(Some("canary"));
    let model = ScriptedModel::new([turn, Turn::text("All is well.").citing(cited)]);
    let builder = Agent::builder(model.clone()).tool(secret).tool(fails(ToolErrorKind::Failed));
    let whole = all(&mut builder.citations(true).build().unwrap().run("x")).await;
    assert!(whole.iter().any(|event| matches!(event.kind, EventKind::Source(_))));
    assert!(format!("{whole:?}").contains("47110815") && format!("{whole:?}").contains("db-7"));
    let shown: Vec<_> = whole.into_iter().map(attache_agent::Event::without_tool_details).collect();
    let text = format!("{shown:?}");
    assert!(!text.contains("47110815") && !text.contains("canary") && !text.contains("db-7"), "{text}");
    let results = shown.iter().filter_map(|event| match &event.kind {
        EventKind::ToolFinished { result, disposition } => {
            assert_eq!(*disposition, Disposition::Executed);
            Some((result.tool_name.clone().unwrap(), result.tree.model_text().into_owned()))
        }
        _ => None,
    });
    let results: Vec<_> = results.collect();
    assert!(results.contains(&("secret".to_owned(), "success".to_owned())), "{results:?}");
    assert!(results.contains(&("fails".to_owned(), "failure".to_owned())));
    let outcome = end(&shown);
    assert_eq!((outcome.text.as_str(), outcome.calls.len()), ("All is well.", 2));
    let Message::ToolResults(read) = &*model.requests()[1].messages[2] else { panic!() };
    assert!(read.results[0].tree.json().contains("47110815"), "the model reads the details");
}

// A76: an agent inside is a tool, and what it says is the result.
#[tokio::test]
async fn events_without_details_say_nothing_of_agents_inside() {
    let safe = tool_fn("safe", "", |Number { n }: Number| Ok((n, Document::inline("canary"))));
    let inside =
        [Turn::text("canary").and_call("safe", json!({"n": 47110815})), Turn::text("The answer is canary.")];
    let clerk = Agent::builder(ScriptedModel::new(inside)).tool(safe).build().unwrap();
    let model =
        ScriptedModel::new([Turn::call("clerk", json!({"task": "canary"})), Turn::text("All is well.")]);
    let agent = Agent::builder(model).tool(clerk.as_tool("clerk", "Opens safes")).build().unwrap();
    let whole = all(&mut agent.run("x")).await;
    let is_inside = |event: &&attache_agent::Event| matches!(event.kind, EventKind::Nested { .. });
    assert!(whole.iter().filter(is_inside).any(|event| format!("{event:?}").contains("47110815")));
    let shown: Vec<_> = whole.into_iter().map(attache_agent::Event::without_tool_details).collect();
    let text = format!("{shown:?}");
    assert!(!text.contains("47110815") && !text.contains("canary"), "{text}");
    assert_eq!(end(&shown).text, "All is well.");
}

// S06: with the history that a later run goes on from, however the reply came
#[tokio::test]
async fn a_direct_answer_ends_a_run_that_streams_or_not() {
    for streaming in [true, false] {
        let direct = tool_fn("direct", "", || Ok("42")).with_spec(|spec| spec.with_return_direct(true));
        let model = ScriptedModel::new([Turn::call("direct", "{}"), Turn::text("again")]);
        let agent = Agent::builder(model.clone()).tool(direct).streaming(streaming).build().unwrap();
        let outcome = agent.run("go").outcome().await.unwrap();
        assert_eq!((&outcome.reason, &*outcome.text), (&EndReason::ReturnDirect, "42"));
        assert_eq!((roles(&outcome.messages).as_str(), model.requests().len()), ("ucra", 1));
        let next = agent.run(RunInput::from("more").with_history(outcome.messages));
        assert_eq!(roles(&next.outcome().await.unwrap().messages), "ucraua");
    }
}

// As in a session.
#[tokio::test]
async fn the_instructions_of_now_hold_and_not_those_of_a_history() {
    let answers = || ScriptedModel::new([Turn::text("one")]).unverified();
    let agent = |system: &str| Agent::builder(answers()).system(system).build().unwrap();
    let first = agent("Today is Monday.").run("When?").outcome().await.unwrap().messages;
    let next = || RunInput::from("And now?").with_history(first.clone());
    let systems = |messages: &[Arc<Message>]| {
        let text = |message: &Arc<Message>| match &**message {
            Message::System(system) => Some(system.parts[0].text().to_owned()),
            _ => None,
        };
        messages.iter().filter_map(text).collect::<Vec<_>>()
    };
    let later = agent("Today is Tuesday.").run(next()).outcome().await.unwrap().messages;
    assert_eq!(systems(&later), ["Today is Tuesday."]);
    assert_eq!(roles(&later), "suaua");
    let same = agent("Today is Monday.").run(next()).outcome().await.unwrap().messages;
    assert_eq!(same[..3], first[..], "what did not change stays as it was");
    let long = agent(&"Today is Tuesday. ".repeat(100)).count_tokens(next()).await.unwrap().tokens;
    assert!(long > 100, "they are counted: {long}");
    // An agent without any leaves what the history brings.
    let none = Agent::builder(answers()).build().unwrap().run(next()).outcome().await.unwrap().messages;
    assert_eq!(systems(&none), ["Today is Monday."]);
}
