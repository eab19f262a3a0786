//! Styles: which make headings, which list numbers a paragraph, and which hide text.

use std::collections::HashMap;

use crate::ConvertError;
use crate::ooxml::{Package, References, of_kind};
use crate::xml::{Node, Stop, Xml, whole};

/// Styles that are kept.
const MAX_STYLES: usize = 20_000;

/// The number of styles that are followed, each to the one that it is based on.
const MAX_CHAIN: usize = 12;

/// The styles of paragraphs and characters.
#[derive(Default)]
pub(super) struct Styles {
    by_id: HashMap<String, Style>,
    /// The style of paragraphs that name none.
    default: Option<String>,
    /// True if text is hidden unless something says that it is not.
    all_hidden: bool,
    /// True if any style says whether text is hidden.
    any_hiding: bool,
}

#[derive(Default)]
struct Style {
    based_on: Option<String>,
    outline: Option<usize>,
    list: Option<String>,
    level: Option<usize>,
    /// True if it hides its text, false if it does not, though the one that it is based on does.
    hidden: Option<bool>,
}

impl Styles {
    pub(super) fn read(package: &Package<'_>, references: &References) -> Result<Self, ConvertError> {
        let mut styles = Self::default();
        for name in of_kind(references, "styles") {
            let Some(Ok(mut xml)) = package.xml(name) else { continue };
            // Of damaged ones, those that are known so far are enough.
            whole(styles.add(&mut xml))?;
        }
        Ok(styles)
    }

    fn add(&mut self, xml: &mut Xml<'_>) -> Result<(), Stop> {
        let mut id = None;
        let mut style = Style::default();
        let mut in_defaults = false;
        loop {
            let mut is_skipped = false;
            match xml.next()? {
                Node::Open(tag) => match tag.name() {
                    "style" => {
                        style = Style::default();
                        id = tag.attr("styleId");
                        let is_of_paragraphs = tag.attr("type").is_some_and(|kind| kind == "paragraph");
                        if is_of_paragraphs && tag.is_on("default") {
                            self.default.clone_from(&id);
                        }
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
                    "rPrDefault" => in_defaults = true,
                    "vanish" if in_defaults => self.all_hidden = tag.is_not_off("val"),
                    "vanish" => {
                        style.hidden = Some(tag.is_not_off("val"));
                        self.any_hiding = true;
                    }
                    // For cells at some places of a table alone, and what was before a change.
                    "tblStylePr" | "rPrChange" | "pPrChange" => is_skipped = true,
                    _ => {}
                },
                Node::Close(name) if name == "style" => {
                    if let Some(id) = id.take()
                        && self.by_id.len() < MAX_STYLES
                    {
                        self.by_id.insert(id, std::mem::take(&mut style));
                    }
                }
                Node::Close(name) if name == "rPrDefault" => in_defaults = false,
                Node::End => return Ok(()),
                _ => {}
            }
            if is_skipped {
                xml.skip()?;
            }
        }
    }

    /// The styles as far as they hide text.
    pub(super) fn only_hiding(self) -> Self {
        let bare =
            |style: Style| Style { based_on: style.based_on, hidden: style.hidden, ..Style::default() };
        let by_id = if self.any_hiding { self.by_id } else { HashMap::new() };
        Self { by_id: by_id.into_iter().map(|(id, style)| (id, bare(style))).collect(), ..self }
    }

    /// True if text in these styles is hidden. A style inside another turns what that says into its contrary
    /// (ECMA-376 part 1, 17.7.3).
    pub(super) fn hide(&self, paragraph: Option<&str>, run: Option<&str>) -> bool {
        if !self.any_hiding {
            return self.all_hidden;
        }
        let hides = |id: Option<&str>| id.and_then(|id| self.find(id, |style| style.hidden)).unwrap_or(false);
        self.all_hidden || hides(paragraph.or(self.default.as_deref())) != hides(run)
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
        let chain =
            std::iter::successors(self.by_id.get(id), |style| self.by_id.get(style.based_on.as_ref()?));
        chain.take(MAX_CHAIN).find_map(of)
    }
}
