//! Messages, tasks, lists, errors, versions and cards of version 1.0.

use attache::a2a::A2aSigner;
use attache::transport::RequestParts;
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use serde_json::{Value, json};

use crate::kit::{
    CONTENT_TYPE, Client, Held, NO_PUSH, NOT_CANCELABLE, NOT_FOUND, Ours, PARAMS, UNSUPPORTED, VERSION, Way,
    answered, saying, saying_at_once, saying_to,
};
use crate::shapes;

/// The task that comes of a message.
pub(crate) async fn sent(client: &Client<'_>, held: &mut Held, params: Value) -> Value {
    let result = client.done(held, "SendMessage", params).await;
    assert_eq!(result.as_object().unwrap().len(), 1, "a task or a message: {result}");
    shapes::task(held, &result["task"]);
    held.answers.push(("SendMessageResponse", result.clone()));
    result["task"].clone()
}

pub(crate) async fn cases(way: Way, held: &mut Held) {
    let ours = Ours::plain().await;
    let client = ours.as_(way);
    messages(&client, held).await;
    conversations(&client, held).await;
    tasks(&client, held).await;
    histories(&client, held).await;
    capabilities(&client, held).await;
    versions(&client, held).await;
    callers(&client, held).await;
    let ours = Ours::plain().await;
    lists(&ours.as_(way), held).await;
}

async fn messages(client: &Client<'_>, held: &mut Held) {
    let task = sent(client, held, saying("hello")).await;
    held.case("CORE-SEND-001");
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    client.refused(held, "SendMessage", saying_to(&task, "more"), &UNSUPPORTED).await;
    held.case("CORE-SEND-002");
    for part in [
        json!({"raw": "dGNr", "mediaType": "application/x-unsupported-tck-type"}),
        json!({"url": "https://example.com/a.bin", "mediaType": "application/x-unsupported-tck-type"}),
    ] {
        let mut params = saying("hello");
        params["message"]["parts"] = json!([{"text": "hello"}, part]);
        client.refused(held, "SendMessage", params, &CONTENT_TYPE).await;
    }
    held.case("CORE-SEND-003");
    // Types that the card names are taken, any text is, and bytes of which nothing is said.
    for part in [
        json!({"raw": "JVBERi0xLjc=", "mediaType": "application/pdf", "filename": "a.pdf"}),
        json!({"raw": "YTogMQ==", "mediaType": "application/yaml; charset=utf-8"}),
        json!({"raw": "YTogMQ=="}),
        json!({"raw": "YTogMQ==", "mediaType": "application/octet-stream"}),
        json!({"data": {"rent": 900}}),
    ] {
        let mut params = saying("hello");
        params["message"]["parts"] = json!([part]);
        sent(client, held, params).await;
    }
    // Files come back as one part each.
    let task = sent(client, held, saying("file")).await;
    let parts = task["artifacts"][0]["parts"].as_array().unwrap();
    assert_eq!(parts.last().unwrap()["mediaType"], "application/pdf", "{task}");
    // Waiting is for the end or a question.
    let asking = sent(client, held, saying("ask")).await;
    assert_eq!(asking["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    let mut params = saying_to(&asking, "Berlin");
    params["configuration"] = json!({"returnImmediately": false});
    let over = sent(client, held, params).await;
    assert_eq!((&over["status"]["state"], &over["id"]), (&json!("TASK_STATE_COMPLETED"), &asking["id"]));
    held.case("CORE-EXECUTION-MODE-001");
    let working = sent(client, held, saying_at_once("wait")).await;
    assert_eq!(working["status"]["state"], "TASK_STATE_WORKING");
    held.case("CORE-EXECUTION-MODE-002");
    // Members that nobody knows are nobody's concern.
    let mut params = saying("hello");
    params["unknownField"] = json!(1);
    params["message"]["unknownField"] = json!({"a": 1});
    sent(client, held, params).await;
    held.case("DM-SERIAL-005");
    for params in [
        json!({}),
        json!({"message": "hello"}),
        json!({"message": {"role": "ROLE_USER", "parts": [{"text": "x"}]}}),
        json!({"message": {"messageId": "m", "parts": [{"text": "x"}]}}),
        json!({"message": {"messageId": "m", "role": "ROLE_USER"}}),
        json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": []}}),
        json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": "x"}}),
        json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{}]}}),
    ] {
        client.refused(held, "SendMessage", params.clone(), &PARAMS).await;
        client.refused(held, "SendStreamingMessage", params, &PARAMS).await;
    }
    held.case("CORE-ERR-002");
}

