//! The meaning of model ids for the requests that a model takes (bedrock.md 3, 6, 11, (b)).

use crate::mock::messages::Claude;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// `None` where the id names no generation that is known.
    Claude(Option<Claude>),
    NovaMicro,
    Nova,
    NovaPremier,
    Nova2,
    Llama3,
    /// The ones of 3.2 that see.
    Llama3Vision,
    Llama4,
    /// The first ones: without system prompt, without tools.
    MistralOld,
    Mistral,
    MistralLarge,
    DeepSeekR1,
    DeepSeek,
    GptOss,
    /// Those of the Responses API, GPT-5.6 and later.
    Gpt,
    Grok,
    Qwen,
    Glm,
    Kimi,
    MiniMax,
    Nemotron,
    Cohere,
    Jamba,
    Writer,
    Titan,
    /// Not known, such as the ARN of an application's own profile.
    Other,
}

/// The media beside text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Medium {
    Image,
    Document,
    Video,
    Audio,
}

const GEOGRAPHIES: [&str; 8] = ["us.", "eu.", "apac.", "jp.", "au.", "ca.", "global.", "us-gov."];

/// The beginnings of ids; the first one that fits counts.
const FAMILIES: [(&str, Family); 26] = [
    ("amazon.nova-micro", Family::NovaMicro),
    ("amazon.nova-premier", Family::NovaPremier),
    ("amazon.nova-2", Family::Nova2),
    ("amazon.nova", Family::Nova),
    ("amazon.titan", Family::Titan),
    ("meta.llama4", Family::Llama4),
    ("meta.llama3-2-11b", Family::Llama3Vision),
    ("meta.llama3-2-90b", Family::Llama3Vision),
    ("meta.", Family::Llama3),
    ("mistral.mistral-7b", Family::MistralOld),
    ("mistral.mixtral", Family::MistralOld),
    ("mistral.mistral-large", Family::MistralLarge),
    ("mistral.", Family::Mistral),
    ("deepseek.r1", Family::DeepSeekR1),
    ("deepseek.", Family::DeepSeek),
    ("openai.gpt-oss", Family::GptOss),
    ("openai.gpt-", Family::Gpt),
    ("xai.", Family::Grok),
    ("qwen.", Family::Qwen),
    ("zai.", Family::Glm),
    ("moonshot", Family::Kimi),
    ("minimax.", Family::MiniMax),
    ("nvidia.", Family::Nemotron),
    ("cohere.", Family::Cohere),
    ("ai21.", Family::Jamba),
    ("writer.", Family::Writer),
];

impl Family {
    pub(super) fn of(model_id: &str) -> Family {
        let name = foundation(model_id).0;
        if name.starts_with("anthropic.") {
            return Family::Claude(Claude::parse(name));
        }
        let known = FAMILIES.iter().find(|(start, _)| name.starts_with(start));
        known.map_or(Family::Other, |(_, family)| *family)
    }

    pub(super) fn is_claude(self) -> bool {
        matches!(self, Family::Claude(_))
    }

    fn is_llama(self) -> bool {
        matches!(self, Family::Llama3 | Family::Llama3Vision | Family::Llama4)
    }

    fn is_mistral(self) -> bool {
        matches!(self, Family::Mistral | Family::MistralLarge | Family::MistralOld)
    }

    fn is_seeing_nova(self) -> bool {
        matches!(self, Family::Nova | Family::NovaPremier | Family::Nova2)
    }

    pub(super) fn is_nova(self) -> bool {
        self.is_seeing_nova() || self == Family::NovaMicro
    }

    /// True if the model cannot be called by its plain id.
    fn needs_profile(self) -> bool {
        match self {
            Family::Claude(claude) => claude.is_some_and(|claude| claude.at_least(3, 7)),
            Family::DeepSeekR1 | Family::Llama4 | Family::Nova2 | Family::NovaPremier => true,
            _ => false,
        }
    }

