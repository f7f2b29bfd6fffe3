//! Builds bench targets and collects their executables from cargo's messages.
//! Freshness is cargo's business: it is always asked, never second-guessed.

mod process;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use cargo_metadata::{Artifact, Message, TargetKind};
pub(crate) use process::names_harness;
use process::{Ended, follow};

use super::command::BuildContext;
use super::environment::{self, Asked, Start};
use super::marker::Mark;
use super::reach::{self, HARNESS};
use super::sources::{self, Sources};
use super::{BenchTarget, BuildOptions, Workspace, marker, stand_in};
use crate::build::error::BuildError;
use crate::failure::Failure;

/// Something to show while cargo works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildNote {
    /// A line that cargo or the compiler wrote for people.
    Line(String),
    /// A target is there, compiled now or fresh from before.
    Artifact {
        /// Name of the target.
        target: String,
        /// Whether it was there already.
        fresh: bool,
    },
}

/// How an executable was compiled, from cargo's own message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileSummary {
    /// `opt-level`: 0 to 3, `s` or `z`.
    pub opt_level: String,
    /// `debug`, as cargo writes it.
    pub debug_info: String,
    /// Whether `debug_assert!` is compiled in.
    pub debug_assertions: bool,
    /// Whether arithmetic overflow panics.
    pub overflow_checks: bool,
}

/// A bench target that is ready to run, and what cargo would give it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executable {
    /// Target that it was built from.
    pub target: BenchTarget,
    /// The executable.
    pub path: PathBuf,
    /// How it was compiled.
    pub profile: ProfileSummary,
    /// The features of its package that were on, sorted.
    pub features: Vec<String>,
    /// The harness inside it.
    pub harness: Harness,
    /// Whether cargo had nothing to do for it.
    pub fresh: bool,
    /// The variables that cargo sets for it, as cargo itself said.
    pub env: Vec<(OsString, OsString)>,
    /// Its working directory: that of its package.
    pub cwd: PathBuf,
    /// The files it was compiled from.
    pub sources: Sources,
    /// The program of the user's that starts it, and its arguments; empty when there is none.
    pub runner: Vec<OsString>,
    /// The mirror of the user's tree that it was built in. Its path may be in the code, and in
    /// ids.
    pub mirror: Option<PathBuf>,
}

/// Harness inside a bench executable. `Display` gives the text that is part of the toolchain's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Harness {
    /// Ours.
    Own {
        /// Its version.
        version: String,
    },
    /// Our stand-in of another one.
    StandIn {
        /// Package that it stands in for.
        package: String,
        /// Release of that package.
        release: String,
        /// Version of our harness in it.
        version: String,
    },
    /// The real other one, driven through its own runner.
    OwnRunner {
        /// Its package.
        package: String,
        /// Its release.
        release: String,
    },
}

impl Default for Harness {
    fn default() -> Harness {
        Harness::Own { version: String::new() }
    }
}

impl fmt::Display for Harness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Harness::Own { version } => f.write_str(version),
            Harness::StandIn { package, release, version } => {
                write!(f, "{package} {release} (stand-in of {HARNESS} {version})")
            }
            Harness::OwnRunner { package, release } => {
                write!(f, "{package} {release} (own runner)")
            }
        }
    }
}

impl Harness {
    /// The harness for people, as result lines have it.
    pub fn served_by(&self) -> String {
        match self {
            Harness::Own { version } => format!("{HARNESS} {version}"),
            Harness::StandIn { package, release, .. } => format!("{package} {release} (stand-in)"),
            Harness::OwnRunner { .. } => self.to_string(),
        }
    }
}

impl Executable {
    /// Whether it is driven through the runner of its own harness.
    pub fn has_own_runner(&self) -> bool {
        matches!(self.harness, Harness::OwnRunner { .. })
    }

    /// The harness that serves its benchmarks, for people.
    pub fn served_by(&self) -> String {
        self.harness.served_by()
    }
}

/// Outcome of building one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuiltTarget {
    /// Ready to run.
    Ready(Box<Executable>),
    /// Built, but not a benchmark of ours.
    Skipped {
        /// Name of the package.
        package: String,
        /// Name of the target.
        target: String,
        /// Why, as a fragment.
        reason: String,
    },
    /// Not built.
    Failed(FailedTarget),
}

