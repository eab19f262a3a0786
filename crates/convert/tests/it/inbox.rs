//! The documents of the example inbox come out with every figure where it belongs.

use crate::common::text;

fn inbox(name: &str) -> String {
    let path = format!("{}/../../docs/examples/inbox/{name}", env!("CARGO_MANIFEST_DIR"));
    text(std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}")))
}

#[test]
fn the_invoice_says_what_it_comes_to_and_when_it_is_due() {
    let text = inbox("invoice-2026-0417.pdf");
    for line in [
        "Bill to | Invoice number | 2026-0417",
        "Accounts payable | Due date | 17 May 2026",
        "Pos. | Article | Description | Quantity | Unit price | Amount EUR",
        "1 | DK-160 | Standing desk, 160 x 80 cm, oak top | 12 pc | 389.00 | 4,668.00",
        "26 | SV-DIS | Removal and disposal of packaging | 1 trip | 65.00 | 65.00",
        "Subtotal | EUR 17,959.60",
        "Discount 3% (agreement SA-2025-11) | EUR -538.79",
        "Net amount | EUR 17,420.81",
        "VAT 20% | EUR 3,484.16",
        "Total due | EUR 20,904.97",
    ] {
        assert!(text.lines().any(|l| l == line), "{line:?} is missing in:\n{text}");
    }
    assert!(
        text.contains("The total amount of EUR 20,904.97 is due on 17 May 2026, 30 days after"),
        "{text}"
    );

    // Every line of the table adds up, and so do the sums.
    let cents = |amount: &str| -> i64 { amount.replace([',', '.'], "").parse().expect("an amount") };
    let mut subtotal = 0;
    let mut positions = 0;
    for row in text.lines().map(|line| line.split(" | ").collect::<Vec<_>>()) {
        if let [position, _, _, quantity, price, amount] = row.as_slice()
            && let Ok(position) = position.parse::<i64>()
        {
            let (quantity, _) = quantity.split_once(' ').expect("a quantity and a unit");
            assert_eq!(quantity.parse::<i64>().expect("a number") * cents(price), cents(amount), "{row:?}");
            subtotal += cents(amount);
            positions += 1;
            assert_eq!(position, positions);
        }
    }
    assert_eq!((positions, subtotal), (26, cents("17,959.60")));
    assert_eq!(subtotal - cents("538.79") + cents("3,484.16"), cents("20,904.97"));
}

#[test]
fn the_agreement_is_read_clause_by_clause() {
    let text = inbox("supply-agreement-SA-2025-11.pdf");
    for part in [
        "[page 1]\nSupply Agreement\nNo. SA-2025-11\n",
        "5.2 | Invoices are payable within 30 days of the invoice date.",
        "Payment | 30 days | 5.2\n",
        "For Fernwick Office Supply Ltd | For Larkspur Studio Ltd\n",
        "[page 3]\n",
    ] {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
}
