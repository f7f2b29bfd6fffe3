//! Writes the package that measures today's benchmarks against another
//! revision's library: detached from both trees, which it never edits, and of
//! the same form for every side.

mod dependency;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Package};
use dependency::Places;
use toml::{Table, Value};

use crate::build::cargo::{
    BenchTarget, BuildContext, BuildOptions, Executable, Workspace, directory,
};
use crate::build::error::BuildError;
use crate::failure::Failure;

/// Parts of an overlay.
#[derive(Clone, Copy)]
pub struct OverlaySources<'a> {
    /// The workspace that has the benchmarks.
    pub contender: &'a Workspace,
    /// The root of the contender's checkout.
    pub contender_root: &'a Path,
    /// The workspace whose library is measured; the contender's for its side.
    pub side: &'a Workspace,
    /// The root of that side's checkout.
    pub side_root: &'a Path,
    /// The package that the benchmarks belong to, in the contender.
    pub package: &'a str,
    /// Those of its bench targets that are asked for.
    pub targets: &'a [BenchTarget],
}

/// A generated package, ready to be loaded and built like any other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlay {
    /// Its manifest.
    pub manifest: PathBuf,
    /// Its name.
    pub package: String,
    /// The package of the benchmarks.
    original: String,
    /// Where the benchmarks find their files.
    home: PathBuf,
}

/// Writes the package into `out`, which is created. Files that would not
/// change are not written again, so that cargo finds them fresh.
///
/// # Errors
///
/// A build failure when the package is missing at this side, and an error of
/// the file system.
pub fn generate(sources: &OverlaySources<'_>, out: &Path) -> Result<Overlay, Failure> {
    let name = sources.package;
    let missing = |side| BuildError::NoPackage { side, package: name.to_owned() };
    let contender = sources.contender.member(name).ok_or_else(|| missing("the contender"))?;
    let side = sources.side.member(name).ok_or_else(|| missing("this revision"))?;
    let overlay = Overlay {
        manifest: out.join("Cargo.toml"),
        package: format!("nbench-overlay-{name}"),
        original: name.to_owned(),
        home: directory(contender),
    };
    let root_manifest = read_manifest(&sources.contender.root.join("Cargo.toml"))?;
    let table = manifest(sources, &overlay.package, contender, side, &root_manifest);
    fs::create_dir_all(out).map_err(|error| unwritable(out, error))?;
    write_if_changed(&overlay.manifest, table.to_string().as_bytes())?;
    // The contender's versions hold for both sides; cargo adds to the copy
    // what the other side's library needs.
    let lock = sources.contender.root.join("Cargo.lock");
    if let Ok(text) = fs::read(&lock) {
        write_if_changed(&out.join("Cargo.lock"), &text)?;
    }
    Ok(overlay)
}

impl Overlay {
    /// The user's flags for the generated package: the selection is made, and
    /// its lock file has to take up one package more.
    #[must_use]
    pub fn options(&self, options: &BuildOptions) -> BuildOptions {
        // A feature of another package would be unknown here.
        let own = |feature: &str| match feature.split_once('/') {
            Some((package, feature)) => (package == self.original).then(|| feature.to_owned()),
            None => Some(feature.to_owned()),
        };
        BuildOptions {
            packages: Vec::new(),
            workspace: false,
            exclude: Vec::new(),
            features: options
                .features
                .iter()
                .flat_map(|list| list.split([',', ' ']))
                .filter(|feature| !feature.is_empty())
                .filter_map(own)
                .collect(),
            manifest_path: Some(self.manifest.clone()),
            locked: false,
            frozen: false,
            offline: options.offline || options.frozen,
            ..options.clone()
        }
    }

    /// The side's context for the generated package. The library is not a
    /// member of its workspace, so the cap on lints must reach further.
    #[must_use]
    pub fn context<'a>(&self, context: &BuildContext<'a>) -> BuildContext<'a> {
        let mut context = context.clone();
        context.cap_all_crates = true;
        context
            .extra_env
            .extend(crate::build::lint_cap::manifest_dir_variables(&self.package, &self.home));
        context
    }

    /// The executable under its original name, in the directory where its
    /// benchmarks find their files.
    #[must_use]
    pub fn adopt(&self, mut executable: Executable) -> Executable {
        executable.target.package.clone_from(&self.original);
        executable.target.manifest_dir.clone_from(&self.home);
        executable.cwd.clone_from(&self.home);
        for (name, value) in &mut executable.env {
            match name.to_str() {
                Some("CARGO_MANIFEST_DIR") => *value = self.home.clone().into_os_string(),
                Some("CARGO_MANIFEST_PATH") => {
                    *value = self.home.join("Cargo.toml").into_os_string();
                }
                Some("CARGO_PKG_NAME") => *value = OsString::from(&self.original),
                _ => {}
            }
        }
        executable
    }
}

fn manifest(
    sources: &OverlaySources<'_>,
    name: &str,
    contender: &Package,
    side: &Package,
    root: &Table,
) -> Table {
    let places = Places {
        contender_root: sources.contender_root,
        side_root: sources.side_root,
        side_has_harness: sources.side.member("nbench").is_some(),
    };
    let mut package = Table::new();
    for (key, value) in [
        ("name", name.to_owned()),
        ("version", contender.version.to_string()),
        ("edition", contender.edition.to_string()),
    ] {
        package.insert(key.into(), Value::String(value));
    }
    package.insert("publish".into(), Value::Boolean(false));
    for key in ["autobins", "autoexamples", "autotests", "autobenches"] {
        package.insert(key.into(), Value::Boolean(false));
    }
    let mut workspace = Table::new();
    workspace.insert("resolver".into(), Value::String(resolver(root)));

    let mut table = Table::new();
    // Cargo reads profiles and patches from the root of a workspace only.
    for key in ["cargo-features", "profile", "patch", "replace"] {
        if let Some(value) = root.get(key) {
            let mut value = value.clone();
            dependency::make_paths_absolute(&mut value, &sources.contender.root, &places);
            table.insert(key.into(), value);
        }
    }
    table.insert("package".into(), Value::Table(package));
    table.insert("workspace".into(), Value::Table(workspace));
    add_dependencies(&mut table, contender, side, &places);
    table.insert("features".into(), Value::Table(features(contender, side)));
    let benches = sources.targets.iter().filter_map(|target| bench(contender, target)).collect();
    table.insert("bench".into(), Value::Array(benches));
    table
}

