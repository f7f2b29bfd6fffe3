//! Settings of `cargo nbench`: presets as data, `nbench.toml`, the environment and flags, merged by
//! [`PRECEDENCE`]. It turns them into an engine [`Plan`] and does not read files or the environment
//! itself.

mod aliases;
mod duration;
mod layer;
mod precedence;
mod rule;
mod value;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub use aliases::{Alias, Aliases};
pub use duration::parse_duration;
pub use layer::Layer;
use nbench_engine::{IntervalMethod, Looks, Plan};
pub use precedence::{PRECEDENCE, Source, precedence_in_words, weakest_first};
pub use rule::Rule;
use serde::Deserialize;
pub use value::{parse_batching, parse_interval, parse_share};

/// The presets that ship with nbench.
const PRESETS: &str = include_str!("presets.toml");

/// A named set of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// One early look; may say faster or slower but never equivalent.
    Quick,
    /// Three looks, at most 24 launches.
    #[default]
    Default,
    /// Five looks, at most 48 launches.
    Thorough,
}

impl Preset {
    /// The name in files, flags and the environment.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Quick => "quick",
            Preset::Default => "default",
            Preset::Thorough => "thorough",
        }
    }

    /// The preset of that name.
    ///
    /// # Errors
    /// A fragment that lists the names.
    pub fn parse(name: &str) -> Result<Preset, String> {
        [Preset::Quick, Preset::Default, Preset::Thorough]
            .into_iter()
            .find(|p| p.name() == name)
            .ok_or_else(|| format!("`{name}` is not a preset: use quick, default or thorough"))
    }
}

/// Whether the link layout of the compared executables is drawn anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layouts {
    /// For every side at every launch.
    #[default]
    Fresh,
    /// In a second trial, of changes below 5 % that the first one called.
    Confirm,
    /// Never: every side keeps the layout of its build.
    Off,
}

impl Layouts {
    /// The name in files, flags and results.
    pub fn name(self) -> &'static str {
        match self {
            Layouts::Fresh => "fresh",
            Layouts::Confirm => "confirm",
            Layouts::Off => "off",
        }
    }
}

/// Settings that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// A lower-case fragment that names the setting and where it came from.
    pub message: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfigError {}

/// Settings of one run, all layers merged.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The preset that was chosen.
    pub preset: Preset,
    /// Settings of the engine.
    pub plan: Plan,
    /// Path of the store, if one was set.
    pub store: Option<PathBuf>,
    /// Whether a seed was set; otherwise a comparison may draw one.
    pub seed_is_set: bool,
    /// Seed offered to benchmarks.
    pub benchmark_seed: u64,
    /// Settings by benchmark.
    pub rules: Vec<Rule>,
    /// Whether `run` measures cases one after the other. No comparison of revisions may: what the
    /// machine does meanwhile would be part of the change.
    pub sequential_cases: bool,
    /// Settings that a flag gave, which no rule and no benchmark changes.
    pub pinned: Pinned,
    /// Longest time of a batch.
    pub batch_limit: Option<Duration>,
    /// Longest time of set-up between two benchmarks.
    pub setup_limit: Option<Duration>,
    /// Whether link layouts are drawn anew.
    pub layouts: Layouts,
    /// Ids that renamed benchmarks go by now.
    pub aliases: Aliases,
    /// Inputs that git does not carry and every checkout is given, relative to the workspace root.
    pub share: Vec<String>,
}

/// Settings that a flag gave and that rules and benchmarks have too.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pinned {
    /// Practical threshold (fraction).
    pub threshold: Option<f64>,
    /// Length of one sample of a comparison.
    pub slice: Option<Duration>,
    /// Warm-up per launch.
    pub warmup: Option<Duration>,
}

impl Pinned {
    fn by(flags: &Layer) -> Pinned {
        Pinned { threshold: flags.threshold, slice: flags.slice, warmup: flags.warmup }
    }

    /// The plan with what was given.
    #[must_use]
    pub fn applied(self, plan: &Plan) -> Plan {
        Plan {
            threshold: self.threshold.unwrap_or(plan.threshold),
            slice: self.slice.unwrap_or(plan.slice),
            warmup: self.warmup.unwrap_or(plan.warmup),
            ..plan.clone()
        }
    }
}

