//! From flags, environment and `nbench.toml` to validated settings: where the workspace is, where
//! the store is, how to measure. Nothing below sees flags.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use nbench_config::{Layer, Layouts, Preset, Settings, Source, resolve};
use nbench_engine::remote::Limits;

use crate::build::cargo::{BuildOptions, Words};
use crate::cli::args::{BuildArgs, LayoutsArg, PlanArgs, PresetArg};
use crate::failure::{Exit, Failure};
use crate::secrets;
use crate::suggest::nearest;

/// Name of the settings file in the workspace root.
pub const FILE: &str = "nbench.toml";

/// The workspace root that cargo would use, without resolving dependencies.
///
/// # Errors
/// When cargo finds no manifest, or none that it understands.
pub fn workspace_root(manifest: Option<&Path>) -> Result<PathBuf, Failure> {
    Ok(workspace(manifest)?.workspace_root.into_std_path_buf())
}

/// Package and name of every bench target of the workspace, whatever is selected.
///
/// # Errors
/// As for [`workspace_root`].
pub fn bench_targets(manifest: Option<&Path>) -> Result<BTreeSet<(String, String)>, Failure> {
    let metadata = workspace(manifest)?;
    let names = metadata.packages.iter().flat_map(|package| {
        let benches = package.targets.iter().filter(|target| target.is_bench());
        benches.map(|target| (package.name.to_string(), target.name.clone()))
    });
    Ok(names.collect())
}

fn workspace(manifest: Option<&Path>) -> Result<cargo_metadata::Metadata, Failure> {
    let mut command = cargo_metadata::MetadataCommand::new();
    for name in secrets::inherited(&secrets::is_secret) {
        command.env_remove(name);
    }
    if let Some(manifest) = manifest {
        command.manifest_path(manifest);
    }
    command.no_deps();
    command.exec().map_err(|error| no_workspace(&first_line(&error), manifest))
}

/// The directory whose repository is meant: that of the manifest, wherever the user stands.
pub fn start(here: &Path, args: &BuildArgs) -> PathBuf {
    let manifest = args.manifest_path.as_ref().map(|manifest| here.join(manifest));
    let directory = manifest.as_deref().and_then(Path::parent).filter(|place| place.is_dir());
    directory.map_or_else(|| here.to_owned(), Path::to_path_buf)
}

/// Cargo may also fail where there is a workspace, and then another place is no help.
fn no_workspace(reason: &str, manifest: Option<&Path>) -> Failure {
    if reason.starts_with("could not find `Cargo.toml`") {
        return crate::build::cargo::missing_workspace(reason);
    }
    let command = Words::of_manifest(manifest).cargo_metadata();
    Failure::new(Exit::Usage, format!("cannot read the cargo workspace: {reason}"))
        .hint(format!("`{command}` in the same directory shows the whole message"))
}

