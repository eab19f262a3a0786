//! Parameters: what a model writes, and where it stands in a request.

use serde_json::{Value, json};

use crate::members::{Named, named};

/// The place of a parameter in a request. Headers and cookies are none of them: no model writes those.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// In the path, where the template has its name in braces.
    Path,
    /// In the query.
    Query,
    /// A member of the body.
    Body,
}

/// The way in which a parameter is written, by OpenAPI's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Style {
    /// `a,b`: the default of paths.
    Simple,
    /// `.a.b`, in paths.
    Label,
    /// `;name=a`, in paths.
    Matrix,
    /// `name=a&name=b`, or `name=a,b`: the default of queries and forms.
    Form,
    /// `name=a%20b`.
    SpaceDelimited,
    /// `name=a|b`.
    PipeDelimited,
    /// `name[member]=a`.
    DeepObject,
}

/// A parameter that the model writes.
///
/// ```
/// use attache_http_tools::Parameter;
/// use serde_json::json;
/// let page = Parameter::query("page[number]", json!({"type": "integer", "minimum": 1})).with_argument("page");
/// # let _ = page;
/// ```
#[derive(Clone, Debug)]
pub struct Parameter {
    pub(crate) place: Place,
    /// The name in the request.
    pub(crate) name: String,
    /// The name that the model reads.
    pub(crate) argument: String,
    pub(crate) schema: Value,
    pub(crate) required: bool,
    /// True if a body, which may be left out, must have it.
    pub(crate) is_required_in_body: bool,
    pub(crate) style: Option<Style>,
    pub(crate) explode: Option<bool>,
    /// True if the model names a document, whose bytes are sent.
    pub(crate) is_document: bool,
    /// The media type of its part in a form of several parts; in a query, that of its text.
    pub(crate) part_type: Option<String>,
    /// The members that its schema names.
    pub(crate) members: Named,
}

impl Parameter {
    fn new(place: Place, name: impl Into<String>, schema: Value) -> Self {
        let name = name.into();
        Self {
            place,
            argument: argument_name(&name),
            name,
            members: named(&schema, |_| None),
            schema,
            required: place == Place::Path,
            is_required_in_body: false,
            style: None,
            explode: None,
            is_document: false,
            part_type: None,
        }
    }

    /// A parameter of the path, which is always required.
    pub fn path(name: impl Into<String>, schema: Value) -> Self {
        Self::new(Place::Path, name, schema)
    }

    /// A parameter of the query; optional until [`required`](Self::required) says otherwise.
    pub fn query(name: impl Into<String>, schema: Value) -> Self {
        Self::new(Place::Query, name, schema)
    }

    /// A member of the body; optional until [`required`](Self::required) says otherwise.
    pub fn body(name: impl Into<String>, schema: Value) -> Self {
        Self::new(Place::Body, name, schema)
    }

    /// A document as a member of the body: the model names one of the conversation, and its bytes are sent with its name
    /// and type. In a body of JSON they stand as base64.
    pub fn document(name: impl Into<String>) -> Self {
        Self::body(name, document_schema()).of_documents()
    }

    /// Several documents as one member of the body.
    pub fn documents(name: impl Into<String>) -> Self {
        Self::body(name, json!({"type": "array", "items": document_schema()})).of_documents()
    }

    pub(crate) fn of_documents(mut self) -> Self {
        self.is_document = true;
        self
    }

    /// Demands it.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Gives it another name for the model.
    #[must_use]
    pub fn with_argument(mut self, name: impl Into<String>) -> Self {
        self.argument = argument_name(&name.into());
        self
    }

    /// Says how it is written, and whether each item or member of a value stands apart (`explode`).
    #[must_use]
    pub fn with_style(mut self, style: Style, explode: bool) -> Self {
        (self.style, self.explode) = (Some(style), Some(explode));
        self
    }

    /// Describes it.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        if let Value::Object(schema) = &mut self.schema {
            schema.insert("description".to_owned(), Value::String(description.into()));
        }
        self
    }

    pub(crate) fn style(&self) -> Style {
        self.style.unwrap_or(if self.place == Place::Path { Style::Simple } else { Style::Form })
    }

    pub(crate) fn explodes(&self) -> bool {
        self.explode.unwrap_or_else(|| matches!(self.style(), Style::Form | Style::DeepObject))
    }

    /// Its schema as the model reads it: where each member of an object stands for itself, those that it does not name
    /// cannot be sent.
    pub(crate) fn shown_schema(&self) -> Value {
        let mut schema = self.schema.clone();
        let is_spread = match self.place {
            Place::Query => self.part_type.is_none(),
            Place::Body => self.style.is_some(),
            Place::Path => false,
        };
        if is_spread
            && self.style() == Style::Form
            && self.explodes()
            && let Value::Object(members) = &mut schema
            && members.get("additionalProperties").is_some_and(|others| *others != Value::Bool(false))
        {
            members.remove("additionalProperties");
        }
        schema
    }

    /// True if a deep object may have such a member: one that its schema names, or any where the schema says so or names
    /// none at all.
    pub(crate) fn takes_member(&self, name: &str) -> bool {
        self.members.takes_others || self.members.names.is_empty() || self.names_member(name)
    }

    /// True if its schema names such a member.
    pub(crate) fn names_member(&self, name: &str) -> bool {
        self.members.names.contains(name)
    }
}

/// The schema of a document's name.
pub(crate) fn document_schema() -> Value {
    schema_of_documents().clone()
}

fn schema_of_documents() -> &'static Value {
    static SCHEMA: std::sync::LazyLock<Value> = std::sync::LazyLock::new(|| {
        let mut schema = attache_core::schemars::schema_for!(attache_core::DocumentRef).to_value();
        if let Value::Object(members) = &mut schema {
            // They say nothing to a model, once for each parameter.
            members.retain(|name, _| name != "$schema" && name != "title");
        }
        schema
    });
    &SCHEMA
}

/// Providers take no other names: letters, digits, `_`, `.` and `-`, at most 64.
pub(crate) fn argument_name(name: &str) -> String {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let replaced: String = name.chars().map(|c| if legal(c) { c } else { '_' }).collect();
    let trimmed = replaced.trim_matches('_');
    let kept = if replaced == name || trimmed.is_empty() { replaced.as_str() } else { trimmed };
    let cut: String = kept.chars().take(64).collect();
    if cut.is_empty() { "value".to_owned() } else { cut }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_reads_of_no_members_that_cannot_be_sent() {
        let open = json!({"type": "object", "properties": {"a": {}}, "additionalProperties": true});
        let spread = Parameter::query("q", open.clone());
        assert_eq!(spread.shown_schema(), json!({"type": "object", "properties": {"a": {}}}));
        let deep = Parameter::query("q", open.clone()).with_style(Style::DeepObject, true);
        let joined = Parameter::query("q", open.clone()).with_style(Style::Form, false);
        for whole in [deep, joined, Parameter::body("q", open.clone())] {
            assert_eq!(whole.shown_schema(), open);
        }
    }

    #[test]
    fn names_that_providers_take() {
        for (name, argument) in [
            ("id", "id"),
            ("filter[status]", "filter_status"),
            ("$top", "top"),
            ("_links", "_links"),
            ("größe", "gr__e"),
            ("", "value"),
        ] {
            assert_eq!(argument_name(name), argument);
        }
        assert_eq!(argument_name(&"x".repeat(99)).len(), 64);
    }
}
