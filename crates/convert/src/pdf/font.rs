//! Fonts: which characters a string shows, and how wide they are.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hayro_cmap::{BfString, CMap, CMapName, load_embedded};
use hayro_font::{
    CMapResolverFn, Font, FontCache, FontGlyph, FontQuery, FontResolverFn, GlyphId, StandardFont,
};
use hayro_syntax::object::{Array, Dict, Name, Stream, String as PdfString};

use super::expand::decoded_len;
use super::guess::{Guess, windows_1252};
use crate::guarded::Clock;
use crate::symbol_fonts::{holds_signs, of_private, sign};

/// Most codes a font may give widths to by ranges. The library keeps one entry for each code.
const MAX_WIDTHS: u32 = 1 << 17;

/// Most bundled character maps that one font may load. They name each other, at most a few deep.
const MAX_CMAPS: usize = 16;

/// Most fonts that are kept at a time.
const MAX_FONTS: usize = 512;

/// Most codes of a font whose texts are kept at a time.
const MAX_TEXTS: usize = 1 << 16;

/// A loaded font.
pub(super) struct LoadedFont<'a> {
    font: Font<'a>,
    /// The meaning of the codes by the collection of characters that the font belongs to.
    collection: Option<Collection>,
    /// Their possible meanings where neither says it.
    guess: OnceCell<Guess<'a>>,
    dict: Dict<'a>,
    /// The name of a font of signs, empty for others.
    signs: String,
    /// True for a TrueType font that says nothing of the meaning of its codes but by a map to Unicode.
    unencoded: bool,
    /// True if the font names no map to Unicode of its own but that of all codes to themselves.
    identity: bool,
    limit: usize,
    clock: Clock,
    /// Height of the letters relative to the font size: 1, but for fonts drawn in units of their own.
    pub(super) em: f64,
    texts: RefCell<HashMap<u32, Rc<str>>>,
}

/// The sign for a character that its font does not name.
pub(super) const UNREADABLE: &str = "\u{FFFD}";

/// One character code of a shown string.
pub(super) struct Code {
    pub(super) code: u32,
    /// The number of bytes of the string that it takes, at least one.
    pub(super) len: usize,
    /// The distance that the pen moves, in thousandths of the font size: along x, or for vertical writing along y.
    pub(super) advance: f64,
}

impl<'a> LoadedFont<'a> {
    /// True if text runs from left to right rather than from top to bottom.
    pub(super) fn is_horizontal(&self) -> bool {
        self.font.is_horizontal()
    }

    /// The first code of a string that is not empty.
    pub(super) fn code(&self, string: &[u8]) -> Code {
        let (code, len) = self.font.read_code(string, 0);
        let advance = self.font.code_advance(code);
        let advance = if self.is_horizontal() { advance.x } else { advance.y };
        Code { code, len: len.max(1), advance }
    }

    /// The text that a code shows: empty for what is no text, [`UNREADABLE`] if the font does not say.
    pub(super) fn text(&self, code: u32) -> Rc<str> {
        if let Some(text) = self.texts.borrow().get(&code) {
            return Rc::clone(text);
        }
        let text: Rc<str> = self.look_up(code).into();
        let mut texts = self.texts.borrow_mut();
        if texts.len() >= MAX_TEXTS {
            texts.clear();
        }
        texts.insert(code, Rc::clone(&text));
        text
    }

