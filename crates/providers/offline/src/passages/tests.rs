use super::*;

/// Text as a converter makes it of an invoice.
const INVOICE: &str = "[page 1]\n\
Fernwick Office Supply Ltd | INVOICE\n\
4 Mill Wharf, Ostenby · accounts@fernwick.example\n\
\n\
Larkspur Studio Ltd | Invoice date | 17 April 2026\n\
Accounts payable | Due date | 17 May 2026\n\
\n\
Pos. | Article | Amount EUR\n\
1 | Standing desk, 160 x 80 cm | 4,668.00\n\
2 | Cable tray | 222.00\n\
\n\
[page 2]\n\
VAT 20% | EUR 978.00\n\
Total due | EUR 5,868.00\n\
Payment terms\n\
The total amount of EUR 5,868.00 is due on 17 May 2026, 30 days after the invoice date. Please pay by bank\n\
transfer and quote invoice number 2026-0417.\n\
\n\
4.3 | The warranty period is five years for desks and chairs and two years for all\n\
other goods.\n";

fn texts(pieces: &Pieces) -> Vec<&str> {
    pieces.passages.iter().map(|passage| passage.text.as_str()).collect()
}

fn find<'p>(pieces: &'p Pieces, start: &str) -> &'p Passage {
    pieces
        .passages
        .iter()
        .find(|passage| passage.text.starts_with(start))
        .unwrap_or_else(|| panic!("{start}"))
}

#[test]
fn titles_of_clauses_have_their_numbers_in_cells() {
    let pieces =
        read("9. | Contacts\n9.1 | Each party names one.\n10. | Term\n10.1 | It begins in May.\n", "a.pdf");
    let term = find(&pieces, "10.1");
    assert_eq!((term.heading.as_str(), find(&pieces, "10. |").form == Form::Heading), ("Term", true));
    // Two columns without titles are no clauses.
    let pieces = read("1 | Desk\n2 | Chair\n3 | Lamp\n", "a.pdf");
    assert!(pieces.passages.iter().all(|passage| passage.form != Form::Heading));
}

#[test]
fn converted_pages_fall_into_pairs_rows_and_sentences() {
    let pieces = read(INVOICE, "invoice.pdf");
    let due = find(&pieces, "Due date");
    assert_eq!(due.text, "Due date | 17 May 2026");
    assert_eq!(due.page, Some(1));
    assert_eq!(due.form, Form::Pair { label: "Due date".into(), value: "17 May 2026".into() });
    let row = find(&pieces, "2 | Cable tray");
    assert_eq!(
        row.form,
        Form::Row { table: 0, cells: vec!["2".into(), "Cable tray".into(), "222.00".into()] }
    );
    assert_eq!(pieces.tables[0].columns, ["Pos.", "Article", "Amount EUR"]);
    let total = find(&pieces, "The total amount");
    assert_eq!((total.page, total.heading.as_str()), (Some(2), "Payment terms"));
    assert!(texts(&pieces).contains(&"Please pay by bank transfer and quote invoice number 2026-0417."));
    assert!(texts(&pieces).contains(
        &"4.3 | The warranty period is five years for desks and chairs and two years for all other goods."
    ));
    assert!(texts(&pieces).contains(&"Total due | EUR 5,868.00"));
}

#[test]
fn markdown_and_mail() {
    let text = "From: Service desk\nDate: Fri, 24 Apr 2026\nSubject: Two chairs\n\nGood morning,\n\n# Rooms\n\n\
                - The caterer is booked\n  for 11 June.\n- **Total**: 5\n\n| Room | Desks |\n|---|--:|\n| North | 6 |\n\n---\n\
                See clause No. 4 of 17. May. And more! Done\n";
    let pieces = read(text, "notes.md");
    assert_eq!(
        find(&pieces, "Date:").form,
        Form::Pair { label: "Date".into(), value: "Fri, 24 Apr 2026".into() }
    );
    let row = find(&pieces, "| North");
    assert_eq!(row.form, Form::Row { table: 0, cells: vec!["North".into(), "6".into()] });
    assert_eq!((row.heading.as_str(), pieces.tables[0].line.as_str()), ("Rooms", "| Room | Desks |"));
    assert!(texts(&pieces).contains(&"- The caterer is booked for 11 June."), "{:?}", texts(&pieces));
    let all = texts(&pieces);
    assert_eq!(&all[all.len() - 3..], ["See clause No. 4 of 17. May.", "And more!", "Done"]);
}

#[test]
fn separated_values() {
    let csv = "date;supplier;net\n2026-03-11;\"Harbour; \"\"Cabs\"\"\";64,00\n\n2026-03-12;Rail;188,00\n";
    let pieces = read(csv, "a.CSV");
    assert_eq!(pieces.tables[0].columns, ["date", "supplier", "net"]);
    assert_eq!(
        pieces.passages[0].form,
        Form::Row { table: 0, cells: vec!["2026-03-11".into(), "Harbour; \"Cabs\"".into(), "64,00".into()] }
    );
    assert_eq!(pieces.passages[1].text, "2026-03-12;Rail;188,00");
    let unnamed = read("1,2,3\n4,5,6\n7,8,9", "");
    assert_eq!((unnamed.passages.len(), unnamed.tables[0].columns.len()), (3, 0));
    assert!(read("Hello, my dear, friend\nhow are you", "a.txt").tables.is_empty());
}

#[test]
fn spaces_hold_cells_apart() {
    assert_eq!(table::cells("Total due      EUR 4,812.36"), ["Total due", "EUR 4,812.36"]);
    assert_eq!(table::cells("One sentence.  Another one."), ["One sentence.  Another one."]);
    assert_eq!(table::cells("a\tb"), ["a", "b"]);
    let pieces = read("Total due      EUR 4,812.36\nDue          3 May\n", "x.pdf");
    assert_eq!(texts(&pieces), ["Total due      EUR 4,812.36", "Due          3 May"]);
}

#[test]
fn passages_are_never_long() {
    let long = "word ".repeat(1_000);
    assert!(read(&long, "a.txt").passages.iter().all(|passage| passage.text.len() <= MAX_PASSAGE));
    let unbroken = "é".repeat(3_000);
    let pieces = read(&unbroken, "a.txt");
    assert!(pieces.passages.iter().all(|passage| passage.text.len() <= MAX_PASSAGE));
    assert_eq!(texts(&pieces).concat(), unbroken);
}
