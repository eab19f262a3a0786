//! Turns: roles, calls and responses, signatures (gemini.md 2, 4).

use serde_json::{Value, json};

use super::{ANY, NEW, OLD, VERTEX, base64, breaks, keeps, png, set, then};

fn user(text: &str) -> Value {
    json!({"role": "user", "parts": [{"text": text}]})
}

fn calls(names: &[&str]) -> Value {
    let parts: Vec<Value> =
        names.iter().map(|name| json!({"functionCall": {"name": name, "args": {}}})).collect();
    json!({"role": "model", "parts": parts})
}

fn signed(names: &[&str]) -> Value {
    let mut content = calls(names);
    content["parts"][0]["thoughtSignature"] = json!("c2ln");
    content
}

fn responses(names: &[&str]) -> Value {
    let parts: Vec<Value> = names
        .iter()
        .map(|name| json!({"functionResponse": {"name": name, "response": {"output": 1}}}))
        .collect();
    json!({"role": "user", "parts": parts})
}

#[test]
fn contents_have_roles_and_parts() {
    keeps(ANY, then(json!([{"role": "model", "parts": [{"text": "x"}]}])));
    keeps(ANY, set("contents", json!([{"parts": [{"text": "x"}]}])));
    let valid = "Please use a valid role: user, model.";
    breaks(VERTEX, "contents[0].role", valid, set("contents", json!([{"parts": [{"text": "x"}]}])));
    breaks(ANY, "contents[1].role", valid, then(json!([{"role": "assistant", "parts": [{"text": "x"}]}])));
    breaks(ANY, "contents[1].role", valid, then(json!([{"role": "function", "parts": [{"text": "x"}]}])));
    breaks(ANY, "contents", "contents is not specified", set("contents", json!([])));
    breaks(ANY, "contents[1].parts", "must not be empty", then(json!([{"role": "user", "parts": []}])));
    breaks(
        ANY,
        "contents[0]",
        "begin with a user turn",
        set("contents", json!([{"role": "model", "parts": [{"text": "x"}]}])),
    );
}

// gemini.md (a) 8, 25
#[test]
fn every_call_has_its_response_in_the_next_content() {
    keeps(ANY, then(json!([calls(&["f", "g"]), responses(&["f", "g"]), calls(&["f"]), responses(&["f"])])));
    let count = "number of function response parts is equal to the number of function call parts";
    breaks(ANY, "contents[2]", count, then(json!([calls(&["f", "g"]), responses(&["f"])])));
    breaks(ANY, "contents[2]", count, then(json!([calls(&["f"]), user("x")])));
    breaks(ANY, "contents[1]", count, then(json!([calls(&["f"])])));
    breaks(
        ANY,
        "contents[2]",
        count,
        then(json!([calls(&["f", "g"]), responses(&["f"]), responses(&["g"])])),
    );
    let after_user = "function call turn comes immediately after a user turn";
    breaks(
        ANY,
        "contents[2]",
        after_user,
        then(json!([calls(&["f"]), calls(&["g"]), responses(&["f", "g"])])),
    );
    breaks(ANY, "contents[0]", after_user, set("contents", json!([calls(&["f"]), responses(&["f"])])));
    let after_call = "function response turn comes immediately after a function call turn";
    breaks(ANY, "contents[1]", after_call, then(json!([responses(&["f"])])));
    breaks(
        ANY,
        "contents[3]",
        after_call,
        then(json!([calls(&["f"]), responses(&["f"]), responses(&["f"])])),
    );
}

// gemini.md (a) 9
#[test]
fn responses_stand_alone_in_their_content() {
    let mut mixed = responses(&["f"]);
    mixed["parts"].as_array_mut().expect("parts").push(json!({"text": "see"}));
    breaks(ANY, "contents[2]", "cannot hold other parts", then(json!([calls(&["f"]), mixed])));
    keeps(ANY, then(json!([calls(&["f"]), responses(&["f"]), user("see")])));
    let mut in_model = responses(&["f"]);
    in_model["role"] = json!("model");
    breaks(ANY, "contents[2]", "role model", then(json!([calls(&["f"]), in_model])));
    let mut by_user = calls(&["f"]);
    by_user["role"] = json!("user");
    breaks(ANY, "contents[1]", "role user", then(json!([by_user])));
}

