//! How many tokens a text has.

/// Counts the tokens of texts.
///
/// A function does it, such as one over a tokeniser:
///
/// ```
/// use attache_agent::TokenWindow;
///
/// let window = TokenWindow::new(32_000).with_counter(|text: &str| text.split_whitespace().count() as u64);
/// ```
pub trait TokenCounter: Send + Sync + 'static {
    /// The tokens of a text. The same text has the same number each time.
    fn count(&self, text: &str) -> u64;
}

impl<F: Fn(&str) -> u64 + Send + Sync + 'static> TokenCounter for F {
    fn count(&self, text: &str) -> u64 {
        self(text)
    }
}

/// Estimates tokens by script, without a tokeniser: within a quarter of what those of today's models count in prose,
/// Chinese, code and JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EstimatedTokens;

/// A thousandth of a token.
const MILLI: u64 = 1_000;

/// The script of a character, as far as tokenisers tell scripts apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Letter,
    /// A Latin letter with a mark.
    Marked,
    Digit,
    Space,
    Break,
    Sign,
    /// Chinese, Japanese, Korean.
    Ideograph,
    Other,
}

impl Kind {
    fn of(c: char) -> Self {
        match c {
            'a'..='z' | 'A'..='Z' => Self::Letter,
            '0'..='9' => Self::Digit,
            '\n' | '\r' => Self::Break,
            ' ' | '\t' => Self::Space,
            '\u{21}'..='\u{7e}' => Self::Sign,
            '\u{c0}'..='\u{24f}' => Self::Marked,
            '\u{2e80}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7af}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff00}'..='\u{ffef}'
            | '\u{20000}'..='\u{3fffd}' => Self::Ideograph,
            _ => Self::Other,
        }
    }
}

impl TokenCounter for EstimatedTokens {
    fn count(&self, text: &str) -> u64 {
        let mut milli = 0_u64;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let kind = Kind::of(c);
            let mut length = 1_u64;
            let mut marked = u64::from(kind == Kind::Marked);
            let mut capitals = 0_u64;
            let mut before = c;
            while let Some(next) = chars.peek().copied() {
                let of = Kind::of(next);
                let goes_on = of == kind
                    || matches!((kind, of), (Kind::Letter | Kind::Marked, Kind::Letter | Kind::Marked));
                if !goes_on {
                    break;
                }
                marked += u64::from(of == Kind::Marked);
                capitals += u64::from(next.is_ascii_uppercase() && before.is_ascii_lowercase());
                before = next;
                length += 1;
                chars.next();
            }
            milli += match kind {
                Kind::Letter | Kind::Marked => word(length, marked, capitals),
                Kind::Digit => length.div_ceil(3) * MILLI,
                // A blank before a word belongs to it.
                Kind::Space => u64::from(length > 1) * MILLI,
                Kind::Break => MILLI,
                Kind::Sign => sign(length),
                Kind::Ideograph => length * 850,
                Kind::Other => length * 500,
            };
        }
        milli.div_ceil(MILLI)
    }
}

/// A word is one token or a few.
fn word(length: u64, marked: u64, capitals: u64) -> u64 {
    let long = length.saturating_sub(6) * 170;
    MILLI + long + marked * 350 + capitals * 500
}

/// Signs that follow one another are often one token.
fn sign(length: u64) -> u64 {
    MILLI + (length - 1) * 350
}
