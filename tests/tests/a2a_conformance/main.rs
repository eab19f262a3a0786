//! The cases of the protocol's compatibility kit (a2a-tck), by their names, against an agent of ours over TCP, in both ways
//! to write version 1.0 and in version 0.3. The kit is published as source alone, so that no package client brings it;
//! expectations are those of the specification, and the types of the official SDK judge what was answered.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

#[cfg(test)]
mod kit;
#[cfg(test)]
mod newest;
#[cfg(test)]
mod notifying;
#[cfg(test)]
mod older;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod streams;

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::Path;
    use std::process::Stdio;

    use attache_tests::real::Python;
    use serde_json::{Value, json};

    use crate::kit::{Held, Way};
    use crate::{newest, notifying, older, streams};

    /// The cases that are not ours, each with the reason.
    const NOT_OURS: [(&str, &str); 14] = [
        ("AUTH-TLS-001", "TLS is the host program's, as the router is mounted in it"),
        ("CARD-EXT-001", "there is no extended card, and the card says so"),
        ("CARD-EXT-002", "the same: CORE-CAP-003 is the case of an agent without one"),
        ("CARD-SIGN-004", "keys of others are the client's matter, which fetches none"),
        ("CORE-CAP-002", "streams are always there"),
        ("CORE-CAP-004", "no extension is required"),
        ("CORE-STREAM-002", "every answer is a task, so that no stream has a message alone"),
        ("GRPC-ERR-001", "gRPC is not spoken"),
        ("GRPC-ERR-002", "gRPC is not spoken"),
        ("GRPC-ERR-003", "gRPC is not spoken"),
        ("GRPC-META-001", "gRPC is not spoken"),
        ("GRPC-SVC-001", "gRPC is not spoken"),
        ("GRPC-SVC-002", "gRPC is not spoken"),
        ("VER-CLIENT-001", "the client's, in `crates/gateways/a2a/tests/it/shapes.rs`"),
    ];

    /// Those that version 1.0 of the kit demands, without those above.
    const DEMANDED: &str = "
        AUTH-SCOPE-001 AUTH-SCOPE-002 AUTH-SCOPE-003 AUTH-SERVER-002
        BIND-EQUIV-001 BIND-EQUIV-002 BIND-EQUIV-003 BIND-EQUIV-004 BIND-FIELD-001
        CARD-DISC-001 CARD-PROTO-001 CARD-PROTO-002 CARD-SIGN-001 CARD-SIGN-002 CARD-SIGN-003 CARD-STRUCT-001
        CORE-CANCEL-001 CORE-CANCEL-002 CORE-CANCEL-003 CORE-CAP-001 CORE-CAP-003 CORE-ERR-001 CORE-ERR-002
        CORE-EXECUTION-MODE-001 CORE-EXECUTION-MODE-002 CORE-GET-001 CORE-GET-002 CORE-HIST-002
        CORE-LIST-001 CORE-LIST-002 CORE-LIST-003 CORE-LIST-004 CORE-LIST-005
        CORE-MULTI-001a CORE-MULTI-002a CORE-MULTI-003 CORE-MULTI-004 CORE-MULTI-005 CORE-MULTI-006
        CORE-SEND-001 CORE-SEND-002 CORE-SEND-003 CORE-STREAM-001 CORE-STREAM-003
        DM-ART-001 DM-MSG-001 DM-MSG-002 DM-PART-001 DM-SERIAL-001 DM-SERIAL-002 DM-SERIAL-003 DM-SERIAL-004
        DM-STATUS-001 DM-TASK-001 DM-TASK-002
        HTTP_JSON-ERR-001 HTTP_JSON-ERR-002 HTTP_JSON-QP-001 HTTP_JSON-SSE-001 HTTP_JSON-STATUS-001
        HTTP_JSON-SVC-002 HTTP_JSON-URL-001 HTTP_JSON-URL-002
        JSONRPC-ERR-001 JSONRPC-ERR-002 JSONRPC-ERR-003 JSONRPC-FMT-001 JSONRPC-FMT-002 JSONRPC-SSE-001
        JSONRPC-SSE-002 JSONRPC-SVC-001 JSONRPC-SVC-002
        PUSH-CREATE-001 PUSH-CREATE-002 PUSH-DEL-001 PUSH-DEL-002 PUSH-DELIVER-001 PUSH-DELIVER-002
        PUSH-DELIVER-003 PUSH-GET-001 PUSH-GET-002 PUSH-LIST-001
        STREAM-ORDER-001 STREAM-ORDER-002 STREAM-ORDER-003 STREAM-ORDER-004 STREAM-SUB-001 STREAM-SUB-002
        STREAM-SUB-003 STREAM-SUB-004 VER-CLIENT-002 VER-SERVER-001 VER-SERVER-002 VER-SERVER-003";

    /// Those that it recommends.
    const RECOMMENDED: &str = "
        CARD-CACHE-001 CARD-CACHE-002 CORE-HIST-001 CORE-HIST-003 CORE-HIST-005 CORE-HIST-006 CORE-MULTI-001
        CORE-MULTI-002 CORE-HIST-004 DM-SERIAL-005 HTTP_JSON-SVC-001";

    async fn everything() -> Held {
        let mut held = Held::default();
        for way in [Way::Rpc, Way::Rest] {
            newest::cases(way, &mut held).await;
            streams::cases(way, &mut held).await;
            notifying::cases(way, &mut held).await;
        }
        newest::alike(&mut held).await;
        newest::card(&mut held).await;
        held
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn every_case_of_version_1_0_is_held() {
        let held = everything().await;
        let wanted = DEMANDED.split_whitespace().chain(RECOMMENDED.split_whitespace());
        let missing: Vec<&str> = wanted.filter(|case| !held.cases.contains(*case)).collect();
        assert!(missing.is_empty(), "nobody has tried {missing:?}");
        assert!(NOT_OURS.iter().all(|(case, why)| !held.cases.contains(*case) && !why.is_empty()));
        assert!(held.answers.len() > 50, "{}", held.answers.len());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn every_mandatory_case_of_version_0_3_is_held() {
        older::cases().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs the packages of tests/real/a2a.txt: cargo xtask counterparts"]
    async fn the_types_of_the_official_sdk_take_every_answer() {
        let mut held = everything().await;
        held.answers.push(("Task", json!({"id": "t", "status": {"state": "working"}})));
        held.answers
            .push(("Task", json!({"id": "t", "kind": "task", "status": {"state": "TASK_STATE_WORKING"}})));
        let python = Python::installed("a2a", Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
        let mut lines = Vec::new();
        for (kind, answer) in &held.answers {
            writeln!(lines, "{}", json!({"type": kind, "body": answer})).unwrap();
        }
        let verdicts = tokio::task::spawn_blocking(move || {
            let mut command = python.command("a2a_types.py");
            let mut child =
                command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let mut stdin = child.stdin.take().unwrap();
            let writer = std::thread::spawn(move || stdin.write_all(&lines).unwrap());
            let output = child.wait_with_output().unwrap();
            writer.join().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        });
        let verdicts = verdicts.await.unwrap();
        let verdicts: Vec<Value> = verdicts.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(verdicts.len(), held.answers.len());
        // The last two are wrong, so that a judge that takes everything is noticed.
        let (own, wrong) = verdicts.split_at(verdicts.len() - 2);
        for ((kind, answer), verdict) in held.answers.iter().zip(own) {
            assert_eq!(verdict["wrong"], json!([]), "{kind}: {answer}");
        }
        assert!(wrong.iter().all(|verdict| verdict["wrong"] != json!([])), "{wrong:?}");
    }
}
