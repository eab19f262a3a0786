//! The schemas of tools, as clients can read them.

use std::sync::Arc;

use rmcp::model::Tool;
use serde_json::{Map, Value, json};

/// The references that lead from the root of a schema to another one, at most.
const REFERENCES: usize = 8;

/// A schema of arguments, which are an object whatever it says: clients refuse a whole list for one that is none.
pub(super) fn of_arguments(mut schema: Map<String, Value>) -> Map<String, Value> {
    schema.insert("type".to_owned(), "object".into());
    plain_properties(&mut schema);
    schema
}

/// Makes a tool one that clients before 2026-07-28 can read: they know results that are objects, and no others.
pub(super) fn for_older(mut tool: Tool) -> Tool {
    let output = tool.output_schema.take();
    tool.output_schema =
        output.and_then(|schema| object_root(&Value::Object((*schema).clone()))).map(Arc::new);
    tool
}

/// The schema with `"type": "object"` at its root, where it is one of objects by itself or by a reference.
pub(super) fn object_root(schema: &Value) -> Option<Map<String, Value>> {
    let mut at = schema;
    for _ in 0..REFERENCES {
        if at.get("type").and_then(Value::as_str) == Some("object") {
            let mut root = schema.as_object()?.clone();
            root.insert("type".to_owned(), "object".into());
            plain_properties(&mut root);
            return Some(root);
        }
        let pointer = at.get("$ref")?.as_str()?.strip_prefix('#')?;
        at = schema.pointer(pointer)?;
    }
    None
}

/// Writes `true` and `false` as objects among the properties of a root: clients know no other schemas there.
fn plain_properties(root: &mut Map<String, Value>) {
    let properties = root.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(Map::values_mut) {
        match property {
            Value::Bool(true) => *property = json!({}),
            Value::Bool(false) => *property = json!({"not": {}}),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_schemas_of_objects_have_a_root_for_older_clients() {
        let person = json!({"type": "object", "properties": {"age": {"type": "integer"}}});
        let referred = json!({"$ref": "#/$defs/Person", "$defs": {"Person": person}});
        let root = object_root(&referred).unwrap();
        assert_eq!((&root["type"], &root["$ref"]), (&json!("object"), &json!("#/$defs/Person")));
        assert_eq!(object_root(&person), person.as_object().cloned());
        for other in [
            json!({"description": "The rows"}),
            json!({"type": "array"}),
            json!({"$ref": "#"}),
            json!({"$ref": "#/$defs/none"}),
            json!(true),
        ] {
            assert_eq!(object_root(&other), None, "{other}");
        }
    }
}
