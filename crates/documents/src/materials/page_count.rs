//! The number of pages of a PDF, without a reader of PDFs.
//!
//! ISO 32000-1: pages hang on a tree whose nodes say `/Type /Pages` and in `/Count` how many pages are below them
//! (7.7.3.2). The nodes stand in the file as they are, or inside compressed object streams (7.5.7); a linearised file
//! says the number in its first object (Annex F). So it is enough to look at each dictionary once: work grows with the
//! size of the file, and what is unpacked has a limit.

use memchr::{memchr2, memchr3_iter, memmem};
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

/// The maximum number of bytes of object streams that are unpacked of one file.
const UNPACKED: usize = 32 << 20;

/// The deepest nesting of dictionaries that is followed.
const DEPTH: usize = 100;

/// The pages of a PDF, as its bytes tell them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pages {
    /// So many.
    Counted(u64),
    /// There is no page in it, so nobody will see one.
    None,
    /// They are where this does not look: encrypted, packed otherwise or too large.
    Hidden,
}

impl Pages {
    /// Counts the pages of a PDF.
    pub(crate) fn of(pdf: &[u8]) -> Self {
        let mut seen = Seen::default();
        scan(pdf, &mut seen, Some(UNPACKED));
        match (seen.linearised, seen.nodes, seen.leaves) {
            (Some(pages), ..) if seen.length == Some(pdf.len() as u64) => Self::Counted(pages),
            _ if seen.is_hidden => Self::Hidden,
            (_, Some(count), _) => Self::Counted(count),
            (_, None, 0) => Self::None,
            (_, None, leaves) => Self::Counted(leaves),
        }
    }

    /// The number, if it is known.
    pub(crate) fn number(self) -> Option<u64> {
        match self {
            Self::Counted(pages) => Some(pages),
            Self::None | Self::Hidden => None,
        }
    }
}

/// The counts of the dictionaries so far.
#[derive(Default)]
struct Seen {
    /// The largest count of a node: the root's. Older versions of it, which updates leave in the file, may say more.
    nodes: Option<u64>,
    leaves: u64,
    linearised: Option<u64>,
    /// The length of the file when it was linearised.
    length: Option<u64>,
    is_hidden: bool,
}

/// A dictionary that is being read.
#[derive(Default)]
struct Dictionary<'b> {
    /// The name that was read last, where a key stands.
    key: Option<&'b [u8]>,
    is_value: bool,
    /// The number of lists that are open in it.
    lists: usize,
    kind: Option<&'b [u8]>,
    count: Option<u64>,
    length: Option<u64>,
    pages: Option<u64>,
    is_linearised: bool,
    is_deflated: bool,
    /// A filter that this does not know, or parameters of one.
    is_packed_otherwise: bool,
}

impl<'b> Dictionary<'b> {
    fn name(&mut self, name: &'b [u8]) {
        if !self.is_value {
            (self.key, self.is_value) = (Some(name), true);
            self.is_linearised |= name == b"Linearized";
            self.is_packed_otherwise |= name == b"DecodeParms";
            return;
        }
        match self.key {
            Some(b"Filter") => self.filter(name),
            Some(b"Type") if self.lists == 0 => self.kind = Some(name),
            _ => {}
        }
        self.value_ends();
    }

    /// A value is over, unless it is one of a list.
    fn value_ends(&mut self) {
        self.is_value &= self.lists > 0;
    }

    fn filter(&mut self, name: &[u8]) {
        match name {
            b"FlateDecode" if !self.is_deflated => self.is_deflated = true,
            _ => self.is_packed_otherwise = true,
        }
    }

    /// A number, `R` behind the two numbers of a reference to another object, or something else.
    fn word(&mut self, word: &[u8]) {
        let number = number(word);
        if self.lists > 0 || !(self.is_value || word == b"R") {
            return;
        }
        match self.key {
            Some(b"Count") => self.count = number,
            Some(b"Length" | b"L") => self.length = number,
            Some(b"N") => self.pages = number,
            _ => {}
        }
        self.value_ends();
    }
}

