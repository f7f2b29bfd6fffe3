//! Stand-ins as a user gets them: written out, built by the real compiler together with a suite,
//! and walked over the wire. It knows what a stand-in is for and no more of its inside than the
//! wire shows.

#[path = "dropin/criterion.rs"]
mod criterion;
#[path = "dropin/divan.rs"]
mod divan;
#[path = "dropin/divan_macro.rs"]
mod divan_macro;
#[path = "dropin/lints.rs"]
mod lints;
// The compiler's tokens exist in a macro only, so that the rest of the macro is left to the suites.
#[path = "../cargo-nbench/dropins/divan-macros/parse.rs"]
mod parse;
#[path = "dropin/worker.rs"]
mod worker;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cargo_nbench::foreign::dropin::materialise;
use tempfile::TempDir;

/// A package with bench targets, and the stand-in that it depends on.
struct Package {
    dir: TempDir,
}

impl Package {
    /// `dependency` is the line of the manifest for the stand-in, with `PATH` in place of its path.
    fn new(stand_in: &str, version: &str, dependency: &str, suites: &[(&str, &str)]) -> Package {
        let dir = tempfile::Builder::new().prefix("nbench-dropin").tempdir().expect("a directory");
        let path =
            materialise(&dir.path().join("stand-ins"), stand_in, version).expect("it is written");
        let dependency = dependency.replace("PATH", &path.display().to_string());
        let mut manifest = format!(
            "[package]\nname = \"suite\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n\
             [workspace]\n\n[dev-dependencies]\n{dependency}\n"
        );
        let package = Package { dir };
        for (name, source) in suites {
            manifest.push_str(&format!("\n[[bench]]\nname = \"{name}\"\nharness = false\n"));
            package.write(&format!("suite/benches/{name}.rs"), source);
        }
        package.write("suite/Cargo.toml", &manifest);
        package.write("suite/src/lib.rs", "");
        package
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().expect("a file in the directory")).expect("folders");
        fs::write(path, text).expect("the file is writable");
    }

    /// Builds the bench targets, with warnings as errors, and returns the executable of each.
    #[track_caller]
    fn build(&self) -> Vec<(String, PathBuf)> {
        let output = cargo(&self.dir.path().join("suite"))
            .args(["build", "--quiet", "--benches", "--message-format=json"])
            .env("RUSTFLAGS", "-Dwarnings")
            .output()
            .expect("cargo starts");
        assert!(output.status.success(), "{}", told(&output));
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .filter(|message| message["target"]["kind"][0] == "bench")
            .filter_map(|message| {
                let name = message["target"]["name"].as_str()?.to_owned();
                Some((name, PathBuf::from(message["executable"].as_str()?)))
            })
            .collect()
    }

    /// Builds the only bench target.
    #[track_caller]
    fn executable(&self) -> PathBuf {
        let mut built = self.build();
        assert_eq!(built.len(), 1, "{built:?}");
        built.remove(0).1
    }
}

/// Cargo in `dir`, without the network and with a target directory beside it.
fn cargo(dir: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(dir);
    for name in ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "CARGO_BUILD_TARGET", "RUSTFLAGS"] {
        command.env_remove(name);
    }
    command.env("CARGO_NET_OFFLINE", "true").env("CARGO_TERM_COLOR", "never");
    command
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
