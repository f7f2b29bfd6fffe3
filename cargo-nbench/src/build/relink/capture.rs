//! Keeps the link command of a bench executable beside it while rustc builds it, with the objects
//! that the command names, so that it can be linked again later. It stands in the compiler wrapper;
//! it does not read what it keeps and must not change what is built.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// Tells the wrapper to keep link commands.
const SWITCH: &str = "NBENCH_KEEP_LINK";

/// Extension of the file with the command, as rustc prints it.
pub(crate) const COMMAND: &str = "nbench-link";

/// Extension of the file with the directory that the command's relative paths start from, or after
/// [`REFUSED`] with the reason why no command was kept.
pub(crate) const PLACE: &str = "nbench-place";

/// Precedes a reason in the file of the place. A directory is absolute and cannot start like this.
pub(crate) const REFUSED: &str = "refused: ";

/// The variable that makes the wrapper keep link commands.
pub(crate) fn variable() -> (String, String) {
    (SWITCH.to_owned(), "1".to_owned())
}

/// Record of one invocation of rustc.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Capture {
    /// Where rustc puts what it makes.
    directory: PathBuf,
    /// Name of the executable in it.
    name: OsString,
}

impl Capture {
    /// Record of rustc called with `arguments` in this process's environment.
    pub(crate) fn wanted(arguments: &[OsString]) -> Option<Capture> {
        let asked = std::env::var_os(SWITCH).is_some_and(|value| value == "1");
        // Cargo names the program only while it compiles an ordinary binary.
        let binary = std::env::var_os("CARGO_BIN_NAME").is_some();
        if asked && !binary { Capture::of(arguments) } else { None }
    }

    /// Of an invocation that links an executable for cargo; build scripts are not measured.
    fn of(arguments: &[OsString]) -> Option<Capture> {
        let values = |name: &str| -> Vec<&OsStr> {
            let joined = format!("{name}=");
            let mut found = Vec::new();
            for (at, argument) in arguments.iter().enumerate() {
                if argument == name {
                    found.extend(arguments.get(at + 1).map(OsString::as_os_str));
                } else if let Some(value) =
                    argument.to_str().and_then(|a| a.strip_prefix(joined.as_str()))
                {
                    found.push(OsStr::new(value));
                }
            }
            found
        };
        let krate = values("--crate-name").first()?.to_str()?.to_owned();
        let links = values("--emit")
            .iter()
            .any(|kinds| kinds.to_string_lossy().split(',').any(|kind| kind == "link"));
        // Cargo leaves the type of a bench target without a test harness to the default, which is
        // an executable.
        let executable = values("--crate-type").iter().all(|kind| *kind == "bin")
            && !arguments.iter().any(|argument| argument == "--test");
        if !links || !executable || krate.starts_with("build_script_") {
            return None;
        }
        let extra = values("-C")
            .iter()
            .find_map(|value| value.to_str()?.strip_prefix("extra-filename=").map(str::to_owned))
            .unwrap_or_default();
        let directory = PathBuf::from(values("--out-dir").first()?);
        Some(Capture { directory, name: format!("{krate}{extra}").into() })
    }

    fn file(&self, extension: &str) -> PathBuf {
        self.directory.join(beside(&self.name, extension))
    }

    /// Says instead of a command why there is none.
    pub(crate) fn refuse(&self, reason: &str) {
        self.discard();
        // Without this file the reason is only less precise.
        let _ = fs::write(self.file(PLACE), format!("{REFUSED}{reason}"));
    }

    /// Lets the compilation keep what its linker gets.
    pub(crate) fn add_to(&self, command: &mut Command) {
        self.discard();
        let Ok(place) = std::env::current_dir() else { return };
        if fs::write(self.file(PLACE), place.as_os_str().as_encoded_bytes()).is_err() {
            return;
        }
        let mut print = OsString::from("link-args=");
        print.push(self.file(COMMAND));
        command.args(["-C", "save-temps", "--print"]).arg(print);
        // Older compilers put the objects that they make for the linker into the temporary
        // directory rather than beside the executable.
        let temporary = self.file("nbench-tmp");
        if fs::create_dir_all(&temporary).is_ok() {
            command.env("TMPDIR", temporary);
        }
    }

