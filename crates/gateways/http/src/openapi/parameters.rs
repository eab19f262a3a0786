//! The parameters of operations, and their headers, which are none of the model's.

use std::collections::HashMap;

use attache_core::Effect;
use serde_json::{Map, Value, json};

use super::names::shortened;
use super::operation::Reader;
use super::path_item::PathItem;
use super::reference::{flag, resolved, text};
use super::schema::Closure;
use crate::endpoint::Endpoint;
use crate::error::HttpToolsError;
use crate::fixed_values::Fixed;
use crate::members::{Named, named};
use crate::parameter::{Parameter, Place};
use crate::template::Template;

/// Operations with more parameters are no tools.
const MOST_PARAMETERS: usize = 1_024;

impl<'d> Reader<'d> {
    pub(super) fn parameters(
        &self,
        (item, described): (&PathItem<'d>, &'d Value),
        template: &Template,
        asked: &[(&str, &str)],
        is_at_home: bool,
        closure: &mut Closure<'d>,
        endpoint: &mut Endpoint,
    ) -> Result<(), HttpToolsError> {
        // An operation's word on a parameter stands in place of its path's.
        let mut all: HashMap<(&str, &str), (usize, &Value)> = HashMap::new();
        let mut count = 0_usize;
        for list in [item.get("parameters"), described.get("parameters")].into_iter().flatten() {
            for parameter in list.as_array().into_iter().flatten() {
                let parameter = resolved(self.document, parameter)?;
                let (Some(name), Some(place)) = (text(parameter, "name"), text(parameter, "in")) else {
                    // Nobody knows what the service misses without it.
                    return Err(HttpToolsError::new("a parameter of it has no textual `name` or `in`"));
                };
                all.insert((name, place), (count, parameter));
                count += 1;
            }
        }
        if all.len() > MOST_PARAMETERS {
            return Err(HttpToolsError::new(format!("it has more than {MOST_PARAMETERS} parameters")));
        }
        let mut all: Vec<_> = all.into_iter().collect();
        all.sort_unstable_by_key(|(_, (at, _))| *at);
        let names = template.names();
        for ((name, place), (_, parameter)) in all {
            if self.security.is_credential(place, name, described) {
                continue;
            }
            match place {
                "path" if names.contains(&name) => {
                    endpoint.parameters.push(self.parameter(Place::Path, name, parameter, closure)?);
                }
                "path" | "query" if asked.iter().any(|(_, of)| *of == name) => {
                    for (written, _) in asked.iter().filter(|(_, of)| *of == name) {
                        let made = self.parameter(Place::Query, written, parameter, closure)?;
                        endpoint.parameters.push(made.required());
                    }
                }
                "query" if endpoint.sent.has_query(name) || is_asked(&endpoint.parameters, name) => {}
                "query" => {
                    endpoint.parameters.push(self.parameter(Place::Query, name, parameter, closure)?)
                }
                "header" => self.header(name, parameter, is_at_home, endpoint)?,
                "cookie" if flag(parameter, "required") && !endpoint.sent.has_cookie(name) => {
                    let message = format!("it demands the cookie {name}, which is not passed on");
                    return Err(HttpToolsError::new(message));
                }
                "path" | "cookie" => {}
                other if flag(parameter, "required") => {
                    let message =
                        format!("it demands the parameter {name} in {other:?}, a place that is not known");
                    return Err(HttpToolsError::new(message));
                }
                _ => {}
            }
        }
        for (written, _) in asked {
            if !is_asked(&endpoint.parameters, written) {
                endpoint.parameters.push(Parameter::query(*written, json!({"type": "string"})).required());
            }
        }
        for name in names {
            let is_declared =
                endpoint.parameters.iter().any(|known| known.place == Place::Path && known.name == name);
            if !is_declared {
                endpoint.parameters.push(Parameter::path(name, json!({"type": "string"})));
            }
        }
        Ok(())
    }

    fn parameter(
        &self,
        place: Place,
        name: &str,
        parameter: &'d Value,
        closure: &mut Closure<'d>,
    ) -> Result<Parameter, HttpToolsError> {
        let content =
            parameter.get("content").and_then(Value::as_object).and_then(|content| content.iter().next());
        let any = Value::Object(Map::new());
        let schema = match (parameter.get("schema"), content) {
            (Some(schema), _) => schema,
            (None, Some((_, media))) => resolved(self.document, media)?.get("schema").unwrap_or(&any),
            (None, None) => &any,
        };
        let mut schema_taken = closure.take(schema);
        if let (Value::Object(taken), Some(told)) = (&mut schema_taken, text(parameter, "description"))
            && !taken.contains_key("$ref")
        {
            taken.insert("description".to_owned(), Value::String(shortened(told)));
        }
        let mut made = match place {
            Place::Path => Parameter::path(name, schema_taken),
            _ => Parameter::query(name, schema_taken),
        };
        if flag(parameter, "required") {
            made = made.required();
        }
        made.style = parameter.get("style").and_then(|style| serde_json::from_value(style.clone()).ok());
        made.explode = parameter.get("explode").and_then(Value::as_bool);
        // The members of an object that stand for themselves are those that its schema names, wherever it is.
        made.members = self.named_members(schema);
        made.part_type = content.map(|(media_type, _)| media_type.clone());
        Ok(made)
    }

    /// The members that a schema names, wherever in the document.
    pub(super) fn named_members(&self, schema: &Value) -> Named {
        named(schema, |reference| super::reference::at(self.document, reference).ok())
    }

    /// A header is fixed by the program, by the document if it leaves no choice, or passed on; a model writes none.
    /// The program's own go to the document's server, and to no other that the operation names.
    fn header(
        &self,
        name: &str,
        parameter: &Value,
        is_at_home: bool,
        endpoint: &mut Endpoint,
    ) -> Result<(), HttpToolsError> {
        // OpenAPI has other places for these.
        if ["accept", "content-type", "authorization"].iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return Ok(());
        }
        let given = self.openapi.headers.get(&name.to_ascii_lowercase()).filter(|_| is_at_home);
        if let Some(secret) = given {
            endpoint.sent.set(Fixed::header(name, "", secret.clone())?);
            return Ok(());
        }
        // The client sends one with each call that changes something.
        let is_sent = name.eq_ignore_ascii_case("idempotency-key") && endpoint.effect() != Effect::Read;
        if !flag(parameter, "required") || endpoint.sent.has_header(name) || is_sent {
            return Ok(());
        }
        let schema = parameter.get("schema").and_then(|schema| resolved(self.document, schema).ok());
        let only = schema.and_then(|schema| {
            let of_enum = schema.get("enum").and_then(Value::as_array).filter(|values| values.len() == 1);
            let only = schema.get("const").or_else(|| of_enum?.first()).or_else(|| schema.get("default"))?;
            crate::write::scalar(only)
        });
        match only {
            Some(value) => {
                endpoint.sent.set(Fixed::header(name, "", value)?.plain());
                Ok(())
            }
            None => {
                let message = format!("it demands the header {name}, which is neither given nor passed on");
                Err(HttpToolsError::new(message))
            }
        }
    }
}

/// True if a parameter of the query has that name.
fn is_asked(parameters: &[Parameter], name: &str) -> bool {
    parameters.iter().any(|known| known.place == Place::Query && known.name == name)
}
