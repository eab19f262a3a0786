//! Answers that are right, wrong and half right, against what was shown.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

use attache_citations::{Options, Shown, check};
use attache_core::DocumentId;
use attache_core::citation::{Checked, Citation, Derivation, FigureState, How, Ignored, Place, Source};
use proptest::prelude::*;

fn source(name: &str) -> Source {
    Source::Document { id: DocumentId::parse(name).unwrap(), name: Some(name.to_owned()) }
}

fn shown(text: &str) -> Shown {
    Shown::text(source("a.txt"), text)
}

fn of(text: &str, answer: &str) -> Checked {
    check(answer, &[], &[shown(text)], &Options::new().with_today(2026, 11, 23))
}

/// The states of the figures of an answer, as words.
fn states(checked: &Checked) -> Vec<String> {
    let word = |state: &FigureState| match state {
        FigureState::Supported => "supported".to_owned(),
        FigureState::Derived(how) => format!("derived {how:?}"),
        FigureState::Given => "given".to_owned(),
        FigureState::Ignored(why) => format!("ignored {why:?}"),
        FigureState::Unchecked => "unchecked".to_owned(),
        FigureState::Unsupported { nearest } => format!("unsupported {}", nearest.as_deref().unwrap_or("-")),
        other => format!("{other:?}"),
    };
    checked.figures.iter().map(|figure| word(&figure.state)).collect()
}

fn one(checked: &Checked) -> &Citation {
    let [citation] = &*checked.citations else { panic!("{checked:?}") };
    citation
}

// case 1
#[test]
fn a_quote_letter_by_letter() {
    let text = "The rent is EUR 900.";
    let checked = of(text, "\"The rent is EUR 900.\"");
    let citation = one(&checked);
    assert_eq!(citation.how, How::Exact);
    assert_eq!(citation.in_document.unwrap().of(text), Some("The rent is EUR 900"));
    assert_eq!(citation.in_answer.unwrap().span().start, 1);
    assert_eq!(citation.source, source("a.txt"));
    assert_eq!(states(&checked), ["supported"]);
}

// case 2
#[test]
fn a_quote_across_a_hyphen_a_ligature_and_other_marks() {
    let text = "It has an efﬁ-\ncient “heating” system of copper.";
    let checked = of(text, "It says \"an efficient \"heating\" system of copper\".");
    let citation = one(&checked);
    assert_eq!(citation.how, How::Normalised);
    assert_eq!(citation.quote.as_deref(), Some("an efﬁ-\ncient “heating” system of copper"));
    assert_eq!(citation.in_document.unwrap().of(text), citation.quote.as_deref());
}

// case 3
#[test]
fn a_quote_without_its_negation_is_altered() {
    let text = "§ 7. The tenant shall not sublet the flat, in whole or in part, to anybody.";
    let checked = of(text, "“The tenant shall sublet the flat, in whole or in part, to anybody.”");
    assert_eq!(one(&checked).how, How::Altered);
    assert!(!one(&checked).is_faithful());
    let checked = of(text, "“The tenant shall **not** sublet the flat, in whole or in part”");
    assert_eq!(one(&checked).how, How::Normalised);
}

// case 4
#[test]
fn a_long_quote_of_which_one_word_differs_is_fuzzy() {
    let text = "The landlord keeps the stairs, the yard and the cellar of the house clean and lit at night throughout the whole winter.";
    let answer = "\"The landlord keeps the stairs, the yard and the cellar of the house clean and lit at night throughout the entire winter.\"";
    let How::Fuzzy { edits } = one(&of(text, answer)).how else { panic!() };
    assert!((4..=6).contains(&edits), "{edits}");
}

// case 5
#[test]
fn a_figure_in_the_form_of_another_country() {
    assert_eq!(states(&of("The rent is EUR 1,234.50.", "Die Miete beträgt 1.234,50 €.")), ["supported"]);
    assert_eq!(
        states(&of("The rent is EUR 1,234.50.", "Die Miete beträgt 1.234,50 $.")),
        ["unsupported EUR 1,234.50"]
    );
}