fn first_line(error: &cargo_metadata::Error) -> String {
    let text = match error {
        cargo_metadata::Error::CargoMetadata { stderr } => stderr.clone(),
        other => other.to_string(),
    };
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// Flags that are settings, as the top layer.
pub fn flag_layer(plan: &PlanArgs) -> Layer {
    Layer {
        preset: plan.preset.map(|preset| match preset {
            PresetArg::Quick => Preset::Quick,
            PresetArg::Default => Preset::Default,
            PresetArg::Thorough => Preset::Thorough,
        }),
        seed: plan.seed,
        batch_limit: plan.batch_limit,
        setup_limit: plan.setup_limit,
        ..Layer::default()
    }
}

/// The flag `--layouts` as a setting.
pub fn layouts(flag: LayoutsArg) -> Layouts {
    match flag {
        LayoutsArg::Fresh => Layouts::Fresh,
        LayoutsArg::Confirm => Layouts::Confirm,
        LayoutsArg::Off => Layouts::Off,
    }
}

/// The settings of `flags`, the environment and `nbench.toml` in `root`.
///
/// # Errors
/// For unreadable files and values that cannot be used; the setting is named.
pub fn load(root: &Path, flags: Layer) -> Result<Settings, Failure> {
    let text = file(root)?;
    let origin = root.join(FILE).display().to_string();
    merged(flags, layer(text.as_deref().unwrap_or_default(), &origin)?)
}

fn unusable(message: String) -> Failure {
    let hint = remedy(&message);
    Failure::new(Exit::Usage, message).hint(hint)
}

/// Hint on a setting that is refused, by the place that the message begins with.
fn remedy(message: &str) -> String {
    let place = message.strip_prefix('`').and_then(|rest| rest.split_once('`'));
    match place {
        Some((flag, _)) if flag.starts_with("--") => {
            format!(
                "leave out `{flag}`, or give it another value: `cargo nbench ab --help` has its default"
            )
        }
        Some((variable, _)) if variable.starts_with("NBENCH_") => {
            format!("`unset {variable}`, or give it a value as `{FILE}` would take it")
        }
        Some((file, rest)) if rest.starts_with(" line ") => {
            let line = rest.trim_start_matches(" line ").split(':').next().unwrap_or_default();
            format!(
                "change line {line} of `{file}`, or remove it: a setting that is not there has its default"
            )
        }
        Some((file, rest)) if rest.starts_with(" is not usable") => {
            format!("mend `{file}`: the README shows every setting under \"Settings\"")
        }
        _ => nbench_config::precedence_in_words().trim_end_matches('.').to_lowercase(),
    }
}

/// The text of `nbench.toml` in `root`, if there is one.
///
/// # Errors
/// When there is one that cannot be read.
pub fn file(root: &Path) -> Result<Option<String>, Failure> {
    let path = root.join(FILE);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unusable(format!("cannot read `{}`: {error}", path.display()))),
    }
}

/// The settings in the text of an `nbench.toml`; `origin` names it in errors.
///
/// # Errors
/// For text that cannot be used.
pub fn layer(text: &str, origin: &str) -> Result<Layer, Failure> {
    Layer::from_toml(text, origin).map_err(|e| unusable(e.message))
}

/// The settings of `flags`, the environment and a file.
///
/// # Errors
/// For values that cannot be used; the setting is named.
pub fn merged(flags: Layer, file: Layer) -> Result<Settings, Failure> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    if let Some(failure) = misspelt(names) {
        return Err(failure);
    }
    // What is no text cannot be any of these values and is refused as one.
    let variable = |name: &str| Some(std::env::var_os(name)?.to_string_lossy().into_owned());
    let environment = Layer::from_environment(variable).map_err(|e| unusable(e.message))?;
    let layers = [
        (Source::Flag, flags.from_flags()),
        (Source::Environment, environment),
        (Source::File, file),
    ];
    resolve(layers).map_err(|e| unusable(e.message))
}

/// Variables that users set.
const VARIABLES: [&str; 7] = [
    "NBENCH_CACHE_DIR",
    "NBENCH_CACHE_SIZE",
    "NBENCH_CONFIDENCE",
    "NBENCH_PRESET",
    "NBENCH_RUN_SEED",
    "NBENCH_STORE",
    "NBENCH_THRESHOLD",
];

/// The refusal of a variable that is nearly one of ours: what it sets would have no effect, in
/// silence. Others that begin like ours may be somebody else's.
fn misspelt(names: impl Iterator<Item = String>) -> Option<Failure> {
    let ours = |name: &String| name.starts_with("NBENCH_") && !VARIABLES.contains(&name.as_str());
    names.filter(ours).find_map(|name| {
        let meant = nearest(&name, VARIABLES)?;
        let error = format!("there is no variable `{name}`: did you mean `{meant}`?");
        Some(Failure::new(Exit::Usage, error).hint(format!("`unset {name}`, or rename it")))
    })
}

/// Where the store is: the flag (relative to the current directory), then the environment and
/// `nbench.toml` (relative to the workspace root), then `.nbench/store.sqlite`.
pub fn store_path(root: &Path, flag: Option<&Path>, settings: &Settings) -> PathBuf {
    match (flag, &settings.store) {
        (Some(path), _) => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
        (None, Some(path)) => root.join(path),
        (None, None) => root.join(".nbench/store.sqlite"),
    }
}

/// Time limits of workers.
pub fn limits(settings: &Settings) -> Limits {
    let base = Limits::default();
    Limits {
        batch: settings.batch_limit.unwrap_or(base.batch),
        setup: settings.setup_limit.unwrap_or(base.setup),
        ..base
    }
}

