//! Failures on the way from a tree to executables: what each is in words, what helps, and with
//! which exit code it ends a command. It must not know how any of them is met.

use std::io;
use std::path::PathBuf;

use crate::failure::{Exit, Failure};

/// Failure of reading a workspace, building it or looking into what was built.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BuildError {
    /// The user interrupted a build.
    #[error("interrupted while building")]
    Interrupted,
    /// The user interrupted while another process held the mirror.
    #[error("interrupted while another process builds the workspace")]
    InterruptedWaiting,
    /// This is no part of a cargo workspace.
    #[error("no cargo workspace found: {0}")]
    NoWorkspace(String),
    /// Cargo does not understand the workspace.
    #[error("`cargo metadata` failed: {message}")]
    NoMetadata {
        /// Message of cargo.
        message: String,
        /// The user's own command that shows the same.
        command: String,
    },
    /// Cargo prints what we do not understand.
    #[error("cannot understand `cargo metadata`: {0}")]
    StrangeMetadata(#[source] serde_json::Error),
    /// Cargo or another program of the build does not start.
    #[error("cannot start `{program}`: {source}")]
    NotStarted {
        /// The program.
        program: String,
        /// Reason of the system.
        source: io::Error,
    },
    /// Cargo cannot be waited for.
    #[error("cannot wait for cargo: {0}")]
    Lost(#[source] io::Error),
    /// There is no place to ask cargo from.
    #[error("cannot ask cargo how it starts executables: {0}")]
    NotAsked(#[source] io::Error),
    /// A name of a package or target that nothing has.
    #[error("{message}")]
    UnknownSelection {
        /// Name that is missing, in a sentence.
        message: String,
        /// Names that there are instead.
        hint: String,
    },
    /// A name of a feature or profile that nothing has.
    #[error("{message}")]
    UnknownFlag {
        /// Name that is missing, in a sentence.
        message: String,
        /// Names that there are instead.
        hint: String,
    },
    /// There is no place for the mirror of the user's tree.
    #[error("cannot mirror the workspace in `{}`: {source}", place.display())]
    NoMirror {
        /// Where it should be.
        place: PathBuf,
        /// Reason of the system.
        source: io::Error,
    },
    /// A step of the build asks a question.
    #[error("a step of the build asks on the terminal, where nobody can answer it")]
    Asks {
        /// The user's own command that asks the same.
        command: String,
    },
    /// No target builds.
    #[error("{message}")]
    NothingBuilt {
        /// Message of the compiler.
        message: String,
        /// Hint on what helps.
        hint: Option<String>,
    },
    /// No side builds.
    #[error("no side was built")]
    NoSideBuilt,
    /// An executable that was built cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    UnreadableExecutable {
        /// The executable.
        path: PathBuf,
        /// Reason of the system.
        source: io::Error,
    },
    /// An executable cannot be compared with another one.
    #[error("cannot read the executable `{}`: {reason}", path.display())]
    IncomparableExecutable {
        /// The executable.
        path: PathBuf,
        /// Fault, as a fragment.
        reason: String,
    },
    /// A package that today's benchmarks belong to is not there.
    #[error("{side} has no package `{package}`")]
    NoPackage {
        /// The side in words.
        side: &'static str,
        /// The package.
        package: String,
    },
    /// A manifest cannot be read.
    #[error("cannot read `{}`: {reason}", path.display())]
    UnreadableManifest {
        /// The manifest.
        path: PathBuf,
        /// Fault, as a fragment.
        reason: String,
    },
    /// A generated file cannot be written.
    #[error("cannot write `{}`: {source}", path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// Reason of the system.
        source: io::Error,
    },
    /// Rustup cannot be asked for toolchains.
    #[error("`--own-toolchains` asks `rustup`: {0}")]
    NoRustup(#[source] io::Error),
    /// Rustup does not have the toolchain of a revision.
    #[error("its own toolchain cannot be used: {message}")]
    NoToolchain {
        /// Message of rustup.
        message: String,
        /// The toolchain that can be installed.
        missing: Option<String>,
    },
    /// Somebody deleted a checkout while it was used.
    #[error("the checkout `{}` is gone", .0.display())]
    CheckoutGone(PathBuf),
}

impl BuildError {
    fn exit(&self) -> Exit {
        match self {
            BuildError::Interrupted | BuildError::InterruptedWaiting => Exit::Interrupted,
            BuildError::NoWorkspace(_) => Exit::Usage,
            BuildError::UnknownSelection { .. } => Exit::NothingSelected,
            BuildError::NotAsked(_)
            | BuildError::NotWritten { .. }
            | BuildError::CheckoutGone(_) => Exit::Host,
            _ => Exit::Build,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            BuildError::Interrupted
            | BuildError::InterruptedWaiting
            | BuildError::Lost(_)
            | BuildError::NoSideBuilt
            | BuildError::UnreadableManifest { .. } => return None,
            BuildError::UnknownSelection { hint, .. } | BuildError::UnknownFlag { hint, .. } => {
                hint
            }
            BuildError::NothingBuilt { hint, .. } => return hint.clone(),
            BuildError::NoWorkspace(_) => {
                "run this inside a cargo workspace, or name one with `--manifest-path`"
            }
            BuildError::NoMetadata { command, .. } => {
                return Some(format!("`{command}` in the same directory shows the same message"));
            }
            BuildError::StrangeMetadata(_) => {
                "an old cargo may print another format; `rustup update` brings a newer one"
            }
            BuildError::NotStarted { .. } => "install cargo, or set CARGO to its path",
            BuildError::NotAsked(_) => "point TMPDIR at a directory that can be written to",
            BuildError::NoMirror { .. } => {
                "the mirror keeps your `Cargo.lock` as it is: `cargo generate-lockfile` makes it \
                 needless for most suites, `--target-dir` moves it"
            }
            BuildError::Asks { command } => {
                return Some(format!(
                    "`{command}` asks the same: answer it there once, or give what it asks for otherwise"
                ));
            }
            BuildError::UnreadableExecutable { .. } => "`cargo clean` makes cargo build it again",
            BuildError::IncomparableExecutable { .. } => {
                "`--force` measures without comparing the executables"
            }
            BuildError::NoPackage { .. } => {
                "its benchmarks are not measurable there; leave the package out with `--exclude`"
            }
            BuildError::NotWritten { .. } => {
                "`cargo nbench clean` frees space; NBENCH_CACHE_DIR names another directory"
            }
            BuildError::NoRustup(_) => {
                "without rustup there is one toolchain; leave `--own-toolchains` out"
            }
            BuildError::NoToolchain { missing: Some(name), .. } => {
                return Some(format!("`rustup toolchain install {name}` installs it"));
            }
            BuildError::NoToolchain { missing: None, .. } => {
                "`rustup show` in a checkout of this revision says more"
            }
            BuildError::CheckoutGone(_) => "`cargo nbench clean` removes damaged checkouts",
        };
        Some(hint.to_owned())
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Failure {
        let failure = Failure::new(error.exit(), error.to_string());
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
