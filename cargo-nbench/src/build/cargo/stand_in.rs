//! Makes cargo take stand-ins for the harnesses of a workspace, by its configuration alone: neither
//! a manifest nor the sources change. It does not know what stand-ins are made of.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::Metadata;
use sha2::{Digest as _, Sha256};
use toml::{Table, Value};

use super::BuildOptions;
use super::command::{self, BuildContext};
use crate::cache;
use crate::failure::Failure;
use crate::foreign::dropin;

/// A harness that a workspace uses, as its lock file or its graph names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WantedHarness {
    package: String,
    version: String,
    /// Where the real one comes from, as cargo writes it; empty for a directory.
    source: String,
}

/// A stand-in on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlacedStandIn {
    /// The package that it stands in for.
    pub(crate) package: String,
    /// Its own directory.
    pub(crate) root: PathBuf,
}

/// How the stand-ins of one workspace are given to cargo.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Injection {
    stand_ins: Vec<PlacedStandIn>,
    arguments: Vec<String>,
    /// Whether cargo has to write the lock file for it.
    changes_lock: bool,
    /// Harnesses that keep their real package, with the reason.
    refused: BTreeMap<String, String>,
}

impl Injection {
    /// By overriding paths, which leaves the lock file alone. Of several versions all users of a
    /// package get the newest one.
    pub(super) fn by_paths(wanted: &BTreeSet<WantedHarness>) -> Result<Self, Failure> {
        let mut newest: BTreeMap<&str, &WantedHarness> = BTreeMap::new();
        for one in wanted {
            let known = newest.entry(&one.package).or_insert(one);
            if version(&one.version) > version(&known.version) {
                *known = one;
            }
        }
        let stand_ins = newest.into_values().map(materialise).collect::<Result<Vec<_>, _>>()?;
        if stand_ins.is_empty() {
            return Ok(Self::default());
        }
        let paths = stand_ins.iter().map(|s| Value::String(s.root.display().to_string())).collect();
        let arguments = vec!["--config".to_owned(), format!("paths={}", Value::Array(paths))];
        Ok(Self { stand_ins, arguments, ..Self::default() })
    }

    /// By patching each version, for what overriding cannot express. Cargo writes that into the
    /// lock file.
    pub(super) fn by_patch(wanted: &BTreeSet<WantedHarness>) -> Result<Self, Failure> {
        let mut made = Self { changes_lock: true, ..Self::default() };
        for (number, one) in wanted.iter().enumerate() {
            let stand_in = materialise(one)?;
            let place = match one.source.strip_prefix("git+") {
                None => "crates-io".to_owned(),
                Some(git) => {
                    let url = git.split(['?', '#']).next().unwrap_or(git);
                    Value::String(url.to_owned()).to_string()
                }
            };
            let value = |text: &str| Value::String(text.to_owned()).to_string();
            let path = stand_in.root.display().to_string();
            // A user's own patch of the same key gives way; with several versions keys must differ.
            let alone = wanted.iter().filter(|other| other.package == one.package).count() == 1;
            let key = if alone { one.package.clone() } else { format!("{}-{number}", one.package) };
            for (name, text) in [("package", one.package.as_str()), ("path", path.as_str())] {
                made.arguments.push("--config".to_owned());
                made.arguments.push(format!("patch.{place}.{key}.{name}={}", value(text)));
            }
            made.stand_ins.push(stand_in);
        }
        Ok(made)
    }

    /// None, because cargo takes none.
    pub(super) fn refused(wanted: &BTreeSet<WantedHarness>, reason: &str) -> Self {
        let refused = wanted.iter().map(|one| (one.package.clone(), reason.to_owned())).collect();
        Self { refused, ..Self::default() }
    }

    /// Harnesses of the graph that are still the real ones; members of the workspace are at home.
    pub(super) fn real(&self, metadata: &Metadata) -> BTreeSet<WantedHarness> {
        metadata
            .packages
            .iter()
            .filter(|package| is_known(package.name.as_str()))
            .filter(|package| !metadata.workspace_members.contains(&package.id))
            .filter(|package| !self.made(package.manifest_path.as_std_path()))
            .map(|package| WantedHarness {
                package: package.name.to_string(),
                version: package.version.to_string(),
                source: package.source.as_ref().map(|s| s.repr.clone()).unwrap_or_default(),
            })
            .collect()
    }

    /// Whether a manifest is that of a stand-in.
    pub(super) fn made(&self, manifest: &Path) -> bool {
        self.stand_ins.iter().any(|stand_in| manifest.starts_with(&stand_in.root))
    }

    /// Whether anything is to be given to cargo.
    pub(crate) fn is_empty(&self) -> bool {
        self.stand_ins.is_empty()
    }

    /// Whether an executable's harness of that name is a stand-in.
    pub(super) fn stands_in_for(&self, package: &str) -> bool {
        self.stand_ins.iter().any(|stand_in| stand_in.package == package)
    }

    /// Why a harness keeps its real package.
    pub(super) fn refusal(&self, package: &str) -> Option<&str> {
        self.refused.get(package).map(String::as_str)
    }

    /// The user's flags that hold for every command of cargo, and the stand-ins.
    pub(super) fn shared_arguments(&self, options: &BuildOptions) -> Vec<String> {
        let options = if self.changes_lock {
            let offline = options.offline || options.frozen;
            BuildOptions { locked: false, frozen: false, offline, ..options.clone() }
        } else {
            options.clone()
        };
        let mut arguments = options.shared_arguments();
        arguments.extend(self.arguments.iter().cloned());
        arguments
    }
}