impl BuiltTarget {
    /// The same with the files it was compiled from.
    fn from(mut self, sources: Sources) -> Self {
        if let BuiltTarget::Ready(executable) = &mut self {
            executable.sources = sources;
        }
        self
    }
}

/// A target that does not build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedTarget {
    /// Name of the package.
    pub package: String,
    /// Name of the target.
    pub target: String,
    /// The first error of the compiler or cargo, and where it points to.
    pub error: String,
    /// The last lines of the build.
    pub log: Vec<String>,
    /// Whether the user has seen these lines already.
    pub told: bool,
    /// Command that builds it without nbench.
    pub command: String,
}

impl FailedTarget {
    /// Whether it is the target itself that does not compile, and not what it is built on.
    pub fn is_its_own_fault(&self) -> bool {
        let itself = format!("(bench \"{}\")", self.target);
        let at_fault = |line: &String| line.starts_with("error: could not compile `");
        self.log.iter().any(|line| at_fault(line) && line.contains(&itself))
    }
}

/// Builds all targets together, and one by one where that fails. Stops cargo and fails when
/// `interrupted`.
///
/// # Errors
///
/// Only when cargo cannot be started, or an interruption; what does not build is a result.
pub fn build(
    workspace: &Workspace,
    targets: &[BenchTarget],
    options: &BuildOptions,
    context: &BuildContext<'_>,
    on_note: &mut dyn FnMut(BuildNote),
    interrupted: &dyn Fn() -> bool,
) -> Result<Vec<BuiltTarget>, Failure> {
    let mut built = Vec::new();
    for group in groups(workspace, targets) {
        match invoke(workspace, &group, options, context, on_note, interrupted)? {
            Ok(more) => built.extend(more),
            // What cargo says before it compiles anything is the same for each of them.
            Err(log) if group.len() == 1 || uncompiled(&log).is_none() => {
                built.extend(group.iter().map(|target| failed(target, &log, options)));
            }
            Err(_) => {
                let group: Vec<BenchTarget> = group.into_iter().cloned().collect();
                // The errors were shown; of what is compiled again only progress is news.
                let on_progress = &mut |note: BuildNote| {
                    if !matches!(&note, BuildNote::Line(_)) {
                        on_note(note);
                    }
                };
                let each =
                    build_each(workspace, &group, options, context, on_progress, interrupted);
                built.extend(each?);
            }
        }
    }
    Ok(built)
}

/// Builds the targets one by one and goes on after one that does not build.
///
/// # Errors
///
/// Only when cargo cannot be started, or an interruption.
pub fn build_each(
    workspace: &Workspace,
    targets: &[BenchTarget],
    options: &BuildOptions,
    context: &BuildContext<'_>,
    on_note: &mut dyn FnMut(BuildNote),
    interrupted: &dyn Fn() -> bool,
) -> Result<Vec<BuiltTarget>, Failure> {
    let mut built = Vec::new();
    let mut lost: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for target in targets {
        // The targets of a package need the same libraries.
        if let Some(log) = lost.get(target.package_id.as_str()) {
            built.push(failed(target, log, options));
            continue;
        }
        match invoke(workspace, &[target], options, context, on_note, interrupted)? {
            Ok(more) => built.extend(more),
            Err(log) => {
                built.push(failed(target, &log, options));
                if uncompiled(&log) == Some(Uncompiled::Library) {
                    lost.insert(&target.package_id, log);
                }
            }
        }
    }
    Ok(built)
}

/// Targets that cargo says it could not compile.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Uncompiled {
    Library,
    Other,
}

fn uncompiled(log: &[String]) -> Option<Uncompiled> {
    let line = log.iter().find(|line| line.starts_with("error: could not compile `"))?;
    Some(if line.contains("` (lib") { Uncompiled::Library } else { Uncompiled::Other })
}

fn failed(target: &BenchTarget, log: &[String], options: &BuildOptions) -> BuiltTarget {
    BuiltTarget::Failed(FailedTarget {
        package: target.package.clone(),
        target: target.target.clone(),
        error: first_error(log),
        log: log.to_vec(),
        told: true,
        command: options.words.cargo_build_of(&target.package, &target.target),
    })
}

