//! The exit status that the command gives to the shell.

use std::process::ExitCode;

/// The way in which the command ended. The numbers are documented in `attache --help` and in the guide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// It failed: the provider, a tool, or what was read could not be understood. Of an examination: something differs
    /// from what is known.
    Failed,
    /// The command line makes no sense. (The number is clap's too.)
    Usage,
    /// Something must be set up first: a key, a model, a folder.
    Setup,
    /// It ended without a full answer: a limit, a refusal, a filter.
    Incomplete,
    /// Ctrl-C.
    Cancelled,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Setup => 3,
            Exit::Incomplete => 4,
            Exit::Cancelled => 130,
        })
    }
}

/// The lines for `--help`.
pub(crate) const CODES: &str = "\
Exit codes:
  0    done
  1    failed: the provider or a tool failed, or input could not be understood
  2    the command line makes no sense
  3    something must be set up first: a key, a model, a folder
  4    no full answer: a limit, a refusal or a filter ended it
  130  cancelled by Ctrl-C";

/// The lines for `--help` of `doctor`.
pub(crate) const DOCTOR_CODES: &str = "\
Exit codes:
  0    everything that could be told agrees with what is known of the model
  1    something differs from it
  2    the command line makes no sense
  3    something must be set up first: an address, a key, a model
  4    nothing differs, but some probes told too little
  130  cancelled by Ctrl-C";