/// A seed for this run: repeated comparisons must not share orders and layouts, or they would share
/// their luck. It is told and stored, so that `--seed` repeats the run.
pub fn fresh_seed() -> u64 {
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let mixed = now.as_nanos() as u64 ^ (u64::from(std::process::id()) << 40);
    // Six digits are enough to differ and short enough to type.
    mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 1_000_000
}

/// Cargo's flags.
pub fn build_options(args: &BuildArgs) -> BuildOptions {
    let mut options = BuildOptions {
        packages: args.package.clone(),
        workspace: args.workspace,
        exclude: args.exclude.clone(),
        benches: args.bench.clone(),
        features: args.features.clone(),
        all_features: args.all_features,
        no_default_features: args.no_default_features,
        profile: args.profile.clone(),
        target: args.target.clone(),
        target_dir: args.target_dir.clone(),
        manifest_path: args.manifest_path.clone(),
        criterion_runner: args.criterion_runner,
        locked: args.locked,
        offline: args.offline,
        frozen: args.frozen,
        jobs: args.jobs.clone(),
        config: args.config.clone(),
        words: Words::default(),
    };
    options.words = Words::of(&options);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_is_refused_says_what_to_change_and_where() {
        let of_file = |text: &str| merged(Layer::default(), layer(text, "/w/nbench.toml")?);
        let line = |n: u64| format!("change line {n} of `/w/nbench.toml`, or remove it");
        let table = [
            ("launches = 3", line(1)),
            ("seed = 1\ntreshold = 0.1", line(2)),
            ("max_launches = 2", line(1)),
            ("seed = ", "mend `/w/nbench.toml`".to_owned()),
        ];
        for (text, hint) in table {
            let failure = of_file(text).unwrap_err();
            assert!(failure.hint.as_deref().unwrap().starts_with(&hint), "{text}: {failure:?}");
        }
        let flags = Layer { threshold: Some(7.0), ..Layer::default() };
        let failure = merged(flags, Layer::default()).unwrap_err();
        assert!(failure.hint.unwrap().starts_with("leave out `--threshold`"));
        let variable = unusable("`NBENCH_PRESET`: `fast` is not a preset".to_owned());
        assert!(variable.hint.unwrap().starts_with("`unset NBENCH_PRESET`"));
    }

    #[test]
    fn a_workspace_that_cannot_be_read_is_not_called_missing() {
        let missing =
            no_workspace("could not find `Cargo.toml` in `/` or any parent directory", None);
        assert!(missing.error.starts_with("no cargo workspace found: could not find"));
        let broken = no_workspace(
            "current package believes it's in a workspace when it's not:",
            Some(Path::new("sub/Cargo.toml")),
        );
        assert!(broken.error.starts_with("cannot read the cargo workspace: current package"));
        assert_eq!(
            broken.hint.as_deref(),
            Some(
                "`cargo metadata --manifest-path sub/Cargo.toml` in the same directory shows the whole message"
            )
        );
    }

    #[test]
    fn a_variable_that_is_nearly_ours_is_refused() {
        let of = |names: &[&str]| misspelt(names.iter().map(|name| (*name).to_owned()));
        for (name, meant) in [
            ("NBENCH_THRESOLD", "`NBENCH_THRESHOLD`"),
            ("NBENCH_PRESETS", "`NBENCH_PRESET`"),
            ("NBENCH_CACHE_DIRS", "`NBENCH_CACHE_DIR`"),
        ] {
            let failure = of(&["PATH", name]).unwrap();
            assert_eq!(failure.exit, Exit::Usage);
            assert!(failure.error.contains(meant), "{failure:?}");
        }
        let fine = [
            "NBENCH_STORE",
            "NBENCH_SOCKET",
            "NBENCH_SEED",
            "NBENCH_SRC",
            "NBENCH_TEST_KILLS",
            "STORE",
        ];
        assert!(of(&fine).is_none());
        // The README knows each of them.
        let readme = include_str!("../../../README.md");
        assert!(VARIABLES.iter().all(|name| readme.contains(&format!("`{name}`"))));
    }
}
