//! Characters that no XML can hold, as workbooks write them (ECMA-376 part 1, 22.9.2.19).

use std::borrow::Cow;

/// A text of a workbook with the characters that no XML can hold, such as `_x000D_`, as what they are.
pub(super) fn unescaped(text: &str) -> Cow<'_, str> {
    let code = |at: usize| {
        let digits = text.get(at..)?.strip_prefix("_x")?.get(..5)?.strip_suffix('_')?;
        let is_code = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_code.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
    };
    const LEN: usize = "_x0000_".len();
    let (mut out, mut done) = (String::new(), 0);
    while let Some(at) = text.get(done..).and_then(|rest| rest.find("_x")).map(|at| done + at) {
        out.push_str(text.get(done..at).unwrap_or_default());
        let units = std::iter::successors(Some(at), |at| Some(at + LEN)).map_while(code);
        match char::decode_utf16(units.take(2)).next() {
            Some(character) => {
                let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
                done = at + LEN * character.len_utf16();
                out.push(character);
            }
            None => {
                done = at + "_x".len();
                out.push_str("_x");
            }
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn characters_of_workbooks_are_what_their_codes_say() {
        for (text, expected) in [
            ("plain_text x", "plain_text x"),
            ("a_x000D_\nb", "a\r\nb"),
            ("_x005F_x0041_", "_x0041_"),
            ("_x0041__x0042_", "AB"),
            ("_xD83D__xDE00_!", "\u{1f600}!"),
            ("_xD83D_!", "\u{fffd}!"),
            ("_x00e9", "_x00e9"),
            ("_x+0e9_ _xé_", "_x+0e9_ _xé_"),
            ("ends_x", "ends_x"),
        ] {
            assert_eq!(unescaped(text), expected, "{text}");
        }
    }
}
