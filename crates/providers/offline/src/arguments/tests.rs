use serde_json::json;

use super::*;

fn filled(question: &str, schema: Value, resolve: Resolve) -> Option<Value> {
    let offered = Offered::of(&Question::read(question));
    let tool = ToolDefinition::new("get_it", "Gets it", schema);
    fill(&tool, &offered, None, resolve, 0).map(Value::Object)
}

fn one(question: &str, name: &str, property: &Value) -> Option<Value> {
    filled(question, json!({"properties": {name: property}, "required": [name]}), Resolve::Honest)
        .map(|mut value| value[name].take())
}

#[test]
fn the_users_words_fill_parameters() {
    let text = || json!({"type": "string"});
    assert_eq!(one("What is the total of invoice R-17?", "number", &text()), Some("R-17".into()));
    assert_eq!(one("What does notes.md say?", "path", &text()), Some("notes.md".into()));
    assert_eq!(one("What is the weather in New Delhi?", "city", &text()), Some("New Delhi".into()));
    assert_eq!(one("What happened on 3 May 2026?", "date", &text()), Some("2026-05-03".into()));
    assert_eq!(one("Find \"late payment\" somewhere", "query", &text()), Some("late payment".into()));
    assert_eq!(one("Who signed the lease?", "query", &text()), Some("signed lease".into()));
    assert_eq!(one("Show the open ones", "status", &json!({"enum": ["paid", "open"]})), Some("open".into()));
    assert_eq!(one("Show page 3", "page", &json!({"type": "integer"})), Some(3.into()));
    assert_eq!(one("Show https://example.org/a", "url", &text()), Some("https://example.org/a".into()));
    assert_eq!(one("Who signed the lease?", "path", &text()), None, "nothing is made up");
    assert_eq!(one("Who signed the lease?", "city", &text()), None);
    assert_eq!(one("Who?", "unit", &json!({"type": "string", "default": "C"})), Some("C".into()));
}

#[test]
fn schemas_are_followed() {
    let schema = json!({
        "properties": {"filter": {"anyOf": [{"$ref": "#/$defs/F"}, {"type": "null"}]}, "dry": {"type": "boolean"}},
        "required": ["filter"],
        "$defs": {"F": {"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "string"}}}, "required": ["ids"]}},
    });
    let with_id = Some(json!({"filter": {"ids": ["PO-1182"]}}));
    assert_eq!(filled("Get PO-1182", schema.clone(), Resolve::Honest), with_id);
    assert_eq!(filled("Get it", schema.clone(), Resolve::Honest), None);
    assert_eq!(filled("x", schema, Resolve::Forced), Some(json!({"filter": {"ids": [""]}})));
    let endless = json!({"properties": {"a": {"$ref": "#/properties/a"}}, "required": ["a"]});
    assert_eq!(filled("x", endless, Resolve::Honest), None);
}

#[test]
fn items_fill_parameters() {
    let item = Item { fields: vec![("path".into(), json!("a.pdf")), ("number".into(), json!("R-1"))] };
    assert_eq!(field(&item, "file_path"), Some(json!("a.pdf")));
    assert_eq!(field(&item, "invoiceNumber"), Some(json!("R-1")));
    assert_eq!(field(&item, "city"), None);
    let bare = Item { fields: vec![(String::new(), json!("a.pdf"))] };
    assert_eq!(field(&bare, "filename"), Some(json!("a.pdf")));
}
