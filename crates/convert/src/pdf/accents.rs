//! Accents that are characters of their own, drawn over or under a letter: TeX does so with its older fonts.

/// The mark that an accent is on a letter.
pub(super) fn mark(text: &str) -> Option<char> {
    Some(match text {
        "`" => '\u{300}',
        "\u{b4}" => '\u{301}',
        "\u{2c6}" => '\u{302}',
        "\u{2dc}" => '\u{303}',
        "\u{af}" => '\u{304}',
        "\u{2d8}" => '\u{306}',
        "\u{2d9}" => '\u{307}',
        "\u{a8}" => '\u{308}',
        "\u{2da}" => '\u{30a}',
        "\u{2dd}" => '\u{30b}',
        "\u{2c7}" => '\u{30c}',
        "\u{b8}" => '\u{327}',
        "\u{2db}" => '\u{328}',
        _ => return None,
    })
}

/// A text with a mark, if it is one letter.
pub(super) fn accented(text: &str, mark: char) -> Option<String> {
    let mut chars = text.chars();
    let letter = chars.next().filter(|c| c.is_alphabetic() && chars.next().is_none())?;
    Some(match composed(letter, mark) {
        Some(one) => one.to_string(),
        None => String::from_iter([dotted(letter), mark]),
    })
}

/// The letter with a mark, if there is one. They are few, and a library for all of Unicode is two crates.
pub(super) fn composed(letter: char, mark: char) -> Option<char> {
    let letter = dotted(letter);
    let pairs = match mark {
        '\u{300}' => "AÀEÈIÌNǸOÒUÙWẀYỲaàeèiìnǹoòuùwẁyỳ",
        '\u{301}' => "AÁCĆEÉGǴIÍKḰLĹMḾNŃOÓPṔRŔSŚUÚWẂYÝZŹaácćeégǵiíkḱlĺmḿnńoópṕrŕsśuúwẃyýzź",
        '\u{302}' => "AÂCĈEÊGĜHĤIÎJĴOÔSŜUÛWŴYŶZẐaâcĉeêgĝhĥiîjĵoôsŝuûwŵyŷzẑ",
        '\u{303}' => "AÃEẼIĨNÑOÕUŨVṼYỸaãeẽiĩnñoõuũvṽyỹ",
        '\u{304}' => "AĀEĒGḠIĪOŌUŪYȲaāeēgḡiīoōuūyȳ",
        '\u{306}' => "AĂEĔGĞIĬOŎUŬaăeĕgğiĭoŏuŭ",
        '\u{307}' => "AȦBḂCĊDḊEĖFḞGĠHḢIİMṀNṄOȮPṖRṘSṠTṪWẆXẊYẎZŻaȧbḃcċdḋeėfḟgġhḣmṁnṅoȯpṗrṙsṡtṫwẇxẋyẏzż",
        '\u{308}' => "AÄEËHḦIÏOÖUÜWẄXẌYŸaäeëhḧiïoötẗuüwẅxẍyÿ",
        '\u{30a}' => "AÅUŮaåuůwẘyẙ",
        '\u{30b}' => "OŐUŰoőuű",
        '\u{30c}' => "AǍCČDĎEĚGǦHȞIǏKǨLĽNŇOǑRŘSŠTŤUǓZŽaǎcčdďeěgǧhȟiǐjǰkǩlľnňoǒrřsštťuǔzž",
        '\u{327}' => "CÇDḐEȨGĢHḨKĶLĻNŅRŖSŞTŢcçdḑeȩgģhḩkķlļnņrŗsştţ",
        '\u{328}' => "AĄEĘIĮOǪUŲaąeęiįoǫuų",
        _ => return None,
    };
    let mut chars = pairs.chars();
    std::iter::from_fn(|| Some((chars.next()?, chars.next()?)))
        .find_map(|(known, with_mark)| (known == letter).then_some(with_mark))
}

/// Accents stand on letters without a dot.
fn dotted(letter: char) -> char {
    match letter {
        '\u{131}' => 'i',
        '\u{237}' => 'j',
        letter => letter,
    }
}

#[cfg(test)]
mod tests {
    use super::{accented, composed, mark};

    #[test]
    fn accents_are_put_onto_letters() {
        let on = |accent: &str, letter: &str| accented(letter, mark(accent)?);
        for (accent, letter, expected) in
            [("¨", "u", "ü"), ("˝", "o", "ő"), ("´", "ı", "í"), ("ˆ", "x", "x\u{302}")]
        {
            assert_eq!(on(accent, letter).as_deref(), Some(expected));
        }
        assert_eq!((on("´", "12"), on("´", "1"), mark("'")), (None, None, None));
        assert_eq!((composed('c', '\u{327}'), composed('x', '\u{327}')), (Some('ç'), None));
    }
}
