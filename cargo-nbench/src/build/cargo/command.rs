//! Starts cargo as the user would: without the variables that cargo set for
//! us, with the toolchain and the configuration that both sides share. It does
//! not know what is built.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::Words;
use super::mirror::Mirror;
use crate::build::error::BuildError;
use crate::build::lint_cap;
use crate::failure::Failure;
use crate::secrets;

/// Where and how cargo is started for one side.
#[derive(Clone, Debug)]
pub struct BuildContext<'a> {
    /// The toolchain for rustup, as [`resolve_toolchain`] found it.
    pub toolchain: Option<String>,
    /// The cargo of that toolchain, where it is not the one that started us.
    pub cargo: Option<PathBuf>,
    /// Whether lints that are errors become warnings, in all workspace crates.
    pub cap_lints: bool,
    /// Whether the cap holds for path dependencies outside the workspace too,
    /// as a detached bench package has them. Implies `cap_lints`.
    pub cap_all_crates: bool,
    /// The target directory, before that of the options.
    pub target_dir: Option<PathBuf>,
    /// The directory cargo is started in.
    pub dir: &'a Path,
    /// Configuration files from above the repository, the farthest first.
    pub configuration: Vec<PathBuf>,
    /// Variables for cargo and everything it starts.
    pub extra_env: Vec<(String, String)>,
    /// Whether what compilers say is shown in colour.
    pub colour: bool,
    /// Where the workspace is mirrored, for a lock file of ours.
    pub mirror: Option<Arc<Mirror>>,
}

impl<'a> BuildContext<'a> {
    /// Cargo in `dir` with nothing added.
    pub fn new(dir: &'a Path) -> Self {
        Self {
            toolchain: None,
            cargo: None,
            cap_lints: false,
            cap_all_crates: false,
            target_dir: None,
            dir,
            configuration: Vec::new(),
            extra_env: Vec::new(),
            colour: false,
            mirror: None,
        }
    }

    /// A text of cargo or the compiler with the user's own paths.
    pub(super) fn outside_text(&self, text: &str) -> String {
        self.mirror.as_ref().map_or_else(|| text.to_owned(), |mirror| mirror.outside_text(text))
    }

    /// Cargo with a subcommand, and everything of this context.
    pub(super) fn cargo(&self, subcommand: &str) -> Command {
        let own = self.cargo.as_ref().map(|path| path.clone().into_os_string());
        let mut command = self.program(&own.unwrap_or_else(cargo_program));
        command.arg(subcommand);
        // Whoever builds runs build scripts and macros; the others may have to fetch.
        if subcommand == "bench" {
            secrets::withhold(&mut command);
        } else {
            secrets::withhold_from_fetching(&mut command);
        }
        for file in &self.configuration {
            command.arg("--config").arg(file);
        }
        if let Some(target) = &self.target_dir {
            // Both sides would link each other's crates from a build directory
            // that they share. After the files above, so that it wins.
            let value = toml::Value::String(target.display().to_string());
            command.arg("--config").arg(format!("build.build-dir={value}"));
        }
        if self.cap_lints || self.cap_all_crates {
            lint_cap::wrap(&mut command, self.dir, self.cap_all_crates);
        }
        command
    }

