//! Two nodes over one PostgreSQL.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Watch, ask, start};
use crate::node::Order;
use crate::postgres::Server;
use crate::process::Node;
use crate::script::{call, text};

const LEASE: Duration = Duration::from_secs(2);

fn effects(order: &Order) -> Vec<(String, u32)> {
    let lines = std::fs::read_to_string(&order.effects).unwrap_or_default();
    let pair = |line: &str| {
        let (call, process) = line.split_once(' ').unwrap();
        (call.to_owned(), process.parse().unwrap())
    };
    lines.lines().map(pair).collect()
}

// A66, A56, C38: whichever node a client reaches, it sees the run, and what it decides, answers and ends reaches whoever
// drives it.
#[test]
fn a_run_of_one_node_is_watched_approved_answered_and_ended_through_the_other() {
    let database = Server::shared().database();
    let folder = tempfile::tempdir().unwrap();
    let order = Order { store: database.url, lease: LEASE, effects: folder.path().join("effects") };
    let (one, other) = (Node::start(&order), Node::start(&order));
    let tools =
        json!([{"name": "where", "description": "Where the user is.", "parameters": {"type": "object"}}]);
    let body = json!({"message": "r1: look transfer where", "frontendTools": tools});
    let run = start(one.address, "s1", &body).unwrap();

    let mut watch = Watch::new(&run);
    assert!(watch.look(other.address, |watch| !watch.approvals.is_empty()).unwrap());
    assert_eq!(
        watch.texts[&0],
        text("r1", 0),
        "the first step was told, as the node that drives it tells it"
    );
    assert!(watch.calls[&call("r1", 0)].is_finished);
    let (_, waiting) = ask(other.address, "GET", "/v1/approvals", "").unwrap();
    assert_eq!(waiting["approvals"][0]["approval"]["callId"], call("r1", 1).as_str());
    let approval = watch.approvals[0].clone();
    let decision = json!({"decision": "approve"}).to_string();
    let (status, told) = ask(other.address, "POST", &format!("/v1/approvals/{approval}"), &decision).unwrap();
    assert_eq!(status, 200, "{told}");
    // The client lost its connection, and goes on behind the last event that it saw, through the same node.
    let is_asked =
        |watch: &Watch| watch.calls.get(&call("r1", 2)).is_some_and(|call| call.state == "frontend");
    assert!(watch.look(other.address, is_asked).unwrap());
    assert!(!watch.kinds.iter().skip(1).any(|kind| kind == "snapshot"), "{:?}", watch.kinds);
    // The node that began the run does the work.
    assert_eq!(effects(&order), [(call("r1", 1), one.id())]);
    let answer = json!({"sessionId": "s1", "callId": call("r1", 2), "result": "Rome"}).to_string();
    let (status, told) = ask(other.address, "POST", "/v1/chat/tool-result", &answer).unwrap();
    assert_eq!(status, 200, "{told}");
    // The same answer may be sent again before anybody takes it.
    let (status, _) =
        ask(other.address, "POST", "/v1/chat/tool-result", &answer.replace("Rome", "Paris")).unwrap();
    assert_eq!(status, 409, "a call is answered once");
    assert!(watch.look(other.address, |watch| watch.end.is_some()).unwrap());
    let whole: String = (0..4).map(|step| text("r1", step)).collect();
    assert_eq!(watch.text(), whole);
    assert_eq!(watch.end.unwrap()["text"], text("r1", 3).as_str());
    assert!(watch.calls.values().all(|call| call.is_finished), "{:?}", watch.calls);
    // Whoever looks on where the run is driven has seen the same.
    let (_, told) = ask(one.address, "GET", &format!("/v1/runs/{run}"), "").unwrap();
    let blocks = told["snapshot"]["blocks"].as_array().unwrap().iter();
    let said: String = blocks.filter_map(|block| block["text"].as_str()).collect();
    assert_eq!(said, whole);

    // Something said through the other node reaches the model with the next step.
    let body = json!({"message": "r3: transfer look"});
    let run = start(one.address, "s3", &body).unwrap();
    let mut watch = Watch::new(&run);
    assert!(watch.look(other.address, |watch| !watch.approvals.is_empty()).unwrap());
    let said = json!({"message": "by the way"}).to_string();
    let path = format!("/v1/runs/{run}/messages");
    for _ in 0..2 {
        let (status, told) = ask(other.address, "POST", &path, &said).unwrap();
        assert_eq!(status, 202, "{told}");
    }
    let late = json!({"message": "stop", "when": "interrupt"}).to_string();
    assert_eq!(ask(other.address, "POST", &path, &late).unwrap().0, 409);
    let decide = format!("/v1/approvals/{}", watch.approvals[0]);
    assert_eq!(ask(other.address, "POST", &decide, &decision).unwrap().0, 200);
    assert!(watch.look(other.address, |watch| watch.end.is_some()).unwrap());
    let (_, told) = ask(one.address, "GET", "/v1/sessions/s3", "").unwrap();
    let messages = told["messages"].to_string();
    assert_eq!(messages.matches("by the way").count(), 2, "{messages}");
    assert_eq!(ask(other.address, "POST", &path, &said).unwrap().0, 409, "it has ended");
    // A response is a run, too.
    let asked = json!({"model": "books", "background": true, "input": "r4: transfer"}).to_string();
    let (status, told) = ask(one.address, "POST", "/v1/responses", &asked).unwrap();
    assert_eq!(status, 200, "{told}");
    let id = told["id"].as_str().unwrap();
    let mut asks = Watch::new(id.strip_prefix("resp_").unwrap());
    assert!(asks.look(one.address, |watch| !watch.approvals.is_empty()).unwrap());
    let (status, told) = ask(other.address, "POST", &format!("/v1/responses/{id}/cancel"), "").unwrap();
    assert_eq!((status, &told["status"]), (200, &Value::from("cancelled")), "{told}");

    // Ended through the other node, within about a second.
    let run = start(one.address, "s2", &json!({"message": "r2: transfer"})).unwrap();
    let mut near = Watch::new(&run);
    assert!(near.look(one.address, |watch| !watch.approvals.is_empty()).unwrap());
    let since = Instant::now();
    let (status, told) = ask(other.address, "POST", &format!("/v1/runs/{run}/cancel"), "").unwrap();
    assert_eq!((status, &told["cancelled"]), (200, &Value::from(true)));
    let (_, told) = ask(other.address, "POST", &format!("/v1/runs/{run}/cancel"), "").unwrap();
    assert_eq!(told["cancelled"], false, "somebody asked for it already");
    assert!(near.look(one.address, |watch| watch.end.is_some()).unwrap());
    assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
    assert_eq!(near.end.unwrap()["reason"], "cancelled");
    let (_, told) = ask(other.address, "POST", &format!("/v1/runs/{run}/cancel"), "").unwrap();
    assert_eq!(told["cancelled"], false, "it has ended");
    // Another principal's runs are not found.
    assert_eq!(ask(other.address, "POST", "/v1/runs/s9.nothing/cancel", "").unwrap().0, 404);
    assert_eq!(effects(&order).len(), 2, "the transfer of a run that was ended is not made");
}

