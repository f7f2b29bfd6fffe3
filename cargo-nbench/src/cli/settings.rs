//! From flags, environment and `nbench.toml` to validated settings: where the workspace is, where the
//! store is, how to measure. Nothing below sees flags.

use std::path::{Path, PathBuf};
use std::time::Duration;

use nbench_config::{Layer, Layouts, Preset, Settings, resolve};
use nbench_engine::remote::Limits;

use crate::build::cargo::{BuildOptions, Words};
use crate::cli::args::{BuildArgs, LayoutsArg, PlanArgs, PresetArg};
use crate::failure::{Exit, Failure};
use crate::measure::filter::is_pattern_of;
use crate::secrets;

/// Name of the settings file in the workspace root.
pub const FILE: &str = "nbench.toml";

/// The workspace root that cargo would use, without resolving dependencies.
///
/// # Errors
/// When cargo finds no manifest, or none that it understands.
pub fn workspace_root(manifest: Option<&Path>) -> Result<PathBuf, Failure> {
    let mut command = cargo_metadata::MetadataCommand::new();
    for name in secrets::inherited(&secrets::is_secret) {
        command.env_remove(name);
    }
    if let Some(manifest) = manifest {
        command.manifest_path(manifest);
    }
    command.no_deps();
    let metadata = command.exec().map_err(|error| no_workspace(&first_line(&error), manifest))?;
    Ok(metadata.workspace_root.into_std_path_buf())
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
        batch_limit: plan.batch_limit.clone(),
        setup_limit: plan.setup_limit.clone(),
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

/// Merges `flags` over the environment over `nbench.toml` in `root`.
///
/// # Errors
/// For unreadable files and values that cannot be used; the setting is named.
pub fn load(root: &Path, flags: Layer) -> Result<Settings, Failure> {
    let text = file(root)?;
    let origin = root.join(FILE).display().to_string();
    merged(flags, layer(text.as_deref().unwrap_or_default(), &origin)?)
}

fn unusable(message: String) -> Failure {
    Failure::new(Exit::Usage, message)
        .hint(format!("settings come from flags, then NBENCH_* variables, then `{FILE}`"))
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

/// Merges `flags` over the environment over the settings of a file.
///
/// # Errors
/// For values that cannot be used; the setting is named.
pub fn merged(flags: Layer, file: Layer) -> Result<Settings, Failure> {
    // What is no text cannot be any of these values and is refused as one.
    let variable = |name: &str| Some(std::env::var_os(name)?.to_string_lossy().into_owned());
    let environment = Layer::from_environment(variable).map_err(|e| unusable(e.message))?;
    resolve([flags.from_flags(), environment, file]).map_err(|e| unusable(e.message))
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

/// How each benchmark is measured: the plan of the run, rules of `nbench.toml`, and what the benchmark
/// asks for itself.
#[derive(Debug, Clone)]
pub struct Plans<'s> {
    /// The plan of the run.
    pub plan: nbench_engine::Plan,
    /// Rules by benchmark.
    pub rules: &'s [nbench_config::Rule],
    /// Whether a threshold on the command line wins over rules and benchmarks.
    pub threshold_is_given: bool,
}

impl Plans<'_> {
    /// The plan of one benchmark. Of its own settings those that cannot be used are returned in words.
    pub fn of(&self, offer: &nbench::wire::Offer) -> (nbench_engine::Plan, Vec<String>) {
        let (mut plan, mut doubts) = with_offer(&self.plan, &offer.settings);
        for rule in self.rules.iter().filter(|rule| is_pattern_of(&rule.pattern, &offer.id)) {
            match rule.applied(&plan) {
                Ok(changed) => plan = changed,
                // Checked by itself; beside what the benchmark asks for it may not fit.
                Err((_, message)) => {
                    doubts.push(format!("`{}` is not used: {message}", rule.pattern));
                }
            }
        }
        if self.threshold_is_given {
            plan.threshold = self.plan.threshold;
        }
        (plan, doubts)
    }
}

/// The `pairing` of benchmarks that are sampled in runs of their own length.
pub const BLOCKS: &str = "blocks";

/// Settings that a benchmark carries in its offer, applied to a plan.
fn with_offer(
    plan: &nbench_engine::Plan,
    settings: &[(String, String)],
) -> (nbench_engine::Plan, Vec<String>) {
    let mut plan = plan.clone();
    let mut doubts = Vec::new();
    for (key, value) in settings {
        let mut changed = plan.clone();
        let nanos = || value.parse::<u64>().ok().map(Duration::from_nanos);
        let read = match key.as_str() {
            "slice_ns" => nanos().map(|d| changed.slice = d),
            "warmup_ns" => nanos().map(|d| changed.warmup = d),
            "launches" => value.parse().ok().map(|n: usize| {
                changed.max_launches = n.max(1);
                changed.min_launches = plan.min_launches.min(changed.max_launches);
            }),
            "threshold" => value.parse().ok().map(|t| changed.threshold = t),
            "pairing" if value == BLOCKS => {
                changed.blocks = true;
                Some(())
            }
            // Known elsewhere, or to a newer version.
            _ => Some(()),
        };
        // What others send is held to the same ranges as what users write.
        match read
            .ok_or("it is no number".to_owned())
            .and(changed.validate().map_err(|e| e.message))
        {
            Ok(()) => plan = changed,
            Err(reason) => doubts
                .push(format!("its setting `{key}` is `{value}`, which cannot be used: {reason}")),
        }
    }
    (plan, doubts)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn offered_settings_change_the_plan_or_are_named() {
        let offered = [("slice_ns", "5000"), ("threshold", "7"), ("tomorrow", "x")]
            .map(|(k, v)| (k.to_owned(), v.to_owned()));
        let (plan, doubts) = with_offer(&nbench_engine::Plan::default(), &offered);
        assert_eq!(plan.slice, Duration::from_micros(5));
        assert_eq!(plan.threshold, 0.005);
        assert_eq!(doubts.len(), 1);
        assert!(doubts[0].contains("`threshold`"));
        for (key, value) in [
            ("slice_ns", "0"),
            ("slice_ns", "18446744073709551615"),
            ("slice_ns", "-1"),
            ("warmup_ns", "18446744073709551615"),
            ("warmup_ns", ""),
            ("launches", "18446744073709551615"),
            ("launches", "many"),
            ("threshold", "NaN"),
            ("threshold", "-0.1"),
            ("threshold", "inf"),
        ] {
            let offered = [(key.to_owned(), value.to_owned())];
            let (plan, doubts) = with_offer(&nbench_engine::Plan::default(), &offered);
            assert_eq!(plan, nbench_engine::Plan::default(), "{key} {value}");
            assert!(doubts.len() == 1 && doubts[0].contains(key), "{doubts:?}");
        }
    }

    #[test]
    fn the_command_line_wins_over_rules_over_the_benchmark() {
        let rules =
            [("*", 0.05), ("parse/*", 0.03)].map(|(pattern, threshold)| nbench_config::Rule {
                pattern: pattern.into(),
                threshold: Some(threshold),
                slice: (threshold > 0.04).then(|| "3ms".to_owned()),
                ..Default::default()
            });
        let offer = nbench::wire::Offer {
            id: "Parse/1".into(),
            settings: vec![("threshold".into(), "0.2".into())],
            ..Default::default()
        };
        let plan = nbench_engine::Plan::default();
        let whole = |rules, threshold_is_given| {
            Plans { plan: plan.clone(), rules, threshold_is_given }.of(&offer).0
        };
        let of = |rules, given| whole(rules, given).threshold;
        // What the last one that matches does not say is left to those before it.
        assert_eq!(whole(&rules, false).slice, Duration::from_millis(3));
        assert_eq!(of(&rules, false), 0.03);
        assert_eq!(of(&rules[..0], false), 0.2);
        assert_eq!(of(&rules, true), 0.005);
    }
}
