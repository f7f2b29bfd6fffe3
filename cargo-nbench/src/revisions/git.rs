//! Runs the `git` program so that nothing of the user's shell leaks in: no
//! hooks, no prompts, no inherited repository variables. It knows no
//! revisions and no checkouts.

use std::ffi::{OsStr, OsString};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::secrets;

/// The variables that bind git to one repository. A hook or an alias that
/// started us has set some of them, and they would redirect every command.
const REPOSITORY_VARIABLES: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REFLOG_ACTION",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Settings that hold for every command: no hook, no daemon, no background
/// maintenance, no partial trees and no advice about detached heads.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.splitIndex=false",
    "core.sparseCheckout=false",
    "index.sparse=false",
    "advice.detachedHead=false",
    "gc.auto=0",
    "maintenance.auto=false",
    // Submodules are filled by us, from what is on disk.
    "submodule.recurse=false",
    "status.submoduleSummary=false",
    "i18n.logOutputEncoding=UTF-8",
];

/// Failure of a call of git.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    /// Git is not there, or the system does not start it.
    #[error("cannot start `git {command}`: {source}")]
    NotStarted {
        /// Its arguments.
        command: String,
        /// Reason of the system.
        source: io::Error,
    },
    /// Git refuses the repository because another user owns it.
    #[error("`git {command}` failed: {message}")]
    NotTrusted {
        /// Its arguments.
        command: String,
        /// Message of git.
        message: String,
        /// Command that git names for whoever trusts it all the same.
        trust: String,
    },
    /// Git ended with anything but zero.
    #[error("`git {command}` failed: {message}")]
    Failed {
        /// Its arguments.
        command: String,
        /// Message of git, else how it ended.
        message: String,
    },
}

/// A way to call git in one directory.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    dir: PathBuf,
    environment: Vec<(OsString, OsString)>,
    settings: Vec<String>,
}

impl Git {
    /// Git as if started in `dir`.
    pub(crate) fn at(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), environment: Vec::new(), settings: Vec::new() }
    }

    /// The same with one more environment variable.
    pub(crate) fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// The same with one more `-c` setting, which wins over [`SETTINGS`].
    pub(crate) fn setting(mut self, setting: impl Into<String>) -> Self {
        self.settings.push(setting.into());
        self
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.current_dir(&self.dir).stdin(Stdio::null());
        for name in REPOSITORY_VARIABLES {
            command.env_remove(name);
        }
        // Filters and helpers that the repository's settings name are programs of others.
        secrets::withhold(&mut command);
        command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        // Status-like commands must not rewrite the user's index to refresh it.
        command.env("GIT_OPTIONAL_LOCKS", "0");
        for (name, value) in &self.environment {
            command.env(name, value);
        }
        for setting in SETTINGS.iter().copied().chain(self.settings.iter().map(String::as_str)) {
            command.arg("-c").arg(setting);
        }
        command
    }

    /// Runs git and returns its standard output.
    ///
    /// # Errors
    ///
    /// When git is missing or ends with anything but zero.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Vec<u8>, GitError> {
        self.run_with(arguments, &[])
    }

    /// Like [`Git::run`] with text on the standard input.
    pub(crate) fn run_with<S: AsRef<OsStr>>(
        &self,
        arguments: &[S],
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        let command = shown(arguments);
        let output = match self.output(arguments, input) {
            Ok(output) => output,
            Err(source) => return Err(GitError::NotStarted { command, source }),
        };
        if output.status.success() {
            return Ok(output.stdout);
        }
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let message = if message.is_empty() { output.status.to_string() } else { message };
        Err(match trust_command(&message) {
            Some(trust) => GitError::NotTrusted { command, message, trust },
            None => GitError::Failed { command, message },
        })
    }

    /// Runs git and returns whatever it says.
    ///
    /// # Errors
    ///
    /// That of the operating system when git cannot be started.
    pub(crate) fn output<S: AsRef<OsStr>>(
        &self,
        arguments: &[S],
        input: &[u8],
    ) -> io::Result<Output> {
        if input.is_empty() {
            return self.command().args(arguments).output();
        }
        // A file rather than a pipe: git may answer before it has read everything.
        let mut file = tempfile::tempfile()?;
        file.write_all(input)?;
        file.rewind()?;
        self.command().args(arguments).stdin(file).output()
    }

    /// Like [`Git::run`] for output of one line of text.
    pub(crate) fn line<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(&self.run(arguments)?).trim().to_owned())
    }

    /// Like [`Git::run`] for output that is one path.
    pub(crate) fn path<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<PathBuf, GitError> {
        let output = self.run(arguments)?;
        let line = output.strip_suffix(b"\n").unwrap_or(&output);
        Ok(self.dir.join(path_from_bytes(line)))
    }

    /// Like [`Git::run`] for a list of paths that end in NUL bytes.
    pub(crate) fn paths<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Vec<PathBuf>, GitError> {
        Ok(self
            .run(arguments)?
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty())
            .map(path_from_bytes)
            .collect())
    }
}

/// The command that git names when it refuses the repository of another owner.
pub(crate) fn trust_command(message: &str) -> Option<String> {
    let line = message.lines().map(str::trim).find(|line| line.contains("--add safe.directory"))?;
    line.starts_with("git config").then(|| line.to_owned())
}

/// Hint on a repository of another owner. Whom to trust is for the user to say, not for
/// us.
pub(crate) fn trust_hint(command: &str) -> String {
    format!("git refuses it because another user owns it; if you trust its content: `{command}`")
}

fn shown<S: AsRef<OsStr>>(arguments: &[S]) -> String {
    let words: Vec<_> = arguments.iter().map(|a| a.as_ref().to_string_lossy()).collect();
    words.join(" ")
}

/// A path in double quotes as git reads it in lists of paths and in its settings.
pub(crate) fn quoted(path: &Path) -> OsString {
    let mut bytes = vec![b'"'];
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'"' | b'\\' => bytes.extend([b'\\', *byte]),
            b'\n' => bytes.extend(*b"\\n"),
            other => bytes.push(*other),
        }
    }
    bytes.push(b'"');
    path_from_bytes(&bytes).into_os_string()
}

/// A path as git writes it, which on Unix need not be UTF-8.
#[cfg(unix)]
pub(crate) fn path_from_bytes(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// A path as git writes it.
#[cfg(not(unix))]
pub(crate) fn path_from_bytes(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}
