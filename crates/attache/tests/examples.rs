//! The examples do what the guide says, against the mock of the providers that they name. (P38)

#![cfg(test)]

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Arc, Mutex};

use attache_conformance::{MockProvider, Reply};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The sample documents, beside which the examples are run.
fn samples() -> PathBuf {
    root().join("docs/examples")
}

/// Runs a built example, with what stands behind its name as arguments, in a folder. Nothing of the environment of whoever tests reaches it, proxies apart.
async fn run(name: &str, folder: &Path, variables: &[(&str, &str)]) -> Output {
    // Cargo builds examples beside the folder of the tests.
    let tests = std::env::current_exe().unwrap();
    let mut words = name.split_whitespace();
    let name = words.next().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(
        program.exists(),
        "the example {name} is not built: `cargo test -p attache --all-features` builds it"
    );
    let mut command = Command::new(program);
    command.args(words);
    for (variable, _) in std::env::vars() {
        if ["ANTHROPIC_", "OPENAI_", "WORK_"].iter().any(|prefix| variable.starts_with(prefix)) {
            command.env_remove(variable);
        }
    }
    command.current_dir(folder).envs(variables.iter().copied()).kill_on_drop(true).output().await.unwrap()
}

/// The same with a provider that replies so; and what it was sent.
async fn run_with(
    name: &str,
    folder: &Path,
    replies: impl IntoIterator<Item = Reply>,
) -> (Output, MockProvider) {
    let mock = MockProvider::start().await.unwrap();
    replies.into_iter().for_each(|reply| mock.enqueue(reply));
    let url = format!("{}/v1", mock.url());
    let output = run(
        name,
        folder,
        &[
            ("ANTHROPIC_API_KEY", "no key"),
            ("ANTHROPIC_BASE_URL", &url),
            ("OPENAI_API_KEY", "no key"),
            ("OPENAI_BASE_URL", &url),
            ("WORK_LLM_KEY", "no key"),
            ("WORK_LLM_URL", &url),
        ],
    )
    .await;
    assert_eq!(mock.violations(), []);
    assert_eq!(mock.pending_replies(), 0, "{}", said(&output.stderr));
    (output, mock)
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

// A80
#[tokio::test]
async fn a_tool_returns_a_pdf_and_the_answer_quotes_it() {
    let output = run("pdf_tool", &samples(), &[]).await;
    let text = said(&output.stdout);
    assert!(output.status.success() && text.contains("EUR 20,904.97"), "{text}{}", said(&output.stderr));
    assert!(text.contains("invoice-2026-0417.pdf"), "{text}");
}

#[tokio::test]
async fn an_answer_is_held_against_the_invoice() {
    let output = run("citations", &samples(), &[]).await;
    let text = said(&output.stdout);
    assert!(
        output.status.success() && text.contains("20,904.97") && text.contains(": Supported"),
        "{text}{}",
        said(&output.stderr)
    );
}

#[tokio::test]
async fn an_attached_pdf_is_read_as_text_where_the_author_allows_it() {
    let output = run("attachments", &samples(), &[]).await;
    let text = said(&output.stdout);
    assert!(output.status.success() && text.contains("EUR 20,904.97"), "{text}{}", said(&output.stderr));
}

// A81
#[tokio::test]
async fn a_streamed_answer_and_its_progress_are_printed() {
    let call = Reply::new().call("toolu_1", "fetch_agreement", json!({}));
    let answer = Reply::new().text_pieces(["The ", "supplier."]);
    let (output, mock) = run_with("streaming", &samples(), [call, answer]).await;
    assert_eq!(said(&output.stdout), "The supplier.\n");
    assert_eq!(said(&output.stderr), "[fetch_agreement]\n[answer after 2 model calls]\n");
    let requests = mock.requests();
    let path = samples().join("inbox/supply-agreement-SA-2025-11.pdf");
    let pdf = std::fs::metadata(path).unwrap().len();
    let seen = mock.seen_documents(&requests[1]);
    let sizes: Vec<u64> = seen.iter().map(|document| document.bytes_len as u64).collect();
    assert_eq!(sizes, [pdf], "the model was sent the whole PDF");
}

/// A collector of OTLP over HTTP in JSON, which keeps what it is sent: the paths, and the bodies.
async fn collector() -> (String, Arc<Mutex<Vec<(String, Value)>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let sent: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
    let keeps = Arc::clone(&sent);
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            let keeps = Arc::clone(&keeps);
            tokio::spawn(async move {
                let mut connection = BufReader::new(connection);
                loop {
                    let (mut path, mut length) = (String::new(), 0);
                    loop {
                        let mut line = String::new();
                        if connection.read_line(&mut line).await.unwrap() == 0 {
                            return;
                        }
                        let line = line.trim_end().to_ascii_lowercase();
                        if line.is_empty() {
                            break;
                        }
                        if let Some(rest) = line.strip_prefix("post ") {
                            rest.split(' ').next().unwrap().clone_into(&mut path);
                        }
                        if let Some(of) = line.strip_prefix("content-length:") {
                            length = of.trim().parse().unwrap();
                        }
                    }
                    let mut body = vec![0; length];
                    connection.read_exact(&mut body).await.unwrap();
                    keeps.lock().unwrap().push((path, serde_json::from_slice(&body).unwrap()));
                    let answer =
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
                    connection.write_all(answer.as_bytes()).await.unwrap();
                }
            });
        }
    });
    (url, sent)
}

