//! The protocol in words: the list of tools, the format, and the hints to a model that does not keep to it.

use std::fmt::Write as _;

use attache_core::ToolSet;

use super::parser::Fault;

/// The tool with which a model asks the user; its parameter is `question`.
pub(super) const ASK_USER: &str = "ask_user";

/// The text that follows the instructions of the agent.
pub(super) fn protocol(tools: &ToolSet) -> String {
    let mut text = String::from("# Tools\n\nYou can use these tools:\n");
    for (name, tool) in tools.iter() {
        let _infallible = write!(text, "\n- {name}");
        if !tool.description().is_empty() {
            let _infallible = write!(text, ": {}", tool.description().trim());
        }
        let _infallible = write!(text, "\n  Input schema: {}", tool.input_schema());
    }
    text.push_str(
        "\n\n# Format\n\nAlways write in one of these two forms.\n\nTo use a tool:\n\nThought: what you need to know and why\n\
         Action: the name of one tool\nAction Input: the tool's input as one JSON object\n\nThen stop. The next message begins \
         with \"Observation:\" and holds what the tool returned. Never write an observation yourself.\n\nWhen you know the \
         answer:\n\nThought: why you are done\nFinal Answer: your answer to the user\n",
    );
    if tools.get(ASK_USER).is_some() {
        text.push_str("\nTo ask the user something that you cannot find out:\n\nThought: what is missing\nAsk: your question\n");
    }
    text.push_str(
        "\nFor example, with a tool named weather_of_city:\n\nThought: I need the weather in Oslo.\nAction: weather_of_city\n\
         Action Input: {\"city\": \"Oslo\"}",
    );
    text
}

/// The wish for answers in a language.
pub(super) fn language(language: &str) -> String {
    format!("Write your final answer in {language}.")
}

/// The word to a model whose reply means nothing.
pub(super) fn hint(fault: Fault) -> &'static str {
    match fault {
        Fault::NoMarker => {
            "Your reply has no marker. Write \"Action:\" and \"Action Input:\" to use a tool, or \"Final Answer:\" and your answer."
        }
        Fault::ThoughtOnly => {
            "You only thought. Go on with \"Action:\" and \"Action Input:\", or with \"Final Answer:\" and your answer."
        }
        Fault::NoAction => "If you need no tool, write \"Final Answer:\" and your answer.",
        Fault::BadAction => {
            "Your action cannot be read. Write \"Action:\" and the name of one tool, and on the next line \"Action Input:\" \
             and one JSON object."
        }
        Fault::Blank => "Your reply is empty. Write \"Final Answer:\" and your answer, or use a tool.",
    }
}