// case 6
#[test]
fn a_figure_is_rounded_as_the_answer_shows_it() {
    let checked = of("1,234,567", "It is 1.2 million; or 1.3 million.");
    assert_eq!(states(&checked), ["supported", "unsupported 1,234,567"]);
    assert_eq!(checked.unsupported().count(), 1);
}

// case 7
#[test]
fn the_sum_of_a_whole_column() {
    let text = "Item | Cost\nPaint | 100\nWood | 250\nGlue | 50\n";
    assert_eq!(states(&of(text, "The total is 400.")), ["derived Column"]);
    assert_eq!(states(&of(text, "The total is 350.")), ["unsupported 250"]);
}

// case 8
#[test]
fn a_change_in_per_cent_of_figures_that_are_named() {
    assert_eq!(
        states(&of("80, 90", "It went from 80 to 90: 12.5 %.")),
        ["supported", "supported", "derived Percentage"]
    );
    assert_eq!(states(&of("80, 90", "It went from 80 to 90: 15 %."))[2], "unsupported -");
    assert_eq!(states(&of("80, 90", "It rose by 12.5 %.")), ["unsupported -"], "its terms are not named");
}

// case 9
#[test]
fn numbers_that_state_nothing() {
    let checked = of("A text.", "1. See page 4 (23 November 2026).");
    assert_eq!(states(&checked), ["ignored ListNumber", "ignored Place", "ignored Today"]);
    let answer =
        "In version 2.1.0, see [1] and `x = 77`, https://a.example/88, the 2 points:\n\n- one\n- two\n";
    assert_eq!(
        states(&of("A text.", answer)),
        ["ignored Version", "ignored Marker", "ignored Code", "ignored Url", "ignored Count"]
    );
    let paged = "[page 1]\none\n[page 2]\ntwo\n";
    assert_eq!(states(&of(paged, "See page 2, or page 9.")), ["ignored Place", "unsupported -"]);
}

// case 10
#[test]
fn a_figure_of_the_user_is_given() {
    let all = [shown("The rent is EUR 900."), Shown::given("I have 5,000 to spend.")];
    let checked = check("Of your 5,000 the rent takes EUR 900.", &[], &all, &Options::new());
    assert_eq!(states(&checked), ["given", "supported"]);
}

// case 11
#[test]
fn a_clause_that_stands_twice_is_cited_at_its_first_place() {
    let text = "[page 1]\nThe tenant pays.\nmore\n[page 9]\nThe tenant pays.\nend\n";
    let checked = of(text, "\"The tenant pays.\"");
    assert_eq!((one(&checked).place.clone(), one(&checked).ambiguous), (Some(Place::Pages(1, 1)), true));
    // The next quotation goes on behind the one before it.
    let checked = of(text, "\"more\" and then \"The tenant pays\"");
    assert_eq!(checked.citations[1].place, Some(Place::Pages(9, 9)));
}

#[test]
fn a_figure_is_found_among_many_that_round_to_it() {
    let many: String = (0..2_000).map(|n| format!("Item {n} weighs 4.{:04} kg. ", 5_001 + n)).collect();
    let checked = of(&format!("{many}The lamp costs EUR 5."), "The lamp costs EUR 5.");
    assert_eq!(states(&checked), ["supported"]);
}

// case 12
#[test]
fn a_scan_leaves_figures_unchecked() {
    let scan = Shown::unread(source("scan.pdf"));
    let checked = check("It costs 731 EUR.", &[], &[shown("The rent is EUR 900."), scan], &Options::new());
    assert_eq!(states(&checked), ["unchecked"]);
    assert_eq!(states(&of("The rent is EUR 900.", "It costs 731 EUR.")), ["unsupported EUR 900"]);
}