#[test]
fn runs_of_a_killed_node_go_on_at_the_other_within_the_time_of_the_lease() {
    let database = Server::shared().database();
    let folder = tempfile::tempdir().unwrap();
    let order = Order { store: database.url, lease: LEASE, effects: folder.path().join("effects") };
    let (one, other) = (Node::start(&order), Node::start(&order));
    let plan = "pay look pay look look pay look";
    let runs: Vec<_> = (0..4)
        .map(|at| {
            let body = json!({"message": format!("r{at}: {plan}")});
            start(one.address, &format!("s{at}"), &body).unwrap()
        })
        .collect();
    // One that waits for somebody, and is driven by nobody once its node is gone.
    let waiting = start(one.address, "s9", &json!({"message": "r9: transfer"})).unwrap();
    let mut asked = Watch::new(&waiting);
    assert!(asked.look(other.address, |watch| !watch.approvals.is_empty()).unwrap());
    let mut watches: Vec<_> = runs.iter().map(|run| Watch::new(run)).collect();
    assert!(watches[0].look(one.address, |watch| watch.kinds.len() > 30).unwrap());
    let killed = one.id();
    one.kill();
    let since = Instant::now();
    // Clients come back to the node that is left.
    for (at, watch) in watches.iter_mut().enumerate() {
        watch.follow(|| other.address, |watch| watch.end.is_some());
        let steps = plan.split(' ').count();
        let whole: String = (0..=steps).map(|step| text(&format!("r{at}"), step)).collect();
        assert_eq!(watch.text(), whole, "{:?}", watch.kinds);
        assert_eq!(watch.end.as_ref().unwrap()["text"], text(&format!("r{at}"), steps).as_str());
        assert_eq!(watch.calls.len(), steps);
        assert!(watch.calls.values().all(|call| call.is_finished), "{:?}", watch.calls);
    }
    println!("taken over and ended {:?} after the kill", since.elapsed());
    let effects = effects(&order);
    let mut calls: Vec<_> = effects.iter().map(|(call, _)| call).collect();
    calls.sort_unstable();
    let count = calls.len();
    calls.dedup();
    assert_eq!(calls.len(), count, "no effect is repeated: {effects:?}");
    assert!(effects.iter().any(|(_, process)| *process != killed), "the other node did some of it");
    assert!(effects.iter().any(|(_, process)| *process == killed), "and the first one some");

    // The approval is decided where nobody drove the run before.
    let decision = json!({"decision": "approve"}).to_string();
    let path = format!("/v1/approvals/{}", asked.approvals[0]);
    assert_eq!(ask(other.address, "POST", &path, &decision).unwrap().0, 200);
    asked.follow(|| other.address, |watch| watch.end.is_some());
    assert_eq!(asked.text(), text("r9", 0) + &text("r9", 1));
}