/// Targets that one command can name. A target of the same name in another of
/// these packages, which is not asked for, would be built as well and may lack
/// its features: then every package gets a command of its own.
fn groups<'t>(workspace: &Workspace, targets: &'t [BenchTarget]) -> Vec<Vec<&'t BenchTarget>> {
    if targets.is_empty() {
        return Vec::new();
    }
    let packages: BTreeSet<&str> = targets.iter().map(|t| t.package_id.as_str()).collect();
    let names: BTreeSet<&str> = targets.iter().map(|t| t.target.as_str()).collect();
    let ambiguous = workspace
        .members()
        .into_iter()
        .filter(|package| packages.contains(package.id.repr.as_str()))
        .flat_map(|package| package.targets.iter().map(move |target| (package, target)))
        .filter(|(_, t)| t.kind.contains(&TargetKind::Bench) && names.contains(t.name.as_str()))
        .any(|(package, found)| {
            !targets.iter().any(|t| t.package_id == package.id.repr && t.target == found.name)
        });
    if !ambiguous {
        return vec![targets.iter().collect()];
    }
    let mut by_package: BTreeMap<&str, Vec<&BenchTarget>> = BTreeMap::new();
    for target in targets {
        by_package.entry(&target.package_id).or_default().push(target);
    }
    by_package.into_values().collect()
}

/// One run of cargo: what it built, or its last lines when it failed.
fn invoke(
    workspace: &Workspace,
    targets: &[&BenchTarget],
    options: &BuildOptions,
    context: &BuildContext<'_>,
    on_note: &mut dyn FnMut(BuildNote),
    interrupted: &dyn Fn() -> bool,
) -> Result<Result<Vec<BuiltTarget>, Vec<String>>, Failure> {
    let arguments = arguments(workspace, targets, options, context);
    let mut command = context.cargo("bench");
    command.args(["--no-run", "--message-format=json-render-diagnostics"]).args(&arguments);
    super::command::shown_in_colour(&mut command, context.colour);
    let mut artifacts = Vec::new();
    let on_line = &mut |line: &str| match serde_json::from_str(line) {
        Ok(Message::CompilerArtifact(artifact)) => {
            let target = artifact.target.name.clone();
            let note = BuildNote::Artifact { target, fresh: artifact.fresh };
            artifacts.push(artifact);
            Some(note)
        }
        _ => None,
    };
    let on_note = &mut |note: BuildNote| match note {
        BuildNote::Line(line) => on_note(BuildNote::Line(context.outside_text(&line))),
        note => on_note(note),
    };
    match follow(&mut command, on_line, on_note, interrupted)? {
        Ended::Asked => Err(asked(options)),
        Ended::Interrupted => Err(BuildError::Interrupted.into()),
        Ended::Failed(log) => Ok(Err(log.iter().map(|line| context.outside_text(line)).collect())),
        Ended::Done => {
            let real = real_harnesses(workspace, &artifacts);
            let found: Vec<_> = targets.iter().map(|t| (*t, artifact_of(t, &artifacts))).collect();
            let started = Started::ask(context, options, &arguments, &found)?;
            let built = found.into_iter().map(|(target, artifact)| match artifact {
                None => Ok(skipped(target, "cargo built no executable for it".to_owned())),
                Some((artifact, path)) => {
                    let sources = sources::of(workspace, &artifacts, artifact);
                    let built = executable(workspace, target, artifact, path, &started, &real)?;
                    Ok(built.from(sources))
                }
            });
            built.collect::<Result<Vec<_>, Failure>>().map(Ok)
        }
    }
}

/// Artifact of a target, and where the executable lies.
fn artifact_of<'a>(
    target: &BenchTarget,
    artifacts: &'a [Artifact],
) -> Option<(&'a Artifact, &'a Path)> {
    artifacts.iter().find_map(|artifact| {
        let is_it = artifact.package_id.repr == target.package_id
            && artifact.target.name == target.target
            && artifact.target.kind.contains(&TargetKind::Bench);
        let path = artifact.executable.as_ref().filter(|_| is_it)?;
        Some((artifact, path.as_std_path()))
    })
}

/// How the executables of one build are started.
struct Started {
    asked: Asked,
    runner: Vec<OsString>,
    /// Command that shows the same without nbench.
    command: String,
}