async fn conversations(client: &Client<'_>, held: &mut Held) {
    let first = sent(client, held, saying("hello")).await;
    assert!(first["contextId"].as_str().is_some_and(|context| !context.is_empty()), "{first}");
    held.case("CORE-MULTI-001");
    held.case("CORE-MULTI-001a");
    let mut params = saying("hello");
    params["message"]["contextId"] = json!("client-context-001");
    let second = sent(client, held, params).await;
    assert_eq!(second["contextId"], "client-context-001");
    held.case("CORE-MULTI-002");
    let mut params = saying("hello");
    params["message"]["contextId"] = json!("a\u{0}b");
    client.refused(held, "SendMessage", params, &PARAMS).await;
    held.case("CORE-MULTI-002a");
    assert_ne!(first["id"], second["id"]);
    held.case("CORE-MULTI-003");
    let nobody = json!({"id": "tck-nonexistent-multi-004"});
    client.refused(held, "SendMessage", saying_to(&nobody, "hello"), &NOT_FOUND).await;
    held.case("CORE-MULTI-004");
    let asking = sent(client, held, saying("ask")).await;
    let mut mismatched = saying_to(&asking, "Berlin");
    mismatched["message"]["contextId"] = json!("another-context");
    client.refused(held, "SendMessage", mismatched, &PARAMS).await;
    held.case("CORE-MULTI-006");
    let over = sent(client, held, saying_to(&asking, "Berlin")).await;
    assert_eq!(over["contextId"], asking["contextId"]);
    held.case("CORE-MULTI-005");
}

async fn tasks(client: &Client<'_>, held: &mut Held) {
    let task = sent(client, held, saying("file")).await;
    let seen = client.done(held, "GetTask", json!({"id": task["id"]})).await;
    shapes::task(held, &seen);
    assert_eq!((&seen["status"], &seen["artifacts"]), (&task["status"], &task["artifacts"]));
    held.case("CORE-GET-001");
    let nobody = || json!({"id": "tck-nonexistent-get-002"});
    client.refused(held, "GetTask", nobody(), &NOT_FOUND).await;
    held.case("CORE-GET-002");
    client.refused(held, "CancelTask", json!({"id": task["id"]}), &NOT_CANCELABLE).await;
    held.case("CORE-CANCEL-002");
    client.refused(held, "CancelTask", nobody(), &NOT_FOUND).await;
    held.case("CORE-CANCEL-003");
    let working = sent(client, held, saying_at_once("wait")).await;
    let cancelled = client.done(held, "CancelTask", json!({"id": working["id"]})).await;
    shapes::task(held, &cancelled);
    assert_eq!(cancelled["status"]["state"], "TASK_STATE_CANCELED");
    client.refused(held, "CancelTask", json!({"id": working["id"]}), &NOT_CANCELABLE).await;
    client.refused(held, "SendMessage", saying_to(&working, "more"), &UNSUPPORTED).await;
    held.case("CORE-CANCEL-001");
}