/// Merges the layers of a run.
///
/// # Errors
/// For values out of range; the message names the setting and where it was written.
pub fn resolve(layers: impl IntoIterator<Item = (Source, Layer)>) -> Result<Settings, ConfigError> {
    let layers: Vec<(Source, Layer)> = layers.into_iter().collect();
    let flags = layers.iter().filter(|(source, _)| *source == Source::Flag);
    let pinned = flags.map(|(_, layer)| Pinned::by(layer)).next_back().unwrap_or_default();
    let mut layers = weakest_first(layers);
    layers.reverse();
    // A confidence asked for scales the errors of looks that a preset or a lower layer gives.
    let first = |has: fn(&Layer) -> bool| layers.iter().position(has);
    let (confidence, errors) =
        (first(|layer| layer.confidence.is_some()), first(|layer| layer.look_errors.is_some()));
    let scales = confidence.is_some_and(|place| errors.is_none_or(|errors| place < errors));
    let own = layers.into_iter().fold(Layer::default(), Layer::over);
    let mut presets: std::collections::BTreeMap<String, Layer> = toml::from_str(PRESETS)
        .map_err(|e| ConfigError { message: format!("the built-in presets are damaged: {e}") })?;
    let preset = own.preset.unwrap_or_default();
    let base = presets.remove("default").unwrap_or_default();
    let chosen = presets.remove(preset.name()).unwrap_or_default().over(base);
    let seed_is_set = own.seed.is_some();
    let merged = own.over(chosen);
    let plan = plan(&merged, scales);
    plan.validate().map_err(|refused| {
        // What stands in a preset is not where the user has to look.
        let places: Vec<String> = refused
            .settings
            .iter()
            .filter_map(|name| merged.origin(name).map(|place| format!("{place}: ")))
            .take(1)
            .collect();
        ConfigError { message: format!("{}{}", places.concat(), refused.message) }
    })?;
    let rules = merged.benchmark.clone().unwrap_or_default();
    for (index, rule) in rules.iter().enumerate() {
        let place = |key: &str| merged.origin(&format!("benchmark {index} {key}"));
        rule.check(&plan, |key| place(key).map(str::to_owned))?;
    }
    Ok(Settings {
        preset,
        store: merged.store.clone(),
        seed_is_set,
        benchmark_seed: plan.seed,
        rules,
        sequential_cases: merged.sequential_cases.unwrap_or_default(),
        pinned,
        batch_limit: limit(&merged, "batch_limit", merged.batch_limit)?,
        setup_limit: limit(&merged, "setup_limit", merged.setup_limit)?,
        layouts: merged.layouts.unwrap_or_default(),
        aliases: Aliases::of(merged.aliases.clone().unwrap_or_default())?,
        share: merged.share.clone().unwrap_or_default(),
        plan,
    })
}

/// The engine's settings of merged layers, not yet checked.
fn plan(merged: &Layer, scales: bool) -> Plan {
    let base = Plan::default();
    let looks = Looks {
        at: merged.looks.clone().unwrap_or_default(),
        alpha: merged.look_errors.clone().unwrap_or_default(),
    };
    let confidence = merged.confidence.unwrap_or(base.confidence);
    let looks = if scales && (0.5..1.0).contains(&confidence) {
        looks.at_confidence(confidence)
    } else {
        looks
    };
    let interval = merged.interval.unwrap_or(base.interval);
    // The p-values that the control needs are those of signed ranks.
    let can_control = interval == IntervalMethod::SignedRank;
    Plan {
        slice: merged.slice.unwrap_or(base.slice),
        warmup: merged.warmup.unwrap_or(base.warmup),
        launch_time: merged.launch_time.unwrap_or(base.launch_time),
        max_rounds: merged.max_rounds.unwrap_or(base.max_rounds),
        min_rounds: merged.min_rounds.unwrap_or(base.min_rounds),
        slow_operation: merged.slow_operation.unwrap_or(base.slow_operation),
        spent_cap: merged.spent_cap.unwrap_or(base.spent_cap),
        trim: merged.trim.unwrap_or(base.trim),
        batching: merged.batching.unwrap_or(base.batching),
        looks,
        may_say_equivalent: merged.may_say_equivalent.unwrap_or(base.may_say_equivalent),
        order: base.order,
        blocks: false,
        interval,
        half_width: merged.half_width.or(base.half_width),
        control_discovery: can_control
            && merged.control_discovery.unwrap_or(base.control_discovery),
        threshold: merged.threshold.unwrap_or(base.threshold),
        seed: merged.seed.unwrap_or(base.seed),
        sample_time: merged.sample_time.unwrap_or(base.sample_time),
        sampling_time: merged.sampling_time.unwrap_or(base.sampling_time),
        max_samples: merged.max_samples.unwrap_or(base.max_samples),
        min_launches: merged.min_launches.unwrap_or(base.min_launches),
        max_launches: merged.max_launches.unwrap_or(base.max_launches),
        precision: merged.precision.unwrap_or(base.precision),
        confidence,
    }
}