    /// Made when it is needed: for TrueType fonts that name no encoding, and where the library knows no meaning.
    fn guess(&self) -> &Guess<'a> {
        self.guess
            .get_or_init(|| Guess::of(&self.dict, descendant(&self.dict).as_ref(), self.limit, self.clock))
    }

    /// The meaning of a code that nothing says: there are no names of glyphs to go by.
    fn unencoded(&self, code: u32) -> Option<char> {
        if !self.unencoded || self.guess().is_mapped(code) {
            return None;
        }
        if !self.signs.is_empty() {
            return Some(sign(&self.signs, code));
        }
        self.guess().glyph(&self.font, code).or_else(|| windows_1252(code))
    }

    fn shown(&self, text: impl Iterator<Item = char>) -> String {
        plain(text.map(|c| of_private(&self.signs, c)))
    }

    fn look_up(&self, code: u32) -> String {
        if let Some(c) = self.unencoded(code) {
            return plain(std::iter::once(c));
        }
        // The glyph does not matter for what the code means.
        let unicode = match self.font.glyph(GlyphId::NOTDEF, code) {
            FontGlyph::Outline(glyph) => glyph.as_unicode(),
            FontGlyph::Type3(glyph) => glyph.as_unicode(),
        };
        let is_text = |text: &BfString| !matches!(text, BfString::Char('\0' | '\u{FFFD}'));
        let unicode = unicode.filter(|text| is_text(text) && !self.identity);
        let in_collection = || self.collection.as_ref().and_then(|collection| collection.unicode(code));
        match unicode.or_else(in_collection) {
            Some(BfString::Char(c)) => self.shown(std::iter::once(c)),
            Some(BfString::String(text)) => self.shown(text.chars()),
            None => {
                let guess = self.guess().text(&self.font, code);
                guess.map_or(UNREADABLE.to_owned(), |text| self.shown(text.into_iter()))
            }
        }
    }
}

/// The characters of a composite font that has no map to Unicode of its own: its codes stand for characters
/// of a collection, and those of the collections of East Asia are known.
struct Collection {
    /// From codes to characters of the collection, unless they are the same.
    encoding: Option<CMap>,
    unicode: CMap,
}

impl Collection {
    fn of(dict: &Dict<'_>, descendant: &Dict<'_>, cmaps: &CMapResolverFn) -> Option<Self> {
        if dict.contains_key("ToUnicode") {
            return None;
        }
        let load = |name: CMapName<'_>| {
            let cmaps = Arc::clone(cmaps);
            CMap::parse(cmaps(name)?, move |name| cmaps(name))
        };
        let info = descendant.get::<Dict<'_>>("CIDSystemInfo")?;
        if info.get::<PdfString<'_>>("Registry")?.as_bytes() != b"Adobe" {
            return None;
        }
        let unicode = match info.get::<PdfString<'_>>("Ordering")?.as_bytes() {
            b"Japan1" => CMapName::AdobeJapan1Ucs2,
            b"GB1" => CMapName::AdobeGb1Ucs2,
            b"CNS1" => CMapName::AdobeCns1Ucs2,
            b"Korea1" => CMapName::AdobeKorea1Ucs2,
            _ => return None,
        };
        let encoding = dict.get::<Name<'_>>("Encoding")?;
        let encoding = match CMapName::from_bytes(encoding.as_ref()) {
            CMapName::IdentityH | CMapName::IdentityV => None,
            name => Some(load(name)?),
        };
        Some(Self { encoding, unicode: load(unicode)? })
    }

    fn unicode(&self, code: u32) -> Option<BfString> {
        let character = match &self.encoding {
            Some(encoding) => (1..=4).find_map(|len| encoding.lookup_cid_code(code, len))?,
            None => code,
        };
        self.unicode.lookup_bf_string(character)
    }
}

