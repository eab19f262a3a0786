//! The text of a run as a stream.

use crate::common::{Counter, double};
use attache_agent::{Agent, EndReason, NoArguments, tool_fn};
use attache_core::{ErrorKind, ToolError};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

#[tokio::test]
async fn the_text_of_a_run_streams_with_its_end() {
    async fn said(run: attache_agent::AgentRun) -> (Vec<String>, Option<EndReason>) {
        let mut stream = run.text_stream();
        let (mut pieces, mut failed) = (Vec::new(), None);
        while let Some(piece) = futures_util::StreamExt::next(&mut stream).await {
            match piece {
                Ok(piece) => pieces.push(piece),
                Err(error) => failed = Some(error.reason().clone()),
            }
        }
        (pieces, failed)
    }
    let calls = Turn::call("double", json!({"n": 1})).and_text("I look it up. ");
    let agent = |turns: Vec<Turn>| {
        Agent::builder(ScriptedModel::new(turns).unverified())
            .tool(double(&Counter::default()))
            .build()
            .unwrap()
    };
    let (pieces, failed) = said(agent(vec![calls.clone(), Turn::text("It is 2.")]).run("go")).await;
    assert_eq!((pieces.concat().as_str(), failed), ("I look it up. It is 2.", None));
    let broken = vec![calls, Turn::empty().then_error(ErrorKind::Authentication)];
    let (pieces, failed) = said(agent(broken).run("go")).await;
    assert_eq!(pieces.concat(), "I look it up. ");
    assert!(matches!(failed, Some(EndReason::ProviderError(_))), "{failed:?}");
    // An output that is the answer is said once, by no model.
    for (words, told) in [("", "42"), ("I look it up. ", "I look it up. 42")] {
        let direct = tool_fn("direct", "", |_: NoArguments| async { Ok::<_, ToolError>("42") })
            .with_spec(|spec| spec.with_return_direct(true));
        let model = ScriptedModel::new([Turn::call("direct", "{}").and_text(words)]);
        let run = Agent::builder(model).tool(direct).build().unwrap().run("go");
        assert_eq!(said(run).await.0.concat(), told);
    }
    // Words beside a call after which nothing is said are no answer that comes behind them.
    let waits = tool_fn("pay", "", || Ok("paid")).with_approval(attache_core::Approval::Always);
    let model = ScriptedModel::new([Turn::call("pay", "{}").and_text("I pay. ")]);
    let (pieces, _) = said(Agent::builder(model).tool(waits).build().unwrap().run("go")).await;
    assert_eq!(pieces.concat(), "I pay. ");
    // A caller that has read the end among the events is told so.
    let mut run = agent(vec![Turn::text("done")]).run("go");
    while run.next().await.is_some() {}
    let error = run.outcome().await.unwrap_err();
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "its end was read already");
}
