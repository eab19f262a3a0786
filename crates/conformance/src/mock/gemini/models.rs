//! The meaning of model names for the fields that a request may carry (gemini.md 4, 5).

use super::proto::Platform;

/// The class of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tier {
    Pro,
    Flash,
    FlashLite,
}

/// The facts that are known of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Model {
    major: u32,
    minor: u32,
    tier: Tier,
}

/// The way in which a model's thinking is steered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thinking {
    /// Not at all: it does not think.
    None,
    /// By a budget in this range; zero where it can be switched off.
    Budget { min: i64, max: i64, off: bool },
    /// By one of these levels.
    Levels(&'static [&'static str]),
}

impl Model {
    /// Function responses may hold media, tools go with JSON output and built-in tools, signatures are demanded.
    pub(super) fn is_third_generation(self) -> bool {
        self.major >= 3
    }

    pub(super) fn thinking(self) -> Thinking {
        match (self.major, self.minor, self.tier) {
            (0..=1, ..) | (2, 0..=4, _) => Thinking::None,
            (2, _, Tier::Flash) => Thinking::Budget { min: 0, max: 24_576, off: true },
            (2, _, Tier::FlashLite) => Thinking::Budget { min: 512, max: 24_576, off: true },
            (2, _, Tier::Pro) => Thinking::Budget { min: 128, max: 32_768, off: false },
            (3, 0, Tier::Pro) => Thinking::Levels(&["LOW", "HIGH"]),
            (_, _, Tier::Pro) | (3, 7.., _) => Thinking::Levels(&["LOW", "MEDIUM", "HIGH"]),
            _ => Thinking::Levels(&["MINIMAL", "LOW", "MEDIUM", "HIGH"]),
        }
    }

    /// The fewest tokens that can be cached (gemini.md 10).
    pub(super) fn min_cached_tokens(self) -> u64 {
        match self.tier {
            Tier::Pro => 4096,
            Tier::Flash | Tier::FlashLite => 1024,
        }
    }
}

/// The model's resource name in a request path: what stands before the method.
pub(crate) fn resource(path: &str) -> &str {
    path.rsplit_once(':').map_or(path, |(resource, _)| resource)
}

/// The platform that a resource name belongs to: those of Vertex begin with a project or a publisher.
pub(super) fn platform(resource: &str) -> Platform {
    let name = resource.trim_start_matches('/');
    let vertex = ["projects/", "publishers/"]
        .iter()
        .any(|start| name.starts_with(start) || name.contains(&format!("/{start}")));
    if vertex { Platform::Vertex } else { Platform::Developer }
}

/// The last segment of a resource name.
pub(super) fn id(resource: &str) -> &str {
    resource.rsplit('/').next().unwrap_or(resource)
}

/// The facts about a model by its name or resource name; `None` where none are known, image models included.
pub(super) fn model(resource: &str) -> Option<Model> {
    let rest = id(resource).strip_prefix("gemini-")?;
    if rest.contains("image") || rest.contains("tts") || rest.contains("live") || rest.contains("audio") {
        return None;
    }
    let (version, name) = rest.split_once('-')?;
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    let (major, minor) = (major.parse().ok()?, minor.parse().ok()?);
    let tier = if name.starts_with("flash-lite") {
        Tier::FlashLite
    } else if name.starts_with("flash") {
        Tier::Flash
    } else if name.starts_with("pro") {
        Tier::Pro
    } else {
        return None;
    };
    Some(Model { major, minor, tier })
}

#[cfg(test)]
mod tests {
    use super::{Model, Platform, Thinking, Tier, model, platform};

    #[test]
    fn names_fall_into_families() {
        let expected = |major, minor, tier| Some(Model { major, minor, tier });
        assert_eq!(model("gemini-2.5-flash"), expected(2, 5, Tier::Flash));
        assert_eq!(model("models/gemini-3-pro-preview"), expected(3, 0, Tier::Pro));
        let vertex = "projects/p/locations/global/publishers/google/models/gemini-3.1-flash-lite";
        assert_eq!(model(vertex), expected(3, 1, Tier::FlashLite));
        assert_eq!(platform(vertex), Platform::Vertex);
        assert_eq!(platform("/v1/publishers/google/models/gemini-3-flash"), Platform::Vertex);
        assert_eq!(platform("models/gemini-3-flash"), Platform::Developer);
        for unknown in ["gemini-flash-latest", "gemini-2.5-flash-image", "gemma-3", "gemini-x-pro"] {
            assert_eq!(model(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn thinking_is_steered_by_family() {
        let thinking = |id| model(id).map(Model::thinking);
        assert_eq!(thinking("gemini-2.0-flash"), Some(Thinking::None));
        assert_eq!(thinking("gemini-2.5-pro"), Some(Thinking::Budget { min: 128, max: 32_768, off: false }));
        assert_eq!(thinking("gemini-3-pro-preview"), Some(Thinking::Levels(&["LOW", "HIGH"])));
        assert_eq!(thinking("gemini-3.8-flash"), Some(Thinking::Levels(&["LOW", "MEDIUM", "HIGH"])));
    }
}