/// An error of a setting, with where it was written.
fn written(merged: &Layer, name: &str, message: String) -> ConfigError {
    let place = merged.origin(name).map_or(String::new(), |place| format!("{place}: "));
    ConfigError { message: format!("{place}{message}") }
}

/// A bound on waiting; one that has passed before anything can answer would fail every benchmark.
fn limit(
    merged: &Layer,
    name: &str,
    limit: Option<Duration>,
) -> Result<Option<Duration>, ConfigError> {
    if limit.is_some_and(|limit| limit < Duration::from_millis(1)) {
        return Err(written(
            merged,
            name,
            format!("`{name}` is below 1ms, in which nothing answers"),
        ));
    }
    Ok(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_preset_is_the_engines_default() {
        assert_eq!(resolve([]).unwrap().plan, Plan::default());
    }

    #[test]
    fn every_preset_resolves_and_keeps_its_confidence() {
        for preset in [Preset::Quick, Preset::Default, Preset::Thorough] {
            let layer = Layer { preset: Some(preset), ..Layer::default() };
            let settings = resolve([(Source::File, layer)]).unwrap();
            assert!((settings.plan.looks.confidence() - 0.95).abs() < 1e-12);
            assert_eq!(settings.plan.may_say_equivalent, preset != Preset::Quick);
        }
    }

    #[test]
    fn flags_win_over_the_environment_over_the_file() {
        let flags = Layer { threshold: Some(0.03), ..Layer::default() };
        let env = Layer::from_environment(|name| match name {
            "NBENCH_THRESHOLD" => Some("0.02".to_owned()),
            "NBENCH_RUN_SEED" => Some("9".to_owned()),
            _ => None,
        })
        .unwrap();
        let file =
            Layer::from_toml("threshold = 0.5\nseed = 3\nslice = \"2ms\"", "nbench.toml").unwrap();
        let plan =
            resolve([(Source::File, file), (Source::Flag, flags), (Source::Environment, env)])
                .unwrap()
                .plan;
        assert_eq!((plan.threshold, plan.seed, plan.slice), (0.03, 9, Duration::from_millis(2)));
    }

    #[test]
    fn confidence_scales_the_error_of_the_looks() {
        let layer = Layer { confidence: Some(0.99), ..Layer::default() };
        let looks = resolve([(Source::File, layer)]).unwrap().plan.looks;
        assert!((looks.confidence() - 0.99).abs() < 1e-12);
        assert!((looks.alpha[0] - 0.002).abs() < 1e-12);
    }

    #[test]
    fn rules_by_benchmark_are_read_and_checked() {
        let text = "[[benchmark]]\nmatch = \"parse/*\"\nthreshold = 0.03\n";
        let settings =
            resolve([(Source::File, Layer::from_toml(text, "nbench.toml").unwrap())]).unwrap();
        assert_eq!(
            settings.rules,
            [Rule { pattern: "parse/*".into(), threshold: Some(0.03), ..Rule::default() }]
        );
        let bad = text.replace("0.03", "3.0");
        let error =
            resolve([(Source::File, Layer::from_toml(&bad, "nbench.toml").unwrap())]).unwrap_err();
        assert!(error.message.contains("`parse/*`"), "{error}");
    }

    #[test]
    fn layouts_are_fresh_unless_a_layer_says_otherwise() {
        assert_eq!(resolve([]).unwrap().layouts, Layouts::Fresh);
        let file = Layer::from_toml("layouts = \"confirm\"", "nbench.toml").unwrap();
        assert_eq!(resolve([(Source::File, file.clone())]).unwrap().layouts, Layouts::Confirm);
        let flags = Layer { layouts: Some(Layouts::Off), ..Layer::default() };
        assert_eq!(
            resolve([(Source::Flag, flags), (Source::File, file)]).unwrap().layouts,
            Layouts::Off
        );
        let wrong = Layer::from_toml("layouts = \"new\"", "nbench.toml").unwrap_err();
        assert!(wrong.message.contains("fresh") && wrong.message.contains("confirm"), "{wrong}");
        for layouts in [Layouts::Fresh, Layouts::Confirm, Layouts::Off] {
            let text = format!("layouts = \"{}\"", layouts.name());
            assert_eq!(Layer::from_toml(&text, "x").unwrap().layouts, Some(layouts));
        }
    }

    #[test]
    fn mistakes_are_named() {
        let range = resolve([(Source::Flag, Layer { threshold: Some(2.0), ..Layer::default() })])
            .unwrap_err();
        assert!(range.message.contains("`threshold`"));
        let unit = Layer::from_toml("slice = \"5\"", "nbench.toml").unwrap_err();
        assert!(unit.message.contains("`slice`") && unit.message.contains("unit"));
        let env = Layer::from_environment(|n| (n == "NBENCH_PRESET").then(|| "fast".to_owned()));
        assert!(env.unwrap_err().message.contains("quick, default or thorough"));
    }

    /// Message that a file is refused with.
    fn refused(text: &str) -> String {
        let layer = Layer::from_toml(text, "nbench.toml");
        layer.and_then(|layer| resolve([(Source::File, layer)])).expect_err(text).message
    }

    #[test]
    fn whatever_cannot_be_used_is_named_with_its_place() {
        let cases = [
            ("\nlook_errors = [0.5, 0.5, 0.5]", "line 2", "`look_errors`"),
            ("looks = [10]\nlook_errors = [5.0]", "line 2", "`look_errors`"),
            ("look_errors = [nan, 0.01, 0.01]", "line 1", "`look_errors`"),
            ("look_errors = [0.01, 0.01, 0.01]", "line 1", "`confidence`"),
            ("looks = [0]\nlook_errors = [0.05]", "line 1", "`looks`"),
            ("looks = [8, 6]", "line 1", "`looks`"),
            ("looks = [8, 9]", "line 1", "`look_errors`"),
            ("looks = []", "line 1", "`looks`"),
            ("max_samples = 0", "line 1", "`max_samples`"),
            ("# c\n\nmin_launches = 20", "line 3", "`max_launches`"),
            ("max_rounds = 99999999999", "line 1", "`max_rounds`"),
            ("threshold = 5", "line 1", "did you mean `5%`"),
            ("threshold = nan", "line 1", "`threshold`"),
            ("precision = \"200%\"", "line 1", "`precision`"),
            ("trim = \"50%\"", "line 1", "`trim`"),
            ("confidence = inf", "line 1", "`confidence`"),
            ("slice = \"0ms\"", "line 1", "`slice`"),
            ("slice = \"1e19s\"", "line 1", "`slice`"),
            ("warmup = \"99999h\"", "line 1", "`warmup`"),
            ("batch_limit = \"99999999999h\"", "line 1", "`batch_limit`"),
            ("setup_limit = \"0s\"", "line 1", "`setup_limit`"),
            ("batching = \"both\"", "line 1", "`batching`"),
            ("treshold = 0.5", "line 1", "did you mean `threshold`?"),
            ("look_error = [0.05]", "line 1", "did you mean `look_errors`?"),
            ("[[benchmark]]\nmatch = \"*\"\nslize = \"1ms\"", "line 3", "did you mean `slice`?"),
            ("[[benchmark]]\nmatch = \"*\"\nthreshold = 2", "line 3", "`threshold`"),
            ("seed = 1\nlaunches = 3", "line 2", "it belongs below `[[benchmark]]`"),
            ("match = \"*\"", "line 1", "it belongs below `[[benchmark]]`"),
            (
                "[[benchmark]]\nmatch = \"*\"\nmax_launches = 3",
                "line 3",
                "write it above all tables",
            ),
            ("[[benchmark]]\nmatch = \"*\"\nseed = 3", "line 3", "write it above all tables"),
            ("[[benchmark]]\nmatch = \"*\"\nslice = \"0us\"", "line 3", "`slice`"),
            ("[[benchmark]]\nmatch = \"*\"\nlaunches = 0", "line 3", "`launches`"),
            ("[[benchmark]]\nthreshold = 0.1", "line 2", "`match`"),
        ];
        for (text, place, words) in cases {
            let message = refused(text);
            assert!(message.contains(place) && message.contains(words), "{text:?}: {message}");
        }
        for (text, words) in [
            ("threshold = true", "a fraction such as 0.05 or \"5%\""),
            ("threshold = \"much\"", "nor a percentage"),
            ("look_errors = [\"x\"]", "nor a percentage"),
            ("slice = 5", "a time with its unit"),
            ("max_rounds = -1", "max_rounds = -1"),
        ] {
            assert!(refused(text).contains(words), "{text:?}: {}", refused(text));
        }
    }

    #[test]
    fn shares_may_be_written_in_percent_everywhere() {
        let text = "threshold = \"5%\"\nconfidence = \"90%\"\nprecision = \"1 %\"\ntrim = 0\n\
                    look_errors = [\"2%\", 0.03, \"5%\"]\n\
                    [[benchmark]]\nmatch = \"*\"\nthreshold = \"3%\"\n";
        let settings =
            resolve([(Source::File, Layer::from_toml(text, "nbench.toml").unwrap())]).unwrap();
        let plan = &settings.plan;
        assert_eq!((plan.threshold, plan.precision, plan.trim), (0.05, 0.01, 0.0));
        assert_eq!(plan.looks.alpha, [0.02, 0.03, 0.05]);
        assert_eq!(settings.rules[0].threshold, Some(0.03));
        let env = Layer::from_environment(|name| match name {
            "NBENCH_THRESHOLD" => Some("5%".to_owned()),
            "NBENCH_CONFIDENCE" => Some("99 %".to_owned()),
            _ => None,
        });
        let plan = resolve([(Source::Environment, env.unwrap())]).unwrap().plan;
        assert_eq!((plan.threshold, plan.confidence), (0.05, 0.99));
    }

    #[test]
    fn the_place_named_is_that_of_the_value_that_won() {
        let file = Layer::from_toml("max_launches = 3\nmin_launches = 2", "nbench.toml").unwrap();
        let flags = Layer { min_launches: Some(9), ..Layer::default() }.from_flags();
        let message = resolve([(Source::Flag, flags), (Source::File, file)]).unwrap_err().message;
        assert!(message.starts_with("`nbench.toml` line 1: `max_launches` is 3"), "{message}");
        let flags = Layer { threshold: Some(7.0), ..Layer::default() }.from_flags();
        let message = resolve([(Source::Flag, flags)]).unwrap_err().message;
        assert!(message.starts_with("`--threshold`: "), "{message}");
        let env = Layer::from_environment(|n| (n == "NBENCH_THRESHOLD").then(|| "5".to_owned()));
        let message = env.unwrap_err().message;
        assert!(
            message.starts_with("`NBENCH_THRESHOLD`: ") && message.contains("`5%`"),
            "{message}"
        );
    }

    #[test]
    fn a_confidence_from_above_scales_errors_from_below() {
        let file = Layer::from_toml("looks = [6, 9]\nlook_errors = [0.02, 0.03]", "x").unwrap();
        let flags = Layer { confidence: Some(0.9), ..Layer::default() };
        let looks = resolve([(Source::Flag, flags), (Source::File, file)]).unwrap().plan.looks;
        assert!((looks.alpha[0] - 0.04).abs() < 1e-12 && (looks.confidence() - 0.9).abs() < 1e-12);
    }
}
