//! Layers that are off are not read, and their content has its place.

use crate::common::{Builder, read, text};

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
