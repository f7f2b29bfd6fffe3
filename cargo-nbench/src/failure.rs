//! The one error type of the command line and its exit codes. It knows nothing
//! of what failed: a failure is a sentence, a hint and a number.

use std::fmt;

/// The exit codes of `cargo nbench`, one meaning each: `EXITS` has them in words.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
pub enum Exit {
    /// Everything that was asked for happened.
    Done = 0,
    /// A gate was asked for and a benchmark is slower.
    Slower = 1,
    /// The command line, the settings or a revision cannot be understood.
    Usage = 2,
    /// Cargo could build no bench target.
    Build = 3,
    /// A benchmark or a target failed: it does not build, panicked, died, hung or spoke nonsense.
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

/// Every code with its meaning, as help and README have it.
pub const EXITS: [(Exit, &str); 11] = [
    (Exit::Done, "done"),
    (Exit::Slower, "`--gate` was given and a benchmark is slower"),
    (
        Exit::Usage,
        "the command line, settings or a revision cannot be used, or the budget is too small",
    ),
    (Exit::Build, "nothing could be built"),
    (
        Exit::BenchmarkFailed,
        "a benchmark failed, or one of several targets does not build; the others were measured",
    ),
    (
        Exit::NothingSelected,
        "nothing selected: no bench target, no match, or no benchmark in common",
    ),
    (
        Exit::NoVerdict,
        "`--require-verdict` or `--gate=closed` was given and a benchmark has no verdict",
    ),
    (Exit::Host, "the host, the cache directory or a lock"),
    (Exit::Publish, "publishing failed, or this build is without the feature `post`"),
    (Exit::Store, "the store cannot be used; results are printed all the same"),
    (Exit::Interrupted, "interrupted"),
];

/// Codes that may apply to one run at once, the gravest first. The others end a command before it
/// has results.
pub const PRECEDENCE: [Exit; 6] = [
    Exit::Interrupted,
    Exit::Store,
    Exit::BenchmarkFailed,
    Exit::Slower,
    Exit::NoVerdict,
    Exit::Publish,
];

impl Exit {
    /// The number handed to the operating system.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The one of `applying` that a run ends with, with what belongs to it.
    pub fn gravest<T>(applying: impl IntoIterator<Item = (Exit, T)>) -> Option<(Exit, T)> {
        let rank = |exit: Exit| PRECEDENCE.iter().position(|known| *known == exit);
        applying.into_iter().min_by_key(|(exit, _)| rank(*exit).unwrap_or(PRECEDENCE.len()))
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Failure of a command: message, hint and the exit code that follows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Failure {
    /// A lower-case fragment that reads well after "failed to" or "error:".
    /// Lines after the first are details, such as the end of cargo's output.
    pub error: String,
    /// The command or flag that helps, when there is one.
    pub hint: Option<String>,
    /// The exit code of the process.
    pub exit: Exit,
    /// Reason that callers act on; texts are for people.
    pub cause: Cause,
}

/// Reason of a failure, as far as code that meets it acts on it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Cause {
    /// Nobody acts on it.
    #[default]
    Unspecified,
    /// This word is no revision.
    UnknownRevision(String),
    /// A checkout lacks what the workspace needs, and the hint says what helps.
    MissingFromCheckout,
}

impl Failure {
    /// A failure without a hint.
    pub fn new(exit: Exit, error: impl Into<String>) -> Self {
        Self { error: error.into(), hint: None, exit, cause: Cause::Unspecified }
    }

    /// The same failure with the reason that callers act on.
    #[must_use]
    pub fn because(mut self, cause: Cause) -> Self {
        self.cause = cause;
        self
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
    use super::{EXITS, Exit, Failure, PRECEDENCE};

    /// Rows of the README's table of codes, and the sentence below it.
    fn readme() -> (Vec<(u8, String)>, String) {
        let lines = include_str!("../../README.md").lines();
        let mut rest = lines
            .skip_while(|line| *line != "### Exit codes")
            .skip_while(|line| !line.starts_with("| 0 "));
        let row = |line: &str| {
            let mut cells = line.split(" | ").map(|cell| cell.trim_matches(['|', ' ']).to_owned());
            Some((cells.next()?.parse().ok()?, cells.next()?))
        };
        let table: Vec<_> = rest.by_ref().map_while(row).collect();
        (table, rest.take_while(|line| !line.starts_with('#')).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn codes_mean_the_same_in_the_readme_and_in_help() {
        let (readme, _) = readme();
        let ours: Vec<_> =
            EXITS.iter().map(|(exit, text)| (exit.code(), (*text).to_owned())).collect();
        assert_eq!(readme, ours);
        let help = <crate::cli::args::Cli as clap::CommandFactory>::command().render_help();
        let help = help.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        let rows: Vec<String> = ours.iter().map(|(code, text)| format!("{code} {text}")).collect();
        assert!(help.ends_with(&rows.join(" ")), "{help}");
    }

    #[test]
    fn the_order_of_the_readme_is_the_one_that_decides() {
        let (_, below) = readme();
        let codes: Vec<String> = PRECEDENCE.iter().map(|exit| exit.code().to_string()).collect();
        assert!(below.contains(&format!("the first of {} wins", codes.join(", "))), "{below}");
        for (at, grave) in PRECEDENCE.iter().enumerate() {
            for less in &PRECEDENCE[at + 1..] {
                for both in [[(*grave, "a"), (*less, "b")], [(*less, "b"), (*grave, "a")]] {
                    assert_eq!(Exit::gravest(both), Some((*grave, "a")));
                }
            }
        }
        assert_eq!(Exit::gravest::<()>([]), None);
    }

    #[test]
    fn displays_the_error_without_the_hint() {
        let failure = Failure::new(Exit::Usage, "no revision `x`").hint("run `git fetch`");
        assert_eq!(failure.to_string(), "no revision `x`");
        assert_eq!(failure.hint.as_deref(), Some("run `git fetch`"));
        assert_eq!(failure.exit, Exit::Usage);
    }
}
