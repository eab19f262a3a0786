//! Answers that are values of a type.

use std::sync::Arc;

use attache_agent::{
    Agent, EndReason, Entry, EventKind, MemoryJournal, OutputMode, OutputSpec, Run, RunInput, TypedError,
    TypedItem,
};
use attache_core::schemars::{self, JsonSchema};
use attache_core::structured::StructuredError;
use attache_core::{ChatRequest, Effect, FinishReason, ModelSettings, Reasoning, ResponseFormat, ToolChoice};
use attache_testkit::{ScriptedModel, Turn};
use futures_util::StreamExt as _;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::common::kit::{all, counting, end, heard, holding, roles, told};
use crate::common::{Counter, double, words};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Invoice {
    /// As printed.
    number: String,
    total: f64,
}

fn invoice() -> Value {
    json!({"number": "7", "total": 12.5})
}

fn is_invoice(value: &Invoice) -> bool {
    (&*value.number, value.total) == ("7", 12.5)
}

/// A model that is held to schemas, beside tools too.
fn held(turns: impl IntoIterator<Item = Turn>) -> ScriptedModel {
    ScriptedModel::new(turns).with_capabilities_of("openai-chat", "gpt-4o")
}

/// A model without tools and forms of answers.
fn plain(turns: impl IntoIterator<Item = Turn>) -> ScriptedModel {
    ScriptedModel::new(turns).with_capabilities_of("gemini", "gemma-3-27b-it")
}

fn offers(request: &ChatRequest) -> Vec<&str> {
    request.tools.iter().map(|(_, tool)| tool.name()).collect()
}

#[tokio::test]
async fn a_typed_answer_comes_natively_beside_tools() {
    let model = held([Turn::call("double", json!({"n": 4})), Turn::text(&invoice().to_string())]);
    let agent = Agent::builder(model.clone()).tool(double(&Counter::default())).build().unwrap();
    let invoice = agent.run("go").typed::<Invoice>().await.unwrap();
    assert!(is_invoice(&invoice));
    assert_eq!((invoice.outcome.reason.clone(), invoice.outcome.steps), (EndReason::Answer, 2));
    for request in model.requests() {
        assert_eq!(offers(&request), ["double"]);
        let Some(ResponseFormat::JsonSchema { schema, strict: true, .. }) = request.settings.response_format
        else {
            panic!("{:?}", request.settings)
        };
        assert!(schema.value()["properties"]["total"].is_object());
    }
}

// openai/openai-agents-python#3709, langchain-ai/langchain#33863: a schema for the answer makes some servers call no tools.
#[tokio::test]
async fn a_model_whose_schema_suppresses_calls_is_given_an_output_tool() {
    for (family, model) in [("gemini", "gemini-2.5-flash"), ("groq", "openai/gpt-oss-120b"), ("vllm", "any")]
    {
        let turns = [Turn::call("double", json!({"n": 4})), Turn::call("final_answer", invoice())];
        let model = ScriptedModel::new(turns).with_capabilities_of(family, model);
        let agent = Agent::builder(model.clone()).tool(double(&Counter::default())).build().unwrap();
        assert!(is_invoice(&agent.run("go").typed::<Invoice>().await.unwrap()), "{family}");
        for request in model.requests() {
            assert_eq!(offers(&request), ["double", "final_answer"], "{family}");
            assert_eq!(request.settings.response_format, None, "{family}");
        }
        // Without other tools the same model is held to the schema.
        let model =
            ScriptedModel::new([Turn::text(&invoice().to_string())]).with_capabilities_of(family, "any");
        let agent = Agent::builder(model.clone()).build().unwrap();
        let spec = OutputSpec::of::<Invoice>();
        if model.asked().requests().count() == 0 && family != "groq" {
            let outcome = agent.run("go").with_output(spec).outcome().await.unwrap();
            assert_eq!(outcome.structured.as_deref(), Some(&Ok(invoice())), "{family}");
        } else {
            drop(model.unverified());
        }
    }
}