    pub(super) fn takes_system(self) -> bool {
        !matches!(self, Family::MistralOld | Family::Titan)
    }

    pub(super) fn takes_tools(self) -> bool {
        !matches!(self, Family::MistralOld | Family::Titan | Family::DeepSeekR1)
    }

    /// The `toolChoice` members it takes.
    pub(super) fn choices(self) -> &'static [&'static str] {
        match self {
            Family::Claude(Some(claude)) if claude.rejects_forced_tools() => &["auto"],
            Family::MistralLarge => &["auto", "any"],
            family if family.is_claude() || family.is_nova() => &["auto", "any", "tool"],
            Family::Gpt | Family::Glm | Family::Kimi => &["auto", "any", "tool"],
            _ => &[],
        }
    }

    /// True if a conversation may begin with the assistant.
    pub(super) fn takes_leading_assistant(self) -> bool {
        self.is_claude() || matches!(self, Family::Qwen | Family::Glm | Family::Kimi)
    }

    pub(super) fn takes_status(self) -> bool {
        self != Family::Writer
    }

    pub(super) fn takes_s3(self) -> bool {
        self.is_seeing_nova() || self == Family::Other
    }

    pub(super) fn caches(self) -> bool {
        self.is_claude() || self.is_nova()
    }

    pub(super) fn takes_hour_caches(self) -> bool {
        matches!(self, Family::Claude(claude) if claude.is_none_or(|claude| claude.at_least(4, 5)))
    }

    /// True if it compiles schemas: strict tools and `outputConfig.textFormat`.
    pub(super) fn compiles_schemas(self) -> bool {
        match self {
            Family::Claude(claude) => claude.is_none_or(|claude| claude.at_least(4, 5)),
            Family::MistralOld | Family::Cohere | Family::Jamba | Family::Writer | Family::Titan => false,
            Family::Gpt => false,
            family => !family.is_nova() && !family.is_llama(),
        }
    }

    /// True if it reasons in encrypted form alone.
    pub(super) fn encrypts_reasoning(self) -> bool {
        matches!(self, Family::Gpt | Family::Grok)
    }

    /// True if the medium may stand in a user message.
    pub(super) fn user_takes(self, medium: Medium) -> bool {
        match self {
            Family::Other => true,
            Family::NovaMicro | Family::Llama3 | Family::Titan => false,
            Family::Nova2 => true,
            Family::Nova | Family::NovaPremier => medium != Medium::Audio,
            Family::Claude(_) | Family::Llama4 | Family::Mistral | Family::MistralLarge => {
                matches!(medium, Medium::Image | Medium::Document)
            }
            Family::MistralOld | Family::Cohere | Family::Jamba | Family::Writer => {
                medium == Medium::Document
            }
            _ => medium == Medium::Image,
        }
    }

    /// True if the medium may stand inside a tool result; documents of Nova are of certain formats only.
    pub(super) fn result_takes(self, medium: Medium) -> bool {
        match self {
            Family::Claude(_) | Family::Llama4 => matches!(medium, Medium::Image | Medium::Document),
            family if family.is_seeing_nova() => medium != Medium::Audio,
            family => family.is_mistral() && medium == Medium::Document,
        }
    }

    /// True if a block may stand beside a tool result.
    pub(super) fn takes_beside_result(self, kind: &str) -> bool {
        match self {
            Family::Claude(_) => !matches!(kind, "document" | "video" | "audio"),
            family => !family.is_llama() && !family.is_mistral() && family != Family::Writer,
        }
    }
}

/// The id without an ARN's head and without a geography, and whether it was bare of both.
fn foundation(model_id: &str) -> (&str, bool) {
    let name = model_id.rsplit_once('/').map_or(model_id, |(_, name)| name);
    let geography = GEOGRAPHIES.iter().find_map(|geography| name.strip_prefix(geography));
    (geography.unwrap_or(name), geography.is_none() && !model_id.starts_with("arn:"))
}