    /// After the compilation: deletes the intermediate code that only the compiler wanted, which
    /// with link-time optimisation is most of what it keeps.
    pub(crate) fn tidy(&self, status: ExitStatus) {
        if !status.success() {
            self.discard();
            return;
        }
        let mut prefix = self.name.clone();
        prefix.push(".");
        for entry in fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let own = name.as_encoded_bytes().starts_with(prefix.as_encoded_bytes());
            if own && Path::new(&name).extension().is_some_and(|extension| extension == "bc") {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Removes what an earlier compilation of the same executable left.
    fn discard(&self) {
        if let Ok(text) = fs::read_to_string(self.file(COMMAND)) {
            for folder in temporary_folders(&text, &self.directory) {
                let _ = fs::remove_dir_all(folder);
            }
        }
        let _ = fs::remove_dir_all(self.file("nbench-tmp"));
        let _ = fs::remove_file(self.file(COMMAND));
        let _ = fs::remove_file(self.file(PLACE));
    }
}

/// The file of that extension beside an executable. Its name may contain dots that are no
/// extension.
pub(crate) fn beside(executable: &OsStr, extension: &str) -> OsString {
    let mut name = executable.to_owned();
    name.push(".");
    name.push(extension);
    name
}

/// Folders that rustc made in `directory` for one call of the linker, from that call.
fn temporary_folders(command: &str, directory: &Path) -> Vec<PathBuf> {
    let inside = format!("{}/", directory.display());
    let mut found: Vec<PathBuf> = command
        .match_indices(&inside)
        .filter_map(|(at, _)| {
            let rest = &command[at + inside.len()..];
            let end = rest.find(['/', '"'])?;
            let (folder, after) = rest.split_at(end);
            (folder.starts_with("rustc") && after.starts_with('/')).then(|| directory.join(folder))
        })
        .collect();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    use super::{Capture, temporary_folders};

    fn of(line: &str) -> Option<(PathBuf, String)> {
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let capture = Capture::of(&arguments)?;
        Some((capture.directory, capture.name.into_string().unwrap()))
    }

    #[test]
    fn linked_executables_are_kept_and_nothing_else() {
        let bench = "--crate-name work --edition=2021 benches/work.rs \
                     --emit=dep-info,link --cfg test -C opt-level=3 -C metadata=1f -C extra-filename=-2e \
                     --out-dir /t/release/deps";
        assert_eq!(of(bench), Some(("/t/release/deps".into(), "work-2e".into())));
        assert!(of(&bench.replace("--cfg test", "--crate-type bin")).is_some());
        for (from, to) in [
            ("--cfg test", "--crate-type lib"),
            ("--cfg test", "--crate-type proc-macro"),
            ("--cfg test", "--test"),
            ("dep-info,link", "dep-info,metadata"),
            ("--crate-name work", "--crate-name build_script_build"),
            ("--out-dir /t/release/deps", "-o x"),
        ] {
            assert_eq!(of(&bench.replace(from, to)), None, "{to}");
        }
        assert_eq!(of("-vV"), None);
    }

    #[test]
    fn only_the_compilers_own_folders_are_found_in_an_old_command() {
        let command = r#""cc" "/t/deps/rustcAb1/symbols.o" "/t/deps/work-2e.0.rcgu.o" "-L" "/t/deps/rustcAb1/raw-dylibs" "/u/rustcX/a.o" "/t/deps/rustc.o""#;
        assert_eq!(
            temporary_folders(command, Path::new("/t/deps")),
            [PathBuf::from("/t/deps/rustcAb1")]
        );
    }
}