#[tokio::test]
async fn a_typed_answer_comes_through_a_tool_that_the_model_must_call() {
    let model =
        ScriptedModel::new([Turn::call("double", json!({"n": 4})), Turn::call("final_answer", invoice())]);
    let agent = Agent::builder(model.clone()).tool(double(&Counter::default())).build().unwrap();
    let mut run = agent.run("go").with_output(OutputSpec::of::<Invoice>());
    let events = all(&mut run).await;
    let outcome = end(&events);
    assert_eq!(outcome.structured.as_deref(), Some(&Ok(invoice())));
    assert_eq!((outcome.reason.clone(), outcome.text.clone()), (EndReason::Answer, invoice().to_string()));
    assert_eq!(roles(&outcome.messages), "ucrcr");
    // `required` includes the output tool, at each step: the run comes to its end by it.
    let choices: Vec<_> = model.requests().into_iter().map(|request| request.tool_choice).collect();
    assert_eq!(choices, [ToolChoice::Required, ToolChoice::Required]);
    // The output tool is no tool that runs.
    assert_eq!(
        words(&events),
        [
            "started",
            "step",
            "delta",
            "requested 1",
            "finish tool_calls",
            "tool double",
            "result 8",
            "received 1",
            "step",
            &format!("PartialValue({:?})", invoice()),
            "finish tool_calls",
            "end answer"
        ]
    );
}

#[tokio::test]
async fn a_model_with_no_other_tool_is_made_to_call_the_output_tool() {
    let model = ScriptedModel::new([Turn::call("final_answer", invoice())]);
    let agent = Agent::builder(model.clone()).build().unwrap();
    assert!(is_invoice(&agent.run("go").typed::<Invoice>().await.unwrap()));
    assert_eq!(model.requests()[0].tool_choice, ToolChoice::Tool("final_answer".to_owned()));
}

#[tokio::test]
async fn a_model_that_reasons_and_cannot_be_forced_then_is_asked_without_force() {
    for (reasoning, choice) in [
        (Reasoning::Effort(attache_core::Effort::High), ToolChoice::Auto),
        (Reasoning::Off, ToolChoice::Tool("final_answer".to_owned())),
    ] {
        let model =
            ScriptedModel::new([Turn::text("So it is 12.50."), Turn::call("final_answer", invoice())])
                .with_capabilities_of("deepseek", "deepseek-chat");
        let settings = ModelSettings::new().with_reasoning(reasoning);
        let agent = Agent::builder(model.clone()).settings(settings).build().unwrap();
        let invoice = agent.run("go").typed::<Invoice>().await.unwrap();
        assert!(is_invoice(&invoice));
        assert_eq!(heard(&invoice.outcome.messages).len(), 2, "the model is told to call the tool");
        assert_eq!(model.requests()[0].tool_choice, choice);
    }
}

#[tokio::test]
async fn a_typed_answer_is_found_in_the_text_of_a_model_that_knows_no_tools() {
    let said = format!("Here it is:\n```json\n{}\n```", invoice());
    let model = plain([Turn::text(&said)]);
    let agent = Agent::builder(model.clone()).system("You keep the books.").build().unwrap();
    let typed = agent.run("go").typed::<Invoice>().await.unwrap();
    assert!(is_invoice(&typed));
    assert_eq!(typed.outcome.text, said);
    let request = &model.requests()[0];
    assert!(request.settings.system.as_ref().unwrap().contains("\"total\""));
    assert!(request.tools.is_empty());
    // The next run of the conversation starts from the conversation alone.
    assert_eq!(roles(&typed.outcome.messages), "sua");
}

#[tokio::test]
async fn a_typed_answer_that_does_not_fit_is_mended_by_its_violations() {
    let wrong = json!({"number": "7", "total": "much"});
    for (turns, mode) in [
        ([Turn::text(&wrong.to_string()), Turn::text(&invoice().to_string())], OutputMode::Native),
        (
            [Turn::call("final_answer", wrong.clone()), Turn::call("final_answer", invoice())],
            OutputMode::Tool,
        ),
        ([Turn::text(&wrong.to_string()), Turn::text(&invoice().to_string())], OutputMode::Prompted),
    ] {
        let agent = Agent::builder(held(turns)).build().unwrap();
        let typed = agent.run("go").typed::<Invoice>().with_mode(mode).await.unwrap();
        assert!(is_invoice(&typed), "{mode:?}");
        let told = [heard(&typed.outcome.messages), told(&typed.outcome.messages)].concat().join(" ");
        assert!(told.contains("`total`") && told.contains("number"), "{mode:?}: {told}");
    }
}

