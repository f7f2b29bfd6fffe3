//! Which toolchain each side asks for by its toolchain file, and which one it is built with. It
//! reads those files as rustup does and installs nothing.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest as _, Sha256};

use crate::build::cargo::resolve_toolchain;
use crate::build::error::BuildError;
use crate::failure::Failure;
use crate::secrets;

/// Names of toolchain files; where a directory has both, rustup obeys the first.
const FILES: [&str; 2] = ["rust-toolchain", "rust-toolchain.toml"];

/// Toolchain that the nearest toolchain file of a checkout asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolchainRequest {
    /// Nothing: there is no file, or it names components only.
    Nothing,
    /// A channel or a version.
    Channel(String),
    /// A toolchain in a directory.
    Directory(String),
    /// A file that rustup would refuse, and why.
    Unreadable(String),
}

impl fmt::Display for ToolchainRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("no toolchain"),
            Self::Channel(channel) => write!(f, "`{channel}`"),
            Self::Directory(path) => write!(f, "the toolchain in `{path}`"),
            Self::Unreadable(reason) => write!(f, "unavailable({reason})"),
        }
    }
}

impl ToolchainRequest {
    /// Toolchain of builds in `dir`, a directory of the checkout `root`.
    pub fn of(dir: &Path, root: &Path) -> ToolchainRequest {
        let inside = dir.ancestors().take_while(|directory| directory.starts_with(root));
        for directory in inside {
            for name in FILES {
                match std::fs::read_to_string(directory.join(name)) {
                    Ok(text) => return parse(name, &text),
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                    Err(error) => {
                        return ToolchainRequest::Unreadable(format!("`{name}`: {error}"));
                    }
                }
            }
        }
        ToolchainRequest::Nothing
    }

    /// Whether a toolchain of this full name is what is asked for, as far as names tell.
    fn is_met_by(&self, toolchain: &str) -> bool {
        match self {
            ToolchainRequest::Channel(channel) => toolchain
                .strip_prefix(channel.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-')),
            ToolchainRequest::Nothing
            | ToolchainRequest::Directory(_)
            | ToolchainRequest::Unreadable(_) => true,
        }
    }
}

fn parse(name: &str, text: &str) -> ToolchainRequest {
    // The old form is one line with a name; only a file without an extension may have it.
    if name == FILES[0] && text.lines().count() == 1 && !text.trim().is_empty() {
        return ToolchainRequest::Channel(text.trim().to_owned());
    }
    let table: toml::Table = match text.parse() {
        Ok(table) => table,
        Err(_) => return ToolchainRequest::Unreadable(format!("`{name}` is no TOML")),
    };
    let Some(toolchain) = table.get("toolchain").and_then(toml::Value::as_table) else {
        return ToolchainRequest::Unreadable(format!("`{name}` has no table `toolchain`"));
    };
    let text = |key: &str| toolchain.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    match (text("channel"), text("path")) {
        (Some(channel), _) => ToolchainRequest::Channel(channel),
        (None, Some(path)) => ToolchainRequest::Directory(path),
        (None, None) => ToolchainRequest::Nothing,
    }
}

/// A toolchain to build with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Its name for rustup; nothing where there is no rustup.
    pub name: Option<String>,
    /// Its cargo, when another one may have started us.
    pub cargo: Option<PathBuf>,
}

/// How toolchains are chosen for the sides of one comparison.
#[derive(Clone, Debug)]
pub struct Toolchains {
    /// That of the directory the user stands in.
    here: Chosen,
    own: bool,
}

impl Toolchains {
    /// One for all sides, that of the user's directory, or each side's `own`.
    pub fn new(here: &Path, own: bool) -> Toolchains {
        Toolchains { here: Chosen { name: resolve_toolchain(here), cargo: None }, own }
    }

    /// Where the user stands.
    pub fn here(&self) -> &Chosen {
        &self.here
    }

    /// For builds in `dir`, a directory of a checkout.
    ///
    /// # Errors
    /// A build failure when the side's own one is not installed, or there is no rustup to ask.
    pub fn of(&self, dir: &Path) -> Result<Chosen, Failure> {
        if !self.own {
            return Ok(self.here.clone());
        }
        let name = ask(dir, &["show", "active-toolchain"])?;
        let name = name.split_whitespace().next().unwrap_or_default().to_owned();
        let cargo = ask(dir, &["which", "--toolchain", &name, "cargo"])?;
        Ok(Chosen { name: Some(name), cargo: Some(PathBuf::from(cargo.trim())) })
    }
}

