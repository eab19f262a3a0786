//! The meaning of model names for the parameters that a request may carry (anthropic.md 3, 6, 8, 12).

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Opus,
    Sonnet,
    Haiku,
    Fable,
    Mythos,
}

/// A known model: its family and version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Model {
    pub(super) family: Family,
    version: (u32, u32),
}

/// The values of `thinking.type` that a model takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Modes {
    /// `enabled` with a budget, `disabled`.
    Manual,
    /// `adaptive`, `enabled` (deprecated), `disabled`.
    Both,
    /// `adaptive`, `disabled`.
    Adaptive,
    /// `adaptive`; thinking cannot be switched off.
    Always,
    /// Not known: the models endpoint tells.
    Unknown,
}

impl Model {
    /// Parses ids such as `claude-opus-4-7`, `claude-3-5-sonnet-20241022` and `us.anthropic.claude-opus-5`.
    pub(crate) fn parse(id: &str) -> Option<Model> {
        let (_, name) = id.split_once("claude-")?;
        let mut family = None;
        let mut numbers = Vec::new();
        for word in name.split(['-', '.', '@', ':']) {
            match word {
                "opus" => family = Some(Family::Opus),
                "sonnet" => family = Some(Family::Sonnet),
                "haiku" => family = Some(Family::Haiku),
                "fable" => family = Some(Family::Fable),
                "mythos" => family = Some(Family::Mythos),
                // Longer numbers are dates.
                _ if word.len() <= 2 => numbers.extend(word.parse::<u32>().ok()),
                _ => {}
            }
        }
        let mut numbers = numbers.into_iter();
        // A preview without a number belongs to the generation it previews.
        let version = (numbers.next().unwrap_or(5), numbers.next().unwrap_or(0));
        Some(Model { family: family?, version })
    }

    /// True if it is of that version or a later one.
    pub(crate) fn at_least(self, major: u32, minor: u32) -> bool {
        self.version >= (major, minor)
    }

    fn is_fable(self) -> bool {
        matches!(self.family, Family::Fable | Family::Mythos)
    }

    pub(crate) fn rejects_prefill(self) -> bool {
        self.version >= (4, 6)
    }

    pub(super) fn rejects_sampling(self) -> bool {
        self.version >= (4, 7)
    }

    /// True if at most one of `temperature` and `top_p` may be sent.
    pub(super) fn takes_one_sampling_parameter(self) -> bool {
        self.version.0 == 4
    }

    /// True if it always thinks and chooses its tools itself.
    pub(crate) fn rejects_forced_tools(self) -> bool {
        let is_new = self.version == (5, 5) && matches!(self.family, Family::Opus | Family::Sonnet);
        self.is_fable() || is_new
    }

    /// True if messages of the role `system` are accepted, if only to be ignored.
    pub(crate) fn takes_system_messages(self) -> bool {
        self.version >= (4, 8)
    }

    pub(super) fn modes(self) -> Modes {
        match self.version {
            _ if self.rejects_forced_tools() => Modes::Always,
            (5, 5) => Modes::Adaptive,
            version if version > (5, 0) => Modes::Unknown,
            version if version > (4, 6) => Modes::Adaptive,
            (4, 6) => Modes::Both,
            _ => Modes::Manual,
        }
    }

    /// True if thinking can be switched off only up to effort `high`.
    pub(super) fn thinks_above_high(self) -> bool {
        matches!((self.family, self.version), (Family::Opus, (5, 0)) | (Family::Haiku, (5, 5)))
    }

    /// The effort levels it takes; none where effort is refused.
    pub(super) fn efforts(self) -> &'static [&'static str] {
        match self.version {
            version if version > (4, 6) => &["low", "medium", "high", "xhigh", "max"],
            (4, 6) => &["low", "medium", "high", "max"],
            (4, 5) if self.family == Family::Opus => &["low", "medium", "high"],
            _ => &[],
        }
    }

    /// The maximum number of images that a request may hold: fewer where the window is 200k tokens.
    pub(super) fn max_images(self) -> usize {
        if self.version < (4, 6) { 100 } else { 600 }
    }
}

#[cfg(test)]
mod tests {
    use super::{Family, Model, Modes};

    #[test]
    fn ids_are_parsed_in_every_spelling() {
        for (id, family, version) in [
            ("claude-opus-4-7", Family::Opus, (4, 7)),
            ("claude-sonnet-4-5-20250929", Family::Sonnet, (4, 5)),
            ("claude-sonnet-4-0", Family::Sonnet, (4, 0)),
            ("claude-3-5-sonnet-20241022", Family::Sonnet, (3, 5)),
            ("us.anthropic.claude-haiku-4-5-20251001-v1:0", Family::Haiku, (4, 5)),
            ("claude-opus-4-5@20251101", Family::Opus, (4, 5)),
            ("claude-fable-5", Family::Fable, (5, 0)),
            ("claude-mythos-preview", Family::Mythos, (5, 0)),
        ] {
            assert_eq!(Model::parse(id), Some(Model { family, version }), "{id}");
        }
        assert_eq!(Model::parse("mock-model"), None);
        assert_eq!(Model::parse("claude-next"), None);
    }

    #[test]
    fn thinking_modes_follow_the_table() {
        let modes = |id| Model::parse(id).map(Model::modes);
        assert_eq!(modes("claude-haiku-4-5"), Some(Modes::Manual));
        assert_eq!(modes("claude-sonnet-4-6"), Some(Modes::Both));
        assert_eq!(modes("claude-opus-4-8"), Some(Modes::Adaptive));
        assert_eq!(modes("claude-sonnet-5"), Some(Modes::Adaptive));
        assert_eq!(modes("claude-mythos-5"), Some(Modes::Always));
        assert_eq!(modes("claude-opus-5-5"), Some(Modes::Always));
        assert_eq!(modes("claude-haiku-5-5"), Some(Modes::Adaptive));
        assert_eq!(modes("claude-opus-5-1"), Some(Modes::Unknown));
    }
}
