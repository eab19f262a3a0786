//! The message types of a request (gemini.md 2, 3, 5, 10).

use super::proto::Platform::{Developer, Vertex};
use super::proto::{Field, Kind, Message};

const fn text(name: &'static str) -> Field {
    Field::one(name, Kind::Text)
}

const fn texts(name: &'static str) -> Field {
    Field::many(name, Kind::Text)
}

const fn number(name: &'static str) -> Field {
    Field::one(name, Kind::Number)
}

const fn integer(name: &'static str) -> Field {
    Field::one(name, Kind::Integer)
}

const fn flag(name: &'static str) -> Field {
    Field::one(name, Kind::Bool)
}

const fn any(name: &'static str) -> Field {
    Field::one(name, Kind::Any)
}

const fn one(name: &'static str, message: &'static Message) -> Field {
    Field::one(name, Kind::Message(message))
}

const fn many(name: &'static str, message: &'static Message) -> Field {
    Field::many(name, Kind::Message(message))
}

pub(super) static REQUEST: Message = Message {
    name: "GenerateContentRequest",
    fields: &[
        text("model"),
        many("contents", &CONTENT),
        one("system_instruction", &CONTENT),
        many("tools", &TOOL),
        one("tool_config", &TOOL_CONFIG),
        many("safety_settings", &SAFETY_SETTING),
        one("generation_config", &GENERATION_CONFIG),
        text("cached_content"),
        Field::one("labels", Kind::Map(&Kind::Text)),
        Field::one("service_tier", Kind::Enum(&["unspecified", "flex", "standard", "priority"])),
        flag("store").on(Developer),
        any("model_armor_config").on(Vertex),
    ],
};

pub(super) static CACHED_CONTENT: Message = Message {
    name: "CachedContent",
    fields: &[
        text("name"),
        text("model"),
        text("display_name"),
        many("contents", &CONTENT),
        one("system_instruction", &CONTENT),
        many("tools", &TOOL),
        one("tool_config", &TOOL_CONFIG),
        text("ttl"),
        text("expire_time"),
        any("encryption_spec").on(Vertex),
    ],
};

static CONTENT: Message = Message { name: "Content", fields: &[text("role"), many("parts", &PART)] };

static PART: Message = Message {
    name: "Part",
    fields: &[
        text("text"),
        flag("thought"),
        Field::one("thought_signature", Kind::Bytes),
        one("inline_data", &BLOB),
        one("file_data", &FILE_DATA),
        one("function_call", &FUNCTION_CALL),
        one("function_response", &FUNCTION_RESPONSE),
        any("executable_code"),
        any("code_execution_result"),
        any("tool_call").on(Developer),
        any("tool_response").on(Developer),
        one("video_metadata", &VIDEO_METADATA),
        any("media_resolution"),
        Field::one("part_metadata", Kind::Struct).on(Developer),
    ],
};

/// The members of a part of which exactly one stands in it.
pub(super) const PART_DATA: [&str; 9] = [
    "text",
    "inline_data",
    "file_data",
    "function_call",
    "function_response",
    "executable_code",
    "code_execution_result",
    "tool_call",
    "tool_response",
];

static BLOB: Message = Message {
    name: "Blob",
    fields: &[text("mime_type"), Field::one("data", Kind::Bytes), text("display_name")],
};

static FILE_DATA: Message =
    Message { name: "FileData", fields: &[text("mime_type"), text("file_uri"), text("display_name")] };

static VIDEO_METADATA: Message =
    Message { name: "VideoMetadata", fields: &[text("start_offset"), text("end_offset"), number("fps")] };

static FUNCTION_CALL: Message =
    Message { name: "FunctionCall", fields: &[text("id"), text("name"), Field::one("args", Kind::Struct)] };

static FUNCTION_RESPONSE: Message = Message {
    name: "FunctionResponse",
    fields: &[
        text("id"),
        text("name"),
        Field::one("response", Kind::Struct),
        many("parts", &FUNCTION_RESPONSE_PART),
        flag("will_continue"),
        Field::one("scheduling", Kind::Enum(&["SCHEDULING_UNSPECIFIED", "SILENT", "WHEN_IDLE", "INTERRUPT"])),
    ],
};

static FUNCTION_RESPONSE_PART: Message = Message {
    name: "FunctionResponsePart",
    fields: &[one("inline_data", &BLOB), one("file_data", &FILE_DATA).on(Vertex)],
};

static TOOL: Message = Message {
    name: "Tool",
    fields: &[
        many("function_declarations", &FUNCTION_DECLARATION),
        any("google_search"),
        any("google_search_retrieval"),
        any("url_context"),
        any("code_execution"),
        any("google_maps"),
        any("computer_use"),
        any("file_search").on(Developer),
        any("mcp_servers").on(Developer),
        any("retrieval").on(Vertex),
        any("enterprise_web_search").on(Vertex),
    ],
};

