//! How cargo would start an executable: asked of cargo itself, by standing in as its runner. It
//! knows the variables, the directory and the user's own runner, and not what is started with them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs, io};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::command::BuildContext;
use super::{BuildOptions, command};
use crate::build::error::BuildError;
use crate::build::lint_cap;
use crate::failure::Failure;
use crate::private;

/// The first argument of this program as cargo's runner.
const SUBCOMMAND: &str = "__cargo-runner";

/// Mark between this program and an executable in the words of a runner.
#[cfg(not(test))]
const WORDS: &str = SUBCOMMAND;

/// The program of unit tests is another one; one of its tests answers.
#[cfg(test)]
const WORDS: &str = "--test --exact build::cargo::environment::tests::the_runner_answers";

/// About as much as an answer may need (bytes).
const ROOM: usize = 128 << 10;

/// Where the runner leaves what it was told.
const ANSWERS: &str = "NBENCH_RUNNER_ANSWERS";

/// How one executable is started by cargo.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Start {
    /// Working directory.
    pub(super) cwd: PathBuf,
    /// Variables that cargo adds to its own environment, or changes in it.
    pub(super) env: Vec<(OsString, OsString)>,
}

/// Answers cargo when this process was started as its runner; otherwise returns nothing at once.
pub fn maybe_answer(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    if arguments.next().as_deref() != Some(OsStr::new(SUBCOMMAND)) {
        return None;
    }
    let (Some(executable), Some(answers)) = (arguments.next(), env::var_os(ANSWERS)) else {
        return Some(ExitCode::FAILURE);
    };
    Some(match answer(Path::new(&executable), Path::new(&answers)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

fn answer(executable: &Path, answers: &Path) -> io::Result<()> {
    let start = Start { cwd: env::current_dir()?, env: env::vars_os().collect() };
    fs::write(answers.join(file_name(executable)), serde_json::to_vec(&start)?)
}

/// The name of an answer; cargo may write a path with other links in it than it reported.
fn file_name(executable: &Path) -> String {
    let path = executable.canonicalize().unwrap_or_else(|_| executable.to_owned());
    let digest = Sha256::digest(path.as_os_str().as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Answers of cargo about the executables that it was asked to run.
pub(super) struct Asked {
    directory: TempDir,
    /// The environment that cargo itself had.
    before: BTreeMap<OsString, OsString>,
}

impl Asked {
    /// Lets cargo "run" what `arguments` of `cargo bench` select, with this program as the runner
    /// for all `triples`. What is selected must be built already.
    ///
    /// # Errors
    /// When there is no temporary directory, or cargo cannot be started.
    pub(super) fn of(
        context: &BuildContext<'_>,
        arguments: &[OsString],
        triples: &[String],
    ) -> Result<Asked, Failure> {
        let directory = plain_directory().map_err(BuildError::NotAsked)?;
        // Cargo splits the value of the variable at spaces.
        let link = directory.path().join("runner");
        let program = lint_cap::program().ok_or_else(|| {
            BuildError::NotAsked(io::Error::other("the path of this program is not known"))
        })?;
        std::os::unix::fs::symlink(program, &link).map_err(BuildError::NotAsked)?;
        let mut command = context.cargo("bench");
        command.args(arguments).env(ANSWERS, directory.path());
        for triple in triples {
            command.env(runner_variable(triple), format!("{} {WORDS}", link.display()));
        }
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let before = environment(&command);
        // Its exit code says nothing that a missing answer does not say for each executable.
        command.status().map_err(|error| command::not_started(&command, error))?;
        has_room(directory.path()).map_err(BuildError::NotAsked)?;
        Ok(Asked { directory, before })
    }

    /// How cargo starts `executable`, or nothing when it did not ask the runner for it.
    pub(super) fn start(&self, executable: &Path) -> Option<Start> {
        let text = fs::read(self.directory.path().join(file_name(executable))).ok()?;
        let mut start: Start = serde_json::from_slice(&text).ok()?;
        start.env.retain(|(name, value)| self.before.get(name) != Some(value));
        start.env.sort();
        Some(start)
    }
}

/// An answer that found no room is missing like one that was never given.
fn has_room(directory: &Path) -> io::Result<()> {
    let file = directory.join("room");
    fs::write(&file, [0; ROOM])?;
    fs::remove_file(file)
}

/// A temporary directory whose path has no spaces.
fn plain_directory() -> io::Result<TempDir> {
    let base = env::temp_dir();
    let spaced = base.as_os_str().as_bytes().iter().any(u8::is_ascii_whitespace);
    let base = if spaced { PathBuf::from("/tmp") } else { base };
    private::directory_in(&base, "nbench-runner-")
}

/// The environment that `command` gives to its process.
fn environment(command: &Command) -> BTreeMap<OsString, OsString> {
    let mut variables: BTreeMap<OsString, OsString> = env::vars_os().collect();
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => variables.insert(name.to_owned(), value.to_owned()),
            None => variables.remove(name),
        };
    }
    variables
}

fn runner_variable(triple: &str) -> String {
    format!("CARGO_TARGET_{}_RUNNER", triple.to_uppercase().replace(['-', '.'], "_"))
}

/// The triples that an executable may be built for: the host's, and that of the directory it lies
/// in.
pub(super) fn triples(context: &BuildContext<'_>, executables: &[&Path]) -> Vec<String> {
    let mut command = context.rustc();
    let output = command.arg("-vV").output().ok().filter(|output| output.status.success());
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    let host = text.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned);
    let mut triples: Vec<String> = host.into_iter().collect();
    for executable in executables {
        // <target>/<triple>/<profile>/deps/<executable>
        let above = executable.ancestors().nth(3).and_then(Path::file_name);
        let name = above.map(|name| name.to_string_lossy().into_owned());
        triples.extend(name.filter(|name| name.contains('-') && !name.contains(' ')));
    }
    triples.sort();
    triples.dedup();
    triples
}

/// The program that the user's configuration starts executables with, and its arguments; empty when
/// there is none.
///
/// # Errors
/// A sentence that says why it is not known.
pub(super) fn users_runner(
    context: &BuildContext<'_>,
    options: &BuildOptions,
    triples: &[String],
) -> Result<Vec<OsString>, String> {
    if options.config.iter().any(|config| config.contains("runner")) {
        return Err("a runner that `--config` names is not known to nbench: name it in `.cargo/config.toml`".into());
    }
    let above = context.configuration.iter().rev().filter_map(|file| file.parent()?.parent());
    for directory in std::iter::once(context.dir).chain(above) {
        let directory = std::path::absolute(directory).map_err(|error| error.to_string())?;
        let unknown = |error: cargo_config2::Error| {
            format!("the configuration of cargo cannot be read for its runner: {error}")
        };
        let config = cargo_config2::Config::load_with_cwd(&directory).map_err(unknown)?;
        for triple in triples {
            if let Some(runner) = config.runner(triple.as_str()).map_err(unknown)? {
                let program = runner.path.into_os_string();
                return Ok(std::iter::once(program).chain(runner.args).collect());
            }
        }
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runner_answers() {
        // Cargo may have started this very test as the runner of another one.
        if let Some(answers) = env::var_os(ANSWERS) {
            let words = env::args_os().skip(1).map(PathBuf::from);
            let executable = words.into_iter().find(|word| word.is_file()).unwrap();
            return answer(&executable, Path::new(&answers)).unwrap();
        }
        let directory = tempfile::tempdir().unwrap();
        let executable = env::current_exe().unwrap();
        answer(&executable, directory.path()).unwrap();
        let before = BTreeMap::from([("PATH".into(), env::var_os("PATH").unwrap())]);
        let asked = Asked { directory, before };
        let start = asked.start(&executable).unwrap();
        assert_eq!(start.cwd, env::current_dir().unwrap());
        let known: Vec<&OsString> = start.env.iter().map(|(name, _)| name).collect();
        assert!(known.contains(&&"CARGO_MANIFEST_DIR".into()) && !known.contains(&&"PATH".into()));
        assert_eq!(asked.start(Path::new("/no/such/executable")), None);
        has_room(asked.directory.path()).unwrap();
        if Path::new("/dev/full").exists() {
            std::os::unix::fs::symlink("/dev/full", asked.directory.path().join("room")).unwrap();
            assert!(has_room(asked.directory.path()).is_err(), "nothing can be written there");
        }
        // No command that anyone types is taken for it.
        assert!(maybe_answer(["cargo-nbench", "run"].map(OsString::from)).is_none());
    }

    #[test]
    fn variables_of_runners_are_named_as_cargo_names_them() {
        assert_eq!(
            runner_variable("x86_64-unknown-linux-gnu"),
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER"
        );
        assert_eq!(
            runner_variable("thumbv8m.main-none-eabi"),
            "CARGO_TARGET_THUMBV8M_MAIN_NONE_EABI_RUNNER"
        );
    }

    #[test]
    fn triples_are_the_hosts_and_that_of_the_directory() {
        let here = env::temp_dir();
        let of = |path: &str| triples(&BuildContext::new(&here), &[Path::new(path)]);
        let host = of("/w/target/release/deps/b-1");
        assert_eq!(host.len(), 1, "{host:?}");
        let two = of("/w/target/wasm32-wasip1/release/deps/b-1");
        assert!(two.contains(&"wasm32-wasip1".to_owned()) && two.contains(&host[0]), "{two:?}");
    }

    #[test]
    fn runners_are_found_in_every_spelling() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().canonicalize().unwrap();
        fs::create_dir_all(place.join(".cargo")).unwrap();
        let host = triples(&BuildContext::new(&place), &[]);
        let found = |text: &str| {
            fs::write(place.join(".cargo/config.toml"), text).unwrap();
            users_runner(&BuildContext::new(&place), &BuildOptions::default(), &host)
                .map(|words| words.iter().map(|w| w.to_string_lossy().into_owned()).collect())
        };
        let none: Vec<String> = Vec::new();
        assert_eq!(found(""), Ok(none.clone()));
        let tool = place.join("tools/with").display().to_string();
        let cases: [(String, Vec<&str>); 5] = [
            ("[target.\"cfg(unix)\"]\nrunner = \"tools/with a b\"".into(), vec![&tool, "a", "b"]),
            (
                "[target.'cfg(all(unix, not(windows)))']\nrunner = [\"taskset\", \"-c\", \"0\"]"
                    .into(),
                vec!["taskset", "-c", "0"],
            ),
            (format!("[target.{}]\nrunner = \"nice\"", host[0]), vec!["nice"]),
            (format!("[target.{}]\nrunner = [\"nice\"]", host[0]), vec!["nice"]),
            ("[target.'cfg(windows)']\nrunner = \"wine\"".into(), vec![]),
        ];
        for (text, words) in cases {
            assert_eq!(found(&text).unwrap(), words, "{text}");
        }
        assert!(found("[target").is_err());
    }

    #[test]
    fn a_runner_of_the_command_line_is_refused_by_name() {
        let options = BuildOptions {
            config: vec!["target.x86_64-unknown-linux-gnu.runner='nice'".into()],
            ..BuildOptions::default()
        };
        let here = env::temp_dir();
        let error = users_runner(&BuildContext::new(&here), &options, &[]).unwrap_err();
        assert!(error.contains("--config"), "{error}");
    }
}
