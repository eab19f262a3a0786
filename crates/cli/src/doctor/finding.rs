//! The finding of a probe.

use std::fmt;

use attache_core::ModelCapabilities;
use serde_json::{Value, json};

use super::cell::Cell;

/// The way in which a probe ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// It did what was asked, and proved it.
    Works,
    /// The server said no.
    Refused,
    /// The request was accepted, and what came back shows no sign of what was asked.
    NotSeen,
    /// Nothing can be concluded: it failed in another way.
    Failed,
    /// It was not sent.
    Skipped,
}

impl Ended {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Refused => "refused",
            Self::NotSeen => "not seen",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The finding, held against the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Both say the same.
    Agrees,
    /// They do not.
    Differs,
    /// The probe tells too little.
    Unclear,
    /// The table says nothing of it.
    Nothing,
}

impl Verdict {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::Unclear => "unclear",
            Self::Nothing => "-",
        }
    }
}

/// One row of the result.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    /// The probe's word in JSON.
    pub(super) id: String,
    /// The probe for people.
    pub(super) title: String,
    pub(super) ended: Ended,
    /// The observation, in a sentence.
    pub(super) detail: String,
    pub(super) cell: Cell,
    /// The claim of the table.
    pub(super) says: Option<&'static str>,
    /// True if it works, as far as that is known now.
    pub(super) observed: Option<bool>,
    pub(super) verdict: Verdict,
}

impl Finding {
    pub(super) fn new(
        (id, title): (impl Into<String>, impl Into<String>),
        cell: Cell,
        row: &ModelCapabilities,
        (ended, observed, detail): (Ended, Option<bool>, String),
    ) -> Self {
        let verdict = match (cell.expects(row), observed) {
            (None, _) => Verdict::Nothing,
            (Some(_), None) => Verdict::Unclear,
            (Some(expected), Some(observed)) if expected == observed => Verdict::Agrees,
            (Some(_), Some(_)) => Verdict::Differs,
        };
        let says = cell.says(row);
        Self { id: id.into(), title: title.into(), ended, detail, cell, says, observed, verdict }
    }

    /// One about which the table says nothing.
    pub(super) fn plain(id: &str, title: &str, ended: Ended, detail: impl Into<String>) -> Self {
        let (id, title, detail) = (id.to_owned(), title.to_owned(), detail.into());
        let (cell, says, observed, verdict) = (Cell::None, None, None, Verdict::Nothing);
        Self { id, title, ended, detail, cell, says, observed, verdict }
    }

    /// The line of `--json`.
    pub(super) fn json(&self) -> Value {
        json!({
            "type": "finding",
            "probe": self.id,
            "title": self.title,
            "result": self.ended.as_str(),
            "cell": self.cell.name(),
            "matrix": self.says,
            "verdict": match self.verdict {
                Verdict::Nothing => None,
                verdict => Some(verdict.as_str()),
            },
            "detail": self.detail,
        })
    }
}