/// Reads all dictionaries; `unpack` says how much of object streams may be unpacked, if any.
fn scan(bytes: &[u8], seen: &mut Seen, mut unpack: Option<usize>) {
    let mut open: Vec<Dictionary<'_>> = Vec::new();
    let mut closed: Option<Dictionary<'_>> = None;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        match byte {
            b'<' if rest.starts_with(b"<<") => {
                if open.len() < DEPTH {
                    open.push(Dictionary::default());
                }
                at += 2;
            }
            b'>' if rest.starts_with(b">>") => {
                closed = open.pop();
                if let Some(dictionary) = &closed {
                    seen.dictionary(dictionary);
                }
                if let Some(outer) = open.last_mut() {
                    outer.value_ends();
                }
                at += 2;
            }
            b'[' => {
                if let Some(dictionary) = open.last_mut() {
                    dictionary.lists += 1;
                }
                at += 1;
            }
            b']' => {
                if let Some(dictionary) = open.last_mut() {
                    dictionary.lists = dictionary.lists.saturating_sub(1);
                    dictionary.value_ends();
                }
                at += 1;
            }
            b'(' => {
                at += string(rest);
                if let Some(dictionary) = open.last_mut() {
                    dictionary.value_ends();
                }
            }
            b'/' => {
                let name = regular(rest.get(1..).unwrap_or_default());
                if let Some(dictionary) = open.last_mut() {
                    dictionary.name(name);
                }
                at += 1 + name.len();
            }
            b'%' => at += memchr2(b'\n', b'\r', rest).unwrap_or(rest.len()),
            byte if is_regular(*byte) => {
                let word = regular(rest);
                at += word.len();
                match (word, open.last_mut()) {
                    (b"stream", None) => {
                        let body = rest.get(word.len()..).unwrap_or_default();
                        at += stream(body, &closed.take().unwrap_or_default(), seen, &mut unpack);
                    }
                    // A damaged object ends where the next begins.
                    (b"obj" | b"endobj", _) => open.clear(),
                    (word, Some(dictionary)) => dictionary.word(word),
                    _ => {}
                }
            }
            _ => at += 1,
        }
    }
}

impl Seen {
    fn dictionary(&mut self, dictionary: &Dictionary<'_>) {
        match dictionary.kind {
            Some(b"Pages") => self.nodes = self.nodes.max(dictionary.count),
            Some(b"Page") => self.leaves += 1,
            _ if dictionary.is_linearised => {
                (self.linearised, self.length) = (dictionary.pages, dictionary.length);
            }
            _ => {}
        }
    }
}

/// Looks into a stream if it holds objects; yields the bytes up to its end.
fn stream(body: &[u8], dictionary: &Dictionary<'_>, seen: &mut Seen, unpack: &mut Option<usize>) -> usize {
    let start: usize = match body {
        [b'\r', b'\n', ..] => 2,
        [b'\n' | b'\r', ..] => 1,
        _ => 0,
    };
    let said = dictionary.length.and_then(|length| start.checked_add(usize::try_from(length).ok()?));
    let ends = |end: &usize| {
        let after = body.get(*end..).unwrap_or_default();
        let blank = after.iter().take(2).take_while(|byte| byte.is_ascii_whitespace()).count();
        after.get(blank..).is_some_and(|after| after.starts_with(END))
    };
    let end = said.filter(ends).unwrap_or_else(|| memmem::find(body, END).unwrap_or(body.len()));
    if dictionary.kind == Some(b"ObjStm") {
        let packed = body.get(start..end).unwrap_or_default();
        match *unpack {
            Some(left) if dictionary.is_deflated && !dictionary.is_packed_otherwise => {
                let plain = decompress_to_vec_zlib_with_limit(packed, left);
                let unpacked = plain.as_ref().map_or_else(|error| error.output.len(), Vec::len);
                *unpack = Some(left.saturating_sub(unpacked));
                match plain {
                    Ok(plain) => scan(&plain, seen, None),
                    Err(_) => seen.is_hidden = true,
                }
            }
            Some(_) if !dictionary.is_packed_otherwise && !dictionary.is_deflated => scan(packed, seen, None),
            _ => seen.is_hidden = true,
        }
    }
    end
}

const END: &[u8] = b"endstream";

/// The length of a string in parentheses, which may nest.
fn string(bytes: &[u8]) -> usize {
    let (mut depth, mut escaped) = (0_usize, None);
    for at in memchr3_iter(b'\\', b'(', b')', bytes) {
        match bytes.get(at) {
            _ if escaped == Some(at) => {}
            Some(b'\\') => escaped = Some(at + 1),
            Some(b'(') => depth += 1,
            _ if depth <= 1 => return at + 1,
            _ => depth -= 1,
        }
    }
    bytes.len()
}

/// For each byte, whether it may stand in a name or a word.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const REGULAR: [bool; 256] = {
    let mut regular = [true; 256];
    let mut others: &[u8] = b"\0\t\n\x0c\r ()<>[]{}/%";
    while let [other, rest @ ..] = others {
        regular[*other as usize] = false;
        others = rest;
    }
    regular
};

fn is_regular(byte: u8) -> bool {
    REGULAR.get(usize::from(byte)) == Some(&true)
}

/// The name or word that `bytes` begin with.
fn regular(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| !is_regular(*byte)).unwrap_or(bytes.len());
    bytes.get(..end).unwrap_or_default()
}

