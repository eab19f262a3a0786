//! The client that makes a call, and questions to its user.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use attache_core::schema::Schema;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientResult, ElicitRequest,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability, ElicitationSchema,
    InputRequest, InputRequests, InputResponses, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RoleServer};
use serde_json::{Map, Value, json};

use super::answer::failure;
use super::call::{Line, McpCall, McpLogLevel};
use super::kept_documents::Whose;

/// Longer arguments are cut in a question; the user is told so.
const SHOWN: usize = 4_000;
/// The member of a form that holds the answer to a question.
const ANSWER: &str = "answer";
/// The member of a form that holds a decision.
const DECISION: &str = "decision";

/// The client that makes a call.
pub(super) struct Client {
    pub(super) whose: Whose,
    pub(super) call: McpCall,
    /// True for one of the newest era: it is asked by an answer to its call, and calls again.
    pub(super) is_newest: bool,
    can_ask: bool,
    patience: Duration,
    /// The answers of a client that calls again.
    responses: InputResponses,
    /// The number of the call that it makes again.
    pub(super) state: Option<String>,
}

/// A question to the user.
pub(super) struct Question {
    /// The name under which the answer comes.
    pub(super) key: String,
    pub(super) text: String,
    form: ElicitationSchema,
}

/// The result of questions.
pub(super) enum Asked {
    /// The user answered, or did not want to. Answers that are missing were not given.
    Answered(HashMap<String, ElicitResult>),
    /// The client calls again with the answers.
    Later(InputRequests),
    /// The client asks its user nothing.
    Unable,
}

impl Client {
    pub(super) fn new(
        context: &RequestContext<RoleServer>,
        request: &mut CallToolRequestParams,
        whose: Whose,
        level: Option<McpLogLevel>,
        patience: Duration,
    ) -> Self {
        let is_newest = is_newest(context);
        let capabilities = context.client_capabilities();
        let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation);
        // One that names no mode means forms.
        let can_ask = elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none());
        let line = Line {
            peer: context.peer.clone(),
            token: context.meta.get_progress_token(),
            level: match is_newest {
                true => log_level(context),
                false => level,
            },
            told: std::sync::Mutex::new(f64::NEG_INFINITY),
        };
        Self {
            whose,
            call: McpCall(Arc::new(line)),
            is_newest,
            can_ask,
            patience,
            responses: request.input_responses.take().unwrap_or_default(),
            state: request.request_state.take(),
        }
    }

    /// The answer to a call that would have to ask, where the client asks nobody. The newer era has an error for it.
    pub(super) fn unable(&self, text: &str) -> Result<CallToolResponse, ErrorData> {
        if !self.is_newest {
            return Ok(failure(text));
        }
        let mut needed = ClientCapabilities::default();
        needed.elicitation = Some(ElicitationCapability::default());
        let mut error = ErrorData::missing_required_client_capability(needed);
        error.message = text.to_owned().into();
        Err(error)
    }

    /// Takes the answers that came with the call, if it is made again.
    pub(super) fn answers(&self) -> HashMap<String, ElicitResult> {
        let read = |(key, value): (&String, &Value)| {
            Some((key.clone(), serde_json::from_value::<ElicitResult>(value.clone()).ok()?))
        };
        self.responses.iter().filter_map(read).collect()
    }

    /// Asks the user, or says how they will be asked.
    pub(super) async fn ask(&self, questions: Vec<Question>) -> Asked {
        if !self.can_ask {
            return Asked::Unable;
        }
        let asked = questions.into_iter().map(|question| {
            let params = ElicitRequestParams::FormElicitationParams {
                meta: None,
                message: question.text,
                requested_schema: question.form,
            };
            (question.key, ElicitRequest::new(params))
        });
        if self.is_newest {
            return Asked::Later(
                asked.map(|(key, request)| (key, InputRequest::Elicitation(request))).collect(),
            );
        }
        let mut answers = HashMap::new();
        for (key, request) in asked {
            let request = ServerRequest::ElicitRequest(request);
            let options = PeerRequestOptions::with_timeout(self.patience);
            let answered = async {
                let sent = self.call.0.peer.send_cancellable_request(request, options).await?;
                sent.await_response().await
            };
            match answered.await {
                Ok(ClientResult::ElicitResult(answer)) => {
                    answers.insert(key, answer);
                }
                Ok(_) => tracing::debug!("a client answers a question with something else"),
                Err(error) => tracing::debug!(%error, "a question to the user was not answered"),
            }
        }
        Asked::Answered(answers)
    }
}

