//! Expressions are calculated exactly, or say how far.

use std::time::Instant;

use attache_tools::calculator;
use proptest::prelude::*;
use serde_json::json;

use super::{call, json};

async fn value(expression: &str) -> String {
    let told = json(&[calculator()], "calculate", json!({"expression": expression})).await;
    let mark = if told.get("rounded").is_some() { "~" } else { "" };
    format!("{mark}{}", told["result"].as_str().unwrap())
}

#[tokio::test]
async fn expressions_are_calculated_exactly() {
    for (expression, result) in [
        ("0.1 + 0.2", "0.3"),
        ("1/3*3", "1"),
        ("2^10 - 1", "1023"),
        ("-2^2", "-4"),
        ("2^-2", "0.25"),
        ("2^3^2", "512"),
        ("2**3", "8"),
        ("(1200 - 15%*1200) / 12", "85"),
        ("100 × 7 ÷ 8", "87.5"),
        ("1e3 + 2.5E-1", "1000.25"),
        ("1_000 * .5", "500"),
        ("-(3 - 5)", "2"),
        ("--3", "3"),
        ("round(2.675, 2)", "2.68"),
        ("round(-2.5)", "-3"),
        ("round(1234, -2)", "1200"),
        ("floor(-0.5) + ceil(0.2)", "0"),
        ("max(1, 3, 2) - min(4, 5)", "-1"),
        ("mod(-7, 3)", "2"),
        ("abs(-1/8)", "0.125"),
        ("sqrt(2.25)", "1.5"),
        ("99999999999999999999 + 1", "100000000000000000000"),
        ("0.1^25", "1e-25"),
        ("1/3", "~0.3333333333333333333333333333333333"),
        ("200/3", "~66.66666666666666666666666666666667"),
        ("-1/7000", "~-0.0001428571428571428571428571428571429"),
        ("2/3 - 2/3", "0"),
        ("sqrt(2)", "~1.4142135623731"),
        ("round(sqrt(2), 3)", "~1.414"),
        ("log10(1000)", "~3"),
        ("ln(e)", "~1"),
        ("sin(pi/2)", "~1"),
        ("2^0.5", "~1.4142135623731"),
        ("1^99999999999", "1"),
    ] {
        assert_eq!(value(expression).await, result, "{expression}");
    }
}

#[tokio::test]
async fn a_wrong_expression_is_told_with_its_place() {
    for (expression, said, at) in [
        ("", "a number is missing at the end", 1),
        ("1 +", "a number is missing at the end", 4),
        ("1,200 * 2", "without separators", 2),
        ("2 3", "an operator is missing", 3),
        ("(1", "`)` is missing", 3),
        ("1.2.3", "two points", 4),
        ("1/0", "division by zero", 4),
        ("sqrt(0-1)", "no real number", 1),
        ("ln(0)", "no real number", 1),
        ("2 + wurzel(4)", "nothing is named", 5),
        ("sin(1, 2)", "another number of arguments", 1),
        ("9^9^9", "too many digits", 6),
        ("1e99999", "too many digits", 1),
        ("import os", "nothing is named", 1),
    ] {
        let arguments = json!({"expression": expression});
        let error = call(&[calculator()], "calculate", arguments).await.unwrap_err();
        assert!(
            error.contains(said) && error.contains(&format!("at character {at} ")),
            "{expression}: {error}"
        );
    }
}

#[tokio::test]
async fn no_expression_takes_long() {
    let long = ["(", "-", "2^", "1+", "sqrt("].map(|piece| piece.repeat(1_990 / piece.len()));
    let heavy = format!("{}1", "(7^1400/3^2500)*".repeat(120));
    let roots = format!("{}2{}", "sqrt(".repeat(49), ")".repeat(49));
    let started = Instant::now();
    for expression in long.iter().chain([&heavy, &roots]) {
        _ = call(&[calculator()], "calculate", json!({"expression": expression})).await;
    }
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}

proptest! {
    #[test]
    fn any_text_is_a_value_or_an_error(text in "[-0-9.,e+*/^%() a-dsqrtpimx_]{0,60}|\\PC{0,30}") {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        _ = runtime.block_on(call(&[calculator()], "calculate", json!({"expression": text})));
    }

    #[test]
    fn sums_of_cents_are_those_of_whole_numbers(cents in prop::collection::vec(-99_999_i64..99_999, 1..20)) {
        let written: Vec<String> = cents
            .iter()
            .map(|cents| format!("({}{}.{:02})", if *cents < 0 { "-" } else { "" }, cents.abs() / 100, cents.abs() % 100))
            .collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let sum: i64 = cents.iter().sum();
        let hundredfold = format!("({})*100", written.join("+"));
        prop_assert_eq!(runtime.block_on(value(&hundredfold)), sum.to_string());
    }
}
