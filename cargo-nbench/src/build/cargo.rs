//! What cargo knows of a workspace: its bench targets, which of them are asked
//! for, and why the others are left out. It must not know revisions, and it
//! never runs what it builds.

mod build;
mod command;
mod environment;
mod features;
mod in_place;
mod marker;
mod mirror;
mod reach;
mod sources;
mod stand_in;
mod unknown;
mod words;

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use build::names_harness;
pub use build::{
    BuildNote, BuiltTarget, Executable, FailedTarget, Harness, build, build_each, failure,
};
use cargo_metadata::{Metadata, Package, PackageId, TargetKind};
pub use command::{BuildContext, configuration_of_checkout, resolve_toolchain};
pub(crate) use command::{configuration_file, no_workspace as missing_workspace};
pub(crate) use environment::maybe_answer;
use glob::Pattern;
pub(crate) use in_place::load;
use mirror::Mirror;
use nbench_templates::lines::{Line, Skipped};
use sha2::{Digest as _, Sha256};
pub(crate) use sources::{Sources, normal};
use stand_in::{Injection, WantedHarness};
pub use unknown::refuse_unknown;
pub use words::{Words, quoted};

use crate::build::error::BuildError;
use crate::failure::Failure;

/// Directory below the target directory of a working tree for builds with stand-ins, which would
/// otherwise make the user's own next build compile again what both share.
const OWN_TARGET: &str = "nbench";

/// The flags of cargo that decide what is built, as the user gave them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuildOptions {
    /// `-p`: names, `name@version`, or patterns with `*` and `?`.
    pub packages: Vec<String>,
    /// `--workspace`.
    pub workspace: bool,
    /// `--exclude`, with `--workspace`.
    pub exclude: Vec<String>,
    /// `--bench`: names of bench targets or patterns; empty means all.
    pub benches: Vec<String>,
    /// `--features`, each possibly a list.
    pub features: Vec<String>,
    /// `--all-features`.
    pub all_features: bool,
    /// `--no-default-features`.
    pub no_default_features: bool,
    /// `--profile`.
    pub profile: Option<String>,
    /// `--target`.
    pub target: Option<String>,
    /// `--target-dir`, unless the context has one.
    pub target_dir: Option<PathBuf>,
    /// Whether criterion suites are measured with their own runner: they are built as they are.
    pub criterion_runner: bool,
    /// `--manifest-path`.
    pub manifest_path: Option<PathBuf>,
    /// `--locked`.
    pub locked: bool,
    /// `--offline`.
    pub offline: bool,
    /// `--frozen`.
    pub frozen: bool,
    /// `-j`.
    pub jobs: Option<String>,
    /// `--config`.
    pub config: Vec<String>,
    /// All of these as they were typed, for commands that the user may run.
    pub words: Words,
}

impl BuildOptions {
    /// The same flags for a checkout: a manifest under `root` becomes the one
    /// at the same place under `checkout`. `current` is where the user stands.
    #[must_use]
    pub fn relocated(&self, current: &Path, root: &Path, checkout: &Path) -> Self {
        let mut options = self.clone();
        if let Some(manifest) = &self.manifest_path {
            let manifest = current.join(manifest);
            let manifest = manifest.canonicalize().unwrap_or(manifest);
            options.manifest_path = Some(
                manifest.strip_prefix(root).map_or_else(|_| manifest.clone(), |p| checkout.join(p)),
            );
        }
        options
    }

    fn feature_arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        for feature in &self.features {
            arguments.extend(["--features".to_owned(), feature.clone()]);
        }
        if self.all_features {
            arguments.push("--all-features".to_owned());
        }
        if self.no_default_features {
            arguments.push("--no-default-features".to_owned());
        }
        arguments
    }

    /// The flags that hold for every command of cargo.
    fn shared_arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        for (flag, set) in
            [("--locked", self.locked), ("--offline", self.offline), ("--frozen", self.frozen)]
        {
            if set {
                arguments.push(flag.to_owned());
            }
        }
        for config in &self.config {
            arguments.extend(["--config".to_owned(), config.clone()]);
        }
        arguments
    }
}