async fn histories(client: &Client<'_>, held: &mut Held) {
    let asking = sent(client, held, saying("ask please")).await;
    let mut params = saying_to(&asking, "Berlin");
    params["configuration"] = json!({"historyLength": 0});
    let over = sent(client, held, params).await;
    assert!(over.get("history").is_none(), "{over}");
    held.case("CORE-HIST-003");
    let get = async |held: &mut Held, length: Value| {
        let task = client.done(held, "GetTask", json!({"id": asking["id"], "historyLength": length})).await;
        shapes::task(held, &task);
        task.get("history").map_or(Vec::new(), |history| history.as_array().unwrap().clone())
    };
    assert!(get(held, json!(0)).await.is_empty());
    held.case("CORE-HIST-001");
    assert_eq!(get(held, json!(1)).await.len(), 1);
    held.case("CORE-HIST-002");
    let all = get(held, json!(10)).await;
    held.case("CORE-HIST-004");
    let (first, last) = (&all[0], &all[all.len() - 1]);
    assert_eq!((&first["role"], &last["role"]), (&json!("ROLE_USER"), &json!("ROLE_AGENT")), "{all:?}");
    assert_eq!(get(held, json!(1)).await[0], *last, "the newest are those that stay");
    held.case("CORE-HIST-005");
    assert_eq!(
        (&first["parts"], &last["parts"]),
        (&json!([{"text": "ask please"}]), &json!([{"text": "In 2031."}]))
    );
    held.case("CORE-HIST-006");
    client.refused(held, "GetTask", json!({"id": asking["id"], "historyLength": -1}), &PARAMS).await;
}

async fn lists(client: &Client<'_>, held: &mut Held) {
    let empty = client.done(held, "ListTasks", json!({"contextId": "nothing-is-there"})).await;
    assert_eq!(empty, json!({"tasks": [], "nextPageToken": "", "pageSize": 0, "totalSize": 0}));
    let mut sent_ids = Vec::new();
    for number in 0..5 {
        let mut params = saying(if number == 4 { "ask" } else { "file" });
        params["message"]["contextId"] = json!("test-context");
        sent_ids.push(sent(client, held, params).await["id"].clone());
        // Status times have milliseconds.
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    }
    sent(client, held, saying("hello")).await;
    let list = async |held: &mut Held, params: Value| {
        let list = client.done(held, "ListTasks", params).await;
        held.answers.push(("ListTasksResponse", list.clone()));
        list["tasks"].as_array().unwrap().iter().for_each(|task| shapes::task(held, task));
        list
    };
    let ids = |list: &Value| -> Vec<Value> {
        list["tasks"].as_array().unwrap().iter().map(|task| task["id"].clone()).collect()
    };
    let newest: Vec<Value> = sent_ids.iter().rev().cloned().collect();
    let all = list(held, json!({"contextId": "test-context"})).await;
    assert_eq!(ids(&all), newest);
    held.case("CORE-LIST-003");
    assert_eq!((&all["totalSize"], &all["nextPageToken"]), (&json!(5), &json!("")));
    held.case("CORE-LIST-004");
    assert!(all["tasks"].as_array().unwrap().iter().all(|task| task.get("artifacts").is_none()), "{all}");
    let with = list(held, json!({"contextId": "test-context", "includeArtifacts": true})).await;
    assert!(with["tasks"][1].get("artifacts").is_some(), "{with}");
    held.case("CORE-LIST-005");
    let mut paged = Vec::new();
    let mut token = String::new();
    for size in [2, 2, 1] {
        let params = json!({"contextId": "test-context", "pageSize": 2, "pageToken": token});
        let page = list(held, params).await;
        assert_eq!(page["pageSize"], size);
        paged.extend(ids(&page));
        page["nextPageToken"].as_str().unwrap().clone_into(&mut token);
    }
    assert_eq!((paged, &*token), (newest, ""));
    held.case("CORE-LIST-002");
    if client.way == Way::Rest {
        held.case("HTTP_JSON-QP-001");
    }
    let asking =
        list(held, json!({"status": "TASK_STATE_INPUT_REQUIRED", "contextId": "test-context"})).await;
    assert_eq!(ids(&asking), sent_ids[4..]);
    let ben = Client { user: Some("ben"), ..*client };
    assert_eq!(ben.done(held, "ListTasks", json!({})).await["totalSize"], 0);
    held.case("CORE-LIST-001");
}