#[test]
fn half_an_answer_is_right() {
    let text =
        "[sheet 1: Costs]\n1: Item | 2025 | 2026\n2: Rent | 10,800 | 11,400\n3: Heat | 2,100 | 1,900\n";
    let answer = "Rent rose from 10,800 in 2025 to 11,400 in 2026, by 600 or 5.6 %. Heating cost 1,900, the power 733.\n\nAll of 2026 is 13,300.";
    let checked = of(text, answer);
    assert_eq!(
        states(&checked),
        [
            "supported",
            "supported",
            "supported",
            "supported",
            "derived Difference",
            "derived Percentage",
            "supported",
            "unsupported -",
            "supported",
            "derived Column"
        ]
    );
    let cell = checked.figures[2].found.as_ref().unwrap().place.clone();
    assert_eq!(cell, Some(Place::Cell { sheet: "Costs".into(), range: "C2".into() }));
}

#[test]
fn a_long_quote_that_stands_nowhere_is_told() {
    let answer = "It says \"the landlord may enter the flat whenever he likes\" and \"fine\".";
    let checked = of("The rent is EUR 900.", answer);
    let unfound: Vec<_> = checked.unfound.iter().filter_map(|span| span.of(answer)).collect();
    assert_eq!(unfound, ["the landlord may enter the flat whenever he likes"]);
    let asked = [Shown::given("Is it so that the landlord may enter the flat whenever he likes?")];
    assert_eq!(check(answer, &[], &asked, &Options::new()).unfound, [], "it is the user's own sentence");
}

#[test]
fn pieces_of_a_quote_stand_in_order() {
    let text = "The tenant pays the rent. The landlord heats the house. The state wins.";
    let checked = of(text, "“The tenant pays … the house”");
    let quotes: Vec<_> = checked.citations.iter().filter_map(|citation| citation.quote.as_deref()).collect();
    assert_eq!(quotes, ["The tenant pays", "the house"]);
    assert_eq!(of(text, "“the house … The tenant pays”").citations.len(), 1);
}

#[test]
fn a_provider_s_citation_gets_its_place() {
    let text = "[page 1]\nLease\n[page 2]\nThe rent is EUR 900.\r\n";
    let native = |quote: &str| Citation::new(source("a.txt"), How::Native).with_quote(Some(quote));
    let checked = check("It is 900.", &[native("The rent is EUR 900. ")], &[shown(text)], &Options::new());
    let citation = one(&checked);
    assert_eq!((citation.how, citation.place.clone()), (How::Native, Some(Place::Pages(2, 2))));
    assert_eq!(citation.in_document.unwrap().of(text), Some("The rent is EUR 900"));
    let checked = check("It is 900.", &[native("The rent is EUR 800.")], &[shown(text)], &Options::new());
    assert_eq!((one(&checked).in_document, checked.notes.len()), (None, 1));
    // Of a scan, or a document that nobody read, nothing can be said, whatever else was shown.
    let unread = Shown::unread(source("scan.pdf"));
    let of_scan = Citation::new(source("scan.pdf"), How::Native).with_quote(Some("The rent is EUR 800."));
    let checked = check("It is 900.", &[of_scan], &[shown(text), unread], &Options::new());
    assert!(one(&checked).in_document.is_none() && checked.notes.is_empty(), "{:?}", checked.notes);
}

#[test]
fn names_with_digits_are_looked_for_as_they_are_written() {
    let text = "Invoice INV-2024-17 of ACME.";
    let checked = of(text, "Invoices INV-2024-17 and INV-2024-18, for Q3.");
    assert_eq!(states(&checked), ["supported", "unsupported -", "ignored Word"]);
}

#[test]
fn heads_of_tables_give_scales() {
    let text = "[page 1]\nBalance (in thousands)\nCash | 1,250\n[page 2]\nStaff | 1,800\n";
    assert_eq!(
        states(&of(text, "Cash is 1.25 million, staff 1.8 million.")),
        ["supported", "unsupported 1,250"]
    );
}