/// True if this id names a model that is only served through an inference profile.
pub(super) fn lacks_profile(model_id: &str) -> bool {
    foundation(model_id).1 && Family::of(model_id).needs_profile()
}

/// True if it can be a model id at all.
pub(super) fn is_model_id(model_id: &str) -> bool {
    (1..=2048).contains(&model_id.len())
        && model_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:/".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::{Family, Medium, is_model_id, lacks_profile};

    #[test]
    fn ids_profiles_and_arns_name_the_same_family() {
        for (id, family) in [
            ("amazon.nova-lite-v1:0", Family::Nova),
            ("us.amazon.nova-lite-v1:0", Family::Nova),
            ("us.amazon.nova-2-lite-v1:0", Family::Nova2),
            ("us-gov.amazon.nova-micro-v1:0", Family::NovaMicro),
            ("us.meta.llama4-maverick-17b-instruct-v1:0", Family::Llama4),
            ("openai.gpt-oss-120b-1:0", Family::GptOss),
            ("global.openai.gpt-6-astra", Family::Gpt),
            (
                "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.deepseek.r1-v1:0",
                Family::DeepSeekR1,
            ),
            ("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2", Family::Other),
            ("mock-model", Family::Other),
        ] {
            assert_eq!(Family::of(id), family, "{id}");
        }
        let Family::Claude(Some(claude)) = Family::of("global.anthropic.claude-sonnet-4-5-20250929-v1:0")
        else {
            panic!("a Claude")
        };
        assert!(claude.at_least(4, 5) && !claude.at_least(4, 6));
        assert_eq!(Family::of("anthropic.next"), Family::Claude(None));
    }

    // bedrock.md 1, (a) 19
    #[test]
    fn newer_models_need_a_profile() {
        for id in [
            "deepseek.r1-v1:0",
            "anthropic.claude-sonnet-4-5-20250929-v1:0",
            "anthropic.claude-opus-5",
            "meta.llama4-scout-17b-instruct-v1:0",
            "amazon.nova-2-lite-v1:0",
        ] {
            assert!(lacks_profile(id), "{id}");
            assert!(!lacks_profile(&format!("us.{id}")), "{id}");
        }
        assert!(!lacks_profile("amazon.nova-lite-v1:0"));
        assert!(!lacks_profile("anthropic.claude-3-haiku-20240307-v1:0"));
        assert!(!lacks_profile("arn:aws:bedrock:us-east-1::foundation-model/deepseek.r1-v1:0"));
    }

    #[test]
    fn ids_have_a_form() {
        assert!(is_model_id("us.amazon.nova-lite-v1:0") && is_model_id("arn:aws:bedrock:r:1:x/y_z"));
        assert!(!is_model_id("") && !is_model_id("a b") && !is_model_id(&"a".repeat(2049)));
    }

    // bedrock.md 3, 11, (b)
    #[test]
    fn media_in_tool_results_follow_the_table() {
        let takes = |id: &str| {
            let family = Family::of(id);
            [Medium::Image, Medium::Document, Medium::Video].map(|medium| family.result_takes(medium))
        };
        assert_eq!(takes("us.anthropic.claude-opus-5"), [true, true, false]);
        assert_eq!(takes("us.amazon.nova-2-lite-v1:0"), [true, true, true]);
        assert_eq!(takes("amazon.nova-micro-v1:0"), [false; 3]);
        assert_eq!(takes("us.meta.llama4-scout-17b-instruct-v1:0"), [true, true, false]);
        assert_eq!(takes("us.meta.llama3-2-90b-instruct-v1:0"), [false; 3]);
        assert_eq!(takes("us.mistral.pixtral-large-2502-v1:0"), [false, true, false]);
        assert_eq!(takes("moonshot.kimi-k2-thinking"), [false; 3]);
        assert_eq!(takes("mock-model"), [false; 3]);
    }
}