#[test]
fn responses_match_by_id_or_name() {
    let call = |id: &str| json!({"functionCall": {"id": id, "name": "f", "args": {}}});
    let response =
        |id: &str, name: &str| json!({"functionResponse": {"id": id, "name": name, "response": {}}});
    let turn = |calls: &[Value], responses: &[Value]| {
        then(json!([{"role": "model", "parts": calls}, {"role": "user", "parts": responses}]))
    };
    keeps(ANY, turn(&[call("1"), call("2")], &[response("2", "f"), response("1", "f")]));
    keeps(ANY, turn(&[call("1")], &[response("", "f")]));
    let unknown = "does not match a function call before it";
    breaks(ANY, "contents[2].parts[0]", unknown, turn(&[call("1")], &[response("2", "f")]));
    breaks(ANY, "contents[2].parts[0]", unknown, turn(&[call("1")], &[response("1", "g")]));
    breaks(
        ANY,
        "contents[2].parts[1]",
        unknown,
        turn(&[call("1"), call("2")], &[response("1", "f"), response("1", "f")]),
    );
}

// gemini.md 4 3, (a) 1, 3
#[test]
fn the_first_call_of_each_step_of_the_turn_is_signed() {
    keeps(NEW, then(json!([signed(&["f", "g"]), responses(&["f", "g"]), signed(&["f"]), responses(&["f"])])));
    keeps(OLD, then(json!([calls(&["f"]), responses(&["f"])])));
    let message = "Function call is missing a thought_signature in functionCall parts.";
    breaks(NEW, "contents[1]", message, then(json!([calls(&["f"]), responses(&["f"])])));
    breaks(
        NEW,
        "contents[3]",
        "function call `default_api:g` , position 3",
        then(json!([signed(&["f"]), responses(&["f"]), calls(&["g"]), responses(&["g"])])),
    );
    // Only the second call is signed.
    let mut second = calls(&["f", "g"]);
    second["parts"][1]["thoughtSignature"] = json!("c2ln");
    breaks(NEW, "contents[1]", message, then(json!([second, responses(&["f", "g"])])));
    // Earlier turns are not judged, and text before the call may stay unsigned.
    keeps(
        NEW,
        then(
            json!([calls(&["f"]), responses(&["f"]), {"role": "model", "parts": [{"text": "x"}]}, user("more")]),
        ),
    );
    let mut spoken = signed(&["f"]);
    spoken["parts"].as_array_mut().expect("parts").insert(0, json!({"text": "let me see"}));
    keeps(NEW, then(json!([spoken, responses(&["f"])])));
    // The documented dummy for foreign history.
    let mut foreign = calls(&["f"]);
    foreign["parts"][0]["thoughtSignature"] = json!("skip_thought_signature_validator");
    keeps(NEW, then(json!([foreign, responses(&["f"])])));
}

// gemini.md (a) 2
#[test]
fn a_signature_belongs_to_the_part() {
    let mut inside = calls(&["f"]);
    inside["parts"][0]["functionCall"]["thoughtSignature"] = json!("c2ln");
    breaks(
        NEW,
        "contents[1].parts[0].function_call.thoughtSignature",
        "Cannot find field",
        then(json!([inside, responses(&["f"])])),
    );
    let mut odd = calls(&["f"]);
    odd["parts"][0]["thoughtSignature"] = json!("%%");
    breaks(
        NEW,
        "contents[1].parts[0].thought_signature",
        "Base64 decoding failed",
        then(json!([odd, responses(&["f"])])),
    );
}

// gemini.md 4
#[test]
fn image_models_sign_what_they_said_and_drew() {
    const DRAWS: &str = "models/gemini-3-pro-image-preview";
    let image = || json!({"inlineData": {"mimeType": "image/png", "data": base64(png(1, 1))}});
    let signed = |mut part: Value| {
        part["thoughtSignature"] = json!("c2ln");
        part
    };
    let (text, thought) = (json!({"text": "x"}), json!({"text": "Hm.", "thought": true}));
    let said = |parts: &[&Value]| then(json!([{"role": "model", "parts": parts}, user("more")]));
    keeps(DRAWS, said(&[&thought, &signed(text.clone()), &text, &signed(image())]));
    let words = "Text part is missing a thought_signature in content position 2, part position 2.";
    breaks(DRAWS, "contents[1]", words, said(&[&thought, &text]));
    let words = "Image part is missing a thought_signature in content position 2, part position 2.";
    breaks(DRAWS, "contents[1]", words, said(&[&signed(text.clone()), &image()]));
    for model in [ANY, "projects/p/locations/global/publishers/google/models/gemini-3-pro-image-preview"] {
        keeps(model, said(&[&text, &image()]));
    }
}
