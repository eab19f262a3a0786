//! Text that must not be shown.

use std::fmt;

/// A key or token. It does not implement `Display`, its `Debug` prints dots, and it is not serialisable.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps `text`, without surrounding white space (a key read from a file often ends in a newline).
    pub fn new(text: impl Into<String>) -> Self {
        let text: String = text.into();
        Self(text.trim().to_owned())
    }

    /// The secret text, for the code that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// True if the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(format!("{:?}", Some(Secret::new("sk-canary\n"))), "Some(Secret(…))");
        assert_eq!(Secret::new(" sk-canary\n").expose(), "sk-canary");
    }
}