async fn capabilities(client: &Client<'_>, held: &mut Held) {
    let task = sent(client, held, saying("hello")).await;
    for (operation, params) in [
        ("CreateTaskPushNotificationConfig", json!({"taskId": task["id"], "url": "https://example.com"})),
        ("ListTaskPushNotificationConfigs", json!({"taskId": task["id"]})),
        ("GetTaskPushNotificationConfig", json!({"taskId": task["id"], "id": "x"})),
        ("DeleteTaskPushNotificationConfig", json!({"taskId": task["id"], "id": "x"})),
    ] {
        client.refused(held, operation, params, &NO_PUSH).await;
    }
    let mut params = saying("hello");
    params["configuration"] = json!({"taskPushNotificationConfig": {"url": "https://example.com"}});
    client.refused(held, "SendMessage", params, &NO_PUSH).await;
    held.case("CORE-CAP-001");
    client.refused(held, "GetExtendedAgentCard", json!({}), &UNSUPPORTED).await;
    held.case("CORE-CAP-003");
}

async fn versions(client: &Client<'_>, held: &mut Held) {
    for version in ["99.0", "2.0", "1.1", "0.2", "1", "1.0.x", "one"] {
        let client = Client { version: Some(version), ..*client };
        client.refused(held, "SendMessage", saying("hello"), &VERSION).await;
    }
    held.case("VER-SERVER-002");
    // A patch of a version is that version.
    for version in ["1.0", "1.0.7", " 1.0 "] {
        sent(&Client { version: Some(version), ..*client }, held, saying("hello")).await;
    }
    held.case("VER-CLIENT-002");
    if client.way == Way::Rpc {
        // Methods of 0.3 have its semantics, whether its version is named or none is.
        for version in [None, Some(""), Some("0.3"), Some("0.3.0")] {
            let old = Client { version, ..*client };
            let message = json!({"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hello"}]});
            let body =
                json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}});
            let answer = old.raw(&body.to_string()).await.json();
            assert_eq!(
                (&answer["result"]["kind"], &answer["result"]["status"]["state"]),
                (&json!("task"), &json!("completed"))
            );
        }
        held.case("VER-SERVER-001");
        held.case("VER-SERVER-003");
    }
}

async fn callers(client: &Client<'_>, held: &mut Held) {
    let task = sent(client, held, saying("ask")).await;
    let (ben, nobody) = (Client { user: Some("ben"), ..*client }, Client { user: None, ..*client });
    for operation in ["GetTask", "CancelTask", "SubscribeToTask"] {
        let (there, not_there) = (json!({"id": task["id"]}), json!({"id": "tck-nonexistent"}));
        let answer = nobody.answer(operation, there.clone()).await;
        assert_eq!(answer.status, 401, "{operation}");
        assert!(answer.headers.contains_key("www-authenticate"));
        // A task of somebody else and one that is not there are one to whoever asks.
        let (theirs, none) = (ben.answer(operation, there).await, ben.answer(operation, not_there).await);
        assert_eq!((theirs.status, &theirs.text), (none.status, &none.text), "{operation}");
        ben.is_refused(held, &theirs, &NOT_FOUND);
    }
    ben.refused(held, "SendMessage", saying_to(&task, "Berlin"), &NOT_FOUND).await;
    let answers =
        [nobody.answer("SendMessage", saying("x")).await, nobody.answer("ListTasks", json!({})).await];
    assert!(answers.iter().all(|answer| answer.status == 401));
    for case in ["AUTH-SERVER-002", "AUTH-SCOPE-001", "AUTH-SCOPE-002", "AUTH-SCOPE-003"] {
        held.case(case);
    }
}

