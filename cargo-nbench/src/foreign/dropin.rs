//! Stand-ins: crates of the same name as another harness, made of this harness's own sources, that
//! a suite is built against instead. It owns what they consist of and writes them into a directory;
//! it must not know cargo, nor when a stand-in is used.
//!
//! A stand-in is one package without dependencies, except for the executors a suite has asked for
//! by a feature. Its manifest is generated, so that it carries the version that the lock file
//! names.

mod criterion;
mod divan;

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use nbench::sources::{SOURCES, VERSION};

use crate::failure::{Exit, Failure};
use crate::private;

/// Parts of a stand-in, apart from its version.
#[derive(Debug)]
pub struct StandIn {
    /// The name of the package it stands in for.
    pub package: &'static str,
    /// The name of its library.
    lib: &'static str,
    /// Whether the sources of the harness belong to it.
    with_harness: bool,
    /// Whether it is a procedural macro.
    proc_macro: bool,
    /// Its own sources: path below `src`, and text.
    files: &'static [(&'static str, &'static str)],
    /// The tables of its manifest after `[lib]`, for one version.
    manifest: fn(Release) -> String,
    /// The configuration options in its sources, and whether each is set for a version.
    options: fn(Release) -> Vec<(&'static str, bool)>,
}

/// The first two numbers of a version.
type Release = (u64, u64);

/// Every stand-in there is.
pub const STAND_INS: &[StandIn] = &[
    criterion::CRITERION,
    criterion::CODSPEED,
    criterion::CRITERION2,
    divan::DIVAN,
    divan::MACROS,
    divan::CODSPEED,
    divan::CODSPEED_MACROS,
];

/// The stand-in for a package.
#[must_use]
pub fn find(package: &str) -> Option<&'static StandIn> {
    STAND_INS.iter().find(|stand_in| stand_in.package == package)
}

/// Writes the stand-in for `version` of `package` into `<dir>/<package>`, unless it is there
/// already, and returns that path. `dir` must be different for different versions of a package and
/// of this program: what is found there is taken as it is. Several processes may do this at once.
///
/// # Errors
/// When there is no stand-in for that package, or the directory cannot be written.
pub fn materialise(dir: &Path, package: &str, version: &str) -> Result<PathBuf, Failure> {
    let stand_in = find(package).ok_or_else(|| {
        Failure::new(Exit::Usage, format!("there is no stand-in for the package `{package}`"))
    })?;
    let target = dir.join(package);
    if target.join("Cargo.toml").is_file() {
        return Ok(target);
    }
    write(stand_in, version, dir, &target).map_err(|error| {
        Failure::new(
            Exit::Build,
            format!("failed to write the stand-in `{}`: {error}", target.display()),
        )
        .hint("check that the cache directory can be written and has room")
    })?;
    Ok(target)
}

/// Everything is written beside the target and then renamed, so that nobody sees half of it.
fn write(stand_in: &StandIn, version: &str, dir: &Path, target: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let draft = private::directory_in(dir, ".stand-in")?;
    for (path, text) in stand_in.package_files(version) {
        let path = draft.path().join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    match fs::rename(draft.path(), target) {
        Ok(()) => {
            // It has another name now, so there is nothing to remove.
            let _gone = draft.keep();
            Ok(())
        }
        // Another process was faster.
        Err(error)
            if matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists)
                && target.join("Cargo.toml").is_file() =>
        {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Silences the compiler, whatever version it is and whatever the user asks of it: nobody who
/// builds a stand-in can do anything about its warnings.
const QUIET: &str = "#![allow(warnings)]\n";

impl StandIn {
    /// Every file of the package for one version: path below its root, and text.
    #[must_use]
    pub fn package_files(&self, version: &str) -> Vec<(String, String)> {
        let release = release(version);
        let options = (self.options)(release);
        let harness = if self.with_harness { SOURCES } else { &[] };
        let mut files: Vec<(String, String)> = harness
            .iter()
            .chain(self.files)
            .map(|(path, text)| {
                let text = specialise(text, &options);
                let text = if *path == "lib.rs" { quieted(&text) } else { text };
                (format!("src/{path}"), text)
            })
            .collect();
        files.push(("Cargo.toml".to_owned(), self.manifest(version, release)));
        files
    }

    fn manifest(&self, version: &str, release: Release) -> String {
        let StandIn { package, lib, .. } = self;
        let proc_macro = if self.proc_macro { "proc-macro = true\n" } else { "" };
        let rest = (self.manifest)(release);
        format!(
            "[package]\nname = \"{package}\"\nversion = \"{version}\"\nedition = \"2021\"\nrust-version = \"1.81\"\n\
             description = \"Stands in for {package} {version}, by cargo-nbench.\"\npublish = false\n\
             autobins = false\nautoexamples = false\nautotests = false\nautobenches = false\n\n\
             [lib]\nname = \"{lib}\"\n{proc_macro}test = false\ndoctest = false\nbench = false\n\n\
             {rest}\n[workspace]\n"
        )
    }
}

/// The attribute stands behind the documentation of the crate.
fn quieted(root: &str) -> String {
    let documentation = root.lines().take_while(|line| line.starts_with("//!"));
    let at: usize = documentation.map(|line| line.len() + 1).sum();
    let (documentation, code) = root.split_at(at.min(root.len()));
    format!("{documentation}{QUIET}{code}")
}

/// Decides the options of a source text, and gives it the version that its own manifest does not
/// name.
fn specialise(text: &str, options: &[(&str, bool)]) -> String {
    let mut text = text.replace("env!(\"CARGO_PKG_VERSION\")", &format!("\"{VERSION}\""));
    for (option, set) in options {
        let decided = if *set { "" } else { "#[cfg(any())]" };
        text = text.replace(&format!("#[cfg({option})]"), decided);
    }
    text
}

/// Zeros where there are no numbers.
fn release(version: &str) -> Release {
    let mut numbers = version.split(['.', '-', '+']).map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests;