/// A workspace as `cargo metadata` describes it.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// The directory of the workspace's manifest and lock file.
    pub root: PathBuf,
    /// Where cargo would build without `--target-dir`.
    pub target_directory: PathBuf,
    metadata: Metadata,
    /// The manifest that cargo started from.
    manifest: Option<PathBuf>,
    /// Stand-ins of harnesses that are not ours.
    injection: Injection,
    /// Whether real harnesses are wanted, and nothing stands in for them.
    as_it_is: bool,
    /// Where cargo has a lock file of ours instead of the user's.
    mirror: Option<Arc<Mirror>>,
}

impl Workspace {
    /// Whether stand-ins are built in place of other harnesses.
    #[must_use]
    pub fn has_stand_ins(&self) -> bool {
        !self.injection.is_empty()
    }

    /// How the working tree itself is built: with stand-ins, in a mirror, or where the target
    /// directory may be shared, in a target directory of its own, and with the lints that a
    /// bench target has denied for the real harness as warnings.
    #[must_use]
    pub fn in_place<'a>(&self, dir: &'a Path, options: &BuildOptions) -> BuildContext<'a> {
        let target = options.target_dir.as_ref().unwrap_or(&self.target_directory);
        let own = own_target(target, &self.root);
        let needed = self.has_stand_ins() || self.mirror.is_some() || own.is_shared;
        BuildContext {
            cap_lints: self.has_stand_ins(),
            target_dir: needed.then_some(own.path),
            mirror: self.mirror.clone(),
            ..BuildContext::new(dir)
        }
    }

    /// The directory of the lock file that cargo uses.
    pub(crate) fn lock_directory(&self) -> PathBuf {
        self.mirror.as_ref().map_or_else(|| self.root.clone(), |mirror| mirror.inside(&self.root))
    }

    /// A variable of cargo's with the user's own paths.
    fn outside_value(&self, value: OsString) -> OsString {
        match (&self.mirror, value.to_str()) {
            (Some(mirror), Some(text)) => mirror.outside_text(text).into(),
            _ => value,
        }
    }

    /// Path in the user's tree that one of cargo's means.
    fn outside(&self, path: &Path) -> PathBuf {
        self.mirror.as_ref().map_or_else(|| path.to_owned(), |mirror| mirror.outside(path))
    }

    /// Whether a target can reach criterion, under whatever name, real or not.
    #[must_use]
    pub fn reaches_criterion(&self, target: &BenchTarget) -> bool {
        reach::harnesses(&self.metadata)
            .into_iter()
            .filter(|(package, _)| package.repr == target.package_id)
            .any(|(_, names)| names.iter().any(|name| reach::is_criterion(name)))
    }

    /// A package of the graph, member or dependency.
    pub(crate) fn package(&self, id: &PackageId) -> Option<&Package> {
        self.metadata.packages.iter().find(|package| package.id == *id)
    }

    /// The member called `name`.
    pub(crate) fn member(&self, name: &str) -> Option<&Package> {
        self.members().into_iter().find(|package| package.name.as_str() == name)
    }

    /// The packages of the workspace.
    pub(crate) fn members(&self) -> Vec<&Package> {
        self.metadata.workspace_members.iter().filter_map(|id| self.package(id)).collect()
    }
}

/// Where builds of a working tree go that must not meet others.
struct OwnTarget {
    path: PathBuf,
    /// Whether other checkouts may build in the user's target directory too. Cargo tells packages
    /// by their place in a workspace and files by their times, so it takes the code of another
    /// checkout for this one's.
    is_shared: bool,
}

/// The directory for builds of the workspace at `root` below its target directory.
fn own_target(target: &Path, root: &Path) -> OwnTarget {
    let target = std::path::absolute(target).unwrap_or_else(|_| target.to_owned());
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (root, own) = (whole(root), target.join(OWN_TARGET));
    if whole(&target).starts_with(&root) {
        return OwnTarget { path: own, is_shared: false };
    }
    let digest = Sha256::digest(root.as_os_str().as_encoded_bytes());
    let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    OwnTarget { path: own.join(name), is_shared: true }
}

/// One bench target of one package.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BenchTarget {
    /// Name of the package.
    pub package: String,
    /// Cargo's identifier of the package.
    pub package_id: String,
    /// Name of the target.
    pub target: String,
    /// The directory of the package's manifest, where its benchmarks run.
    pub manifest_dir: PathBuf,
    /// Version of the package.
    pub version: String,
    /// Features without which cargo does not build the target.
    pub required_features: Vec<String>,
}