    /// The compiler that cargo would call.
    pub(crate) fn rustc(&self) -> Command {
        let mut command = self.program(&env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        secrets::withhold(&mut command);
        command
    }

    fn program(&self, program: &OsStr) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.dir).stdin(Stdio::null());
        scrub(&mut command);
        // What it says is read line by line, whatever the user likes to see.
        command.envs(PLAIN);
        if let Some(toolchain) = &self.toolchain {
            command.env("RUSTUP_TOOLCHAIN", toolchain);
        }
        command.envs(self.extra_env.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// How cargo writes for a program that reads it.
const PLAIN: [(&str, &str); 4] = [
    ("CARGO_TERM_COLOR", "never"),
    ("CARGO_TERM_PROGRESS_WHEN", "never"),
    ("CARGO_TERM_QUIET", "false"),
    ("CARGO_TERM_VERBOSE", "false"),
];

/// How cargo writes what is shown to the user as it is.
pub(super) fn shown_in_colour(command: &mut Command, colour: bool) {
    command.env("CARGO_TERM_COLOR", if colour { "always" } else { "never" });
}

fn cargo_program() -> OsString {
    env::var_os("CARGO").filter(|value| !value.is_empty()).unwrap_or_else(|| "cargo".into())
}

/// Removes what cargo sets for the crates it builds and runs. Build scripts and
/// macros of the benchmarks would read our values for theirs.
pub(crate) fn scrub(command: &mut Command) {
    for (name, _) in env::vars_os() {
        if is_cargos_own(&name.to_string_lossy()) {
            command.env_remove(name);
        }
    }
}

fn is_cargos_own(name: &str) -> bool {
    const PREFIXES: [&str; 4] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_EXE_", "DEP_"];
    const NAMES: [&str; 5] = [
        "CARGO_CRATE_NAME",
        "CARGO_BIN_NAME",
        "CARGO_PRIMARY_PACKAGE",
        "CARGO_TARGET_TMPDIR",
        "OUT_DIR",
    ];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || NAMES.contains(&name)
}

/// Runs to the end and returns standard output. The user would give cargo `words` for it.
pub(super) fn output(command: &mut Command, words: &Words) -> Result<Vec<u8>, Failure> {
    let output = command.output().map_err(|error| not_started(command, error))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    if message.starts_with("could not find `Cargo.toml`") {
        return Err(no_workspace(message));
    }
    let command = words.cargo_metadata();
    Err(BuildError::NoMetadata { message: message.to_owned(), command }.into())
}

/// The failure of a place that is no part of a cargo workspace.
pub(crate) fn no_workspace(reason: &str) -> Failure {
    BuildError::NoWorkspace(reason.to_owned()).into()
}

pub(super) fn not_started(command: &Command, source: std::io::Error) -> Failure {
    let program = command.get_program().to_string_lossy().into_owned();
    BuildError::NotStarted { program, source }.into()
}

/// The toolchain that rustup chooses in `dir`, to be used for both sides: what
/// RUSTUP_TOOLCHAIN says, else what rustup says, else nothing.
pub fn resolve_toolchain(dir: &Path) -> Option<String> {
    if let Ok(toolchain) = env::var("RUSTUP_TOOLCHAIN")
        && !toolchain.is_empty()
    {
        return Some(toolchain);
    }
    let mut command = Command::new("rustup");
    command.args(["show", "active-toolchain"]).current_dir(dir).stdin(Stdio::null());
    secrets::withhold(&mut command);
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.split_whitespace().next().map(str::to_owned)
}

/// Configuration files of cargo that hold for `repository` from above, the
/// farthest first, without those that cargo finds from `checkout` by itself.
fn outer_configuration(repository: &Path, checkout: &Path) -> Vec<PathBuf> {
    let home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(env::home_dir()?.join(".cargo")));
    let mut files: Vec<PathBuf> = repository
        .ancestors()
        .skip(1)
        .filter(|directory| !checkout.starts_with(directory))
        .map(|directory| directory.join(".cargo"))
        .filter(|directory| home.as_ref() != Some(directory))
        .filter_map(|directory| configuration_file(&directory))
        .collect();
    files.reverse();
    files
}

/// Configuration on cargo's command line for a checkout: `outer_configuration`,
/// and after it the checkout's own files from its top down to `dir`. Cargo finds
/// those by itself, but a named file wins over a found one, and a file from
/// farther away must not win.
pub fn configuration_of_checkout(repository: &Path, checkout: &Path, dir: &Path) -> Vec<PathBuf> {
    let mut files = outer_configuration(repository, checkout);
    if !files.is_empty() {
        let mut inside: Vec<PathBuf> = dir
            .ancestors()
            .take_while(|directory| directory.starts_with(checkout))
            .filter_map(|directory| configuration_file(&directory.join(".cargo")))
            .collect();
        inside.reverse();
        files.append(&mut inside);
    }
    files
}

/// Cargo prefers the name without an extension when there are both.
pub(crate) fn configuration_file(directory: &Path) -> Option<PathBuf> {
    ["config", "config.toml"].map(|name| directory.join(name)).into_iter().find(|p| p.is_file())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{BuildContext, configuration_of_checkout, is_cargos_own, outer_configuration};

    #[test]
    fn only_what_cargo_sets_for_crates_is_removed() {
        for name in ["CARGO_PKG_VERSION", "CARGO_MANIFEST_DIR", "OUT_DIR", "CARGO_CRATE_NAME"] {
            assert!(is_cargos_own(name), "{name}");
        }
        for name in ["CARGO", "CARGO_HOME", "CARGO_TARGET_DIR", "RUSTFLAGS", "CARGO_BUILD_JOBS"] {
            assert!(!is_cargos_own(name), "{name}");
        }
    }

    #[test]
    fn a_side_keeps_its_build_directory_to_itself() {
        let dir = std::env::temp_dir();
        let words = |context: &BuildContext<'_>| -> Vec<String> {
            let command = context.cargo("bench");
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect()
        };
        assert_eq!(words(&BuildContext::new(&dir)), ["bench"]);
        let side = BuildContext {
            target_dir: Some("/cache/a \"b\"".into()),
            configuration: vec!["/above/.cargo/config.toml".into()],
            ..BuildContext::new(&dir)
        };
        let words = words(&side);
        let [_, _, above, _, own] = words.as_slice() else { panic!("{words:?}") };
        assert_eq!(above, "/above/.cargo/config.toml");
        let own: toml::Table = own.parse().unwrap();
        assert_eq!(own["build"]["build-dir"].as_str(), Some("/cache/a \"b\""));
    }

    #[test]
    fn configuration_above_the_repository_is_found_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        let repository = top.join("team/project");
        let checkout = top.join("cache/slot");
        for (place, name) in
            [("team", "config.toml"), ("team/project", "config.toml"), ("", "config")]
        {
            let place = top.join(place).join(".cargo");
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join(name), "").unwrap();
        }
        let team = top.join("team/.cargo/config.toml");
        assert_eq!(outer_configuration(&repository, &checkout), std::slice::from_ref(&team));
        let (own, deep) = (checkout.join(".cargo/config.toml"), checkout.join("a/.cargo/config"));
        for file in [&own, &deep] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let all = configuration_of_checkout(&repository, &checkout, &checkout.join("a/b"));
        assert_eq!(all, [team.clone(), own, deep], "the nearest comes last and wins");
        let alone = configuration_of_checkout(&checkout, &checkout, &checkout);
        assert_eq!(alone, Vec::<std::path::PathBuf>::new());
        let elsewhere = outer_configuration(&repository, &std::env::temp_dir().join("../x"));
        assert_eq!(elsewhere.last(), Some(&team));
    }
}