#[test]
fn results_of_tools_count_as_they_are() {
    let result = r#"{"tenant":"Ann","rent_eur":900,"items":[{"price":120.5},{"price":79.5}]}"#;
    let checked = of(result, "Ann's rent is 900 EUR; the prices make a total of 200.");
    assert_eq!(states(&checked), ["supported", "derived Column"]);
}

// The bounds of the work: a text of 1 MB, and answers made to cost much.
#[test]
fn hostile_input_costs_no_more_than_its_size() {
    let begun = std::time::Instant::now();
    // Without optimisation a fifth is slow enough.
    let size = if cfg!(debug_assertions) { 200_000 } else { 1_000_000 };
    let long = "a".repeat(size);
    let numbers = "123 ".repeat(size / 4);
    let dots = "1.".repeat(size / 2);
    let words: String = (0..size / 8).map(|n| format!("word{} ", n % 977)).collect();
    let quotes: String = (0..2000).map(|n| format!("\"{} {n} bbbb\" ", "a".repeat(40))).collect();
    let figures: String = (0..5000).map(|n| format!("{n} and ")).collect();
    let answer = [quotes, figures].concat();
    for text in [&long, &numbers, &dots, &words] {
        let checked = check(&answer, &[], &[shown(text)], &Options::new());
        assert_eq!(checked.notes.len(), 2, "what passes a bound is told");
    }
    check(&numbers, &[], &[shown("The rent is EUR 900.")], &Options::new());
    // Tens of times what it takes: cost that grows with the square would take hours.
    assert!(begun.elapsed().as_secs() < 120, "{:?}", begun.elapsed());
}

proptest! {
    // Each citation shows the text that it cites, whatever the text and the answer are.
    #[test]
    fn spans_slice_to_what_they_cite(
        text in "([a-zA-Zéﬁ0-9]{1,8}[ \n.,\\-“”\"]{1,2}){1,40}",
        from in 0_usize..200,
        len in 1_usize..80,
        before in "[a-z ]{0,10}",
    ) {
        let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let start = bounds[from % bounds.len()];
        let end = bounds[(from % bounds.len() + len).min(bounds.len() - 1)].max(start);
        let answer = format!("{before} «{}» and 12", &text[start..end]);
        let checked = of(&text, &answer);
        for citation in &checked.citations {
            let quote = citation.quote.as_deref();
            prop_assert_eq!(citation.in_document.unwrap().of(&text), quote);
            let said = citation.in_answer.unwrap().span().of(&answer);
            prop_assert!(said.is_some());
            if citation.how == How::Exact {
                prop_assert!(said.unwrap().contains(quote.unwrap()));
            }
        }
        for figure in &checked.figures {
            prop_assert_eq!(figure.in_answer.of(&answer), Some(&*figure.text));
        }
        prop_assert_eq!(&checked, &of(&text, &answer), "the same each time");
    }

    #[test]
    fn no_input_breaks_it(text in ".{0,200}", answer in "[\"“”0-9a-z.,% €\n|\\-…]{0,120}") {
        let _ = of(&text, &answer);
        let _ = of(&answer, &text);
        let _ = of(&answer, &answer);
    }
}

#[test]
fn derivations_need_named_terms() {
    let text = "Base 100 EUR. Service 250 EUR. Fee 50 EUR. Months 12 months.";
    let state = |answer: &str| states(&of(text, answer)).last().unwrap().clone();
    let derived = |how: Derivation| format!("derived {how:?}");
    assert_eq!(state("Base 100 EUR and service 250 EUR make 350 EUR."), derived(Derivation::Sum));
    assert_eq!(state("12 months at 250 EUR make 3,000 EUR."), derived(Derivation::Product));
    assert_eq!(state("Base 100 EUR.\n\nService 250 EUR.\n\nTogether 350 EUR."), "unsupported 250 EUR");
    assert_eq!(state("Service 250 EUR is 20 % above."), "unsupported -");
    assert!(matches!(of(text, "v2 of it").figures[0].state, FigureState::Ignored(Ignored::Word)));
}
