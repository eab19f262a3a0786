use super::*;

fn whole(text: &str, width: usize) -> String {
    let mut markdown = Markdown::new(Style::new(false), width);
    markdown.push(text) + &markdown.finish()
}

const TEXT: &str = "# Rent\n\nThe **Harbour Bakery** pays `EUR 1,200` a _month_, see [the lease](https://x.example/l).\n\n\
    - first point that is long enough to be wrapped\n  - second\n1. one\n\n> quoted\n\n```rust\nfn a() { **b** }\n```\n\n\
    | who | rent |\n|---|---:|\n| Quay **Books** | 900 |\n\nIt is 2 * 3 ** 4, snake_case_name and a \\*star\\*.\n";

#[test]
fn marks_become_layout() {
    insta::assert_snapshot!(whole(TEXT, 40), @r"
    Rent

    The Harbour Bakery pays EUR 1,200 a
    month, see the lease
    (https://x.example/l).

    • first point that is long enough to be
      wrapped
      • second
    1. one

    │ quoted

      fn a() { **b** }

    who         rent
    ----------  ----
    Quay Books  900

    It is 2 * 3 ** 4, snake_case_name and a
    *star*.
    ");
}

// However the text is cut, the same comes out.
#[test]
fn pieces_make_the_same_as_the_whole() {
    for style in [false, true] {
        let set = |pieces: &mut dyn Iterator<Item = String>| {
            let mut markdown = Markdown::new(Style::new(style), 40);
            let mut out: String = pieces.map(|piece| markdown.push(&piece)).collect();
            out.push_str(&markdown.finish());
            out
        };
        let whole = set(&mut std::iter::once(TEXT.to_owned()));
        assert_eq!(set(&mut TEXT.chars().map(String::from)), whole);
        let words = &mut TEXT.split_inclusive(' ').map(str::to_owned);
        assert_eq!(set(words), whole);
    }
}

#[test]
fn a_word_is_written_once_it_is_whole() {
    let mut markdown = Markdown::new(Style::new(false), 40);
    assert_eq!(markdown.push("The rent"), "The");
    assert_eq!(markdown.push(" is **EUR"), " rent is");
    assert_eq!(markdown.push(" 1,200** now"), " EUR 1,200");
    assert_eq!(markdown.finish(), " now\n");
    assert_eq!(markdown.finish(), "");
}

#[test]
fn tables_keep_cells_beyond_their_heads_and_rows_of_dashes() {
    let out = whole("| a | b |\n|---|---|\n| 1 | 2 | three |\n| - | - |\n| - | -- | --- |\n", 40);
    insta::assert_snapshot!(out, @r"
    a  b
    -  --  -----
    1  2   three
    -  -
    -  --  ---
    ");
}

#[test]
fn lines_that_begin_like_a_table_and_are_none_stay_as_they_are() {
    for text in ["|x| + |y| = 3\n", "|a|b|\n|c|d|\n", "|a|\n|---|\n"] {
        assert_eq!(whole(text, 40), text);
    }
    assert_eq!(whole("|x| = 3\nnext\n", 40), "|x| = 3\nnext\n");
}

#[test]
fn nothing_is_dropped() {
    for text in [
        "a **b c\n",
        "2*3*4\n",
        "`open\n",
        "[a] b\n",
        "a_b_c __d\n",
        "[x](y\n",
        "* * *x\n",
        "#tag\n",
        "***\\\n",
    ] {
        let out = whole(text, 60);
        let kept = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
        assert_eq!(kept(&out), kept(text), "{text:?} {out:?}");
    }
    assert_eq!(whole("a **b c\n", 60), "a **b c\n");
    assert_eq!(whole("2 ** 3 and snake_case_name\n", 60), "2 ** 3 and snake_case_name\n");
    assert_eq!(whole("see [1] and [2]\n", 60), "see [1] and [2]\n");
}

#[test]
fn every_line_fits_also_in_scripts_without_spaces() {
    let text = "租约的租金是每月一千二百欧元，由海港面包店支付。\n\n- 第一条租约的租金是每月一千二百欧元\n";
    for width in [16, 20, 33] {
        for line in whole(text, width).lines() {
            assert!(columns(line) <= width, "{width}: {line}");
        }
    }
    assert_eq!(whole(text, 100).lines().next().unwrap(), text.lines().next().unwrap());
}

#[test]
fn styles_are_colours_of_the_terminal() {
    let mut markdown = Markdown::new(Style::new(true), 40);
    assert_eq!(markdown.push("a **b c** `d`\n"), "a \x1b[1mb\x1b[0m \x1b[1mc\x1b[0m \x1b[38;5;30md\x1b[0m\n");
}

#[test]
fn marks_are_closed_near_by_or_are_characters() {
    let far = format!("**a {}end** b", "x ".repeat(1_500));
    assert!(whole(&far, 80).starts_with("**a x"), "{}", whole(&far, 80));
    // Each of them looks for its end, and no further than that.
    let open = "**a ".repeat(5_000);
    assert_eq!(whole(&open, 80).matches("**a").count(), 5_000);
}