/// True for clients of 2026-07-28 and later: a server asks them nothing, but answers that it needs an input.
pub(super) fn is_newest(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

fn log_level(context: &RequestContext<RoleServer>) -> Option<McpLogLevel> {
    context.meta.log_level().map(McpLogLevel::from_wire)
}

impl Question {
    /// A question whether a call may run.
    pub(super) fn approval(key: String, tool: &str, arguments: &str, reason: Option<&str>) -> Self {
        let mut text = format!("Run {tool} with {}?", cut(arguments));
        if let Some(reason) = reason {
            text.push_str(&format!(" ({})", cut(reason)));
        }
        let form = json!({
            "type": "object",
            "properties": {DECISION: {
                "type": "string", "title": "Decision", "enum": ["approve", "deny"],
                "description": "Says whether the call runs",
            }},
            "required": [DECISION],
        });
        Self { key, text, form: form_of(form) }
    }

    /// A question of a tool or a model, whose answer fits `schema`.
    pub(super) fn of(key: String, prompt: &str, schema: Option<&Value>) -> Self {
        let whole = schema.filter(|schema| is_form(schema)).cloned();
        let form = whole.unwrap_or_else(|| {
            let text = json!({"type": "string"});
            let plain = schema.filter(|schema| is_plain(schema)).cloned().unwrap_or(text);
            json!({"type": "object", "properties": {ANSWER: plain}, "required": [ANSWER]})
        });
        Self { key, text: cut(prompt), form: form_of(form) }
    }
}

/// A form; one with a single text where a client would not understand it.
fn form_of(form: Value) -> ElicitationSchema {
    serde_json::from_value(form).unwrap_or_else(|error| {
        tracing::debug!(%error, "a question asks for a form that clients do not have");
        ElicitationSchema::builder().required_string(ANSWER).build_unchecked()
    })
}

fn is_plain(schema: &Value) -> bool {
    let form = json!({"type": "object", "properties": {ANSWER: schema}});
    serde_json::from_value::<ElicitationSchema>(form).is_ok()
}

fn is_form(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
        && serde_json::from_value::<ElicitationSchema>(schema.clone()).is_ok()
}

/// Cuts a text, and says so.
fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((at, _)) => {
            let (shown, rest) = text.split_at_checked(at).unwrap_or((text, ""));
            format!("{shown}… ({} more bytes are not shown)", rest.len())
        }
    }
}

/// True if the user approved, and said nothing else.
pub(super) fn is_approved(answer: Option<&ElicitResult>) -> bool {
    answer.is_some_and(|answer| {
        answer.action == ElicitationAction::Accept
            && answer.content.as_ref().and_then(|content| content.get(DECISION)) == Some(&json!("approve"))
    })
}

/// The answer to a question as its schema wants it, or the reason why there is none.
pub(super) fn answer_to(answer: Option<&ElicitResult>, schema: Option<&Value>) -> Result<Value, String> {
    let Some(answer) = answer else { return Err("the user did not answer".to_owned()) };
    match &answer.action {
        ElicitationAction::Accept => {}
        ElicitationAction::Decline => return Err("the user declined to answer".to_owned()),
        _ => return Err("the user did not answer".to_owned()),
    }
    let content = answer.content.clone().unwrap_or_else(|| Value::Object(Map::new()));
    let given = match schema.is_some_and(is_form) {
        true => content,
        false => content.get(ANSWER).cloned().ok_or("the user's answer is empty")?,
    };
    let Some(schema) = schema else { return Ok(given) };
    let compiled =
        Schema::new(schema).map_err(|_| "the question asks for what no schema can say".to_owned())?;
    let fits = |value: &Value| compiled.check(value).is_empty();
    // Values that no form can ask for are asked for as text.
    let read = || given.as_str().and_then(|text| serde_json::from_str(text).ok()).filter(fits);
    match fits(&given) {
        true => Ok(given),
        false => read().ok_or_else(|| "the user's answer does not fit what was asked for".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(action: ElicitationAction, content: Value) -> ElicitResult {
        ElicitResult::new(action).with_content(content)
    }

    #[test]
    fn nothing_but_the_word_approves() {
        use ElicitationAction::{Accept, Cancel, Decline};
        let approve = json!({"decision": "approve"});
        assert!(is_approved(Some(&said(Accept, approve.clone()))));
        for other in [
            said(Accept, json!({"decision": "deny"})),
            said(Accept, json!({"decision": true})),
            said(Accept, json!({})),
            ElicitResult::new(Accept),
            said(Decline, approve.clone()),
            said(Cancel, approve),
        ] {
            assert!(!is_approved(Some(&other)), "{other:?}");
        }
        assert!(!is_approved(None));
    }

    #[test]
    fn answers_have_the_form_that_the_tool_wants() {
        let accepted = |content: Value| said(ElicitationAction::Accept, content);
        let choice = json!({"type": "string", "enum": ["red", "blue"]});
        let answer = |content: Value, schema: &Value| answer_to(Some(&accepted(content)), Some(schema));
        assert_eq!(answer(json!({"answer": "red"}), &choice).unwrap(), "red");
        assert!(answer(json!({"answer": "green"}), &choice).is_err());
        let person =
            json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
        assert_eq!(answer(json!({"name": "Ann"}), &person).unwrap(), json!({"name": "Ann"}));
        let list = json!({"type": "array", "items": {"type": "object"}});
        assert_eq!(answer(json!({"answer": "[{}]"}), &list).unwrap(), json!([{}]));
        assert!(answer_to(Some(&ElicitResult::new(ElicitationAction::Decline)), None).is_err());
    }

    #[test]
    fn a_question_says_what_it_leaves_out() {
        let question = Question::approval("1".to_owned(), "pay", &"x".repeat(5_000), None);
        assert!(question.text.ends_with("(1000 more bytes are not shown)?"), "{}", question.text);
    }
}