/// Outcome of selecting a bench target or of a request for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selected {
    /// To be built.
    Bench(BenchTarget),
    /// Left out.
    Skipped {
        /// Name of the package.
        package: String,
        /// Name of the target, empty when the package itself is missing.
        target: String,
        /// Why.
        reason: SkipReason,
    },
}

/// Reason why a bench target is left out; `Display` gives it as a fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// Cargo builds its package from another directory, or when it is named.
    Elsewhere {
        /// Name of the package.
        package: String,
    },
    /// It lacks something, as this fragment says.
    Lacking(String),
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SkipReason::Elsewhere { package } => {
                write!(f, "cargo does not build its package from here: add `-p {package}`")
            }
            SkipReason::Lacking(what) => f.write_str(what),
        }
    }
}

/// The line of a bench target that is left out.
pub fn skipped_line(package: String, target: String, reason: &SkipReason) -> Line {
    let is_elsewhere = matches!(reason, SkipReason::Elsewhere { .. });
    Line::Skipped(Skipped { package, target, reason: reason.to_string(), is_elsewhere })
}

/// Reads the workspace of a side with its toolchain and configuration. Other harnesses of the
/// workspace are replaced by stand-ins wherever cargo takes them.
///
/// # Errors
///
/// A build failure with cargo's message.
pub fn load_in(context: &BuildContext<'_>, options: &BuildOptions) -> Result<Workspace, Failure> {
    let (wanted, refusal) = match injected(context, options, true)? {
        Ok(workspace) => return Ok(workspace),
        Err(refused) => refused,
    };
    let refused = Injection::refused(&wanted, &refusal);
    let metadata = metadata(context, options, &refused)?;
    Ok(workspace(context, options, metadata, refused))
}

/// The workspace with its stand-ins; where cargo takes none, which were wanted and why it does not.
/// Without `may_patch` only in the way that leaves the lock file alone.
fn injected(
    context: &BuildContext<'_>,
    options: &BuildOptions,
    may_patch: bool,
) -> Result<Result<Workspace, (BTreeSet<WantedHarness>, String)>, Failure> {
    let mut wanted = stand_in::locked(context, options);
    let mut refusal = None;
    loop {
        let mut ways = vec![Injection::by_paths as fn(&_) -> _];
        if may_patch {
            ways.push(Injection::by_patch);
        }
        if stand_in::has_several_versions(&wanted) {
            ways.reverse();
            if !may_patch {
                ways.clear();
            }
        }
        let mut unknown = BTreeSet::new();
        for way in ways {
            let injection = way(&wanted)?;
            match metadata(context, options, &injection) {
                Ok(metadata) => {
                    let real = injection.real(&metadata);
                    if real.is_empty() {
                        return Ok(Ok(workspace(context, options, metadata, injection)));
                    }
                    unknown.extend(real);
                    unknown.retain(|one| !wanted.contains(one));
                    if !unknown.is_empty() {
                        break;
                    }
                }
                Err(failure) if wanted.is_empty() => return Err(failure),
                Err(failure) => {
                    refusal.get_or_insert(first_error(&failure.error));
                }
            }
        }
        if unknown.is_empty() {
            break;
        }
        // The lock file was not there, or older than the manifests.
        wanted.extend(unknown);
    }
    let refusal = refusal.unwrap_or_else(|| "cargo keeps the real one".to_owned());
    Ok(Err((wanted, refusal)))
}

/// Like [`load_in`] with real harnesses.
///
/// # Errors
///
/// As for [`load`].
pub fn load_as_it_is(
    context: &BuildContext<'_>,
    options: &BuildOptions,
) -> Result<Workspace, Failure> {
    let nothing = Injection::default();
    let metadata = metadata(context, options, &nothing)?;
    Ok(Workspace { as_it_is: true, ..workspace(context, options, metadata, nothing) })
}

/// Package that cargo could not resolve, as precisely as it says.
fn first_error(message: &str) -> String {
    // Versions may be listed at length before the conflict itself.
    let conflict = message.lines().find(|line| line.starts_with("package `"));
    let error = || message.lines().find_map(|line| Some(line.split_once("error: ")?.1));
    conflict.or_else(error).unwrap_or(message).trim().to_owned()
}