impl Started {
    /// Asks cargo; the reason in words where it cannot be known.
    fn ask(
        context: &BuildContext<'_>,
        options: &BuildOptions,
        arguments: &[OsString],
        found: &[(&BenchTarget, Option<(&Artifact, &Path)>)],
    ) -> Result<Result<Started, String>, Failure> {
        let paths: Vec<&Path> = found.iter().filter_map(|(_, a)| a.map(|(_, path)| path)).collect();
        let triples = environment::triples(context, &paths);
        match environment::users_runner(context, options, &triples) {
            Err(reason) => Ok(Err(reason)),
            Ok(runner) => {
                let asked = Asked::of(context, arguments, &triples)?;
                Ok(Ok(Started { asked, runner, command: options.words.cargo_bench() }))
            }
        }
    }

    fn start(&self, executable: &Path) -> Result<Start, String> {
        self.asked.start(executable).ok_or_else(|| {
            format!("cargo does not say how it would start it: `{}` shows why", self.command)
        })
    }
}

fn skipped(target: &BenchTarget, reason: String) -> BuiltTarget {
    let (package, target) = (target.package.clone(), target.target.clone());
    BuiltTarget::Skipped { package, target, reason }
}

fn arguments(
    workspace: &Workspace,
    targets: &[&BenchTarget],
    options: &BuildOptions,
    context: &BuildContext<'_>,
) -> Vec<std::ffi::OsString> {
    let mut arguments = workspace.injection.shared_arguments(options);
    arguments.extend(options.feature_arguments());
    let packages: BTreeMap<&str, String> =
        targets.iter().map(|t| (t.package_id.as_str(), specification(workspace, t))).collect();
    for specification in packages.into_values() {
        arguments.extend(["-p".to_owned(), specification]);
    }
    let names: BTreeSet<&str> = targets.iter().map(|t| t.target.as_str()).collect();
    for name in names {
        arguments.extend(["--bench".to_owned(), name.to_owned()]);
    }
    let flags =
        [("--profile", &options.profile), ("--target", &options.target), ("-j", &options.jobs)];
    for (flag, value) in flags {
        if let Some(value) = value {
            arguments.extend([flag.to_owned(), value.clone()]);
        }
    }
    let mut arguments: Vec<_> = arguments.into_iter().map(std::ffi::OsString::from).collect();
    let target_dir = context.target_dir.as_ref().or(options.target_dir.as_ref());
    for (flag, path) in
        [("--target-dir", target_dir), ("--manifest-path", options.manifest_path.as_ref())]
    {
        if let Some(path) = path {
            arguments.extend([flag.into(), path.into()]);
        }
    }
    arguments
}

/// Name of a target's package for cargo that no other one has: a package may depend on a
/// published release of itself, through others, and that may even be the same version.
fn specification(workspace: &Workspace, target: &BenchTarget) -> String {
    let namesakes = || workspace.metadata.packages.iter().filter(|p| *p.name == target.package);
    if namesakes().count() < 2 {
        target.package.clone()
    } else if namesakes().filter(|p| p.version.to_string() == target.version).count() < 2 {
        format!("{}@{}", target.package, target.version)
    } else {
        target.package_id.clone()
    }
}