/// Toolchain that `dir` itself chooses, as rustup says.
fn ask(dir: &Path, words: &[&str]) -> Result<String, Failure> {
    let mut command = Command::new("rustup");
    secrets::withhold(&mut command);
    let output = command
        .args(words)
        .current_dir(dir)
        .stdin(Stdio::null())
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("RUST_BACKTRACE")
        // A question must not fetch anything.
        .env("RUSTUP_AUTO_INSTALL", "0")
        .output()
        .map_err(BuildError::NoRustup)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(refused(&String::from_utf8_lossy(&output.stderr)))
}

/// The failure for what rustup refuses.
fn refused(message: &str) -> Failure {
    let line = message.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or(message);
    let line = line.trim();
    // Channels have no blank, and rustup quotes them first.
    let missing = line.split('\'').nth(1).filter(|_| line.contains("not installed"));
    let missing = missing.map(str::to_owned);
    BuildError::NoToolchain { message: line.to_owned(), missing }.into()
}

/// Warnings about toolchains before anything is built: labels and requests of all sides,
/// reference first.
pub fn remark(sides: &[(&str, &ToolchainRequest)], here: &Chosen, own: bool) -> Option<String> {
    let (_, first) = sides.first()?;
    let used = here.name.as_deref().unwrap_or("the installed toolchain");
    if sides.iter().any(|(_, request)| request != first) {
        let asked: Vec<String> =
            sides.iter().map(|(label, request)| format!("{label} asks for {request}")).collect();
        let asked = asked.join(", ");
        return Some(if own {
            format!("{asked}; each is built with its own toolchain")
        } else {
            format!(
                "{asked}; all are built with `{used}`, `--own-toolchains` builds each with its own"
            )
        });
    }
    (!own && !first.is_met_by(used) && here.name.is_some())
        .then(|| format!("the revisions ask for {first} and are built with `{used}`"))
}

/// The note on a comparison of sides that ask for different toolchains.
pub fn note(
    reference: &ToolchainRequest,
    contender: &ToolchainRequest,
    used: &str,
    own: bool,
) -> Option<String> {
    (reference != contender).then(|| {
        let asked = format!("the reference asks for {reference}, the contender for {contender}");
        if own {
            format!("{asked}, and each was built with its own: the change may be the compiler's")
        } else {
            format!(
                "{asked}, and both were built with `{used}`: what the compilers make of it is not in this; `--own-toolchains` builds each with its own"
            )
        }
    })
}