#[tokio::test]
async fn a_typed_answer_is_mended_twice_and_no_more() {
    let wrong = |n: i32| json!({"number": n, "total": "much"});
    for mode in [OutputMode::Native, OutputMode::Tool, OutputMode::Prompted] {
        let turns = (0..3).map(|n| match mode {
            OutputMode::Tool => Turn::call("final_answer", wrong(n)),
            _ => Turn::text(&wrong(n).to_string()),
        });
        let agent = Agent::builder(held(turns)).build().unwrap();
        let error = agent.run("go").typed::<Invoice>().with_mode(mode).await.unwrap_err();
        assert!(
            matches!(&error, TypedError::Unfit { error: StructuredError::Unfit(_), .. }),
            "{mode:?}: {error:?}"
        );
        assert!(
            error.violations().iter().any(|violation| violation.to_string().contains("`total`")),
            "{mode:?}"
        );
        assert_eq!(
            (error.outcome().steps, &error.outcome().reason),
            (3, &EndReason::InvalidAnswer),
            "{mode:?}"
        );
        if mode != OutputMode::Tool {
            assert_eq!(error.text(), wrong(2).to_string());
        }
        assert!(!format!("{error:?}").contains("\"go\""), "no prompt in a log: {error:?}");
    }
}

#[tokio::test]
async fn retries_of_tools_and_of_answers_are_counted_apart() {
    let turns = [
        Turn::call("double", json!({"n": "x"})),
        Turn::call("double", json!({"n": "y"})),
        Turn::call("final_answer", json!({"number": "7"})),
        Turn::call("double", json!({"n": 1})),
        Turn::call("final_answer", json!({"total": 1})),
        Turn::call("final_answer", invoice()),
    ];
    let agent = Agent::builder(ScriptedModel::new(turns)).tool(double(&Counter::default())).build().unwrap();
    assert!(is_invoice(&agent.run("go").typed::<Invoice>().await.unwrap()));
}

#[tokio::test]
async fn beside_the_final_answer_tools_that_read_run_and_effects_do_not() {
    let (reads, pays) = (Counter::default(), Counter::default());
    let turn = Turn::call("pays", json!({"n": 1}))
        .and_call("final_answer", invoice())
        .and_call("reads", json!({"n": 2}))
        .and_call("final_answer", json!({"number": "8", "total": 1}));
    let agent = Agent::builder(ScriptedModel::new([turn]))
        .tool(counting("reads", Effect::Read, &reads))
        .tool(counting("pays", Effect::SideEffect, &pays))
        .build()
        .unwrap();
    let typed = agent.run("go").typed::<Invoice>().await.unwrap();
    assert!(is_invoice(&typed));
    assert_eq!((reads.get(), pays.get()), (1, 0));
    let refused = "not executed: final answer given";
    let told = told(&typed.outcome.messages);
    assert_eq!(told[0], refused);
    assert_eq!((&*told[2], &*told[3]), ("2", refused));
}

#[tokio::test]
async fn a_refusal_a_cut_and_a_filter_of_a_typed_run_are_what_they_are() {
    for (finish, reason) in [
        (FinishReason::Refusal, EndReason::Refusal),
        (FinishReason::Length, EndReason::Length),
        (FinishReason::ContentFilter, EndReason::ContentFilter),
    ] {
        let agent = Agent::builder(held([Turn::text("{\"number\": ").finishing(finish)])).build().unwrap();
        let error = agent.run("go").typed::<Invoice>().await.unwrap_err();
        let TypedError::NoAnswer(outcome) = &error else { panic!("{error:?}") };
        assert_eq!(outcome.reason, reason);
        assert_eq!(error.text(), "{\"number\": ");
    }
}