fn metadata(
    context: &BuildContext<'_>,
    options: &BuildOptions,
    injection: &Injection,
) -> Result<Metadata, Failure> {
    let run = |features: Vec<String>| {
        let mut command = context.cargo("metadata");
        command.args(["--format-version", "1"]).args(features);
        command.args(injection.shared_arguments(options));
        if let Some(manifest) = &options.manifest_path {
            command.arg("--manifest-path").arg(manifest);
        }
        let output = command::output(&mut command, &options.words);
        output.map_err(|failure| Failure { error: context.outside_text(&failure.error), ..failure })
    };
    // A feature that the members lack is reported where it matters, by the
    // build of the selected packages.
    let features = options.feature_arguments();
    let output = match run(features.clone()) {
        Err(failure) if features.is_empty() => return Err(failure),
        Err(_) => run(Vec::new())?,
        Ok(output) => output,
    };
    parsed(&output)
}

/// Output of `cargo metadata`.
fn parsed(output: &[u8]) -> Result<Metadata, Failure> {
    serde_json::from_slice(output).map_err(|error| BuildError::StrangeMetadata(error).into())
}

fn workspace(
    context: &BuildContext<'_>,
    options: &BuildOptions,
    metadata: Metadata,
    injection: Injection,
) -> Workspace {
    let root = metadata.workspace_root.as_std_path();
    Workspace {
        root: context.mirror.as_ref().map_or_else(|| root.to_owned(), |m| m.outside(root)),
        target_directory: metadata.target_directory.clone().into_std_path_buf(),
        manifest: start_manifest(context.dir, options).map(|path| match &context.mirror {
            Some(mirror) => mirror.outside(&path),
            None => path,
        }),
        metadata,
        injection,
        as_it_is: false,
        mirror: context.mirror.clone(),
    }
}

/// The manifest that cargo starts from in `dir`.
fn start_manifest(dir: &Path, options: &BuildOptions) -> Option<PathBuf> {
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let start = options.manifest_path.clone().or_else(|| {
        let manifests = dir.ancestors().map(|directory| directory.join("Cargo.toml"));
        manifests.into_iter().find(|path| path.is_file())
    })?;
    let path = dir.join(start);
    // In a mirror every manifest is a link, or lies behind one.
    Some(path.canonicalize().unwrap_or(path))
}

/// Every bench target of the selected packages, each to be built or with the
/// reason why not. Sorted by package and target.
pub fn select(workspace: &Workspace, options: &BuildOptions) -> Vec<Selected> {
    let (packages, mut selected) = packages(workspace, options);
    let harnesses = reach::harnesses(&workspace.metadata);
    for package in packages {
        let enabled = features::enabled(package, options);
        let reached = harnesses.get(&package.id).cloned().unwrap_or_default();
        let own_main = reach::without_built_in_harness(package);
        for target in &package.targets {
            if !target.kind.contains(&TargetKind::Bench) {
                continue;
            }
            let skipped = |reason: String| Selected::Skipped {
                package: package.name.to_string(),
                target: target.name.clone(),
                reason: SkipReason::Lacking(reason),
            };
            let missing: Vec<&str> = target
                .required_features
                .iter()
                .filter(|feature| !enabled.contains(feature.as_str()))
                .map(String::as_str)
                .collect();
            let named = options.benches.is_empty()
                || options.benches.iter().any(|pattern| matches(pattern, &target.name));
            if !named {
                // What the user did not name is no news.
                continue;
            }
            let built_in = own_main.as_ref().is_some_and(|own| !own.contains(&target.name));
            let refused = || {
                let reasons = reached.iter().map(|name| workspace.injection.refusal(name));
                let reason = reasons.collect::<Option<Vec<_>>>()?.into_iter().next()?;
                Some((reached.first()?, reason))
            };
            selected.push(if built_in {
                skipped(reach::built_in_harness(target.src_path.as_std_path()))
            } else if !missing.is_empty() {
                let missing = missing.join(",");
                skipped(format!("it needs features: add `--features {missing}`"))
            } else if reached.is_empty() {
                skipped(reach::missing_harness(package))
            } else if let Some((name, why)) = refused() {
                skipped(format!("nothing can stand in for `{name}` here: {why}"))
            } else {
                Selected::Bench(BenchTarget {
                    package: package.name.to_string(),
                    package_id: package.id.repr.clone(),
                    target: target.name.clone(),
                    manifest_dir: workspace.outside(&directory(package)),
                    version: package.version.to_string(),
                    required_features: target.required_features.clone(),
                })
            });
        }
    }
    if selected.is_empty() && !options.workspace && options.packages.is_empty() {
        selected.extend(elsewhere(workspace, &harnesses, options));
    }
    selected.sort_by(|a, b| key(a).cmp(&key(b)));
    selected
}