/// Several toolchains as one row: the row itself where they are equal, else what each label has.
pub fn together(sides: &[(String, nbench_store::Toolchain)]) -> Option<nbench_store::Toolchain> {
    let (_, first) = sides.first()?;
    if sides.iter().all(|(_, toolchain)| toolchain.key == first.key) {
        return sides.last().map(|(_, toolchain)| toolchain.clone());
    }
    let keys: Vec<&str> = sides.iter().map(|(_, toolchain)| toolchain.key.as_str()).collect();
    let digest = Sha256::digest(keys.join("\n").as_bytes());
    let summary = |(label, toolchain): &(String, nbench_store::Toolchain)| {
        format!("{} ({label})", toolchain.summary)
    };
    let components: serde_json::Map<String, serde_json::Value> = sides
        .iter()
        .map(|(label, toolchain)| {
            // Written by us a moment ago; text that is no JSON would stay readable as text.
            let value = serde_json::from_str(&toolchain.components)
                .unwrap_or_else(|_| toolchain.components.clone().into());
            (label.clone(), value)
        })
        .collect();
    Some(nbench_store::Toolchain {
        key: digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect(),
        summary: sides.iter().map(summary).collect::<Vec<_>>().join("; "),
        components: serde_json::Value::Object(components).to_string(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::failure::Exit;

    fn channel(name: &str) -> ToolchainRequest {
        ToolchainRequest::Channel(name.to_owned())
    }

    #[test]
    fn toolchain_files_as_rustup_reads_them() {
        let plain = FILES[0];
        let toml = FILES[1];
        let unreadable =
            |name: &str, what: &str| ToolchainRequest::Unreadable(format!("`{name}` {what}"));
        for (name, text, expected) in [
            (
                toml,
                "[toolchain]\nchannel = \"nightly-2026-01-02\"\n",
                channel("nightly-2026-01-02"),
            ),
            (toml, "toolchain = { channel = \"1.90\", profile = \"minimal\" }", channel("1.90")),
            (toml, "# pinned\n[toolchain]\ncomponents = [\"clippy\"]\n", ToolchainRequest::Nothing),
            (toml, "[toolchain]\npath = \"../tc\"\n", ToolchainRequest::Directory("../tc".into())),
            (toml, "1.90.0\n", unreadable(toml, "is no TOML")),
            (toml, "[other]\n", unreadable(toml, "has no table `toolchain`")),
            (plain, "1.90.0\n", channel("1.90.0")),
            (plain, "  stable  ", channel("stable")),
            (plain, "[toolchain]\nchannel = \"beta\"\n", channel("beta")),
            (plain, "", unreadable(plain, "has no table `toolchain`")),
        ] {
            assert_eq!(parse(name, text), expected, "{name}: {text}");
        }
    }

    #[test]
    fn the_nearest_file_within_the_checkout_holds() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        let inner = root.join("a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::write(directory.path().join(FILES[0]), "outside").unwrap();
        assert_eq!(ToolchainRequest::of(&inner, &root), ToolchainRequest::Nothing);
        fs::write(root.join(FILES[1]), "[toolchain]\nchannel = \"1.90\"").unwrap();
        assert_eq!(ToolchainRequest::of(&inner, &root), channel("1.90"));
        fs::write(root.join("a").join(FILES[1]), "[toolchain]\nchannel = \"beta\"").unwrap();
        fs::write(root.join("a").join(FILES[0]), "nightly").unwrap();
        assert_eq!(
            ToolchainRequest::of(&inner, &root),
            channel("nightly"),
            "the name without an ending"
        );
        assert_eq!(ToolchainRequest::of(&root, &root), channel("1.90"));
    }

    #[test]
    fn what_is_asked_for_and_what_is_used_are_told_where_they_differ() {
        let here = |name: &str| Chosen { name: Some(name.to_owned()), cargo: None };
        let (old, new, none) = (channel("1.90"), channel("stable"), ToolchainRequest::Nothing);
        let told = remark(&[("v1", &old), ("v2", &new)], &here("stable-x"), false).unwrap();
        for part in ["v1 asks for `1.90`", "v2 asks for `stable`", "`stable-x`", "--own-toolchains"]
        {
            assert!(told.contains(part), "{told}");
        }
        let told = remark(&[("v1", &none), ("v2", &new)], &here("stable-x"), true).unwrap();
        assert!(told.contains("no toolchain") && told.contains("its own"), "{told}");
        assert_eq!(remark(&[("v1", &new), ("v2", &new)], &here("stable-x"), false), None);
        assert_eq!(remark(&[("v1", &none), ("v2", &none)], &here("stable-x"), false), None);
        let told = remark(&[("v1", &old), ("v2", &old)], &here("stable-x"), false).unwrap();
        assert!(told.contains("`1.90`") && told.contains("`stable-x`"), "{told}");
        assert!(remark(&[("v1", &old), ("v2", &old)], &here("1.90-x"), false).is_none());
        assert!(
            remark(&[("v1", &channel("1.9")), ("v2", &channel("1.9"))], &here("1.90-x"), false)
                .is_some()
        );
        assert_eq!(note(&new, &new, "x", false), None);
        assert!(note(&old, &new, "stable-x", false).unwrap().contains("--own-toolchains"));
        assert!(note(&old, &new, "stable-x", true).unwrap().contains("its own"));
    }

    #[test]
    fn a_toolchain_that_is_not_installed_is_named_with_what_installs_it() {
        let message = "error: override toolchain '1.60.0-x86_64-unknown-linux-gnu' is not installed\n\nCaused by:\n  x\n";
        let failure = refused(message);
        assert_eq!(failure.exit, Exit::Build);
        let hint = failure.hint.unwrap();
        assert!(
            hint.contains("`rustup toolchain install 1.60.0-x86_64-unknown-linux-gnu`"),
            "{hint}"
        );
        assert!(!failure.error.contains("Caused"), "{}", failure.error);
        assert!(refused("error: could not parse 'x'").hint.unwrap().contains("rustup show"));
    }

    #[test]
    fn two_toolchains_make_a_row_that_has_both() {
        let row = |key: &str| nbench_store::Toolchain {
            key: key.to_owned(),
            summary: format!("rustc {key}"),
            components: format!("{{\"rustc\":\"{key}\"}}"),
        };
        let one = together(&[("v1".into(), row("a")), ("v2".into(), row("a"))]).unwrap();
        assert_eq!(one.summary, "rustc a");
        let both = together(&[("v1".into(), row("a")), ("v2".into(), row("b"))]).unwrap();
        assert_eq!(both.summary, "rustc a (v1); rustc b (v2)");
        assert_eq!(both.components, r#"{"v1":{"rustc":"a"},"v2":{"rustc":"b"}}"#);
        assert!(both.key.len() == 16 && both.key != "a" && both.key != "b");
        assert!(together(&[]).is_none());
    }
}
