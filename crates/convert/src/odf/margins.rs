//! The headers and footers of the sheets of ODS, by the names of their master pages.

use std::collections::HashMap;

use crate::margins::{MAX_MARGINS, MAX_SECTION, Margin};
use crate::xml::{Node, Stop, Xml};

/// The maximum number of bytes of a header or footer, so many that a longer one has a section that is too long.
const MAX_TEXT: usize = 4 * MAX_SECTION;
/// The maximum number of them that are kept.
const MAX_ALL: usize = 10_000;

/// The headers and footers of each master page.
pub(super) type Margins = HashMap<String, Vec<Margin>>;

/// Reads them from the part of common styles, with the codes that Excel writes.
pub(super) fn read(mut xml: Xml<'_>, found: &mut Margins) -> Result<(), Stop> {
    let (mut page, mut kind, mut code) = (String::new(), None, String::new());
    let mut count = 0;
    loop {
        let mut skip = false;
        code.truncate(code.floor_char_boundary(MAX_TEXT));
        match xml.next()? {
            Node::Open(tag) => match (tag.name(), kind) {
                ("master-page", _) => page = tag.exact("style:name").unwrap_or_default(),
                ("header" | "header-left" | "header-first", _) if tag.is_not_off("display") => {
                    kind = Some("header")
                }
                ("footer" | "footer-left" | "footer-first", _) if tag.is_not_off("display") => {
                    kind = Some("footer")
                }
                (_, None) => {}
                ("region-left", _) => code.push_str("&L"),
                ("region-center", _) => code.push_str("&C"),
                ("region-right", _) => code.push_str("&R"),
                ("image", _) => code.push_str("&G"),
                ("s" | "tab", _) => code.push(' '),
                ("line-break", _) => code.push('\n'),
                // Programs write some text for values that only a page has.
                ("sheet-name", _) => {
                    code.push_str("&A");
                    skip = true;
                }
                ("page-number" | "page-count" | "date" | "time" | "file-name" | "title", _) => skip = true,
                _ => {}
            },
            Node::Text(text) if kind.is_some() => code.push_str(&text.replace('&', "&&")),
            Node::Close(name) => match &*name {
                "p" => code.push('\n'),
                "header" | "header-left" | "header-first" | "footer" | "footer-left" | "footer-first" => {
                    let code = std::mem::take(&mut code);
                    if let Some(kind) = kind.take().filter(|_| count < MAX_ALL) {
                        count += 1;
                        let of_page = found.entry(page.clone()).or_default();
                        if of_page.len() < MAX_MARGINS {
                            of_page.push((kind, code));
                        }
                    }
                }
                _ => {}
            },
            Node::End => return Ok(()),
            _ => {}
        }
        if skip {
            xml.skip()?;
        }
    }
}
