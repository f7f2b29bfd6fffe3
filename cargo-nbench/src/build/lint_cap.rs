//! Lets old code build with today's compiler: this program stands between
//! cargo and rustc and turns denied lints into warnings. RUSTFLAGS are not
//! used for it, because they would replace the flags of the configuration.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::build::cargo::configuration_file;
use crate::build::one_path;
use crate::build::relink::capture::{self, Capture};

const SWITCH: &str = "NBENCH_CAP_LINTS";
const CHAINED: &str = "NBENCH_CHAINED_WRAPPER";

/// The package that is compiled as if its manifest lay elsewhere, and where.
const MOVED_PACKAGE: &str = "NBENCH_MOVED_PACKAGE";
const MOVED_TO: &str = "NBENCH_MOVED_TO";

/// The program that cargo is told to call. Tests, which are another
/// executable, name the real one here.
const PROGRAM: &str = "NBENCH_WRAPPER_PROGRAM";

/// Which of cargo's two wrappers is taken, and the setting that says the same.
fn wrapper(all_crates: bool) -> (&'static str, &'static str) {
    if all_crates {
        ("RUSTC_WRAPPER", "rustc-wrapper")
    } else {
        ("RUSTC_WORKSPACE_WRAPPER", "rustc-workspace-wrapper")
    }
}

/// This program, as cargo is to start it.
pub(crate) fn program() -> Option<PathBuf> {
    env::var_os(PROGRAM).map_or_else(|| env::current_exe().ok(), |p| Some(p.into()))
}

/// Makes cargo call this program instead of rustc, for the crates of the
/// workspace or for all of them. A wrapper of the user's own is called next.
pub(crate) fn wrap(command: &mut Command, dir: &Path, all_crates: bool) {
    let Some(program) = program() else { return };
    let (variable, setting) = wrapper(all_crates);
    let chained = env::var_os(variable)
        .or_else(|| env::var_os(format!("CARGO_BUILD_{variable}")))
        .or_else(|| configured(dir, setting).map(PathBuf::into_os_string))
        .filter(|value| !value.is_empty());
    command.env(variable, program).env(SWITCH, "1");
    match chained {
        Some(chained) => command.env(CHAINED, chained),
        None => command.env_remove(CHAINED),
    };
}

/// The wrapper that the nearest configuration names.
fn configured(dir: &Path, setting: &str) -> Option<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let directories = dir.ancestors().map(|directory| directory.join(".cargo")).chain(home);
    directories.into_iter().find_map(|directory| {
        let text = std::fs::read_to_string(configuration_file(&directory)?).ok()?;
        let table: toml::Table = text.parse().ok()?;
        let value = PathBuf::from(table.get("build")?.get(setting)?.as_str()?);
        // Cargo looks a bare name up on the PATH, and a path from the
        // directory that holds `.cargo`.
        let bare = value.components().count() == 1;
        Some(if bare { value } else { directory.parent()?.join(value) })
    })
}

/// The variables that make the wrapper compile one package as if its manifest
/// lay elsewhere: benchmarks build the paths of their files from it.
pub(crate) fn manifest_dir_variables(package: &str, dir: &Path) -> [(String, String); 2] {
    [
        (MOVED_PACKAGE.to_owned(), package.to_owned()),
        (MOVED_TO.to_owned(), dir.display().to_string()),
    ]
}

/// Runs the compiler when this process was started in its place, which the
/// environment tells; otherwise returns nothing at once. To be called first of
/// all, with the whole command line.
pub fn maybe_run_as_wrapper(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    if env::var_os(SWITCH).is_none_or(|value| value != "1") {
        return None;
    }
    let arguments = one_path::rewrite(arguments.into_iter().skip(1).collect());
    let chained = env::var_os(CHAINED);
    let mut command = replacement(&arguments, chained.clone())?;
    let capture = Capture::wanted(&arguments);
    match (&capture, &chained) {
        (Some(capture), Some(chained)) => capture.refuse(&format!(
            "`{}` stands before rustc, and may answer from its cache",
            Path::new(chained).display()
        )),
        (Some(capture), None) => capture.add_to(&mut command),
        (None, _) => {}
    }
    // The user's wrapper may be cargo-nbench as well: it must not loop.
    command.env_remove(CHAINED).env_remove(SWITCH).env_remove(capture::variable().0);
    command.env_remove(one_path::DIRECTORY);
    if let (Ok(moved), Some(dir)) = (env::var(MOVED_PACKAGE), env::var_os(MOVED_TO))
        && env::var("CARGO_PKG_NAME").is_ok_and(|package| package == moved)
    {
        command.env("CARGO_MANIFEST_DIR", dir);
    }
    match capture.filter(|_| chained.is_none()) {
        Some(capture) => {
            let status = command.status().ok();
            if let Some(status) = status {
                capture.tidy(status);
            }
            Some(exit_code(status))
        }
        None => Some(run(command)),
    }
}