/// Both ways are the same agent.
pub(crate) async fn alike(held: &mut Held) {
    let ours = Ours::plain().await;
    let (rpc, rest) = (ours.as_(Way::Rpc), ours.as_(Way::Rest));
    let task = sent(&rpc, held, saying("file")).await;
    let by = json!({"id": task["id"]});
    assert_eq!(rpc.done(held, "GetTask", by.clone()).await, rest.done(held, "GetTask", by.clone()).await);
    let lists = (rpc.done(held, "ListTasks", json!({})).await, rest.done(held, "ListTasks", json!({})).await);
    assert_eq!(lists.0, lists.1);
    // The operations themselves are those of `cases`, each in both ways.
    held.case("BIND-EQUIV-001");
    held.case("BIND-EQUIV-002");
    let errors = (rpc.answer("CancelTask", by.clone()).await, rest.answer("CancelTask", by).await);
    assert_eq!(errors.0.json()["error"]["data"], errors.1.json()["error"]["details"]);
    assert_eq!(errors.0.json()["error"]["message"], errors.1.json()["error"]["message"]);
    held.case("BIND-EQUIV-003");
    let nobody = |way| Client { user: None, ..ours.as_(way) };
    let refused = (nobody(Way::Rpc), nobody(Way::Rest));
    let refused =
        (refused.0.answer("ListTasks", json!({})).await, refused.1.answer("ListTasks", json!({})).await);
    assert_eq!((refused.0.status, &refused.0.text), (refused.1.status, &refused.1.text));
    held.case("BIND-EQUIV-004");
}

/// A private key for tests, as PKCS #8.
const PEM: &str = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgwKeVCBq+Q5w6Y2gF\nk8omzkQuy6BnEqozK+jzMl2BG5ihRANCAARMv0/QgxthZiW3699zWrBS1mQZPPS6\noQvhIC4e6YrSzHazEeLBh4fo3tFuWl1ig2tHk7SAsTOzxcfvgUf1wVUS\n-----END PRIVATE KEY-----\n";

pub(crate) async fn card(held: &mut Held) {
    let signer = A2aSigner::pem(&PEM.into(), "k").unwrap();
    let ours =
        Ours::serve(|profile| profile.for_0_3(false).bearer("JWT"), |server| server.signer(signer)).await;
    let address = format!("{}/.well-known/agent-card.json", ours.url);
    let answer = answered(&RequestParts::get(address.clone())).await;
    let card = answer.json();
    assert_eq!((answer.status, answer.kind()), (200, "application/json"));
    held.case("CARD-DISC-001");
    let cached = answer.headers["cache-control"].to_str().unwrap();
    assert!(cached.contains("max-age="), "{cached}");
    held.case("CARD-CACHE-001");
    let tag = answer.headers["etag"].to_str().unwrap().to_owned();
    let again = RequestParts::get(address).with_header(http::header::IF_NONE_MATCH, tag);
    assert_eq!(answered(&again).await.status, 304);
    held.case("CARD-CACHE-002");
    for member in ["name", "description", "version"] {
        assert!(card[member].as_str().is_some_and(|text| !text.is_empty()), "{member}");
    }
    for member in ["supportedInterfaces", "defaultInputModes", "defaultOutputModes", "skills"] {
        assert!(card[member].as_array().is_some_and(|list| !list.is_empty()), "{member}");
    }
    for skill in card["skills"].as_array().unwrap() {
        assert!(
            ["id", "name", "description", "tags"].iter().all(|member| !skill[*member].is_null()),
            "{skill}"
        );
    }
    assert!(card["capabilities"].is_object());
    held.case("CARD-STRUCT-001");
    let mut known = Vec::new();
    for interface in card["supportedInterfaces"].as_array().unwrap() {
        assert_eq!((&interface["url"], &interface["protocolVersion"]), (&json!(ours.url), &json!("1.0")));
        known.push(interface["protocolBinding"].as_str().unwrap());
    }
    assert_eq!(known, ["JSONRPC", "HTTP+JSON"]);
    for case in ["CARD-PROTO-001", "CARD-PROTO-002", "BIND-FIELD-001"] {
        held.case(case);
    }
    // The official SDK verifies such signatures in `tests/tests/a2a.rs`, with the text that was signed made anew.
    for signature in card["signatures"].as_array().unwrap() {
        let protected = BASE64_URL_SAFE_NO_PAD.decode(signature["protected"].as_str().unwrap());
        let protected: Value = serde_json::from_slice(&protected.unwrap()).unwrap();
        assert!(protected["alg"].is_string() && protected["kid"].is_string(), "{protected}");
    }
    for case in ["CARD-SIGN-001", "CARD-SIGN-002", "CARD-SIGN-003"] {
        held.case(case);
    }
    held.answers.push(("AgentCard", card));
}