fn number(word: &[u8]) -> Option<u64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use miniz_oxide::deflate::compress_to_vec_zlib;

    use super::*;

    fn of(body: &str) -> Pages {
        Pages::of(format!("%PDF-1.7\n{body}").as_bytes())
    }

    fn deflated(text: &str) -> Vec<u8> {
        compress_to_vec_zlib(text.as_bytes(), 6)
    }

    fn packed(dictionary: &str, body: &[u8]) -> Pages {
        let head = format!("%PDF-1.7\n7 0 obj\n<</Type/ObjStm {dictionary}>>\nstream\r\n");
        Pages::of(&[head.as_bytes(), body, b"\nendstream\nendobj\n"].concat())
    }

    // ISO 32000-1, 7.7.3.2: the root counts all leaves below it, an inner node those below itself.
    #[test]
    fn the_root_of_the_page_tree_says_how_many() {
        let tree = "1 0 obj<</Type /Catalog /Pages 2 0 R>>endobj\n2 0 obj<</Count 12/Kids [3 0 R 4 0 R]/Type/Pages>>endobj\n\
                    3 0 obj<</Type/Pages/Parent 2 0 R/Count 7/Kids[]>>endobj\n4 0 obj<</Type/Pages /Parent 2 0 R/Kids[]/Count  5>>endobj";
        assert_eq!(of(tree), Pages::Counted(12));
        assert_eq!(
            of("2 0 obj<</Type/Pages/Count 9 0 R>>endobj<</Type/Page>><</Type/Page>>"),
            Pages::Counted(2)
        );
        assert_eq!(of("% no objects"), Pages::None);
        assert_eq!(Pages::of(b""), Pages::None);
    }

    #[test]
    fn words_in_strings_comments_and_streams_are_no_pages() {
        let hidden = "1 0 obj<</Title (a \\) <</Type/Pages/Count 900>>)>>endobj % <</Type/Pages/Count 901>>\n\
                      5 0 obj<</Length 30>>stream\n<</Type/Pages/Count 902>>endst\nendstream\n2 0 obj<</Type/Pages/Count 3>>endobj";
        assert_eq!(of(hidden), Pages::Counted(3));
        let outline = "<</Type/Outlines/Count 40>><</Type/Pages/Resources<</X<</Count 50>>>>/Count 2>>";
        assert_eq!(of(outline), Pages::Counted(2));
    }

    // 7.5.7: object streams, as most programs write them since PDF 1.5.
    #[test]
    fn packed_objects_are_looked_at() {
        let inner = deflated("2 0 3 44 <</Type/Pages/Count 700/Kids[3 0 R]>> <</Type/Page>>");
        assert_eq!(
            packed(&format!("/Filter/FlateDecode/Length {}", inner.len()), &inner),
            Pages::Counted(700)
        );
        assert_eq!(packed("/Filter[/FlateDecode]/Length 8 0 R", &inner), Pages::Counted(700));
        assert_eq!(packed("/Length 27", b"2 0 <</Type/Pages/Count 4>>"), Pages::Counted(4));
    }

    #[test]
    fn what_cannot_be_looked_at_is_said_to_be_hidden() {
        let inner = deflated("2 0 <</Type/Pages/Count 700>>");
        assert_eq!(packed("/Filter/LZWDecode", &inner), Pages::Hidden);
        assert_eq!(packed("/Filter[/FlateDecode/FlateDecode]", &inner), Pages::Hidden);
        assert_eq!(packed("/Filter/FlateDecode/DecodeParms<</Predictor 12>>", &inner), Pages::Hidden);
        assert_eq!(packed("/Filter/FlateDecode", b"encrypted"), Pages::Hidden);
        let bomb = deflated(&" ".repeat(UNPACKED + 1));
        assert!(bomb.len() < 100_000);
        assert_eq!(packed("/Filter/FlateDecode", &bomb), Pages::Hidden);
    }

    // Annex F: the first object of a file for the web, unless the file was appended to.
    #[test]
    fn a_linearised_file_says_it_first() {
        let file = |length: usize| {
            format!(
                "%PDF-1.7\n1 0 obj<</Linearized 1/L {length:04}/N 31/T 9>>endobj\n7 0 obj<</Type/ObjStm/Filter/Crypt>>stream\nx\nendstream"
            )
        };
        let length = file(0).len();
        assert_eq!(Pages::of(file(length).as_bytes()), Pages::Counted(31));
        assert_eq!(Pages::of(file(length + 1).as_bytes()), Pages::Hidden);
    }

    // Nothing here recurses or reads twice, whatever the bytes are.
    #[test]
    fn odd_bytes_come_to_an_end() {
        for odd in ["<<", ">>", "[", "(", "/Type", "stream\n", "<</A[", "(\\", "1 0 obj", "\u{0}%"] {
            assert_eq!(of(&odd.repeat(20_000)), Pages::None, "{odd}");
        }
    }
}
