//! Layers that are off are not read, and their content has its place.

use crate::common::{Builder, read, text};

/// The text of a page with layers 11, 12 and 13, a member of them as `/M` (14), and this default configuration.
fn configured(first: &str, groups: [&str; 3], member: &str) -> String {
    let marked = |name: &str, x: u32| format!("BT /F1 12 Tf {x} 700 Td /OC /{name} BDC ({name}) Tj EMC ET ");
    let content = [marked("A", 72), marked("B", 172), marked("C", 272), marked("M", 372)].concat();
    let resources = "/Font << /F1 5 0 R >> /Properties << /A 11 0 R /B 12 0 R /C 13 0 R /M 14 0 R >>";
    let mut builder = Builder::page_with(&content, resources).object(
        1,
        &format!(
            "<< /Type /Catalog /Pages 2 0 R /OCProperties << /OCGs [11 0 R 12 0 R 13 0 R] /D << {first} >> >> >>"
        ),
    );
    for (number, group) in (11..).zip(groups) {
        builder = builder.object(number, &format!("<< /Type /OCG /Name (G) {group} >>"));
    }
    let endless = "[/And [/Or 15 0 R 15 0 R] 15 0 R]";
    let member = format!("<< /Type /OCMD {member} >>");
    let text = text(builder.object(14, &member).object(15, endless).finish());
    text.trim_start_matches("[page 1]").replace('|', " ").split_whitespace().collect::<Vec<_>>().join("")
}

const PLAIN: [&str; 3] = ["", "", ""];

#[test]
fn expressions_say_whether_content_is_shown() {
    for (expression, is_shown) in [
        ("[/Not 11 0 R]", false),
        ("[/Not 13 0 R]", true),
        ("[/And 11 0 R 12 0 R]", true),
        ("[/And 11 0 R 13 0 R]", false),
        ("[/Or 11 0 R 13 0 R]", true),
        ("[/Or 13 0 R]", false),
        ("[/Or [/Not 12 0 R] [/And 11 0 R [/Not 13 0 R]]]", true),
        ("[/And [/Not 12 0 R] [/Or 11 0 R [/Not 13 0 R]]]", false),
        // Anything else hides nothing.
        ("[/Not 11 0 R 12 0 R]", true),
        ("[/Xor 13 0 R]", true),
        ("[/And 13 0 R 99 0 R]", true),
        ("[]", true),
    ] {
        // The expression holds, whatever the policy says.
        for rest in ["", "/OCGs [13 0 R]", "/OCGs 11 0 R /P /AllOff"] {
            let expected = if is_shown { "ABM" } else { "AB" };
            let member = format!("{rest} /VE {expression}");
            assert_eq!(configured("/OFF [13 0 R]", PLAIN, &member), expected, "{member}");
        }
    }
    // It holds with no layer off, too, and endless ones end.
    assert_eq!(configured("", PLAIN, "/VE [/Not 11 0 R]"), "ABC");
    assert_eq!(configured("", PLAIN, "/VE [/And 15 0 R]"), "ABCM");
}

#[test]
fn policies_hold_with_no_layer_off_and_without_layers_that_are_not_there() {
    for (member, is_shown) in [
        ("/OCGs [11 0 R 12 0 R] /P /AllOff", false),
        ("/OCGs [11 0 R 12 0 R] /P /AnyOff", false),
        ("/OCGs [11 0 R 12 0 R] /P /AllOn", true),
        ("/OCGs [] /P /AllOff", true),
        ("/OCGs [null 99 0 R] /P /AllOff", true),
        ("/OCGs 11 0 R /P /AllOff", false),
        ("/P /AnyOff", true),
    ] {
        let expected = if is_shown { "ABCM" } else { "ABC" };
        assert_eq!(configured("", PLAIN, member), expected, "{member}");
    }
    // One that is not there is neither on nor off.
    assert_eq!(configured("/OFF [13 0 R]", PLAIN, "/OCGs [13 0 R 99 0 R]"), "AB");
}

#[test]
fn the_configuration_says_which_layers_are_off() {
    for (first, expected) in [
        ("", "ABC"),
        ("/BaseState /OFF", ""),
        ("/BaseState /OFF /ON [12 0 R]", "B"),
        ("/BaseState /Unchanged", "ABC"),
        ("/ON [11 0 R] /OFF [11 0 R 13 0 R]", "B"),
    ] {
        let text = configured(first, PLAIN, "/OCGs []");
        assert_eq!(text, format!("{expected}M"), "{first}");
    }
}

