//! The number of tokens that a text has.

use attache_core::ModelCapabilities;
use attache_core::capability::Tokenizer;

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

    /// The tokens of a text for a model with these abilities. It is the same number for each model, unless the counter
    /// knows their [tokenisers](attache_core::capability::Tokenizer).
    fn count_for(&self, text: &str, model: &ModelCapabilities) -> u64 {
        let _ = model;
        self.count(text)
    }
}

impl<F: Fn(&str) -> u64 + Send + Sync + 'static> TokenCounter for F {
    fn count(&self, text: &str) -> u64 {
        self(text)
    }
}

/// Estimates tokens by script, without a tokeniser.
///
/// For a model whose [tokeniser](attache_core::capability::Tokenizer) is known, it is within a quarter of that one's count in prose
/// of Latin, Cyrillic, Greek, Arabic and Devanagari letters, Chinese, Japanese, Korean, code, JSON and schemas of tools.
///
/// For other models Russian and Korean are within a quarter of newer tokenisers (`o200k_base`, Llama 3). Older ones count
/// up to 1.7 times as many tokens in Russian, and 1.4 times as many in Korean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EstimatedTokens;

/// About how many tokens a text of this length has, for those that do not look at its letters.
pub(crate) fn tokens_of_length(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX).div_ceil(4)
}

/// The thousandths of a token that characters have, by script, where tokenisers differ.
#[derive(Clone, Copy)]
struct Weights {
    /// A letter of a long word in a language with marks, behind the sixth.
    letter: u64,
    ideograph: u64,
    hangul: u64,
    cyrillic: u64,
    other: u64,
}

impl Weights {
    const fn of(tokenizer: Tokenizer) -> Self {
        let [letter, ideograph, hangul, cyrillic, other] = match tokenizer {
            Tokenizer::O200kBase => [280, 800, 800, 280, 410],
            Tokenizer::Cl100kBase => [450, 1_100, 1_330, 530, 1_000],
            Tokenizer::Llama3 => [450, 780, 800, 330, 530],
            Tokenizer::Claude2 => [560, 1_060, 1_430, 600, 1_200],
            _ => [360, 900, 1_000, 350, 500],
        };
        Self { letter, ideograph, hangul, cyrillic, other }
    }
}

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
    Sign,
    /// Chinese, Japanese.
    Ideograph,
    Hangul,
    Cyrillic,
    Other,
}

impl Kind {
    fn of(c: char) -> Self {
        match c {
            'a'..='z' | 'A'..='Z' => Self::Letter,
            '0'..='9' => Self::Digit,
            ' ' | '\t' | '\n' | '\r' => Self::Space,
            '\u{21}'..='\u{7e}' => Self::Sign,
            '\u{c0}'..='\u{24f}' => Self::Marked,
            '\u{2e80}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff00}'..='\u{ffef}'
            | '\u{20000}'..='\u{3fffd}' => Self::Ideograph,
            '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}' => Self::Hangul,
            '\u{400}'..='\u{52f}' => Self::Cyrillic,
            _ => Self::Other,
        }
    }

    /// True if a character of the other kind belongs to a run of this one.
    fn goes_on(self, other: Self) -> bool {
        self == other || matches!((self, other), (Self::Letter | Self::Marked, Self::Letter | Self::Marked))
    }
}

impl TokenCounter for EstimatedTokens {
    fn count(&self, text: &str) -> u64 {
        Weights::of(Tokenizer::Unknown).tokens(text)
    }

    fn count_for(&self, text: &str, model: &ModelCapabilities) -> u64 {
        Weights::of(model.tokenizer).tokens(text)
    }
}

impl Weights {
    fn tokens(self, text: &str) -> u64 {
        let (letters, marked) = text.chars().fold((0_u64, 0_u64), |(letters, marked), c| match Kind::of(c) {
            Kind::Letter => (letters + 1, marked),
            Kind::Marked => (letters, marked + 1),
            _ => (letters, marked),
        });
        // Tokenisers know fewer words of languages with marks, and split the longer ones.
        let per_letter = if marked * 100 > letters { self.letter } else { 80 };
        let mut milli = 0_u64;
        let mut chars = text.chars().peekable();
        while let Some(first) = chars.next() {
            let kind = Kind::of(first);
            let mut run = Run { length: 1, marked: u64::from(kind == Kind::Marked), ..Run::default() };
            run.breaks = first == '\n' || first == '\r';
            let mut before = first;
            while let Some(next) = chars.next_if(|next| kind.goes_on(Kind::of(*next))) {
                run.length += 1;
                run.marked += u64::from(Kind::of(next) == Kind::Marked);
                run.capitals += u64::from(next.is_ascii_uppercase() && before.is_ascii_lowercase());
                run.breaks |= next == '\n' || next == '\r';
                before = next;
            }
            let before_word =
                chars.peek().is_some_and(|next| matches!(Kind::of(*next), Kind::Letter | Kind::Marked));
            milli += run.milli_tokens(kind, per_letter, before_word, self);
        }
        milli.div_ceil(MILLI)
    }
}

/// Characters of one kind that follow one another.
#[derive(Default)]
struct Run {
    length: u64,
    marked: u64,
    /// Capitals behind small letters, where names in code have a new word.
    capitals: u64,
    breaks: bool,
}

impl Run {
    fn milli_tokens(&self, kind: Kind, per_letter: u64, before_word: bool, weights: Weights) -> u64 {
        match kind {
            Kind::Letter | Kind::Marked => {
                MILLI + self.length.saturating_sub(6) * per_letter + self.marked * 950 + self.capitals * 400
            }
            Kind::Digit => self.length.div_ceil(3) * MILLI,
            // A blank before a word belongs to it.
            Kind::Space => u64::from(self.breaks || self.length > 1) * MILLI,
            // So does a sign, often.
            Kind::Sign if before_word && self.length == 1 => 400,
            Kind::Sign => MILLI + (self.length - 1) * 150,
            Kind::Ideograph => self.length * weights.ideograph,
            Kind::Hangul => self.length * weights.hangul,
            Kind::Cyrillic => self.length * weights.cyrillic,
            Kind::Other => self.length * weights.other,
        }
    }
}
