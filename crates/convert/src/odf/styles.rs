//! Styles of OpenDocument, as far as they change how a text reads: labels of lists, raised and hidden text, and slides
//! that are left out.

use std::collections::{HashMap, HashSet};

use super::lists::Lists;
use crate::xml::{Node, Stop, Tag, Xml};

/// The number of styles that are followed, each to the one that it is based on.
const MAX_CHAIN: usize = 12;

/// The styles that are known so far.
#[derive(Default)]
pub(super) struct Styles {
    pub(super) lists: Lists,
    /// Styles of slides that are left out when the presentation is shown.
    hidden_slides: HashSet<String>,
    /// Styles that say of their text whether it is raised.
    raising: HashMap<Name, bool>,
    /// Styles that say of their text whether it is hidden.
    hiding: HashMap<Name, bool>,
    /// The style that each is based on, which may come behind it.
    parents: HashMap<Name, Name>,
    /// The style that is being read.
    open: Option<Name>,
}

/// The name of a style, and whether it is one of paragraphs: others may have the same name.
type Name = (bool, String);

impl Styles {
    /// Reads the styles that all parts share.
    pub(super) fn read(&mut self, mut xml: Xml<'_>) -> Result<(), Stop> {
        loop {
            // Those of margins alone may have the names of others.
            let is_automatic = match xml.next()? {
                Node::Open(tag) => {
                    self.open(&tag);
                    tag.name() == "automatic-styles"
                }
                Node::Close(name) => {
                    self.close(&name);
                    false
                }
                Node::End => return Ok(()),
                Node::Text(_) | Node::Nothing => false,
            };
            if is_automatic {
                xml.skip()?;
            }
        }
    }

    /// Takes an element that may be one of a style.
    pub(super) fn open(&mut self, tag: &Tag<'_>) {
        match tag.name() {
            "style" => self.begin(tag),
            "text-properties" => self.text(tag),
            "drawing-page-properties" => {
                if let Some((_, name)) = &self.open
                    && tag.attr("visibility").is_some_and(|visibility| visibility == "hidden")
                {
                    self.hidden_slides.insert(name.clone());
                }
            }
            _ => self.lists.style(tag),
        }
    }

    /// An element ends that may be one of a style.
    pub(super) fn close(&mut self, name: &str) {
        if name == "style" {
            self.open = None;
        }
    }

    fn begin(&mut self, tag: &Tag<'_>) {
        let is_paragraph = tag.exact("style:family").is_some_and(|family| family == "paragraph");
        self.open = tag.exact("style:name").map(|name| (is_paragraph, name));
        let parent = tag.exact("style:parent-style-name").map(|parent| (is_paragraph, parent));
        let (Some(name), Some(parent)) = (&self.open, parent) else { return };
        self.parents.insert(name.clone(), parent);
    }

    fn text(&mut self, tag: &Tag<'_>) {
        let Some(name) = &self.open else { return };
        if let Some(position) = tag.attr("text-position") {
            self.raising.insert(name.clone(), is_raised(&position));
        }
        if let Some(display) = tag.exact("text:display") {
            self.hiding.insert(name.clone(), display == "none");
        }
    }

    /// True if the slides of a style are left out.
    pub(super) fn hides_slides(&self, style: &str) -> bool {
        self.hidden_slides.contains(style)
    }

    /// True if the text of an element is raised; then, if its style says so, whether it is hidden.
    pub(super) fn of(&self, tag: &Tag<'_>, is_paragraph: bool) -> (bool, Option<bool>) {
        if self.raising.is_empty() && self.hiding.is_empty() {
            return (false, None);
        }
        let Some(style) = tag.exact("text:style-name") else { return (false, None) };
        let name = (is_paragraph, style);
        (self.said(&self.raising, &name).unwrap_or(false), self.said(&self.hiding, &name))
    }

    /// The word of a style, or of the one that it is based on.
    fn said(&self, words: &HashMap<Name, bool>, name: &Name) -> Option<bool> {
        let chain = std::iter::successors(Some(name), |name| self.parents.get(*name));
        chain.take(MAX_CHAIN).find_map(|name| words.get(name).copied())
    }
}

/// Shapes that hold text.
pub(super) const SHAPES: &[&str] = &[
    "frame",
    "custom-shape",
    "g",
    "rect",
    "ellipse",
    "circle",
    "line",
    "polyline",
    "polygon",
    "path",
    "connector",
    "caption",
];

/// True of a shape that is not shown.
pub(super) fn is_hidden_shape(tag: &Tag<'_>) -> bool {
    tag.attr("display").is_some_and(|display| display == "none")
}

/// True if a position raises text: `super 58%`, `33% 58%`.
fn is_raised(position: &str) -> bool {
    let by = position.split_whitespace().next().unwrap_or_default();
    by == "super" || by.strip_suffix('%').and_then(|by| by.parse().ok()).is_some_and(|by: f64| by > 0.0)
}