/// The items of these lists inside one another.
fn items(of: &Value, lists: &[&str]) -> Vec<Value> {
    let Some((list, inside)) = lists.split_first() else { return vec![of.clone()] };
    of[list].as_array().into_iter().flatten().flat_map(|item| items(item, inside)).collect()
}

#[tokio::test]
async fn spans_and_metrics_of_a_run_reach_a_collector() {
    let (url, sent) = collector().await;
    let mock = MockProvider::start().await.unwrap();
    mock.enqueue(Reply::error(529, "overloaded"));
    mock.enqueue(Reply::new().call("toolu_1", "price", json!({"room": 104})));
    mock.enqueue(Reply::new().text("EUR 90 a night."));
    let variables = [
        ("ANTHROPIC_API_KEY", "canary"),
        ("ANTHROPIC_BASE_URL", &format!("{}/v1", mock.url())),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &url),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ("NO_PROXY", "127.0.0.1"),
    ];
    let output = run("telemetry", &samples(), &variables).await;
    assert_eq!(said(&output.stdout), "EUR 90 a night.\n", "{}", said(&output.stderr));
    let sent = sent.lock().unwrap();
    let of = |path: &str| {
        sent.iter().filter(|(to, _)| to == path).map(|(_, body)| body.clone()).collect::<Vec<_>>()
    };
    let spans: Vec<Value> = of("/v1/traces")
        .iter()
        .flat_map(|body| items(body, &["resourceSpans", "scopeSpans", "spans"]))
        .collect();
    let root = spans.iter().find(|span| span["name"] == "invoke_agent reception").unwrap();
    let mut inside: Vec<_> = spans
        .iter()
        .filter(|span| span["parentSpanId"] == root["spanId"] && span["traceId"] == root["traceId"])
        .map(|span| (span["startTimeUnixNano"].as_str().unwrap(), span["name"].as_str().unwrap()))
        .collect();
    inside.sort_unstable();
    let names: Vec<_> = inside.into_iter().map(|(_, name)| name).collect();
    // The request that failed is an attempt of its own.
    let chat = "chat claude-sonnet-4-5";
    assert_eq!(names, [chat, chat, "execute_tool price", chat]);
    let metrics = of("/v1/metrics");
    let metrics =
        metrics.iter().flat_map(|body| items(body, &["resourceMetrics", "scopeMetrics", "metrics"]));
    let names: Vec<_> = metrics.map(|metric| metric["name"].as_str().unwrap().to_owned()).collect();
    assert!(names.contains(&"gen_ai.client.token.usage".to_owned()), "{names:?}");
    let all = format!("{sent:?}");
    assert!(all.contains("hotel") && !all.contains("EUR 90") && !all.contains("canary"));
}

#[tokio::test]
async fn an_answer_becomes_a_value_of_a_type() {
    let json = r#"{"number":"2026-0417","total":4812.36,"due":"2026-05-18"}"#;
    let (output, mock) = run_with("structured", &samples(), [Reply::new().text(json)]).await;
    assert_eq!(said(&output.stdout), "2026-0417: EUR 4812.36, due 2026-05-18\n", "{}", said(&output.stderr));
    let format = mock.requests()[0].json()["text"]["format"].clone();
    assert_eq!((&format["name"], &format["strict"]), (&json!("final_answer"), &json!(true)));
}

// A79
#[tokio::test]
async fn a_server_with_a_profile_of_ones_own_is_asked() {
    let (output, mock) = run_with("server_profile", &samples(), [Reply::new().text("Hello.")]).await;
    assert_eq!(said(&output.stdout), "asking work/our-7b\nHello.\n", "{}", said(&output.stderr));
    assert_eq!(mock.requests()[0].json()["model"], "our-7b");
}

