//! Servers that are compatible with Chat Completions, and their quirks. Every quirk and every entry names its section of openai.md C, and
//! its row of openai.md D.

/// A server that speaks Chat Completions in its own way, for [`Rules::for_server`](crate::Rules::for_server).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Server {
    /// Azure OpenAI.
    Azure,
    /// DeepSeek.
    DeepSeek,
    /// Docker Model Runner with its llama.cpp engine.
    DockerModelRunner,
    /// Groq.
    Groq,
    /// llama.cpp's server, with a chat template that demands alternation and one leading system message.
    LlamaCpp,
    /// LM Studio.
    LmStudio,
    /// MiniMax.
    MiniMax,
    /// Mistral.
    Mistral,
    /// Moonshot (Kimi).
    Moonshot,
    /// Ollama, under `/v1`.
    Ollama,
    /// OpenRouter.
    OpenRouter,
    /// Qwen on DashScope.
    Qwen,
    /// vLLM, with a chat template that demands alternation and one leading system message.
    Vllm,
    /// xAI.
    Xai,
    /// Zhipu and Z.ai (GLM).
    Zhipu,
}

/// A rule that some servers have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Quirk {
    /// Other fields of the request are refused with 422 (C.6, D 16).
    Fields(&'static [&'static str]),
    /// These fields are refused (C.2, C.6).
    NoFields(&'static [&'static str]),
    /// A number is within bounds, the lower one excluded or included (C.2, C.3).
    Range { field: &'static str, above: bool, from: f64, to: f64 },
    /// The efforts that models of these names take; others take any (C.1, C.2, C.4, C.7, C.8).
    Efforts(&'static [(&'static str, &'static [&'static str])]),
    /// Some models refuse to have their thinking switched off (C.2, C.3, C.4).
    ThinkingStaysOn,
    /// The temperature is 1 while thinking, else 0.6 (C.4).
    FixedTemperature,
    /// A thinking model must be streamed (C.5, D 56).
    StreamWhileThinking,
    /// Models of these names refuse penalties and stop sequences (C.8).
    NoPenaltiesWhileReasoning(&'static [&'static str]),
    /// `reasoning` sets an effort or a number of tokens, not both (C.9).
    OneReasoningBudget,
    /// `reasoning_format` excludes `include_reasoning`, and `raw` excludes tools and JSON (C.7).
    ReasoningFormat,
    /// `tool_choice` is `auto` (C.2).
    AutoChoiceOnly,
    /// `tool_choice` forces nothing (C.4).
    UnforcedChoice,
    /// `tool_choice` is a string (C.17).
    ChoiceAsString,
    /// While thinking, `tool_choice` forces nothing (C.1, C.5, D 2).
    UnforcedChoiceWhileThinking,
    /// No tool is `strict` (C.2, C.3, C.4).
    NoStrictTools,
    /// The kinds of `response_format` (C.1, C.2, C.4, C.17, D 53).
    Formats(&'static [&'static str]),
    /// JSON and tools exclude each other (C.7, D 54).
    NoFormatWithTools,
    /// `json_object` and thinking exclude each other (C.5).
    NoJsonWhileThinking,
    /// There is no role `developer` (A.2).
    NoDeveloper,
    /// There is one system message at most, the first (C.3, D 49).
    OneSystemMessage,
    /// The chat template demands one leading system message and alternation; its exceptions have this status
    /// (C.15, C.16, D 51, D 52).
    Template(u16),
    /// Every message has a `content` member (C.15, D 62).
    ContentKey,
    /// There is a user message (C.2).
    SomeUser,
    /// The ids of calls have nine letters or digits (C.6, D 14).
    NineCharacterIds,
    /// Results come in the order of their calls (A.2, D 15).
    ResultsInOrder,
    /// A user message does not follow a result directly (C.6, D 17).
    NoUserAfterTool,
    /// The last message is the user's, a result, or a prefix (C.6).
    EndsWithUserOrTool,
    /// An assistant message has content or calls (C.4, C.6, D 63).
    NoEmptyAssistant,
    /// While thinking, turns with calls carry their `reasoning_content` (C.1, C.4, D 1).
    ReasoningPassedBack,
    /// Turns with calls of these models carry their `reasoning_details` (C.9, D 61).
    ReasoningDetails(&'static [&'static str]),
    /// Unknown members of messages are refused (C.7).
    MessageMembers,
    /// Messages have no `name` (C.2).
    NoNames,
    /// The kinds of parts in user messages (C.1, C.11, E).
    Parts(&'static [&'static str]),
    /// Images are sent as data URIs (C.13).
    NoRemoteImages,
    /// Files are addresses, never data (C.2).
    FilesAreAddresses,
    /// Audio is sent as a data URI (C.5).
    AudioAsDataUri,
}

/// openai.md C.6, and the parameters of Mistral's own reference.
const MISTRAL_FIELDS: &[&str] = &[
    "model",
    "messages",
    "temperature",
    "top_p",
    "max_tokens",
    "stream",
    "stop",
    "random_seed",
    "metadata",
    "response_format",
    "tools",
    "tool_choice",
    "presence_penalty",
    "frequency_penalty",
    "n",
    "prediction",
    "parallel_tool_calls",
    "prompt_mode",
    "prompt_cache",
    "reasoning_effort",
    "safe_prompt",
    "guardrails",
];

const JSON_OBJECT: Quirk = Quirk::Formats(&["text", "json_object"]);
const IMAGES: Quirk = Quirk::Parts(&["text", "image_url"]);
const IMAGES_AND_VIDEO: Quirk = Quirk::Parts(&["text", "image_url", "video_url"]);

const ABOVE_ZERO: Quirk = Quirk::Range { field: "temperature", above: true, from: 0.0, to: 1.0 };

