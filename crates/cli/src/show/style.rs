//! Colours, where the reader's terminal has them.
//!
//! The colours are those of the 256 that every terminal has alike, and each stands out from black as from white by a
//! contrast of 4 to 1 at least: nobody is asked for their ground, and themes of a light one are not trusted with colours
//! that were made for a dark one.

use std::fmt::Display;
use std::io::IsTerminal;

/// Teal.
const CODE: u8 = 30;
/// Violet.
const HEADING: u8 = 97;
/// Red.
const BAD: u8 = 196;
/// Blue.
#[cfg_attr(not(feature = "chat"), allow(dead_code, reason = "nobody is asked"))]
const ASKS: u8 = 63;

fn coloured(colour: u8) -> String {
    format!("38;5;{colour}")
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum When {
    /// Where a terminal reads
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The way in which texts for one reader are set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    is_on: bool,
}

impl Style {
    /// The style for stdout.
    pub(crate) fn of_stdout(when: When) -> Self {
        Self { is_on: wanted(when, std::io::stdout().is_terminal(), |name| std::env::var(name).ok()) }
    }

    /// The style for stderr.
    pub(crate) fn of_stderr(when: When) -> Self {
        Self { is_on: wanted(when, std::io::stderr().is_terminal(), |name| std::env::var(name).ok()) }
    }

    /// True if texts are set at all.
    #[cfg(feature = "chat")]
    pub(crate) fn is_on(self) -> bool {
        self.is_on
    }

    #[cfg(test)]
    pub(crate) fn new(is_on: bool) -> Self {
        Self { is_on }
    }

    /// Text beside the point.
    pub(crate) fn dim(self, text: impl Display) -> String {
        self.set("2", text)
    }

    pub(crate) fn bold(self, text: impl Display) -> String {
        self.set("1", text)
    }

    pub(crate) fn italic(self, text: impl Display) -> String {
        self.set("3", text)
    }

    /// Code, and names to type.
    pub(crate) fn code(self, text: impl Display) -> String {
        self.set(&coloured(CODE), text)
    }

    /// A heading.
    pub(crate) fn heading(self, text: impl Display) -> String {
        self.set(&format!("1;{}", coloured(HEADING)), text)
    }

    /// A failure.
    pub(crate) fn bad(self, text: impl Display) -> String {
        self.set(&coloured(BAD), text)
    }

    /// A thing that the reader decides.
    #[cfg(feature = "chat")]
    pub(crate) fn asks(self, text: impl Display) -> String {
        self.set(&format!("1;{}", coloured(ASKS)), text)
    }

    fn set(self, code: &str, text: impl Display) -> String {
        if self.is_on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }
}

/// True if colours are wanted, by <https://bixense.com/clicolors> and <https://no-color.org>.
fn wanted(when: When, is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto if is_set("NO_COLOR") => false,
        When::Auto if variable("CLICOLOR_FORCE").is_some_and(|value| !matches!(value.as_str(), "" | "0")) => {
            true
        }
        When::Auto => is_terminal && variable("TERM").as_deref() != Some("dumb"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
    #[test]
    fn colours_are_legible_on_black_and_on_white() {
        let linear = |level: u8| {
            let value = f64::from([0_u8, 95, 135, 175, 215, 255][usize::from(level)]) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        for colour in [CODE, HEADING, BAD, ASKS] {
            let cube = colour - 16;
            let (red, green, blue) = (linear(cube / 36), linear(cube / 6 % 6), linear(cube % 6));
            let light = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
            let (on_white, on_black) = (1.05 / (light + 0.05), (light + 0.05) / 0.05);
            // The least of them is 3.998.
            assert!(
                on_white > 3.99 && on_black > 3.99,
                "{colour}: {on_white:.2} on white, {on_black:.2} on black"
            );
        }
    }

    #[test]
    fn colours_follow_the_terminal_and_the_variables() {
        let none = |_: &str| None;
        let set = |name: &'static str, value: &'static str| {
            move |asked: &str| (asked == name).then(|| value.to_owned())
        };
        assert!(wanted(When::Auto, true, none) && !wanted(When::Auto, false, none));
        assert!(
            !wanted(When::Auto, true, set("NO_COLOR", "1")) && wanted(When::Auto, true, set("NO_COLOR", ""))
        );
        assert!(wanted(When::Auto, false, set("CLICOLOR_FORCE", "1")));
        assert!(!wanted(When::Auto, false, set("CLICOLOR_FORCE", "0")));
        assert!(!wanted(When::Auto, true, set("TERM", "dumb")));
        assert!(wanted(When::Always, false, set("NO_COLOR", "1")) && !wanted(When::Never, true, none));
        assert_eq!(Style::new(true).bold("a"), "\x1b[1ma\x1b[0m");
        assert_eq!(Style::new(false).bold("a"), "a");
    }
}