fn executable(
    workspace: &Workspace,
    target: &BenchTarget,
    artifact: &Artifact,
    path: &Path,
    started: &Result<Started, String>,
    real: &BTreeMap<String, String>,
) -> Result<BuiltTarget, Failure> {
    let unread = |source| BuildError::UnreadableExecutable { path: path.to_owned(), source };
    let mark = marker::mark(path).map_err(unread)?;
    let mark = mark
        .filter(|mark| mark.package == HARNESS || workspace.injection.stands_in_for(&mark.package));
    let own = real.iter().find(|(name, _)| workspace.as_it_is && reach::is_criterion(name));
    let harness = if let Some(Mark { package, release, version }) = mark {
        if package == HARNESS {
            Harness::Own { version }
        } else {
            Harness::StandIn { package, release, version }
        }
    } else if let Some((name, version)) = own
        && marker::obeys_runner(path).map_err(unread)?
    {
        Harness::OwnRunner { package: name.clone(), release: version.clone() }
    } else {
        let reason = match real.keys().next() {
            Some(name) if workspace.as_it_is => {
                format!("the real `{name}` in it obeys no runner: criterion 0.3.3 or newer does")
            }
            Some(name) => format!("cargo linked the real `{name}` and not what stands in for it"),
            None => workspace
                .package(&artifact.package_id)
                .map_or_else(|| reach::FOREIGN_MAIN.to_owned(), reach::foreign_main),
        };
        return Ok(skipped(target, reason));
    };
    let begun = started.as_ref().map_err(Clone::clone);
    let (start, runner) = match begun.and_then(|s| Ok((s.start(path)?, s.runner.clone()))) {
        Ok(both) => both,
        Err(reason) => return Ok(skipped(target, reason)),
    };
    let mut features = artifact.features.clone();
    features.sort();
    Ok(BuiltTarget::Ready(Box::new(Executable {
        path: path.to_owned(),
        profile: ProfileSummary {
            opt_level: artifact.profile.opt_level.clone(),
            debug_info: artifact.profile.debuginfo.to_string(),
            debug_assertions: artifact.profile.debug_assertions,
            overflow_checks: artifact.profile.overflow_checks,
        },
        features,
        harness,
        fresh: artifact.fresh,
        env: start.env.into_iter().map(|(n, v)| (n, workspace.outside_value(v))).collect(),
        cwd: workspace.outside(&start.cwd),
        runner,
        mirror: workspace.mirror.as_ref().map(|mirror| mirror.base().to_owned()),
        sources: Sources::default(),
        target: target.clone(),
    })))
}

/// Real harnesses among what was built although something could stand in for them, with versions.
fn real_harnesses(workspace: &Workspace, artifacts: &[Artifact]) -> BTreeMap<String, String> {
    artifacts
        .iter()
        .filter(|artifact| !workspace.injection.made(artifact.manifest_path.as_std_path()))
        .filter(|artifact| !workspace.metadata.workspace_members.contains(&artifact.package_id))
        .filter_map(|artifact| workspace.package(&artifact.package_id))
        .filter(|package| stand_in::is_known(package.name.as_str()))
        .map(|package| (package.name.to_string(), package.version.to_string()))
        .collect()
}

/// The first sentence that says what is wrong, and the place that the compiler names after it.
fn first_error(log: &[String]) -> String {
    let Some(at) = log.iter().position(|line| line.starts_with("error")) else {
        return log.last().map_or("cargo failed without a message", |line| line.trim()).to_owned();
    };
    let error = log[at].trim();
    let sentence = error.strip_prefix("error: ").unwrap_or(error);
    let place = log.get(at + 1).and_then(|line| line.trim_start().strip_prefix("--> "));
    place.map_or_else(|| sentence.to_owned(), |place| format!("{sentence} ({})", place.trim()))
}

/// The failure of a build that left nothing to run.
pub fn failure(targets: &[FailedTarget]) -> Failure {
    let mut by_package: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for target in targets {
        by_package.entry(&target.package).or_default().push(format!("`{}`", target.target));
    }
    let named: Vec<String> = by_package
        .iter()
        .map(|(package, names)| format!("{} of package `{package}`", names.join(", ")))
        .collect();
    let untold = targets.first().filter(|target| !target.told);
    let first = targets.first().map(|target| target.error.as_str()).unwrap_or_default();
    let mut error = format!("cannot build {}: {first}", named.join(" and "));
    for line in untold.map(|target| target.log.as_slice()).unwrap_or_default() {
        error.push('\n');
        error.push_str(line);
    }
    let is_full =
        || targets.iter().flat_map(|t| &t.log).any(|line| line.contains("No space left on device"));
    let hint = if first.contains("is not supported by the following package") {
        Some("`CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS=fallback` chooses versions for this compiler where no lock file does".to_owned())
    } else if is_full() {
        Some("the file system of the build is full: `cargo nbench clean` empties the cache of checkouts, which NBENCH_CACHE_DIR moves; `--target-dir` moves the builds of `run`".to_owned())
    } else {
        let first = targets.first();
        first.map(|t| format!("`{}` tells whether it builds without nbench", t.command))
    };
    BuildError::NothingBuilt { message: error, hint }.into()
}

fn asked(options: &BuildOptions) -> Failure {
    BuildError::Asks { command: options.words.cargo_build() }.into()
}