#[tokio::test]
async fn a_pause_of_a_typed_run_goes_on() {
    let turns = [Turn::text("Searching.").finishing(FinishReason::Pause), Turn::text(&invoice().to_string())];
    let agent = Agent::builder(held(turns)).build().unwrap();
    assert!(is_invoice(&agent.run("go").typed::<Invoice>().await.unwrap()));
}

#[tokio::test]
async fn a_typed_run_lands_with_its_output_tool() {
    let model =
        ScriptedModel::new([Turn::call("double", json!({"n": 4})), Turn::call("final_answer", invoice())]);
    let agent = Agent::builder(model.clone()).tool(double(&Counter::default())).max_steps(2).build().unwrap();
    let typed = agent.run("go").typed::<Invoice>().await.unwrap();
    assert!(is_invoice(&typed));
    assert_eq!(typed.outcome.reason, EndReason::MaxSteps);
    let last = &model.requests()[1];
    assert_eq!(last.tool_choice, ToolChoice::Tool("final_answer".to_owned()));
    assert!(heard(&last.messages).concat().contains("Tools are off now but for final_answer"));
}

// The same as an answer in words at the only step, which its provider's way of asking must not change.
#[tokio::test]
async fn a_value_at_the_only_step_is_an_answer() {
    let model = ScriptedModel::new([Turn::call("final_answer", invoice())]);
    let agent = Agent::builder(model).tool(double(&Counter::default())).max_steps(1).build().unwrap();
    let typed = agent.run("go").typed::<Invoice>().await.unwrap();
    assert!(is_invoice(&typed));
    assert_eq!(typed.outcome.reason, EndReason::Answer);
}

#[tokio::test]
async fn a_value_of_any_type_is_an_answer() {
    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    enum Tree {
        Leaf { n: i32 },
        Node { left: Box<Tree>, right: Box<Tree> },
    }
    let leaf = |n| json!({"kind": "leaf", "n": n});
    let tree = json!({"kind": "node", "left": leaf(1), "right": leaf(2)});
    for mode in [OutputMode::Tool, OutputMode::Prompted] {
        let said = |value: Value| match mode {
            OutputMode::Tool => Turn::call("final_answer", json!({"value": value})),
            _ => Turn::text(&value.to_string()),
        };
        let run = |value| Agent::builder(ScriptedModel::new([said(value)])).build().unwrap().run("go");
        let typed = run(tree.clone()).typed::<Tree>().with_mode(mode).await.unwrap();
        assert!(matches!(&*typed, Tree::Node { left, .. } if **left == Tree::Leaf { n: 1 }));
        let typed = run(json!(["a", "b"])).typed::<Vec<String>>().with_mode(mode).await.unwrap();
        assert_eq!(*typed, ["a", "b"]);
        let typed = run(json!(5)).typed::<u8>().with_mode(mode).await.unwrap();
        assert_eq!(*typed, 5);
        let typed = run(json!(null)).typed::<Option<bool>>().with_mode(mode).await.unwrap();
        assert_eq!(*typed, None);
    }
}

#[tokio::test]
async fn partial_values_of_a_typed_answer_stream_and_grow() {
    let long = json!({"number": "1234567890".repeat(8), "total": 1});
    for mode in [OutputMode::Native, OutputMode::Tool, OutputMode::Prompted] {
        let turn = match mode {
            OutputMode::Tool => Turn::call("final_answer", long.clone()),
            _ => Turn::text(&long.to_string()),
        };
        let agent = Agent::builder(held([turn])).build().unwrap();
        let mut stream = agent.run("go").typed::<Invoice>().with_mode(mode).stream();
        let (mut parts, mut done) = (Vec::new(), None);
        while let Some(item) = stream.next().await {
            match item.unwrap() {
                TypedItem::Partial(value) => parts.push(value),
                TypedItem::Done(typed) => done = Some(typed),
                _ => {}
            }
        }
        assert_eq!(done.unwrap().total, 1.0);
        let length = |value: &Value| value["number"].as_str().map_or(0, str::len);
        assert!(!parts.is_empty() && parts.is_sorted_by_key(length), "{mode:?}: {parts:?}");
        if mode != OutputMode::Tool {
            // The text comes in two pieces.
            assert!(parts.len() == 2 && length(&parts[0]) < 80, "{mode:?}: {parts:?}");
        }
    }
}

