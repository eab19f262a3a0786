//! The tokens of RTF: groups, control words and symbols, and bytes of text.

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'b> {
    /// A group begins.
    Open,
    /// A group ends.
    Close,
    /// A control word with its number.
    Word(&'b str, Option<i32>),
    /// A control symbol, which is no letter.
    Symbol(u8),
    /// A byte of text in hexadecimal digits; `None` if they are none.
    Hex(Option<u8>),
    /// A byte of text.
    Byte(u8),
    /// Line ends and binary data, which say nothing.
    Nothing,
}

/// The tokens of a file.
pub(super) struct Tokens<'b> {
    rest: &'b [u8],
}

impl<'b> Tokens<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The token behind a backslash.
    fn control(&mut self) -> Token<'b> {
        let text = self.rest;
        let Some((first, after)) = text.split_first() else { return Token::Nothing };
        if *first == b'\'' {
            let (digits, rest) = after.split_at(after.len().min(2));
            self.rest = rest;
            let digits = std::str::from_utf8(digits).ok();
            return Token::Hex(digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()));
        }
        if !first.is_ascii_alphabetic() {
            self.rest = after;
            return Token::Symbol(*first);
        }
        let end = text.iter().position(|b| !b.is_ascii_alphabetic()).unwrap_or(text.len()).min(32);
        let (word, mut rest) = text.split_at(end);
        let mut value = None;
        let digits = usize::from(rest.first() == Some(&b'-'));
        let count = rest.iter().skip(digits).take(10).take_while(|b| b.is_ascii_digit()).count();
        if count > 0 {
            let (number, after) = rest.split_at(digits + count);
            value = std::str::from_utf8(number).ok().and_then(|number| number.parse::<i64>().ok());
            rest = after;
        }
        if let [b' ', after @ ..] = rest {
            rest = after;
        }
        self.rest = rest;
        if word == b"bin" {
            // So many bytes of anything.
            let length = usize::try_from(value.unwrap_or(0)).unwrap_or(0);
            self.rest = rest.get(length..).unwrap_or(rest);
            return Token::Nothing;
        }
        let value = value.map(|value| i32::try_from(value).unwrap_or(i32::MAX));
        Token::Word(std::str::from_utf8(word).unwrap_or_default(), value)
    }
}

impl<'b> Iterator for Tokens<'b> {
    type Item = Token<'b>;

    fn next(&mut self) -> Option<Token<'b>> {
        let (first, after) = self.rest.split_first()?;
        self.rest = after;
        Some(match first {
            b'{' => Token::Open,
            b'}' => Token::Close,
            b'\\' => self.control(),
            b'\r' | b'\n' | 0 => Token::Nothing,
            byte => Token::Byte(*byte),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Token, Tokens};

    #[test]
    fn words_end_with_their_number_and_one_space() {
        let tokens = |rtf: &'static str| Tokens::new(rtf.as_bytes()).collect::<Vec<_>>();
        assert_eq!(tokens("{\\b x}"), [Token::Open, Token::Word("b", None), Token::Byte(b'x'), Token::Close]);
        assert_eq!(tokens("\\u-5?"), [Token::Word("u", Some(-5)), Token::Byte(b'?')]);
        assert_eq!(tokens("\\'e9\\'zz\\*"), [Token::Hex(Some(0xe9)), Token::Hex(None), Token::Symbol(b'*')]);
        assert_eq!(tokens("\\bin3 }}}x"), [Token::Nothing, Token::Byte(b'x')]);
        assert_eq!(tokens("\\f9999999999 \\"), [Token::Word("f", Some(i32::MAX)), Token::Nothing]);
    }
}