/// The targets of members that cargo does not build by default, for a workspace that keeps its
/// benchmarks in a package of their own.
fn elsewhere(
    workspace: &Workspace,
    harnesses: &HashMap<PackageId, BTreeSet<String>>,
    options: &BuildOptions,
) -> Vec<Selected> {
    let mut left_out = Vec::new();
    for package in workspace.members() {
        if harnesses.get(&package.id).is_none_or(BTreeSet::is_empty) {
            continue;
        }
        let named = |name: &str| {
            options.benches.is_empty() || options.benches.iter().any(|p| matches(p, name))
        };
        let own_main = reach::without_built_in_harness(package).unwrap_or_default();
        let targets = package.targets.iter().filter(|t| t.kind.contains(&TargetKind::Bench));
        left_out.extend(targets.filter(|t| own_main.contains(&t.name) && named(&t.name)).map(
            |target| Selected::Skipped {
                package: package.name.to_string(),
                target: target.name.clone(),
                reason: SkipReason::Elsewhere { package: package.name.to_string() },
            },
        ));
    }
    left_out
}

fn key(selected: &Selected) -> (&str, &str) {
    match selected {
        Selected::Bench(bench) => (&bench.package, &bench.target),
        Selected::Skipped { package, target, .. } => (package, target),
    }
}

pub(crate) fn directory(package: &Package) -> PathBuf {
    let manifest = package.manifest_path.as_std_path();
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// The packages that cargo would take, and a skip for each name it would miss.
fn packages<'w>(
    workspace: &'w Workspace,
    options: &BuildOptions,
) -> (Vec<&'w Package>, Vec<Selected>) {
    let members = workspace.members();
    if options.workspace {
        let kept = members
            .into_iter()
            .filter(|package| !options.exclude.iter().any(|pattern| specifies(pattern, package)));
        return (kept.collect(), Vec::new());
    }
    if !options.packages.is_empty() {
        let missing = options
            .packages
            .iter()
            .filter(|pattern| !members.iter().any(|package| specifies(pattern, package)))
            .map(|pattern| Selected::Skipped {
                package: pattern.clone(),
                target: String::new(),
                reason: SkipReason::Lacking("the workspace has no such package".to_owned()),
            })
            .collect();
        let kept = members
            .into_iter()
            .filter(|package| options.packages.iter().any(|pattern| specifies(pattern, package)));
        return (kept.collect(), missing);
    }
    // Without a choice: the package one stands in, else the default members.
    let root = workspace.root.join("Cargo.toml");
    let here = members.iter().find(|package| {
        let manifest = workspace.outside(package.manifest_path.as_std_path());
        manifest != root && workspace.manifest == Some(manifest)
    });
    if let Some(package) = here {
        return (vec![package], Vec::new());
    }
    let defaults = &workspace.metadata.workspace_default_members;
    if defaults.is_missing() {
        return (members, Vec::new());
    }
    (defaults.iter().filter_map(|id| workspace.package(id)).collect(), Vec::new())
}

/// Whether a `-p` argument means this package.
fn specifies(pattern: &str, package: &Package) -> bool {
    let (name, version) = match pattern.split_once(['@', ':']) {
        Some((name, version)) if !version.starts_with("//") => (name, Some(version)),
        _ => (pattern, None),
    };
    let version_matches = version.is_none_or(|version| {
        let whole = package.version.to_string();
        whole == version || whole.starts_with(&format!("{version}."))
    });
    (matches(name, package.name.as_str()) && version_matches) || package.id.repr == pattern
}

/// Whether cargo would take `text` for `pattern`: `*` for any text, `?` for one character, `[ab]`
/// and `[!ab]` for one of some. What is no pattern, which cargo refuses, means nothing but itself.
fn matches(pattern: &str, text: &str) -> bool {
    Pattern::new(pattern).map_or(pattern == text, |pattern| pattern.matches(text))
}

#[cfg(test)]
mod tests;