#[test]
fn layers_say_what_they_are_while_a_document_is_viewed() {
    let groups = [
        "/Usage << /View << /ViewState /OFF >> >>",
        "/Usage << /View << /ViewState /ON >> /Print << /PrintState /OFF >> >>",
        "/Usage << /Print << /PrintState /OFF >> >>",
    ];
    let asked = |event: &str, categories: &str| {
        format!("/AS [<< /Event /{event} /OCGs [11 0 R 12 0 R 13 0 R] /Category [{categories}] >>]")
    };
    let shown = |first: &str| configured(first, groups, "/OCGs []");
    // Nobody asks.
    assert_eq!(shown("/OFF [12 0 R]"), "ACM");
    assert_eq!(shown(&format!("/OFF [12 0 R] {}", asked("View", "/View /Print"))), "BCM");
    assert_eq!(shown(&format!("/BaseState /OFF {}", asked("View", "/View"))), "BM");
    assert_eq!(shown(&asked("Print", "/View")), "ABCM");
    assert_eq!(shown(&asked("View", "/Zoom")), "ABCM");
}

#[test]
fn layers_of_another_purpose_hide_nothing() {
    let groups = ["/Intent /Design", "/Intent [/Design /View]", ""];
    let shown = |first: &str| configured(&format!("/BaseState /OFF {first}"), groups, "/OCGs []");
    assert_eq!(shown(""), "AM");
    assert_eq!(shown("/Intent /Design"), "CM");
    assert_eq!(shown("/Intent /All"), "M");
    assert_eq!(shown("/Intent []"), "ABCM");
}

/// A page whose layer 11 is on and 12 is off, with a group of both by this policy as `/M`.
fn layered(content: &str, policy: &str) -> Builder {
    let resources = "/Font << /F1 5 0 R >> /Properties << /On 11 0 R /Off 12 0 R /M 13 0 R >> \
        /XObject << /X 14 0 R /Y 15 0 R >>";
    let form = "/Type /XObject /Subtype /Form /BBox [0 0 500 800] /OC";
    let shown = b"BT /F1 12 Tf 72 500 Td (form) Tj ET";
    Builder::page_with(content, resources)
        .object(
            1,
            "<< /Type /Catalog /Pages 2 0 R /OCProperties << /OCGs [11 0 R 12 0 R] /D << /BaseState /OFF \
             /ON [11 0 R 12 0 R] /OFF [12 0 R] >> >> >>",
        )
        .object(11, "<< /Type /OCG /Name (Final) >>")
        .object(12, "<< /Type /OCG /Name (Draft) >>")
        .object(13, &format!("<< /Type /OCMD /OCGs [11 0 R 12 0 R] {policy} >>"))
        .stream(14, &format!("{form} 11 0 R"), shown)
        .stream(15, &format!("{form} 12 0 R"), shown)
}

fn shown(content: &str, policy: &str) -> String {
    text(layered(&format!("BT /F1 12 Tf 72 700 Td (Price) Tj ET {content}"), policy).finish())
}

#[test]
fn marked_content_of_layers_that_are_off_is_left_out() {
    let text = |layer: &str| {
        format!("BT /F1 12 Tf 103 700 Td /OC /{layer} BDC /Span BMC (100) Tj EMC EMC ( net) Tj ET")
    };
    assert_eq!(shown(&text("On"), ""), "[page 1]\nPrice 100 net\n");
    assert_eq!(shown(&text("Off"), ""), "[page 1]\nPrice | net\n");
    for (policy, expected) in [
        ("", "Price 100 net"),
        ("/P /AnyOn", "Price 100 net"),
        ("/P /AllOn", "Price | net"),
        ("/P /AnyOff", "Price 100 net"),
        ("/P /AllOff", "Price | net"),
    ] {
        assert_eq!(shown(&text("M"), policy), format!("[page 1]\n{expected}\n"), "{policy}");
    }
}

#[test]
fn forms_images_and_annotations_of_layers_that_are_off_are_left_out() {
    assert_eq!(shown("/X Do", ""), "[page 1]\nPrice\n\nform\n");
    assert_eq!(shown("/Y Do", ""), "[page 1]\nPrice\n");
    let image = "/OC /Off BDC BI /W 1 /H 1 /BPC 8 /CS /G ID x EI EMC";
    let content = format!("BT /F1 12 Tf 72 700 Td (Price) Tj ET {image}");
    assert_eq!(read(layered(&content, "").finish()).unwrap().notes, []);
    let page = |layer: u32| {
        let note =
            format!("<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents (old) /OC {layer} 0 R >>");
        let page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Annots [16 0 R] \
            /Resources << /Font << /F1 5 0 R >> >> >>";
        text(layered("BT /F1 12 Tf 72 700 Td (Price) Tj ET", "").object(3, page).object(16, &note).finish())
    };
    assert_eq!(page(11), "[page 1]\nPrice\n[comment: old]\n");
    assert_eq!(page(12), "[page 1]\nPrice\n");
}