// A node that is told to stop lets its runs go at once. Their leases would hold for a minute.
#[test]
fn runs_of_a_node_that_stops_go_on_at_the_other_at_once() {
    let database = Server::shared().database();
    let folder = tempfile::tempdir().unwrap();
    let lease = Duration::from_secs(60);
    let order = Order { store: database.url, lease, effects: folder.path().join("effects") };
    let (one, other) = (Node::start(&order), Node::start(&order));
    let plan = "pay look pay look look pay look pay";
    let run = start(one.address, "s", &json!({"message": format!("r: {plan}")})).unwrap();
    let mut watch = Watch::new(&run);
    assert!(watch.look(one.address, |watch| watch.kinds.len() > 30).unwrap());
    let stopped = one.id();
    let since = Instant::now();
    one.terminate();
    watch.follow(|| other.address, |watch| watch.end.is_some());
    assert!(since.elapsed() < lease / 2, "{:?}", since.elapsed());
    let steps = plan.split(' ').count();
    let whole: String = (0..=steps).map(|step| text("r", step)).collect();
    assert_eq!(watch.text(), whole, "{:?}", watch.kinds);
    let effects = effects(&order);
    let mut calls: Vec<_> = effects.iter().map(|(call, _)| call).collect();
    calls.sort_unstable();
    calls.dedup();
    assert_eq!(calls.len(), effects.len(), "no effect is repeated: {effects:?}");
    assert!(effects.iter().any(|(_, process)| *process == stopped), "{effects:?}");
    assert!(effects.iter().any(|(_, process)| *process != stopped), "{effects:?}");
}