/// Spells ligatures out and takes out what is no text.
pub(super) fn plain(text: impl Iterator<Item = char>) -> String {
    let mut out = String::with_capacity(text.size_hint().0);
    for c in text {
        match c {
            '\u{FB00}' => out.push_str("ff"),
            '\u{FB01}' => out.push_str("fi"),
            '\u{FB02}' => out.push_str("fl"),
            '\u{FB03}' => out.push_str("ffi"),
            '\u{FB04}' => out.push_str("ffl"),
            '\u{FB05}' | '\u{FB06}' => out.push_str("st"),
            '\u{00AD}' | '\u{2010}' | '\u{2011}' => out.push('-'),
            '\u{E000}'..='\u{F8FF}' => out.push(sign("", u32::from(c))),
            '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{FEFF}' => {}
            c if c.is_whitespace() => out.push(' '),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Loads fonts and keeps them.
pub(super) struct Fonts<'a> {
    /// By where their dictionaries stand in memory, which does not change while the document is open.
    loaded: HashMap<(usize, usize), Option<Rc<LoadedFont<'a>>>>,
    cache: FontCache<'a>,
    programs: FontResolverFn,
    cmaps: CMapResolverFn,
    cmaps_left: Arc<AtomicUsize>,
    limit: usize,
    clock: Clock,
    /// Bytes that the kept fonts take.
    held: usize,
}

impl<'a> Fonts<'a> {
    /// No fonts yet; those that are loaded may take `limit` bytes at a time.
    pub(super) fn new(limit: usize, clock: Clock) -> Self {
        let cmaps_left = Arc::new(AtomicUsize::new(0));
        let left = Arc::clone(&cmaps_left);
        Self {
            loaded: HashMap::new(),
            cache: FontCache::new(),
            programs: Arc::new(|query| {
                Some(match query {
                    FontQuery::Standard(font) => font.get_font_data(),
                    FontQuery::Fallback(query) => query.pick_standard_font().get_font_data(),
                })
            }),
            cmaps: Arc::new(move |name| {
                clock.check().ok()?;
                left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).ok()?;
                load_embedded(name)
            }),
            cmaps_left,
            limit,
            clock,
            held: 0,
        }
    }

    /// The font of a dictionary, if it can be loaded within the limits.
    pub(super) fn load(&mut self, dict: &Dict<'a>) -> Option<Rc<LoadedFont<'a>>> {
        let key = (dict.data().as_ptr().addr(), dict.data().len());
        if let Some(font) = self.loaded.get(&key) {
            return font.clone();
        }
        let descendant = descendant(dict);
        let cost = cost(dict, descendant.as_ref(), self.limit, self.clock);
        if self.loaded.len() >= MAX_FONTS || cost.is_some_and(|cost| cost > self.limit - self.held) {
            self.loaded.clear();
            self.cache = FontCache::new();
            self.held = 0;
        }
        let font = cost.and_then(|cost| {
            self.held += cost;
            self.cmaps_left.store(MAX_CMAPS, Ordering::Relaxed);
            self.cache.font(dict, &self.programs, &self.cmaps)
        });
        let font = font.map(|font| {
            let collection =
                descendant.as_ref().and_then(|descendant| Collection::of(dict, descendant, &self.cmaps));
            let identity = dict.get::<Name<'_>>("ToUnicode").is_some();
            let is_true_type =
                dict.get::<Name<'_>>("Subtype").is_some_and(|name| name.as_ref() == b"TrueType");
            let is_dingbats = dict
                .get::<Name<'_>>("BaseFont")
                .is_some_and(|name| name.to_ascii_lowercase().windows(8).any(|part| part == b"dingbats"));
            let (limit, clock) = (self.limit, self.clock);
            Rc::new(LoadedFont {
                font,
                collection,
                guess: OnceCell::new(),
                dict: dict.clone(),
                signs: signs(dict),
                // The library knows the signs of Dingbats.
                unencoded: is_true_type && !identity && !is_dingbats && !dict.contains_key("Encoding"),
                identity,
                limit,
                clock,
                em: em(dict),
                texts: RefCell::default(),
            })
        });
        self.loaded.insert(key, font.clone());
        font
    }

    /// The font that viewers take where a document forgets to choose one.
    pub(super) fn default_font(&mut self) -> Option<Rc<LoadedFont<'a>>> {
        if let Some(font) = self.loaded.get(&(0, 0)) {
            return font.clone();
        }
        let font = self.cache.standard_font(StandardFont::Helvetica, &self.programs).map(|font| {
            Rc::new(LoadedFont {
                font,
                collection: None,
                guess: OnceCell::new(),
                dict: Dict::default(),
                signs: String::new(),
                unencoded: false,
                identity: false,
                limit: self.limit,
                clock: self.clock,
                em: 1.0,
                texts: RefCell::default(),
            })
        });
        self.loaded.insert((0, 0), font.clone());
        font
    }
}

/// The name of a font of signs, without the mark of a part of it and its style; empty for other fonts.
fn signs(dict: &Dict<'_>) -> String {
    let Some(name) = dict.get::<Name<'_>>("BaseFont") else { return String::new() };
    let name = String::from_utf8_lossy(name.as_ref());
    let name = name.split_once('+').map_or(&*name, |(_, name)| name);
    let name = name.split_once(',').map_or(name, |(name, _)| name);
    let name = name.strip_suffix("-Regular").unwrap_or(name);
    // The library knows the signs of this one.
    let is_known = holds_signs(name) && name != "ZapfDingbats";
    if is_known { name.to_owned() } else { String::new() }
}

/// The font that a composite font is made of.
fn descendant<'a>(dict: &Dict<'a>) -> Option<Dict<'a>> {
    dict.get::<Array<'a>>("DescendantFonts").and_then(|list| list.iter::<Dict<'a>>().next())
}

