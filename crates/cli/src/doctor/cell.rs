//! The cells of the capability table that probes tell about.

use attache_core::capability::{Caching, Place, PlaceCapabilities, StructuredOutput};
use attache_core::{Effort, MediaType, ModelCapabilities};

use super::media::Kind;

/// A cell, or one entry of a cell that is a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// None: the table takes it for granted.
    None,
    /// A media type in a place.
    Media(Place, Kind),
    /// `tools`.
    Tools,
    /// `forced_tools`.
    Forced,
    /// `parallel_tools`.
    Parallel,
    /// `structured_output`: a form of the answer.
    Form(Form),
    /// `caching`.
    Caching,
    /// `reasoning`: one way of switching it.
    Reasoning(Switch),
}

/// A form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Any JSON object.
    Object,
    /// JSON of a schema.
    Schema,
    /// JSON of a schema, with tools offered.
    BesideTools,
}

/// A way of switching reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Switch {
    Off,
    Effort,
    Adaptive,
    Budget,
}

impl Switch {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Effort => "effort",
            Self::Adaptive => "adaptive",
            Self::Budget => "budget",
        }
    }
}

impl Cell {
    /// Its name in the table; `None` for none.
    pub(super) fn name(self) -> Option<String> {
        Some(match self {
            Self::None => return None,
            Self::Media(place, _) => format!("{}.media", place.as_str()),
            Self::Tools => "tools".to_owned(),
            Self::Forced => "forced_tools".to_owned(),
            Self::Parallel => "parallel_tools".to_owned(),
            Self::Form(_) => "structured_output".to_owned(),
            Self::Caching => "caching".to_owned(),
            Self::Reasoning(_) => "reasoning".to_owned(),
        })
    }

    /// The claim of the table, in a word.
    pub(super) fn says(self, row: &ModelCapabilities) -> Option<&'static str> {
        Some(match self {
            Self::None => return None,
            Self::Form(_) => match row.structured_output {
                StructuredOutput::JsonObject => "json_object",
                StructuredOutput::JsonSchemaAlone => "json_schema_alone",
                StructuredOutput::JsonSchema => "json_schema",
                _ => "none",
            },
            Self::Caching => match row.caching {
                Caching::Automatic => "automatic",
                Caching::Explicit => "explicit",
                Caching::Resource => "resource",
                _ => "none",
            },
            _ if self.expects(row) == Some(true) => "yes",
            _ => "no",
        })
    }

    /// True if the table says that it works; `None` where it says nothing of the kind.
    pub(super) fn expects(self, row: &ModelCapabilities) -> Option<bool> {
        let form = rank(row.structured_output);
        Some(match self {
            Self::None => return None,
            Self::Media(place, kind) => takes(row.place(place), kind),
            Self::Tools => row.tools,
            Self::Forced => row.tools && row.forced_tools,
            Self::Parallel => row.tools && row.parallel_tools,
            // Not every API that knows schemas knows JSON without one.
            Self::Form(Form::Object) if form > rank(StructuredOutput::JsonObject) => return None,
            Self::Form(Form::Object) => form == rank(StructuredOutput::JsonObject),
            Self::Form(Form::Schema) => form >= rank(StructuredOutput::JsonSchemaAlone),
            Self::Form(Form::BesideTools) => form == rank(StructuredOutput::JsonSchema),
            Self::Caching => row.caching != Caching::None,
            Self::Reasoning(switch) => row.reasoning.iter().any(|word| word == switch.as_str()),
        })
    }

    /// Changes the table's row so that it says that this works, or that it does not.
    pub(super) fn set(self, row: &mut ModelCapabilities, works: bool) {
        match self {
            Self::None => {}
            Self::Media(place, kind) => set_media(row, place, kind, works),
            Self::Tools => row.tools = works,
            Self::Forced => row.forced_tools = works,
            Self::Parallel => row.parallel_tools = works,
            Self::Form(form) => row.structured_output = with_form(row.structured_output, form, works),
            Self::Caching if works => row.caching = Caching::Automatic,
            Self::Caching => row.caching = Caching::None,
            Self::Reasoning(switch) => {
                row.reasoning.retain(|word| word != switch.as_str());
                if works {
                    row.reasoning.push(switch.as_str().to_owned());
                }
                if switch == Switch::Effort && works && row.efforts.is_empty() {
                    row.efforts.push(Effort::Low);
                }
                if row.reasoning.is_empty() {
                    row.efforts.clear();
                }
            }
        }
    }
}

/// The power of a level of structured output.
fn rank(form: StructuredOutput) -> u8 {
    match form {
        StructuredOutput::JsonObject => 1,
        StructuredOutput::JsonSchemaAlone => 2,
        StructuredOutput::JsonSchema => 3,
        _ => 0,
    }
}

fn with_form(now: StructuredOutput, form: Form, works: bool) -> StructuredOutput {
    let (least, most) = match form {
        Form::Object => (StructuredOutput::JsonObject, StructuredOutput::None),
        Form::Schema => (StructuredOutput::JsonSchemaAlone, StructuredOutput::JsonObject),
        Form::BesideTools => (StructuredOutput::JsonSchema, StructuredOutput::JsonSchemaAlone),
    };
    match works {
        true if rank(now) < rank(least) => least,
        false if rank(now) > rank(most) => most,
        _ => now,
    }
}

fn takes(place: &PlaceCapabilities, kind: Kind) -> bool {
    match MediaType::parse(kind.media_type()) {
        Some(media) => place.accepts(&media),
        None => false,
    }
}

/// A value that was taken from another place goes on being taken from it.
fn set_media(row: &mut ModelCapabilities, place: Place, kind: Kind, works: bool) {
    let beside_is_user = row.beside_result.media == row.user.media;
    let failed_is_result = row.failed_result.media == row.tool_result.media;
    match place {
        Place::User => {
            edit(&mut row.user.media, kind, works);
            if beside_is_user {
                row.beside_result.media.clone_from(&row.user.media);
            }
        }
        Place::ToolResult => {
            edit(&mut row.tool_result.media, kind, works);
            if failed_is_result {
                row.failed_result.media.clone_from(&row.tool_result.media);
            }
        }
        Place::FailedResult => edit(&mut row.failed_result.media, kind, works),
        _ => edit(&mut row.beside_result.media, kind, works),
    }
}

fn edit(list: &mut Vec<String>, kind: Kind, works: bool) {
    let pattern = kind.pattern();
    if works {
        list.push(pattern.to_owned());
        return;
    }
    list.retain(|entry| entry != pattern);
    // A pattern that covers it as well is replaced by the rest of what it covers, as far as that is known here.
    let covers =
        |entry: &str, kind: Kind| entry.contains('*') && takes(&PlaceCapabilities::of(&[entry]), kind);
    let (wide, mut rest): (Vec<String>, Vec<String>) =
        std::mem::take(list).into_iter().partition(|entry| covers(entry, kind));
    for other in Kind::ALL.into_iter().filter(|other| *other != kind) {
        let known = rest.iter().any(|entry| entry == other.pattern());
        if !known && wide.iter().any(|entry| covers(entry, other)) {
            rest.push(other.pattern().to_owned());
        }
    }
    *list = rest;
}