/// Dependencies of the benchmarks: the library itself, and all that the package
/// depends on in the contender, build scripts aside.
fn add_dependencies(table: &mut Table, contender: &Package, side: &Package, places: &Places<'_>) {
    let own = contender.name.as_str();
    let mut library = Table::new();
    library.insert("path".into(), text(&directory(side)));
    library.insert("default-features".into(), Value::Boolean(false));
    let mut library_features: Vec<Value> = Vec::new();
    for dependency in &contender.dependencies {
        // Cargo wants an optional dependency among the ordinary ones, and lets
        // benchmarks use them all.
        let kind = match dependency.kind {
            DependencyKind::Normal => "dependencies",
            DependencyKind::Development => "dev-dependencies",
            _ => continue,
        };
        if dependency.name == own && dependency.path.is_some() {
            // A package that depends on itself, to turn features on.
            let known = dependency.features.iter().filter(|f| side.features.contains_key(*f));
            library_features.extend(known.cloned().map(Value::String));
            continue;
        }
        let section = match &dependency.target {
            None => section(table, &[kind]),
            Some(platform) => section(table, &["target", &platform.to_string(), kind]),
        };
        let key = dependency.rename.clone().unwrap_or_else(|| dependency.name.clone());
        section.insert(key, Value::Table(dependency::table(dependency, places)));
    }
    if !library_features.is_empty() {
        library.insert("features".into(), Value::Array(library_features));
    }
    section(table, &["dependencies"]).insert(own.to_owned(), Value::Table(library));
}

/// The table at a path, made when absent.
fn section<'t>(table: &'t mut Table, path: &[&str]) -> &'t mut Table {
    let Some((first, rest)) = path.split_first() else { return table };
    let value = table.entry(*first).or_insert_with(|| Value::Table(Table::new()));
    if !value.is_table() {
        *value = Value::Table(Table::new());
    }
    match value {
        Value::Table(inner) => section(inner, rest),
        _ => unreachable!("the value was made a table above"),
    }
}

/// The contender's features, each turning on the library's feature of the same
/// name where the side has one.
fn features(contender: &Package, side: &Package) -> Table {
    let own = contender.name.as_str();
    let mut features: BTreeMap<String, Vec<String>> = contender.features.clone();
    if side.features.contains_key("default") {
        features.entry("default".to_owned()).or_default();
    }
    for (feature, implied) in &mut features {
        // The package's own name would be a path to itself.
        implied.retain(|name| name.split(['/', '?']).next() != Some(own));
        if side.features.contains_key(feature) {
            implied.push(format!("{own}/{feature}"));
        }
    }
    let table = features.into_iter().map(|(feature, implied)| {
        (feature, Value::Array(implied.into_iter().map(Value::String).collect()))
    });
    table.collect()
}

fn bench(contender: &Package, target: &BenchTarget) -> Option<Value> {
    let found =
        contender.targets.iter().find(|found| found.is_bench() && found.name == target.target)?;
    let mut bench = Table::new();
    bench.insert("name".into(), Value::String(target.target.clone()));
    bench.insert("path".into(), text(found.src_path.as_std_path()));
    bench.insert("harness".into(), Value::Boolean(false));
    if !target.required_features.is_empty() {
        let required = target.required_features.iter().cloned().map(Value::String);
        bench.insert("required-features".into(), Value::Array(required.collect()));
    }
    Some(Value::Table(bench))
}

/// The resolver of the workspace: written down, or implied by the edition of
/// the package at its root.
fn resolver(root: &Table) -> String {
    let of = |table: &str, key: &str| root.get(table)?.get(key)?.as_str().map(str::to_owned);
    let written = of("workspace", "resolver").or_else(|| of("package", "resolver"));
    let edition = || {
        of("package", "edition").or_else(|| {
            root.get("workspace")?.get("package")?.get("edition")?.as_str().map(str::to_owned)
        })
    };
    let is_package = root.contains_key("package");
    written.unwrap_or_else(|| {
        match edition().filter(|_| is_package).as_deref() {
            Some("2021") => "2",
            Some("2024") => "3",
            _ => "1",
        }
        .to_owned()
    })
}

fn text(path: &Path) -> Value {
    Value::String(path.display().to_string())
}

fn read_manifest(path: &Path) -> Result<Table, Failure> {
    let read = fs::read_to_string(path).map_err(|error| error.to_string());
    let parsed = read.and_then(|text| text.parse().map_err(|e: toml::de::Error| e.to_string()));
    let path = path.to_owned();
    parsed.map_err(|reason| BuildError::UnreadableManifest { path, reason }.into())
}

fn write_if_changed(path: &Path, text: &[u8]) -> Result<(), Failure> {
    if fs::read(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::write(path, text).map_err(|error| unwritable(path, error))
}

fn unwritable(path: &Path, source: std::io::Error) -> Failure {
    BuildError::NotWritten { path: path.to_owned(), source }.into()
}

#[cfg(test)]
mod tests;