/// Writes a stand-in into the cache, in a directory that its content names: what is found there was
/// written by a program that would write the same.
fn materialise(wanted: &WantedHarness) -> Result<PlacedStandIn, Failure> {
    let mut hash = Sha256::new();
    let found = dropin::find(&wanted.package);
    for (path, text) in found.map(|s| s.package_files(&wanted.version)).unwrap_or_default() {
        for part in [path, text] {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            hash.update(part);
        }
    }
    let digest: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let directory = cache::open_outside_of_workspace()?.join(cache::STAND_INS).join(digest);
    let root = dropin::materialise(&directory, &wanted.package, &wanted.version)?;
    Ok(PlacedStandIn { package: wanted.package.clone(), root })
}

/// A version to be compared; one that does not parse is older than all.
fn version(text: &str) -> Option<cargo_metadata::semver::Version> {
    text.parse().ok()
}

/// Whether something can stand in for a package.
pub(super) fn is_known(package: &str) -> bool {
    dropin::find(package).is_some()
}

/// Whether there are several versions of one harness, which one stand-in cannot all be.
pub(super) fn has_several_versions(wanted: &BTreeSet<WantedHarness>) -> bool {
    let names: BTreeSet<&str> = wanted.iter().map(|one| one.package.as_str()).collect();
    names.len() < wanted.len()
}

/// The harnesses that the lock file names, so that the first look at the graph needs nothing of
/// what only the real ones depend on. Cargo makes the file when there is none.
pub(super) fn locked(
    context: &BuildContext<'_>,
    options: &BuildOptions,
) -> BTreeSet<WantedHarness> {
    let mut command = context.cargo("locate-project");
    command.args(["--workspace", "--message-format", "plain"]);
    if let Some(manifest) = &options.manifest_path {
        command.arg("--manifest-path").arg(manifest);
    }
    // Whatever is wrong here is told by the command that needs the graph.
    let Ok(output) = command::output(&mut command, &options.words) else { return BTreeSet::new() };
    let manifest = PathBuf::from(String::from_utf8_lossy(&output).trim_end());
    let lock = manifest.with_file_name("Cargo.lock");
    if !lock.exists() && !options.locked && !options.frozen {
        let mut command = context.cargo("generate-lockfile");
        command.args(options.shared_arguments()).arg("--manifest-path").arg(&manifest);
        let _ = command::output(&mut command, &options.words);
    }
    fs::read_to_string(lock).map(|text| named_in(&text)).unwrap_or_default()
}

/// Packages of a lock file that stand-ins are known for; those without a source are directories,
/// and perhaps members.
fn named_in(lock: &str) -> BTreeSet<WantedHarness> {
    let Ok(table) = lock.parse::<Table>() else { return BTreeSet::new() };
    let packages = table.get("package").and_then(Value::as_array);
    let wanted = |package: &Value| {
        let text = |key: &str| package.get(key)?.as_str().map(str::to_owned);
        let wanted = WantedHarness {
            package: text("name")?,
            version: text("version")?,
            source: text("source")?,
        };
        is_known(&wanted.package).then_some(wanted)
    };
    packages.into_iter().flatten().filter_map(wanted).collect()
}

/// Recognises, line by line, what cargo says of stand-ins because they depend on less than the
/// originals: a remark that ends with the address of a manual.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    inside: bool,
    ended: bool,
}

impl Remarks {
    /// Whether a line of cargo's belongs to such a remark.
    pub(super) fn is_about_stand_ins(&mut self, line: &str) -> bool {
        // The empty line after it is a part of it.
        let was_last = std::mem::take(&mut self.ended) && line.is_empty();
        if line.starts_with("warning: path override for crate `") {
            self.inside = true;
        } else if line.starts_with("warning:") || line.starts_with("error") {
            self.inside = false;
        } else if self.inside && line.starts_with("https://") {
            self.inside = false;
            self.ended = true;
            return true;
        }
        self.inside || was_last
    }
}

#[cfg(test)]
mod tests {
    use super::{Remarks, named_in};

    #[test]
    fn only_the_remark_on_overrides_is_left_out() {
        let lines = [
            ("warning: unused variable: `x`", false),
            ("warning: path override for crate `criterion` has altered the original list of", true),
            ("dependencies; the dependency on `anes` was removed", true),
            ("", true),
            ("https://doc.rust-lang.org/cargo/reference/overriding-dependencies.html", true),
            ("", true),
            ("", false),
            ("   Compiling x v0.1.0", false),
            ("warning: path override for crate `divan` has altered the original list of", true),
            ("error: no", false),
            ("https://doc.rust-lang.org/", false),
        ];
        let mut remarks = Remarks::default();
        for (line, expected) in lines {
            assert_eq!(remarks.is_about_stand_ins(line), expected, "{line}");
        }
    }

    #[test]
    fn harnesses_are_read_from_a_lock_file() {
        let registry = "registry+https://github.com/rust-lang/crates.io-index";
        let lock = format!(
            "version = 4\n\
             [[package]]\nname = \"criterion\"\nversion = \"0.5.1\"\nsource = \"{registry}\"\n\
             [[package]]\nname = \"criterion\"\nversion = \"0.3.6\"\nsource = \"{registry}\"\n\
             [[package]]\nname = \"criterion-plot\"\nversion = \"0.5.0\"\nsource = \"{registry}\"\n\
             [[package]]\nname = \"criterion2\"\nversion = \"1.0.0\"\n"
        );
        let found: Vec<String> =
            named_in(&lock).into_iter().map(|w| format!("{} {}", w.package, w.version)).collect();
        assert_eq!(found, ["criterion 0.3.6", "criterion 0.5.1"]);
        assert!(named_in("not a lock file").is_empty());
    }
}
