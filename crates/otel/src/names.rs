//! The names of the conventions, and our own.

/// Names of attributes.
pub(crate) mod attribute {
    pub(crate) const AGENT_DESCRIPTION: &str = "gen_ai.agent.description";
    pub(crate) const AGENT_ID: &str = "gen_ai.agent.id";
    pub(crate) const AGENT_NAME: &str = "gen_ai.agent.name";
    pub(crate) const AGENT_VERSION: &str = "gen_ai.agent.version";
    pub(crate) const CACHE_READ: &str = "gen_ai.usage.cache_read.input_tokens";
    pub(crate) const CACHE_WRITE: &str = "gen_ai.usage.cache_write.input_tokens";
    pub(crate) const COMPACTED: &str = "gen_ai.conversation.compacted";
    pub(crate) const CONVERSATION: &str = "gen_ai.conversation.id";
    pub(crate) const ERROR: &str = "error.type";
    pub(crate) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
    pub(crate) const FREQUENCY_PENALTY: &str = "gen_ai.request.frequency_penalty";
    pub(crate) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
    pub(crate) const MAX_TOKENS: &str = "gen_ai.request.max_tokens";
    pub(crate) const OPERATION: &str = "gen_ai.operation.name";
    pub(crate) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
    pub(crate) const OUTPUT_TYPE: &str = "gen_ai.output.type";
    pub(crate) const PRESENCE_PENALTY: &str = "gen_ai.request.presence_penalty";
    pub(crate) const PROVIDER: &str = "gen_ai.provider.name";
    pub(crate) const REASONING_LEVEL: &str = "gen_ai.request.reasoning.level";
    pub(crate) const REASONING_TOKENS: &str = "gen_ai.usage.reasoning.output_tokens";
    pub(crate) const REQUEST_MODEL: &str = "gen_ai.request.model";
    pub(crate) const RESPONSE_ID: &str = "gen_ai.response.id";
    pub(crate) const RESPONSE_MODEL: &str = "gen_ai.response.model";
    pub(crate) const SEED: &str = "gen_ai.request.seed";
    pub(crate) const STOP: &str = "gen_ai.request.stop_sequences";
    pub(crate) const STREAM: &str = "gen_ai.request.stream";
    pub(crate) const TEMPERATURE: &str = "gen_ai.request.temperature";
    pub(crate) const TIME_TO_FIRST_CHUNK: &str = "gen_ai.response.time_to_first_chunk";
    pub(crate) const TOKEN_TYPE: &str = "gen_ai.token.type";
    pub(crate) const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
    pub(crate) const TOOL_DESCRIPTION: &str = "gen_ai.tool.description";
    pub(crate) const TOOL_NAME: &str = "gen_ai.tool.name";
    pub(crate) const TOOL_TYPE: &str = "gen_ai.tool.type";
    pub(crate) const TOP_K: &str = "gen_ai.request.top_k";
    pub(crate) const TOP_P: &str = "gen_ai.request.top_p";

    /// The number of the attempt, from the second on.
    pub(crate) const ATTEMPT: &str = "attache.attempt";
    /// The known cost of a run.
    pub(crate) const COST: &str = "attache.cost";
    /// Replies whose cost nobody knows.
    pub(crate) const COST_UNKNOWN: &str = "attache.cost.unknown_steps";
    /// The way in which the result of a call came about.
    pub(crate) const DISPOSITION: &str = "attache.tool.disposition";
    /// The reason why a run ended.
    pub(crate) const END_REASON: &str = "attache.run.end_reason";
    /// The provider's own number of a request.
    pub(crate) const REQUEST_ID: &str = "attache.request.id";
    pub(crate) const RESUMED: &str = "attache.run.resumed";
    pub(crate) const RUN: &str = "attache.run.id";
    pub(crate) const STEP: &str = "attache.step";
    pub(crate) const STEPS: &str = "attache.run.steps";
    pub(crate) const TOOL_CALLS: &str = "attache.run.tool_calls";
    /// The family that a tool comes from.
    pub(crate) const TOOL_ORIGIN: &str = "attache.tool.origin";
}

/// The operations of the conventions.
pub(crate) const CHAT: &str = "chat";
pub(crate) const EXECUTE_TOOL: &str = "execute_tool";
pub(crate) const INVOKE_AGENT: &str = "invoke_agent";

/// The error of work that somebody stopped.
pub(crate) const CANCELLED: &str = "cancelled";

/// The provider's name by the conventions, and the model, of `provider/model`.
pub(crate) fn provider_and_model(id: &str) -> (String, String) {
    let (provider, model) = id.split_once('/').unwrap_or(("", id));
    let name = match provider {
        "" => "_OTHER",
        "openai-chat" | "openai-responses" => "openai",
        "bedrock" => "aws.bedrock",
        "gemini" => "gcp.gemini",
        "vertex" => "gcp.vertex_ai",
        "azure" | "azure-openai" => "azure.ai.openai",
        "azure-inference" => "azure.ai.inference",
        "mistral" => "mistral_ai",
        "xai" | "grok" => "x_ai",
        "watsonx" => "ibm.watsonx.ai",
        other => other,
    };
    (name.to_owned(), model.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_have_the_names_of_the_conventions() {
        let names = [
            ("openai/gpt-5", "openai", "gpt-5"),
            ("anthropic/claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
            ("bedrock/eu.anthropic.claude", "aws.bedrock", "eu.anthropic.claude"),
            ("gemini/gemini-2.5-pro", "gcp.gemini", "gemini-2.5-pro"),
            ("vertex/gemini-2.5-pro", "gcp.vertex_ai", "gemini-2.5-pro"),
            ("ours/meta/llama", "ours", "meta/llama"),
            ("llama", "_OTHER", "llama"),
        ];
        for (id, provider, model) in names {
            assert_eq!(provider_and_model(id), (provider.to_owned(), model.to_owned()));
        }
    }
}
