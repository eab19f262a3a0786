//! Resources, templates and prompts that a server of ours offers.

use std::time::Duration;

use attache_core::{Document, ToolError, UserMessage, UserPart};
use attache_mcp::{McpPrompt, McpResources, McpServeLimits, McpService, McpTemplate};
use serde_json::{Value, json};

use super::Client;

fn reports(resources: &McpResources) -> McpService {
    let invoices = McpTemplate::new("invoices://{year}/{number}", "Invoices", |values| async move {
        match values["number"].as_str() {
            "7" => Ok(Some(Document::new(format!("7 of {}", values["year"])).with_file_name("7.txt"))),
            "8" => Err(ToolError::new("the books are closed")),
            "9" => panic!("a bug of the program"),
            _ => Ok(None),
        }
    });
    let compare = McpPrompt::new("compare_leases", "Compares", |given| async move {
        let lease = Document::new(b"%PDF-1.7\n".as_slice()).with_file_name("lease.pdf");
        let text = UserPart::text(format!("Compare it with {}.", given["city"]));
        Ok(UserMessage::new([text, Some(UserPart::Document(lease))]))
    });
    resources.set("report://today", Document::new("Nothing yet.").with_file_name("today.txt"));
    McpService::new("reports")
        .with_resources(resources)
        .with_template(invoices.unwrap().with_values("year", ["2025", "2026"]))
        .with_prompt(compare.with_argument("city", "", true).with_values("city", ["Bergen", "Oslo"]))
}

async fn read(client: &mut Client, uri: &str) -> Value {
    client.ask("resources/read", json!({"uri": uri})).await
}

#[tokio::test]
async fn documents_at_addresses_of_a_form_are_read_when_a_client_asks() {
    let mut client = Client::new(reports(&McpResources::new()), json!({})).await;
    let listed = client.ask("resources/templates/list", json!({})).await;
    assert_eq!(listed["result"]["resourceTemplates"][0]["uriTemplate"], "invoices://{year}/{number}");
    let found = read(&mut client, "invoices://2025/7").await;
    assert_eq!(found["result"]["contents"][0]["text"], "7 of 2025");
    for (uri, told) in [
        ("invoices://2025/6", "there is no such resource"),
        ("invoices://2025/7/x", "there is no such resource"),
        ("invoices://2025/8", "the books are closed"),
        ("invoices://2025/9", "the document could not be read"),
    ] {
        let said = read(&mut client, uri).await["error"]["message"].to_string();
        assert!(said.contains(told) && !said.contains("a bug"), "{uri}: {said}");
    }
}

#[tokio::test]
async fn a_resource_that_nobody_could_read_is_not_listed() {
    let resources = McpResources::new();
    let service = reports(&resources);
    resources.set("report://elsewhere", Document::external("https://h.example/a.pdf"));
    let mut client = Client::new(service, json!({})).await;
    let listed = client.ask("resources/list", json!({})).await;
    let listed = listed["result"]["resources"].as_array().unwrap();
    assert_eq!(listed.iter().map(|one| one["uri"].as_str().unwrap()).collect::<Vec<_>>(), ["report://today"]);
}

// Invariant 9
#[tokio::test]
async fn a_function_that_does_not_end_is_given_up() {
    let never = McpTemplate::new("never://{name}", "Never", |_| std::future::pending()).unwrap();
    let prompt = McpPrompt::new("never", "Never", |_| std::future::pending());
    let limits = McpServeLimits::new().with_function(Duration::from_millis(50));
    let service = reports(&McpResources::new()).with_template(never).with_prompt(prompt).with_limits(limits);
    let mut client = Client::new(service, json!({})).await;
    let said = read(&mut client, "never://x").await;
    assert!(said["error"]["message"].as_str().unwrap().contains("in time"), "{said}");
    let said = client.ask("prompts/get", json!({"name": "never"})).await;
    assert!(said["error"]["message"].as_str().unwrap().contains("in time"), "{said}");
    // The session goes on.
    assert_eq!(read(&mut client, "invoices://2025/7").await["result"]["contents"][0]["text"], "7 of 2025");
}

