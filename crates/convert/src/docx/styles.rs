//! Styles of paragraphs: which are headings, and which list numbers them.

use std::collections::HashMap;

use crate::ConvertError;
use crate::ooxml::{Package, References, of_kind};
use crate::xml::{Node, Stop, Xml};

/// Styles that are kept.
const MAX_STYLES: usize = 20_000;

/// The number of styles that are followed, each to the one that it is based on.
const MAX_CHAIN: usize = 12;

/// The styles of paragraphs.
#[derive(Default)]
pub(super) struct Styles(HashMap<String, Style>);

#[derive(Default)]
struct Style {
    based_on: Option<String>,
    outline: Option<usize>,
    list: Option<String>,
    level: Option<usize>,
}

impl Styles {
    pub(super) fn read(package: &Package<'_>, references: &References) -> Result<Self, ConvertError> {
        let mut styles = Self::default();
        for name in of_kind(references, "styles") {
            let Some(Ok(mut xml)) = package.xml(name) else { continue };
            match styles.add(&mut xml) {
                Err(Stop::Over(error)) => return Err(error),
                // The styles that are known so far are enough.
                Ok(()) | Err(Stop::Damaged) => {}
            }
        }
        Ok(styles)
    }

    fn add(&mut self, xml: &mut Xml<'_>) -> Result<(), Stop> {
        let mut id = None;
        let mut style = Style::default();
        loop {
            match xml.next()? {
                Node::Open(tag) => match tag.name() {
                    "style" => {
                        style = Style::default();
                        id = tag.attr("styleId");
                    }
                    "name" if id.is_some() => {
                        let name = tag.attr("val").unwrap_or_default().to_lowercase();
                        if let Some(level) =
                            name.strip_prefix("heading ").and_then(|n| n.parse::<usize>().ok())
                        {
                            style.outline = style.outline.or(level.checked_sub(1));
                        } else if name == "title" {
                            style.outline = Some(0);
                        }
                    }
                    "basedOn" => style.based_on = tag.attr("val"),
                    "outlineLvl" => style.outline = tag.number("val"),
                    "numId" => style.list = tag.attr("val"),
                    "ilvl" => style.level = tag.number("val"),
                    _ => {}
                },
                Node::Close(name) if name == "style" => {
                    if let Some(id) = id.take()
                        && self.0.len() < MAX_STYLES
                    {
                        self.0.insert(id, std::mem::take(&mut style));
                    }
                }
                Node::End => return Ok(()),
                _ => {}
            }
        }
    }

    /// The level of the heading that a style makes, from 0.
    pub(super) fn outline(&self, id: &str) -> Option<usize> {
        self.find(id, |style| style.outline)
    }

    /// The list that numbers paragraphs of a style, and their level in it, if the style says it.
    pub(super) fn list(&self, id: &str) -> Option<(String, Option<usize>)> {
        let list = self.find(id, |style| style.list.clone())?;
        Some((list, self.find(id, |style| style.level)))
    }

    fn find<T>(&self, id: &str, of: impl Fn(&Style) -> Option<T>) -> Option<T> {
        let mut style = self.0.get(id)?;
        for _ in 0..MAX_CHAIN {
            if let Some(found) = of(style) {
                return Some(found);
            }
            style = self.0.get(style.based_on.as_ref()?)?;
        }
        None
    }
}