#[tokio::test]
async fn a_run_that_failed_goes_on_in_another_process_and_pays_once() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("resumed_example");
    let _absent = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let call = Reply::new().call("toolu_1", "pay", json!({"number": "2026-0417"}));
    let refused = Reply::error(401, "invalid x-api-key");
    let (first, _) = run_with("resume", &folder, [call, refused]).await;
    assert!(!first.status.success());
    assert_eq!(said(&first.stdout), "paying 2026-0417\n", "{}", said(&first.stderr));
    let (second, mock) = run_with("resume", &folder, [Reply::new().text("It is paid.")]).await;
    assert_eq!(said(&second.stdout), "It is paid.\n", "{}", said(&second.stderr));
    assert!(mock.requests()[0].json().to_string().contains("Receipt for 2026-0417"));
}

#[tokio::test]
async fn documents_of_a_run_are_stored_once_and_collected() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("storing_example");
    let _absent = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let output = run("storing", &folder, &[]).await;
    let (answer, collected) = (said(&output.stdout), "0 bytes removed, ");
    assert!(output.status.success(), "{answer}{}", said(&output.stderr));
    assert!(answer.contains("EUR 4,812.36") && answer.contains(collected), "{answer}");
    // The journal of the run and the session mention a document each, so that both texts are kept, as they came.
    let texts =
        ["Invoice 2026-0416\nTotal due: EUR 4,812.36\n", "Invoice 2026-0417\nTotal due: EUR 4,812.36\n"];
    assert!(answer.contains(&format!("{collected}{} kept", texts.concat().len())), "{answer}");
    let journal = std::fs::read_to_string(folder.join("runs/march.jsonl")).unwrap();
    assert!(journal.contains("fetch_invoice"), "{journal}");
}

#[tokio::test]
async fn a_payment_is_approved_in_another_process_and_made_once() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("approval_example");
    let _absent = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let call = Reply::new().call("toolu_1", "pay", json!({"number": "2026-0417", "amount": 20904.97}));
    let (first, _) = run_with("approval", &folder, [call]).await;
    let text = said(&first.stdout);
    let (_, id) = text
        .trim()
        .rsplit_once("approve it with ")
        .unwrap_or_else(|| panic!("{text}{}", said(&first.stderr)));
    assert!(!text.contains("paying"), "{text}");
    let (second, _) = run_with(&format!("approval {id}"), &folder, [Reply::new().text("It is paid.")]).await;
    assert_eq!(
        said(&second.stdout),
        "paying 20904.97 for 2026-0417\nIt is paid.\n",
        "{}",
        said(&second.stderr)
    );
    let (third, _) = run_with(&format!("approval {id}"), &folder, []).await;
    assert_eq!(said(&third.stdout), "It is paid.\n", "{}", said(&third.stderr));
}

#[tokio::test]
async fn what_is_remembered_is_told_once_in_each_run() {
    let output = run("memory", &samples(), &[]).await;
    let expected = "Where do my invoices go? 1 of 6 messages tells what is remembered\n\
        Is that in Germany? 1 of 8 messages tells what is remembered\n";
    assert_eq!(said(&output.stdout), expected, "{}", said(&output.stderr));
}

#[tokio::test]
async fn a_wrong_key_is_told_with_its_cause() {
    let (output, _) = run_with("errors", &samples(), [Reply::error(401, "invalid x-api-key")]).await;
    assert_eq!(output.status.code(), Some(1));
    let text = said(&output.stderr);
    assert!(text.starts_with("the model could not be asked: check the key\n"), "{text}");
    assert!(text.contains("invalid x-api-key"), "{text}");
}

#[tokio::test]
async fn limits_of_time_leave_an_answer_as_it_is() {
    let (output, _) = run_with("timeouts", &samples(), [Reply::new().text("A contract.")]).await;
    assert_eq!(said(&output.stdout), "A contract.\n", "{}", said(&output.stderr));
}

#[tokio::test]
async fn two_apis_get_the_same_documents_in_different_places() {
    let output = run("two_apis", &samples(), &[]).await;
    let text = said(&output.stdout);
    assert!(output.status.success(), "{}", said(&output.stderr));
    assert_eq!(text.matches("and answered: Until 30 June 2031.").count(), 2, "{text}");
    assert_eq!(text.matches("Documents extracted from tool call results:").count(), 1, "{text}");
}