/// The bytes that loading a font decodes, or `None` if that is more than `limit` or cannot be bounded.
fn cost(dict: &Dict<'_>, descendant: Option<&Dict<'_>>, limit: usize, clock: Clock) -> Option<usize> {
    let mut cost = 0_usize;
    for dict in std::iter::once(dict).chain(descendant) {
        if !has_sane_widths(dict) {
            return None;
        }
        let descriptor = dict.get::<Dict<'_>>("FontDescriptor").unwrap_or_default();
        let streams = ["ToUnicode", "Encoding", "CIDToGIDMap"]
            .into_iter()
            .filter_map(|key| dict.get::<Stream<'_>>(key))
            .chain(
                ["FontFile", "FontFile2", "FontFile3"]
                    .into_iter()
                    .filter_map(|key| descriptor.get::<Stream<'_>>(key)),
            );
        for stream in streams {
            cost = cost.checked_add(decoded_len(&stream, limit, clock).ok()?)?;
        }
    }
    (cost <= limit).then_some(cost)
}

/// True if a font, or the font that it is made of, gives widths to a sane number of codes; `true` for what is no font.
pub(crate) fn has_sane_widths(dict: &Dict<'_>) -> bool {
    // The library fills the widths below the first one up.
    dict.get::<usize>("FirstChar").is_none_or(|first| first <= 0xffff) && widths_are_bounded(dict)
}

/// True if the widths of a composite font are given to a sane number of codes. The lists are read as the
/// library reads them.
fn widths_are_bounded(dict: &Dict<'_>) -> bool {
    let mut codes = 0_u32;
    let mut count = |first: u32, last: u32| {
        codes = codes.saturating_add(last.saturating_sub(first));
        codes <= MAX_WIDTHS
    };
    if let Some(list) = dict.get::<Array<'_>>("W") {
        let mut items = list.flex_iter();
        loop {
            if items.next::<(u32, Array<'_>)>().is_some() {
                continue;
            }
            match items.next::<(u32, u32, f32)>() {
                Some((first, last, _)) if count(first, last) => {}
                Some(_) => return false,
                None => break,
            }
        }
    }
    if let Some(list) = dict.get::<Array<'_>>("W2") {
        let mut items = list.flex_iter();
        loop {
            if items.next::<(u32, Array<'_>)>().is_some() {
                continue;
            }
            match items.next::<(u32, u32, f32, f32, f32)>() {
                Some((first, last, ..)) if count(first, last) => {}
                Some(_) => return false,
                None => break,
            }
        }
    }
    true
}

/// The height of a font's letters relative to its size.
fn em(dict: &Dict<'_>) -> f64 {
    if dict.get::<Name<'_>>("Subtype").is_none_or(|name| name.as_ref() != b"Type3") {
        return 1.0;
    }
    let numbers = |key: &str| -> Vec<f64> {
        let list = dict.get::<Array<'_>>(key);
        list.map(|list| list.iter::<f64>().take(6).collect()).unwrap_or_default()
    };
    match (numbers("FontBBox").as_slice(), numbers("FontMatrix").as_slice()) {
        ([_, low, _, high], [_, _, _, scale, ..]) => {
            let height = ((high - low) * scale).abs();
            if height.is_finite() && height > 0.0 { height } else { 1.0 }
        }
        _ => 1.0,
    }
}
