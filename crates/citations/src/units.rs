//! Units, currencies and scales of figures.

/// A unit in one word.
pub(crate) type Unit = &'static str;

/// Currencies first: units of one kind exclude each other, and so do units of two kinds.
const UNITS: &[(Unit, &[&str])] = &[
    ("EUR", &["€", "eur", "euro", "euros"]),
    ("USD", &["$", "usd", "us$", "dollar", "dollars"]),
    ("GBP", &["£", "gbp", "pound", "pounds"]),
    ("JPY", &["¥", "jpy", "yen"]),
    ("CHF", &["chf", "sfr", "franken", "francs"]),
    ("CNY", &["cny", "rmb", "yuan"]),
    ("INR", &["inr", "₹", "rupees"]),
    ("SEK", &["sek"]),
    ("NOK", &["nok"]),
    ("DKK", &["dkk"]),
    ("PLN", &["pln", "zł"]),
    ("CZK", &["czk", "kč"]),
    ("AUD", &["aud"]),
    ("CAD", &["cad"]),
    ("%", &["%", "percent", "prozent", "pct", "％", "pourcent"]),
    ("‰", &["‰", "promille"]),
    ("bp", &["bp", "bps"]),
    ("year", &["year", "years", "yr", "yrs", "jahr", "jahre", "jahren", "année", "années", "ans", "años"]),
    ("month", &["month", "months", "monat", "monate", "monaten", "mois", "meses"]),
    ("week", &["week", "weeks", "woche", "wochen", "semaines", "semanas"]),
    ("day", &["day", "days", "tag", "tage", "tagen", "jour", "jours", "días"]),
    ("hour", &["hour", "hours", "h", "hr", "hrs", "stunde", "stunden", "heures", "horas"]),
    ("minute", &["minute", "minutes", "min", "minuten"]),
    ("second", &["second", "seconds", "s", "sec", "sekunde", "sekunden"]),
    ("kg", &["kg", "kilogram", "kilograms", "kilogramm"]),
    ("g", &["g", "gram", "grams", "gramm"]),
    ("t", &["t", "tonne", "tonnes", "tonnen"]),
    ("lb", &["lb", "lbs"]),
    ("km", &["km", "kilometre", "kilometres", "kilometer", "kilometers"]),
    ("m", &["m", "metre", "metres", "meter", "meters"]),
    ("cm", &["cm"]),
    ("mm", &["mm"]),
    ("mile", &["mile", "miles"]),
    ("m²", &["m²", "m2", "sqm", "qm"]),
    ("sqft", &["sqft"]),
    ("ha", &["ha"]),
    ("m³", &["m³", "m3"]),
    ("l", &["l", "litre", "litres", "liter", "liters"]),
    ("ml", &["ml"]),
    ("°C", &["°c", "celsius"]),
    ("°F", &["°f", "fahrenheit"]),
    ("kWh", &["kwh"]),
    ("MWh", &["mwh"]),
    ("kW", &["kw"]),
    ("W", &["w", "watt", "watts"]),
    ("kB", &["kb"]),
    ("MB", &["mb"]),
    ("GB", &["gb"]),
    ("TB", &["tb"]),
];

/// Scales, as powers of ten.
const SCALES: &[(u32, &[&str])] = &[
    (3, &["k", "thousand", "tsd", "tausend", "mille", "mila", "mil"]),
    (5, &["lakh", "lakhs"]),
    (6, &["million", "millions", "mio", "mn", "mln", "millionen", "millones", "mm"]),
    (7, &["crore", "crores"]),
    (9, &["billion", "billions", "bn", "mrd", "milliarde", "milliarden", "milliard", "milliards"]),
    (12, &["trillion", "trillions", "tn", "bio", "billionen"]),
];

/// The unit that a word means, in lower case.
pub(crate) fn unit(word: &str) -> Option<Unit> {
    UNITS.iter().find(|(_, words)| words.contains(&word)).map(|(unit, _)| *unit)
}

/// The zeros that a word adds.
pub(crate) fn scale(word: &str) -> Option<u32> {
    SCALES.iter().find(|(_, words)| words.contains(&word)).map(|(zeros, _)| *zeros)
}

/// True for a word, in lower case, whose change is one of the meaning.
pub(crate) fn is_unit(word: &str) -> bool {
    unit(word).is_some() || scale(word).is_some()
}

/// True for money.
pub(crate) fn is_currency(unit: Unit) -> bool {
    unit.len() == 3 && unit.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// A currency with the scale in its name: `TEUR`, `k€`.
pub(crate) fn scaled_currency(word: &str) -> Option<(Unit, u32)> {
    let thousand = word.strip_prefix(['t', 'k']).and_then(unit).filter(|unit| is_currency(unit));
    let million = || {
        word.strip_prefix("mio")
            .or_else(|| word.strip_prefix('m'))
            .and_then(unit)
            .filter(|unit| is_currency(unit))
    };
    thousand.map(|unit| (unit, 3)).or_else(|| million().map(|unit| (unit, 6)))
}
