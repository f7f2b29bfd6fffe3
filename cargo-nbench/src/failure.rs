//! The one error type of the command line and its exit codes. It knows nothing
//! of what failed: a failure is a sentence, a hint and a number.

use std::fmt;

/// The exit codes of `cargo nbench`, one meaning each.
///
/// When several apply to one run the first of 9, 3, 4, 1, 6, 8 wins.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
pub enum Exit {
    /// Everything that was asked for happened.
    Done = 0,
    /// A gate was asked for and a benchmark is slower.
    Slower = 1,
    /// The command line, the settings or a revision cannot be understood.
    Usage = 2,
    /// Cargo could not build a bench target.
    Build = 3,
    /// A benchmark panicked, died, hung or spoke nonsense.
    BenchmarkFailed = 4,
    /// No benchmark matched what was selected.
    NothingSelected = 5,
    /// A verdict was demanded and none was possible.
    NoVerdict = 6,
    /// The host is not clean enough, or a lock is held by someone else.
    Host = 7,
    /// Results were measured but could not be published.
    Publish = 8,
    /// The store could not be opened, read or written.
    Store = 9,
    /// The user pressed Ctrl-C (128 + SIGINT).
    Interrupted = 130,
}

impl Exit {
    /// The number handed to the operating system.
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// What went wrong, what helps, and the exit code that follows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Failure {
    /// A lower-case fragment that reads well after "failed to" or "error:".
    /// Lines after the first are details, such as the end of cargo's output.
    pub error: String,
    /// The command or flag that helps, when there is one.
    pub hint: Option<String>,
    /// The exit code of the process.
    pub exit: Exit,
}

impl Failure {
    /// A failure without a hint.
    pub fn new(exit: Exit, error: impl Into<String>) -> Self {
        Self { error: error.into(), hint: None, exit }
    }

    /// The same failure with the command or flag that helps.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.error)
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::{Exit, Failure};

    #[test]
    fn codes_are_the_documented_ones() {
        let all = [
            (Exit::Done, 0),
            (Exit::Slower, 1),
            (Exit::Usage, 2),
            (Exit::Build, 3),
            (Exit::BenchmarkFailed, 4),
            (Exit::NothingSelected, 5),
            (Exit::NoVerdict, 6),
            (Exit::Host, 7),
            (Exit::Publish, 8),
            (Exit::Store, 9),
            (Exit::Interrupted, 130),
        ];
        for (exit, code) in all {
            assert_eq!(exit.code(), code);
        }
    }

    #[test]
    fn displays_the_error_without_the_hint() {
        let failure = Failure::new(Exit::Usage, "no revision `x`").hint("run `git fetch`");
        assert_eq!(failure.to_string(), "no revision `x`");
        assert_eq!(failure.hint.as_deref(), Some("run `git fetch`"));
        assert_eq!(failure.exit, Exit::Usage);
    }
}
