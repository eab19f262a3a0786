//! The rules of compatible servers beyond, or instead of, OpenAI's own (openai.md C, D).
//!
//! A server is a list of quirks; each quirk is one named rule, shared by all servers that have it.

mod asked;
mod history;
mod parameters;
mod parts;

use serde_json::{Map, Value};

use self::asked::{Asked, text};
use super::problems::Check;
use crate::mock::compatible::{Quirk, Server};

/// Judges a request by the quirks of a server.
pub(super) fn check(server: Server, request: &Map<String, Value>, messages: &[Value]) -> Check {
    let name = text(request.get("model"));
    let model = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let asked = Asked { request, messages, model };
    server.quirks().iter().try_for_each(|quirk| asked.check(quirk))
}

impl Asked<'_> {
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
}