#[tokio::test]
async fn a_prompt_has_its_arguments_and_documents() {
    let mut client = Client::new(reports(&McpResources::new()), json!({})).await;
    let listed = client.ask("prompts/list", json!({})).await;
    let argument = json!({"name": "city", "description": "", "required": true});
    assert_eq!(listed["result"]["prompts"][0]["arguments"], json!([argument]));
    let get = |arguments: Value| json!({"name": "compare_leases", "arguments": arguments});
    let got = client.ask("prompts/get", get(json!({"city": "Oslo"}))).await;
    let messages = &got["result"]["messages"];
    assert_eq!(
        (&messages[0]["role"], &messages[0]["content"]["text"]),
        (&json!("user"), &json!("Compare it with Oslo."))
    );
    assert_eq!(messages[1]["content"]["resource"]["mimeType"], "application/pdf");
    for (arguments, told) in
        [(json!({}), "needs the argument"), (json!({"city": "x", "y": "z"}), "no argument")]
    {
        let said = client.ask("prompts/get", get(arguments)).await;
        assert!(said["error"]["message"].as_str().unwrap().contains(told), "{said}");
    }
    let said = client.ask("prompts/get", json!({"name": "nothing"})).await;
    assert_eq!(said["error"]["code"], -32602, "{said}");
}

#[tokio::test]
async fn what_a_user_types_is_completed() {
    let mut client = Client::new(reports(&McpResources::new()), json!({})).await;
    let prompt = json!({"type": "ref/prompt", "name": "compare_leases"});
    let template = json!({"type": "ref/resource", "uri": "invoices://{year}/{number}"});
    for (of, name, typed, values) in [
        (&prompt, "city", "b", json!(["Bergen"])),
        (&prompt, "town", "b", json!([])),
        (&template, "year", "20", json!(["2025", "2026"])),
    ] {
        let asked = json!({"ref": of, "argument": {"name": name, "value": typed}});
        let said = client.ask("completion/complete", asked).await;
        assert_eq!(said["result"]["completion"]["values"], values, "{said}");
    }
}

/// The next message of a method; others pass.
async fn told(client: &mut Client, method: &str) -> Value {
    if let Some(at) = client.told.iter().position(|message| message["method"] == method) {
        return client.told.remove(at);
    }
    loop {
        let message = client.next().await;
        if message["method"] == method {
            return message;
        }
    }
}

#[tokio::test]
async fn clients_with_sessions_are_told_of_documents_that_change() {
    let resources = McpResources::new();
    let mut client = Client::new(reports(&resources), json!({})).await;
    for uri in ["report://today", "invoices://2025/7"] {
        let said = client.ask("resources/subscribe", json!({"uri": uri})).await;
        assert!(said["error"].is_null(), "{said}");
    }
    let said = client.ask("resources/subscribe", json!({"uri": "report://never"})).await;
    assert!(said["error"]["message"].as_str().unwrap().contains("no such resource"), "{said}");
    resources.set("report://tomorrow", Document::new("It will rain."));
    told(&mut client, "notifications/resources/list_changed").await;
    resources.set("report://tomorrow", Document::new("It will snow."));
    resources.set("report://today", Document::new("It rained."));
    let updated = told(&mut client, "notifications/resources/updated").await;
    assert_eq!(updated["params"]["uri"], "report://today", "nobody asked for the other");
    assert_eq!(read(&mut client, "report://today").await["result"]["contents"][0]["text"], "It rained.");
    resources.changed("invoices://2025/7");
    let updated = told(&mut client, "notifications/resources/updated").await;
    assert_eq!(updated["params"]["uri"], "invoices://2025/7");
    client.ask("resources/unsubscribe", json!({"uri": "report://today"})).await;
    resources.set("report://today", Document::new("It snowed."));
    assert!(resources.remove("report://tomorrow") && !resources.remove("report://tomorrow"));
    told(&mut client, "notifications/resources/list_changed").await;
    assert!(client.told.iter().all(|message| message["method"] != "notifications/resources/updated"));
}

#[tokio::test]
async fn clients_without_sessions_listen_for_documents_that_change() {
    let resources = McpResources::new();
    let mut client = Client::stateless(reports(&resources), json!({}));
    let wanted = json!({"notifications": {
        "resourceSubscriptions": ["report://today", "report://never"], "resourcesListChanged": true,
    }});
    client.begin("subscriptions/listen", wanted).await;
    let accepted = told(&mut client, "notifications/subscriptions/acknowledged").await;
    assert_eq!(
        accepted["params"]["notifications"]["resourceSubscriptions"],
        json!(["report://today"]),
        "{accepted}"
    );
    resources.set("report://today", Document::new("It rained."));
    let updated = told(&mut client, "notifications/resources/updated").await;
    assert_eq!(updated["params"]["uri"], "report://today");
    resources.remove("report://today");
    told(&mut client, "notifications/resources/list_changed").await;
}
