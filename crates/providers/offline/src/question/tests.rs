use super::*;

fn read(text: &str) -> Vec<(Kind, Vec<String>)> {
    let question = Question::read(text);
    let own = |facet: &Facet| {
        let terms = facet.terms.iter().filter(|term| !term.soft && !term.inherited);
        terms.map(|term| term.stems.join("-")).collect()
    };
    question.facets.iter().map(|facet| (facet.kind, own(facet))).collect()
}

fn terms(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| stems(word).collect::<Vec<_>>().join("-")).collect()
}

#[test]
fn several_facts_are_told_apart() {
    assert_eq!(
        read("What is the total of the invoice, and when is it due?"),
        [(Kind::Amount, terms(&["total", "invoice"])), (Kind::Date, terms(&["due"]))]
    );
    let question = Question::read("What is the total of the invoice, and when is it due?");
    let inherited: Vec<_> = question.facets[1].terms.iter().filter(|term| term.inherited).collect();
    assert_eq!(inherited.len(), 2);
    assert_eq!(
        read("What are the net amount, the VAT and the total of invoice 2026-0417?"),
        [
            (Kind::Amount, terms(&["net", "invoice", "2026-0417"])),
            (Kind::Amount, terms(&["VAT", "invoice", "2026-0417"])),
            (Kind::Amount, terms(&["total", "invoice", "2026-0417"])),
        ]
    );
    assert_eq!(read("Who signed the lease and how long does it run?").len(), 2);
    assert_eq!(read("Wer hat den Vertrag unterschrieben und wann beginnt er?").len(), 2);
    assert_eq!(read("Which desks and chairs were damaged?").len(), 1);
}

#[test]
fn kinds_and_dates() {
    let facet = |text: &str| Question::read(text).facets.first().cloned().unwrap_or_else(|| panic!("{text}"));
    let travel = facet("How much did we spend on travel in March?");
    assert_eq!((travel.kind, travel.when[0].month, travel.sum), (Kind::Amount, Some(3), true));
    assert_eq!(travel.terms.iter().filter(|term| !term.soft).count(), 1);
    for (text, kind) in [
        ("Wann ist die Rechnung fällig?", Kind::Date),
        ("Wie viel kostet der Stuhl?", Kind::Amount),
        ("How long is the warranty?", Kind::Duration),
        ("How many desks were ordered?", Kind::Count),
        ("Which files are there?", Kind::Files),
        ("Summarise the meeting notes", Kind::Summary),
        ("Which file mentions PO-1182?", Kind::Text),
    ] {
        assert_eq!(facet(text).kind, kind, "{text}");
    }
    assert_eq!(facet("What happened in 2025?").when[0].year, Some(2025));
    assert!(facet("Which invoices are open?").many && !facet("What is the IBAN?").many);
}

#[test]
fn long_messages_hold_material_too() {
    let mail =
        format!("Here is a mail. {} Best, Ada. When is the party?", "The party is on 3 May. ".repeat(20));
    let question = Question::read(&mail);
    assert_eq!(question.text, "When is the party?");
    assert!(question.beside.contains("3 May") && !question.beside.contains("When is"));
    assert!(Question::read("").facets.is_empty() && Question::read("Hello!").facets.is_empty());
    assert!(Question::read("?!?! ... and and what").facets.is_empty());
}
