//! Stand-ins for other harnesses, written to disk as packages. It does not know cargo.

use crate::failure::{Exit, Failure};
use std::fs;
use std::path::{Path, PathBuf};

const NAMES: [&str; 3] = ["criterion", "codspeed-criterion-compat", "criterion2"];

/// One.
pub struct StandIn(String);

impl StandIn {
    /// Files.
    pub fn package_files(&self, version: &str) -> Vec<(String, String)> {
        vec![(self.0.clone(), version.to_owned())]
    }
}

/// Whether there is a stand-in for a package of this name.
pub fn find(package: &str) -> Option<StandIn> {
    NAMES.contains(&package).then(|| StandIn(package.to_owned()))
}

/// Writes the stand-in for `package` at `version` below `dir`.
///
/// # Errors
/// When the directory cannot be written to.
pub fn materialise(dir: &Path, package: &str, version: &str) -> Result<PathBuf, Failure> {
    let root = dir.join(package);
    let failure = |error: std::io::Error| {
        Failure::new(Exit::Host, format!("cannot write `{}`: {error}", root.display()))
    };
    fs::create_dir_all(root.join("src")).map_err(failure)?;
    let manifest = format!(
        "[package]\nname = \"{package}\"\nversion = \"{version}\"\nedition = \"2021\"\n[features]\ndefault = []\nhtml_reports=[]\n"
    );
    fs::write(root.join("Cargo.toml"), manifest).map_err(failure)?;
    fs::write(root.join("src/lib.rs"), "").map_err(failure)?;
    Ok(root)
}
