//! Doc comments and durations.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The text of doc comments, without the space that follows the slashes; `None` if it is blank.
pub(crate) fn of_docs(attributes: &[Attribute]) -> Option<String> {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    let lines: Vec<String> = lines
        .flat_map(|text| {
            let unindented =
                text.split('\n').map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned());
            unindented.collect::<Vec<_>>()
        })
        .collect();
    let text = lines.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The milliseconds of `500ms`, `30s`, `2m` or `1h`.
pub(crate) fn millis(text: &str) -> Result<u64, String> {
    let problem = || {
        format!("`{text}` is no duration: a whole number and a unit, such as `500ms`, `30s`, `2m` or `1h`")
    };
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(problem)?;
    let (number, unit) = text.split_at(unit_at);
    let factor = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(problem()),
    };
    let number: u64 = number.parse().map_err(|_| problem())?;
    match number.checked_mul(factor) {
        Some(0) => Err("a timeout of zero would end every call".to_owned()),
        Some(millis) => Ok(millis),
        None => Err(problem()),
    }
}

#[cfg(test)]
mod tests {
    use super::{millis, of_docs};

    #[test]
    fn durations() {
        assert_eq!(
            ["500ms", "30s", "2m", "1h"].map(|text| millis(text).unwrap()),
            [500, 30_000, 120_000, 3_600_000]
        );
        for wrong in ["", "30", "s", "1.5s", "-1s", "30 s", "1d", "0s", "99999999999999999h", "10ſ"] {
            assert!(millis(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn doc_comments_are_text() {
        let item: syn::ItemFn = syn::parse_quote! {
            /// Finds an invoice.
            ///
            /// - by number
            #[doc(hidden)]
            #[doc = " last\n second"]
            fn f() {}
        };
        assert_eq!(of_docs(&item.attrs).unwrap(), "Finds an invoice.\n\n- by number\nlast\nsecond");
        assert_eq!(of_docs(&[]), None);
    }
}