#[tokio::test]
async fn a_run_without_a_type_has_no_partial_values() {
    let agent = Agent::builder(held([Turn::text("{\"a\": 1}")])).build().unwrap();
    let events = all(&mut agent.run("go")).await;
    assert!(!events.iter().any(|event| matches!(event.kind, EventKind::PartialValue(_))));
    assert_eq!(end(&events).structured, None);
}

/// A request as it is sent.
fn sent(request: &ChatRequest) -> String {
    format!("{:?} {:?} {:?} {:?}", request.messages, offers(request), request.tool_choice, request.settings)
}

// Invariant 13
#[tokio::test]
async fn a_typed_run_cut_at_any_entry_asks_the_same() {
    let wrong = json!({"number": 1});
    for mode in [OutputMode::Native, OutputMode::Tool, OutputMode::Prompted] {
        let answer = |value: &Value| match mode {
            OutputMode::Tool => Turn::call("final_answer", value.clone()).and_call("double", json!({"n": 5})),
            _ => Turn::text(&value.to_string()),
        };
        // Their calls have the same ids each time.
        let said =
            [Turn::call("double", json!({"n": 4})), answer(&wrong), Turn::text("Hm."), answer(&invoice())];
        let turns = || said.clone();
        let agent = |model: &ScriptedModel| {
            Agent::builder(model.clone()).tool(double(&Counter::default())).build().unwrap()
        };
        let (journal, model) = (Arc::new(MemoryJournal::new()), held(turns()));
        let input = RunInput::from("go").with_run_id("r");
        let spec = OutputSpec::of::<Invoice>().with_mode(mode);
        let uncut = agent(&model).run_in(journal.clone(), input).with_output(spec).outcome().await.unwrap();
        assert_eq!(uncut.structured.as_deref(), Some(&Ok(invoice())), "{mode:?}");
        let requests: Vec<String> = model.requests().iter().map(sent).collect();
        let entries = journal.entries();
        for cut in 1..=entries.len() {
            let stored = serde_json::to_string(&entries[..cut]).unwrap();
            let kept: Vec<Entry> = serde_json::from_str(&stored).unwrap();
            let asked = kept.iter().filter(|entry| entry.key.as_str().starts_with("model/")).count();
            let (journal, model) = (holding(kept), held(turns().into_iter().skip(asked)));
            let resumed = agent(&model).resume(journal.clone()).typed::<Invoice>().await.unwrap();
            assert!(is_invoice(&resumed));
            let again: Vec<String> = model.requests().iter().map(sent).collect();
            assert_eq!(again, requests[asked..], "{mode:?}, cut behind {}", entries[cut - 1].key);
            assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), resumed.outcome);
        }
    }
}

#[tokio::test]
async fn a_message_behind_a_typed_answer_asks_for_it_anew() {
    let turns = [
        Turn::call("final_answer", json!({"number": "6", "total": 1})),
        Turn::call("final_answer", invoice()),
    ];
    let agent = Agent::builder(ScriptedModel::new(turns)).build().unwrap();
    let mut run = agent.run("go").with_output(OutputSpec::of::<Invoice>());
    let control = run.control();
    let mut outcome = None;
    let mut injected = false;
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::PartialValue(_) if !injected => {
                injected = true;
                control.inject(attache_core::UserMessage::text("It is number 7.")).unwrap();
            }
            kind @ EventKind::Finished(_) => outcome = kind.outcome().cloned(),
            _ => {}
        }
    }
    assert_eq!(outcome.unwrap().structured.as_deref(), Some(&Ok(invoice())));
}

#[tokio::test]
async fn the_output_of_a_tool_that_returns_directly_is_held_to_the_type() {
    let direct = attache_agent::tool_fn("direct", "", || Ok(invoice()))
        .with_spec(|spec| spec.with_return_direct(true));
    let agent = Agent::builder(held([Turn::call("direct", json!({}))])).tool(direct).build().unwrap();
    let typed = agent.run("go").typed::<Invoice>().await.unwrap();
    assert!(is_invoice(&typed));
    assert_eq!(typed.outcome.reason, EndReason::ReturnDirect);
}