/// The command that is run instead, when the arguments are those of a compiler.
fn replacement(arguments: &[OsString], chained: Option<OsString>) -> Option<Command> {
    let (compiler, rest) = arguments.split_first()?;
    // Someone who types `cargo nbench run` with the switch set by accident
    // gets cargo nbench.
    if !looks_like_compiler(compiler) {
        return None;
    }
    let mut command = match chained {
        Some(chained) => {
            let mut command = Command::new(chained);
            command.arg(compiler);
            command
        }
        None => Command::new(compiler),
    };
    command.args(rest);
    // Cargo asks for versions and configurations too, without a crate.
    if rest.iter().any(|argument| argument == "--crate-name") {
        let capped = rest.iter().any(|a| a.to_string_lossy().starts_with("--cap-lints"));
        if !capped {
            command.args(["--cap-lints", "warn"]);
        }
    }
    Some(command)
}

fn looks_like_compiler(program: &OsStr) -> bool {
    let path = Path::new(program);
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    // As the outer wrapper one is handed the inner wrapper, whatever its name.
    name.contains("rustc") || name.contains("clippy-driver") || path.components().count() > 1
}

#[cfg(unix)]
fn run(mut command: Command) -> ExitCode {
    use std::os::unix::process::CommandExt as _;
    // Returns only when the program could not be started; cargo reports the
    // exit code with the command line.
    let _ = command.exec();
    ExitCode::from(101)
}

#[cfg(not(unix))]
fn run(mut command: Command) -> ExitCode {
    exit_code(command.status().ok())
}

/// The compiler's own code; 101, as for a panic of it, where there is none.
fn exit_code(status: Option<std::process::ExitStatus>) -> ExitCode {
    let code = status.and_then(|status| status.code()).unwrap_or(101);
    ExitCode::from(u8::try_from(code).unwrap_or(101))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;

    use super::{configured, replacement};

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    fn line(arguments: &str, chained: Option<&str>) -> Option<String> {
        let command = replacement(&words(arguments), chained.map(OsString::from))?;
        let words = [command.get_program()].into_iter().chain(command.get_args());
        Some(words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn caps_only_compilations_and_only_once() {
        let cases = [
            ("rustc -vV", "rustc -vV"),
            ("rustc --crate-name a x.rs", "rustc --crate-name a x.rs --cap-lints warn"),
            (
                "rustc --crate-name a --cap-lints allow x.rs",
                "rustc --crate-name a --cap-lints allow x.rs",
            ),
        ];
        for (given, expected) in cases {
            assert_eq!(line(given, None).as_deref(), Some(expected));
        }
    }

    #[test]
    fn the_users_wrapper_gets_the_compiler_first() {
        let expected = "sccache /bin/rustc --crate-name a --cap-lints warn";
        let line = line("/bin/rustc --crate-name a", Some("sccache"));
        assert_eq!(line.as_deref(), Some(expected));
    }

    #[test]
    fn anything_but_a_compiler_is_left_to_the_command_line() {
        assert_eq!(line("nbench run", None), None);
        assert!(replacement(&[], None).is_none());
    }

    #[test]
    fn a_configured_wrapper_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir(directory.path().join(".cargo")).unwrap();
        let file = directory.path().join(".cargo/config.toml");
        fs::write(&file, "build.rustc-workspace-wrapper = \"tools/wrap\"\n").unwrap();
        let found = configured(&inner, "rustc-workspace-wrapper").unwrap();
        assert_eq!(found, directory.path().join("tools/wrap"));
        fs::write(&file, "[build]\nrustc-workspace-wrapper = \"sccache\"\n").unwrap();
        let found = configured(&inner, "rustc-workspace-wrapper").unwrap();
        assert_eq!(found.to_str(), Some("sccache"));
    }
}