static FUNCTION_DECLARATION: Message = Message {
    name: "FunctionDeclaration",
    fields: &[
        text("name"),
        text("description"),
        one("parameters", &SCHEMA),
        any("parameters_json_schema"),
        one("response", &SCHEMA),
        any("response_json_schema"),
        Field::one("behavior", Kind::Enum(&["UNSPECIFIED", "BLOCKING", "NON_BLOCKING"])).on(Developer),
    ],
};

/// The subset of OpenAPI that `parameters` and `responseSchema` take.
static SCHEMA: Message = Message {
    name: "Schema",
    fields: &[
        Field::one(
            "type",
            Kind::Enum(&[
                "TYPE_UNSPECIFIED",
                "STRING",
                "NUMBER",
                "INTEGER",
                "BOOLEAN",
                "ARRAY",
                "OBJECT",
                "NULL",
            ]),
        ),
        text("format"),
        text("title"),
        text("description"),
        flag("nullable"),
        texts("enum"),
        one("items", &SCHEMA),
        integer("min_items"),
        integer("max_items"),
        Field::one("properties", Kind::Map(&Kind::Message(&SCHEMA))),
        texts("required"),
        texts("property_ordering"),
        integer("min_properties"),
        integer("max_properties"),
        integer("min_length"),
        integer("max_length"),
        text("pattern"),
        number("minimum"),
        number("maximum"),
        many("any_of", &SCHEMA),
        any("default"),
        any("example"),
    ],
};

static TOOL_CONFIG: Message = Message {
    name: "ToolConfig",
    fields: &[
        one("function_calling_config", &FUNCTION_CALLING_CONFIG),
        any("retrieval_config"),
        flag("include_server_side_tool_invocations").on(Developer),
    ],
};

static FUNCTION_CALLING_CONFIG: Message = Message {
    name: "FunctionCallingConfig",
    fields: &[
        Field::one("mode", Kind::Enum(&["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"])),
        texts("allowed_function_names"),
        flag("stream_function_call_arguments").on(Vertex),
    ],
};

static SAFETY_SETTING: Message = Message {
    name: "SafetySetting",
    fields: &[
        Field::one(
            "category",
            Kind::Enum(&[
                "HARM_CATEGORY_HARASSMENT",
                "HARM_CATEGORY_HATE_SPEECH",
                "HARM_CATEGORY_SEXUALLY_EXPLICIT",
                "HARM_CATEGORY_DANGEROUS_CONTENT",
                "HARM_CATEGORY_CIVIC_INTEGRITY",
                "HARM_CATEGORY_JAILBREAK",
                "HARM_CATEGORY_IMAGE_HATE",
                "HARM_CATEGORY_IMAGE_DANGEROUS_CONTENT",
                "HARM_CATEGORY_IMAGE_HARASSMENT",
                "HARM_CATEGORY_IMAGE_SEXUALLY_EXPLICIT",
            ]),
        ),
        Field::one(
            "threshold",
            Kind::Enum(&[
                "BLOCK_NONE",
                "OFF",
                "BLOCK_ONLY_HIGH",
                "BLOCK_MEDIUM_AND_ABOVE",
                "BLOCK_LOW_AND_ABOVE",
            ]),
        ),
        Field::one("method", Kind::Enum(&["SEVERITY", "PROBABILITY"])).on(Vertex),
    ],
};

static GENERATION_CONFIG: Message = Message {
    name: "GenerationConfig",
    fields: &[
        number("temperature"),
        number("top_p"),
        number("top_k"),
        integer("max_output_tokens"),
        texts("stop_sequences"),
        integer("candidate_count"),
        integer("seed"),
        number("presence_penalty"),
        number("frequency_penalty"),
        text("response_mime_type"),
        one("response_schema", &SCHEMA),
        any("response_json_schema"),
        any("response_format"),
        Field::many("response_modalities", Kind::Enum(&["MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "AUDIO"])),
        one("thinking_config", &THINKING_CONFIG),
        Field::one(
            "media_resolution",
            Kind::Enum(&[
                "MEDIA_RESOLUTION_UNSPECIFIED",
                "MEDIA_RESOLUTION_LOW",
                "MEDIA_RESOLUTION_MEDIUM",
                "MEDIA_RESOLUTION_HIGH",
            ]),
        ),
        flag("response_logprobs"),
        integer("logprobs"),
        any("speech_config"),
        any("image_config"),
        flag("enable_enhanced_civic_answers").on(Developer),
        flag("audio_timestamp").on(Vertex),
        any("routing_config").on(Vertex),
        any("model_selection_config").on(Vertex),
    ],
};

static THINKING_CONFIG: Message = Message {
    name: "ThinkingConfig",
    fields: &[
        flag("include_thoughts"),
        integer("thinking_budget"),
        Field::one(
            "thinking_level",
            Kind::Enum(&["THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH"]),
        ),
    ],
};
