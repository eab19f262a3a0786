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
    /// It ended without a full answer: a limit, a refusal, a filter, or somebody has to decide or answer first.
    Incomplete,
    /// Ctrl-C.
    Cancelled,
    /// SIGTERM.
    #[cfg_attr(not(unix), allow(dead_code, reason = "there is no such signal"))]
    Terminated,
    /// SIGHUP: the terminal is gone.
    #[cfg_attr(not(unix), allow(dead_code, reason = "there is no such signal"))]
    HungUp,
}

impl Exit {
    /// The number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Setup => 3,
            Self::Incomplete => 4,
            Self::Cancelled => 130,
            Self::Terminated => 143,
            Self::HungUp => 129,
        }
    }

    /// This end, or a failure if what came after it failed.
    pub(crate) fn and(self, is_ok: bool) -> Self {
        if is_ok || self != Self::Done { self } else { Self::Failed }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// The lines for `--help`.
pub(crate) const CODES: &str = "\
Exit codes:
  0    done
  1    failed: the provider or a tool failed, input was invalid, or output could not be written
  2    the command line makes no sense
  3    something must be set up first: a key, a model, a folder with something to read
  4    incomplete answer: it was ended by a limit, a refusal or a filter, or waits for an approval or an answer;
       `sessions search` found nothing
  130  cancelled by Ctrl-C
  129, 143  ended by SIGHUP or SIGTERM";

/// The lines for `--help` of `doctor`.
pub(crate) const DOCTOR_CODES: &str = "\
Exit codes:
  0    all results agree with the known capabilities of the model
  1    some results differ from them
  2    the command line makes no sense
  3    required setup is missing: an address, a key, a model
  4    nothing differs, but some probes told too little
  130  cancelled by Ctrl-C";