const LLAMA_CPP: &[Quirk] =
    &[Quirk::NoDeveloper, Quirk::Template(500), Quirk::Parts(&["text", "image_url", "input_audio"])];

impl Server {
    /// Every server, in the order of declaration.
    pub const ALL: [Server; 15] = [
        Server::Azure,
        Server::DeepSeek,
        Server::DockerModelRunner,
        Server::Groq,
        Server::LlamaCpp,
        Server::LmStudio,
        Server::MiniMax,
        Server::Mistral,
        Server::Moonshot,
        Server::Ollama,
        Server::OpenRouter,
        Server::Qwen,
        Server::Vllm,
        Server::Xai,
        Server::Zhipu,
    ];

    /// True if it wants a key (openai.md C.0).
    pub(crate) fn needs_key(self) -> bool {
        !matches!(
            self,
            Server::DockerModelRunner | Server::LlamaCpp | Server::LmStudio | Server::Ollama | Server::Vllm
        )
    }

    /// True if it takes fields that OpenAI does not have.
    pub(crate) fn is_compatible(self) -> bool {
        self != Server::Azure
    }

    pub(crate) fn quirks(self) -> &'static [Quirk] {
        match self {
            // C.11
            Server::Azure => &[Quirk::Parts(&["text", "image_url", "input_audio"])],
            // C.1
            Server::DeepSeek => &[
                Quirk::NoDeveloper,
                Quirk::Parts(&["text"]),
                JSON_OBJECT,
                Quirk::UnforcedChoiceWhileThinking,
                Quirk::ReasoningPassedBack,
            ],
            // C.7
            Server::Groq => &[
                Quirk::MessageMembers,
                IMAGES,
                Quirk::NoFormatWithTools,
                Quirk::ReasoningFormat,
                Quirk::Efforts(&[("qwen3", &["none", "default"]), ("gpt-oss", &["low", "medium", "high"])]),
            ],
            // C.14, C.16
            Server::DockerModelRunner | Server::LlamaCpp => LLAMA_CPP,
            // C.17
            Server::LmStudio => {
                &[Quirk::NoDeveloper, IMAGES, Quirk::ChoiceAsString, Quirk::Formats(&["text", "json_schema"])]
            }
            // C.3
            Server::MiniMax => &[
                Quirk::NoDeveloper,
                Quirk::OneSystemMessage,
                ABOVE_ZERO,
                Quirk::NoStrictTools,
                Quirk::ThinkingStaysOn,
                IMAGES_AND_VIDEO,
            ],
            // C.6
            Server::Mistral => &[
                Quirk::Fields(MISTRAL_FIELDS),
                Quirk::NoDeveloper,
                Quirk::NineCharacterIds,
                Quirk::ResultsInOrder,
                Quirk::NoUserAfterTool,
                Quirk::NoEmptyAssistant,
                Quirk::EndsWithUserOrTool,
                Quirk::Parts(&["text", "image_url", "document_url", "input_audio"]),
            ],
            // C.4
            Server::Moonshot => &[
                Quirk::NoDeveloper,
                Quirk::UnforcedChoice,
                JSON_OBJECT,
                Quirk::NoStrictTools,
                Quirk::FixedTemperature,
                Quirk::ThinkingStaysOn,
                Quirk::Efforts(&[
                    ("kimi-k3", &["low", "high", "max"]),
                    ("kimi", &["minimal", "low", "medium", "high", "xhigh", "max"]),
                ]),
                Quirk::ReasoningPassedBack,
                Quirk::NoEmptyAssistant,
                IMAGES_AND_VIDEO,
            ],
            // C.13
            Server::Ollama => &[Quirk::NoDeveloper, IMAGES, Quirk::NoRemoteImages],
            // C.9
            Server::OpenRouter => &[Quirk::OneReasoningBudget, Quirk::ReasoningDetails(&["gemini-3"])],
            // C.5
            Server::Qwen => &[
                Quirk::NoDeveloper,
                Quirk::StreamWhileThinking,
                Quirk::UnforcedChoiceWhileThinking,
                Quirk::NoJsonWhileThinking,
                Quirk::Parts(&["text", "image_url", "input_audio", "video_url"]),
                Quirk::AudioAsDataUri,
            ],
            // C.15
            Server::Vllm => &[
                Quirk::NoDeveloper,
                Quirk::Template(400),
                Quirk::ContentKey,
                Quirk::Parts(&["text", "image_url", "input_audio", "video_url"]),
            ],
            // C.8
            Server::Xai => &[
                Quirk::NoDeveloper,
                Quirk::ResultsInOrder,
                Quirk::NoPenaltiesWhileReasoning(&["grok-4", "grok-3-mini"]),
                Quirk::Efforts(&[
                    ("grok-4.3", &["none", "low", "medium", "high"]),
                    ("grok-4.5", &["low", "medium", "high"]),
                    ("grok-3-mini", &["low", "high"]),
                    ("grok", &[]),
                ]),
            ],
            // C.2
            Server::Zhipu => &[
                Quirk::NoDeveloper,
                Quirk::SomeUser,
                Quirk::NoNames,
                Quirk::NoFields(&["max_completion_tokens", "presence_penalty", "frequency_penalty"]),
                ABOVE_ZERO,
                Quirk::Range { field: "top_p", above: false, from: 0.01, to: 1.0 },
                Quirk::AutoChoiceOnly,
                Quirk::NoStrictTools,
                JSON_OBJECT,
                Quirk::ThinkingStaysOn,
                Quirk::Efforts(&[("glm-5.3", &["low", "high", "max"])]),
                Quirk::Parts(&["text", "image_url", "video_url", "file_url"]),
                Quirk::FilesAreAddresses,
            ],
        }
    }
}
