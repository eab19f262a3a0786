//! The meaning of model names for the parameters that a request may carry (openai.md A.6).

/// The way in which a model reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reasoning {
    /// Never; an effort is refused.
    Never,
    /// Always; sampling parameters are refused.
    Always,
    /// When an effort other than `none` is asked for.
    OnRequest,
    /// Unless the effort is `none`.
    ByDefault,
}

/// The rules of a known model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    pub(crate) reasoning: Reasoning,
    /// Function tools are refused while it reasons.
    pub(crate) no_tools_with_reasoning: bool,
    pub(crate) minimal_effort: bool,
    pub(crate) stop: bool,
}

impl Model {
    /// True if it reasons with this `reasoning_effort`.
    pub(crate) fn reasons(self, effort: Option<&str>) -> bool {
        match self.reasoning {
            Reasoning::Never => false,
            Reasoning::Always => true,
            Reasoning::OnRequest => effort.is_some_and(|effort| effort != "none"),
            Reasoning::ByDefault => effort != Some("none"),
        }
    }
}

/// The rules of a model, or `None` where nothing is known of it.
pub(crate) fn model(id: &str) -> Option<Model> {
    let with =
        |reasoning| Model { reasoning, no_tools_with_reasoning: false, minimal_effort: true, stop: true };
    if ["gpt-4", "gpt-3.5", "chatgpt-4"].iter().any(|family| id.starts_with(family)) {
        return Some(with(Reasoning::Never));
    }
    let mut letters = id.bytes();
    if letters.next() == Some(b'o') && letters.next().is_some_and(|digit| digit.is_ascii_digit()) {
        let stop = !(id.starts_with("o3") || id.starts_with("o4-mini"));
        return Some(Model { stop, ..with(Reasoning::Always) });
    }
    let rest = id.strip_prefix("gpt-5")?;
    let (minor, suffix) = match rest.strip_prefix('.') {
        None => (0, rest),
        Some(rest) => {
            let end = rest.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
            let (minor, suffix) = rest.split_at_checked(end)?;
            (minor.parse::<u32>().ok()?, suffix)
        }
    };
    let dated = suffix.starts_with("-2");
    let always = ["-pro", "-chat", "-codex"].iter().any(|variant| suffix.starts_with(variant));
    let mainline = suffix.is_empty() || dated;
    let reasoning = match minor {
        0 if suffix.starts_with("-chat") => Reasoning::Never,
        0 => Reasoning::Always,
        _ if always => Reasoning::Always,
        1..=4 if mainline => Reasoning::OnRequest,
        5.. => Reasoning::ByDefault,
        _ => return None,
    };
    Some(Model {
        reasoning,
        no_tools_with_reasoning: minor == 2 || minor >= 4,
        minimal_effort: minor != 6,
        stop: minor > 0 || reasoning == Reasoning::Never,
    })
}

#[cfg(test)]
mod tests {
    use super::{Reasoning, model};

    #[test]
    fn model_names_fall_into_families() {
        let reasoning = |id| model(id).map(|model| model.reasoning);
        assert_eq!(reasoning("gpt-4.1-mini"), Some(Reasoning::Never));
        assert_eq!(reasoning("o3-mini"), Some(Reasoning::Always));
        assert_eq!(reasoning("gpt-5-nano"), Some(Reasoning::Always));
        assert_eq!(reasoning("gpt-5-chat-latest"), Some(Reasoning::Never));
        assert_eq!(reasoning("gpt-5.1-codex"), Some(Reasoning::Always));
        assert_eq!(reasoning("gpt-5.2-pro"), Some(Reasoning::Always));
        assert_eq!(reasoning("gpt-5.1-2025-11-13"), Some(Reasoning::OnRequest));
        assert_eq!(reasoning("gpt-5.5"), Some(Reasoning::ByDefault));
        assert_eq!(reasoning("gpt-5.2-proo"), Some(Reasoning::Always));
        assert_eq!(reasoning("gpt-5.3-mini"), None);
        assert_eq!(reasoning("mock-model"), None);
        assert_eq!(reasoning("oracle"), None);
    }
}
