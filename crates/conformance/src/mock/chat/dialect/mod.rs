//! What compatible servers demand beyond, or instead of, OpenAI's own rules (openai.md C, D).
//!
//! A server is a list of quirks; each quirk is one named rule, shared by all servers that have it.

mod history;
mod parameters;
mod parts;
mod servers;

use serde_json::{Map, Value};

pub use self::servers::Server;

use self::servers::Quirk;
use super::problems::Check;
use crate::mock::rules::Violation;

/// A request whose `messages` are a list.
pub(super) struct Asked<'v> {
    request: &'v Map<String, Value>,
    messages: &'v [Value],
    /// The model's name in lower case, without the publisher before a slash.
    model: String,
}

/// Judges a request by the quirks of a server.
pub(super) fn check(server: Server, request: &Map<String, Value>, messages: &[Value]) -> Check {
    let name = text(request.get("model"));
    let model = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let asked = Asked { request, messages, model };
    server.quirks().iter().try_for_each(|quirk| asked.check(quirk))
}

/// Models that think unless they are told not to (openai.md C.1, C.2, C.4, C.5).
const THINKERS: &[&str] = &[
    "deepseek-flash",
    "deepseek-v4",
    "deepseek-reasoner",
    "glm-4.7",
    "glm-5",
    "kimi-k2.5",
    "kimi-k2.6",
    "kimi-k2.7",
    "kimi-k2-thinking",
    "kimi-k3",
    "qwq",
];

/// Models that always think (openai.md C.2, C.3, C.4).
const ALWAYS_THINKING: &[&str] = &["glm-5.3", "kimi-k2.7-code", "kimi-k3", "minimax-m2"];

impl<'v> Asked<'v> {
    fn check(&self, quirk: &Quirk) -> Check {
        match quirk {
            Quirk::Fields(known) => self.known_fields(known),
            Quirk::NoFields(fields) => self.no_fields(fields),
            Quirk::Range { field, above, from, to } => self.range(field, *above, *from, *to),
            Quirk::Efforts(models) => self.efforts(models),
            Quirk::ThinkingStaysOn => self.thinking_stays_on(),
            Quirk::FixedTemperature => self.fixed_temperature(),
            Quirk::StreamWhileThinking => self.stream_while_thinking(),
            Quirk::NoPenaltiesWhileReasoning(models) => self.no_penalties(models),
            Quirk::OneReasoningBudget => self.one_reasoning_budget(),
            Quirk::ReasoningFormat => self.reasoning_format(),
            Quirk::AutoChoiceOnly => self.choice(&["auto"], false),
            Quirk::UnforcedChoice => self.choice(&["auto", "none"], false),
            Quirk::ChoiceAsString => self.choice(&["auto", "none", "required"], false),
            Quirk::UnforcedChoiceWhileThinking => self.choice(&["auto", "none"], true),
            Quirk::NoStrictTools => self.no_strict_tools(),
            Quirk::Formats(kinds) => self.formats(kinds),
            Quirk::NoFormatWithTools => self.no_format_with_tools(),
            Quirk::NoJsonWhileThinking => self.no_json_while_thinking(),
            Quirk::NoDeveloper => self.no_developer(),
            Quirk::OneSystemMessage => self.one_system_message(),
            Quirk::Template(status) => self.template(*status),
            Quirk::ContentKey => self.content_key(),
            Quirk::SomeUser => self.some_user(),
            Quirk::NineCharacterIds => self.nine_character_ids(),
            Quirk::ResultsInOrder => self.results_in_order(),
            Quirk::NoUserAfterTool => self.no_user_after_tool(),
            Quirk::EndsWithUserOrTool => self.ends_with_user_or_tool(),
            Quirk::NoEmptyAssistant => self.no_empty_assistant(),
            Quirk::ReasoningPassedBack => self.reasoning_passed_back(),
            Quirk::ReasoningDetails(models) => self.reasoning_details(models),
            Quirk::MessageMembers => self.message_members(),
            Quirk::NoNames => self.no_names(),
            Quirk::Parts(kinds) => self.parts(kinds),
            Quirk::NoRemoteImages => self.no_remote_images(),
            Quirk::FilesAreAddresses => self.files_are_addresses(),
            Quirk::AudioAsDataUri => self.audio_as_data_uri(),
        }
    }

    fn is_any(&self, models: &[&str]) -> bool {
        models.iter().any(|start| self.model.starts_with(start))
    }

    /// A field that is set; `null` counts as absent.
    fn field(&self, key: &str) -> Option<&'v Value> {
        self.request.get(key).filter(|value| !value.is_null())
    }

    fn has_tools(&self) -> bool {
        self.field("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty())
    }

    /// True if the model will think.
    fn thinks(&self) -> bool {
        if self.is_any(ALWAYS_THINKING) {
            return true;
        }
        let mode = self.field("thinking").and_then(|thinking| thinking.get("type")?.as_str());
        let switch = self.field("enable_thinking").and_then(Value::as_bool);
        match (mode, switch, text(self.field("reasoning_effort"))) {
            (Some(mode), _, _) => mode != "disabled",
            (None, Some(switch), _) => switch,
            (None, None, "none") => false,
            _ => self.is_any(THINKERS) || self.model.ends_with("-thinking"),
        }
    }
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

/// The server's refusal; its code, where it has one, says more than the status.
fn refused(code: &'static str, path: impl Into<String>, message: impl Into<String>) -> Violation {
    Violation::invalid(message).with_code(code).with_path(path.into())
}
