//! Replies that a hook of the agent takes back.

use std::sync::Arc;

use attache_agent::{HookContext, HookError, ReplyVerdict, RunHook};
use attache_core::{AssistantMessage, BoxFuture, Document};
use attache_testkit::Turn;
use serde_json::{Value, json};

use crate::server::{Ours, hello};

/// Lets no secret out, and has drafts made again.
pub(crate) struct Strict;

impl RunHook for Strict {
    fn after_model<'a>(
        &'a self,
        reply: &'a AssistantMessage,
        _: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<ReplyVerdict, HookError>> {
        let text = reply.text();
        let verdict = match () {
            () if text.contains("secret is") => ReplyVerdict::Block("I cannot say.".to_owned()),
            () if text.contains("draft") => ReplyVerdict::Retry("Once more.".to_owned()),
            () => ReplyVerdict::Keep,
        };
        Box::pin(async { Ok(verdict) })
    }
}

async fn task_of(turns: impl IntoIterator<Item = Turn>) -> Value {
    let model = attache_testkit::ScriptedModel::new(turns).unverified();
    let served = Ours::with(model, Arc::default(), Arc::default(), |server| server).await;
    served.rpc("ann", "SendMessage", hello()).await.unwrap()["task"].clone()
}

#[tokio::test]
async fn callers_get_neither_words_nor_documents_of_a_reply_that_was_taken_back() {
    let task = task_of([Turn::text("The secret is 47110815.")]).await;
    assert_eq!(task["status"]["state"], json!("TASK_STATE_REJECTED"));
    assert_eq!(task["status"]["message"]["parts"][0]["text"], json!("I cannot say."));
    assert!(!task.to_string().contains("47110815"), "{task}");

    let picture = |name: &str| {
        let bytes = [b"\x89PNG\r\n\x1a\n", name.as_bytes()].concat();
        Document::from_bytes(bytes, "image/png").with_file_name(name)
    };
    let first = Turn::text("A draft.").making(picture("old.png"));
    let task = task_of([first, Turn::text("Drawn.").making(picture("new.png"))]).await;
    assert_eq!(task["status"]["state"], json!("TASK_STATE_COMPLETED"));
    let shown = task.to_string();
    assert!(shown.contains("Drawn.") && shown.contains("new.png"), "{shown}");
    for gone in ["draft", "Once more", "old.png"] {
        assert!(!shown.contains(gone), "{gone}: {shown}");
    }
}
