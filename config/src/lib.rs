//! Settings of `cargo nbench`: presets as data, then `nbench.toml`, then the environment, then
//! flags; the later wins. It turns them into an engine [`Plan`] and does not read files or the
//! environment itself.

mod aliases;
mod duration;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use nbench_engine::{Batching, Looks, Plan};
use serde::Deserialize;

pub use aliases::{Alias, Aliases};
pub use duration::parse_duration;

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

/// Settings of some benchmarks, by pattern.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Pattern for the whole id, case ignored: `*` for any text, `?` for one character.
    #[serde(rename = "match")]
    pub pattern: String,
    /// Practical threshold of these benchmarks (fraction).
    pub threshold: f64,
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

/// One layer of settings; what is absent is left to the layer below.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Layer {
    /// Preset below this layer's own values.
    pub preset: Option<Preset>,
    /// Path of the store, relative to the workspace root.
    pub store: Option<PathBuf>,
    /// Length of one sample of a comparison.
    pub slice: Option<String>,
    /// Warm-up per launch.
    pub warmup: Option<String>,
    /// Paired time per launch.
    pub launch_time: Option<String>,
    /// Most rounds in a launch.
    pub max_rounds: Option<usize>,
    /// Fewest rounds in a launch.
    pub min_rounds: Option<usize>,
    /// Operations longer than this get one round per launch.
    pub slow_operation: Option<String>,
    /// Most that one batch may take with its set-up.
    pub spent_cap: Option<String>,
    /// Share trimmed at either end of a launch's log-ratios.
    pub trim: Option<f64>,
    /// `shared` or `equal-time`.
    pub batching: Option<String>,
    /// Launch counts at which a verdict may be given.
    pub looks: Option<Vec<usize>>,
    /// Error spent at each look.
    pub look_errors: Option<Vec<f64>>,
    /// Whether `equivalent` may be said.
    pub may_say_equivalent: Option<bool>,
    /// Whether calls among many benchmarks must survive the control of the false discovery rate.
    pub control_discovery: Option<bool>,
    /// Practical threshold (fraction).
    pub threshold: Option<f64>,
    /// Overall confidence (fraction).
    pub confidence: Option<f64>,
    /// Seed of orders and resampling.
    pub seed: Option<u64>,
    /// Length of one sample of a single measurement.
    pub sample_time: Option<String>,
    /// Sampling time per launch of a single measurement.
    pub sampling_time: Option<String>,
    /// Most samples in a launch of a single measurement.
    pub max_samples: Option<usize>,
    /// Fewest launches of a single measurement.
    pub min_launches: Option<usize>,
    /// Most launches of a single measurement.
    pub max_launches: Option<usize>,
    /// Relative half-width at which a single measurement stops.
    pub precision: Option<f64>,
    /// Settings by benchmark; of several that match the last one counts.
    pub benchmark: Option<Vec<Rule>>,
    /// Longest time a batch may take before its worker is given up.
    pub batch_limit: Option<String>,
    /// Longest time set-up between two benchmarks may take.
    pub setup_limit: Option<String>,
    /// `fresh`, `confirm` or `off`.
    pub layouts: Option<Layouts>,
    /// New ids of renamed benchmarks by old ones, for all targets or by `package/target`.
    pub aliases: Option<std::collections::BTreeMap<String, Alias>>,
    /// Inputs that git does not carry, relative to the workspace root.
    pub share: Option<Vec<String>>,
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

impl Layer {
    /// Reads the text of `nbench.toml`; `origin` names the file in errors.
    ///
    /// # Errors
    /// For text that is not TOML, unknown keys and values of the wrong type.
    pub fn from_toml(text: &str, origin: &str) -> Result<Layer, ConfigError> {
        toml::from_str(text).map_err(|error| ConfigError {
            message: format!("`{origin}` is not usable: {}", error.to_string().trim_end()),
        })
    }

    /// Reads `NBENCH_PRESET`, `NBENCH_STORE`, `NBENCH_THRESHOLD`, `NBENCH_CONFIDENCE` and
    /// `NBENCH_RUN_SEED` through `variable`.
    ///
    /// # Errors
    /// For values that do not parse; the variable is named.
    pub fn from_environment(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Layer, ConfigError> {
        fn number<T: std::str::FromStr>(name: &str, text: String) -> Result<T, ConfigError> {
            text.trim().parse().map_err(|_| ConfigError {
                message: format!("`{name}` is `{text}`, which is not a number"),
            })
        }
        let preset = variable("NBENCH_PRESET")
            .map(|name| {
                Preset::parse(&name)
                    .map_err(|e| ConfigError { message: format!("`NBENCH_PRESET`: {e}") })
            })
            .transpose()?;
        Ok(Layer {
            preset,
            store: variable("NBENCH_STORE").map(PathBuf::from),
            threshold: variable("NBENCH_THRESHOLD")
                .map(|t| number("NBENCH_THRESHOLD", t))
                .transpose()?,
            confidence: variable("NBENCH_CONFIDENCE")
                .map(|t| number("NBENCH_CONFIDENCE", t))
                .transpose()?,
            seed: variable("NBENCH_RUN_SEED").map(|t| number("NBENCH_RUN_SEED", t)).transpose()?,
            ..Layer::default()
        })
    }

    /// This layer over `below`.
    pub fn over(self, below: Layer) -> Layer {
        Layer {
            preset: self.preset.or(below.preset),
            store: self.store.or(below.store),
            slice: self.slice.or(below.slice),
            warmup: self.warmup.or(below.warmup),
            launch_time: self.launch_time.or(below.launch_time),
            max_rounds: self.max_rounds.or(below.max_rounds),
            min_rounds: self.min_rounds.or(below.min_rounds),
            slow_operation: self.slow_operation.or(below.slow_operation),
            spent_cap: self.spent_cap.or(below.spent_cap),
            trim: self.trim.or(below.trim),
            batching: self.batching.or(below.batching),
            looks: self.looks.or(below.looks),
            look_errors: self.look_errors.or(below.look_errors),
            may_say_equivalent: self.may_say_equivalent.or(below.may_say_equivalent),
            control_discovery: self.control_discovery.or(below.control_discovery),
            threshold: self.threshold.or(below.threshold),
            confidence: self.confidence.or(below.confidence),
            seed: self.seed.or(below.seed),
            sample_time: self.sample_time.or(below.sample_time),
            sampling_time: self.sampling_time.or(below.sampling_time),
            max_samples: self.max_samples.or(below.max_samples),
            min_launches: self.min_launches.or(below.min_launches),
            max_launches: self.max_launches.or(below.max_launches),
            precision: self.precision.or(below.precision),
            benchmark: self.benchmark.or(below.benchmark),
            batch_limit: self.batch_limit.or(below.batch_limit),
            setup_limit: self.setup_limit.or(below.setup_limit),
            layouts: self.layouts.or(below.layouts),
            aliases: self.aliases.or(below.aliases),
            share: self.share.or(below.share),
        }
    }
}

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

/// Merges layers, the first one winning, above the preset they name.
///
/// # Errors
/// For values out of range; the message names the setting.
pub fn resolve(layers: impl IntoIterator<Item = Layer>) -> Result<Settings, ConfigError> {
    let own = layers.into_iter().fold(Layer::default(), Layer::over);
    let mut presets: std::collections::BTreeMap<String, Layer> = toml::from_str(PRESETS)
        .map_err(|e| ConfigError { message: format!("the built-in presets are damaged: {e}") })?;
    let preset = own.preset.unwrap_or_default();
    let base = presets.remove("default").unwrap_or_default();
    let chosen = presets.remove(preset.name()).unwrap_or_default().over(base);
    // A confidence asked for scales the errors of the preset's looks, unless they are given too.
    let scale_to = own.confidence.filter(|_| own.look_errors.is_none());
    let seed_is_own = own.seed.is_some();
    let merged = own.over(chosen);

    let span = |name: &str, text: &Option<String>, default: Duration| match text {
        Some(text) => {
            parse_duration(text).map_err(|e| ConfigError { message: format!("`{name}`: {e}") })
        }
        None => Ok(default),
    };
    let base = Plan::default();
    let looks = Looks {
        at: merged.looks.clone().unwrap_or_default(),
        alpha: merged.look_errors.clone().unwrap_or_default(),
    };
    let confidence = merged.confidence.unwrap_or(base.confidence);
    let looks = match scale_to {
        Some(c) if (0.5..1.0).contains(&c) => looks.at_confidence(c),
        _ => looks,
    };
    let batching = match merged.batching.as_deref() {
        None | Some("shared") => Batching::Shared,
        Some("equal-time") => Batching::EqualTime,
        Some(other) => {
            return Err(ConfigError {
                message: format!("`batching` is `{other}`, but must be `shared` or `equal-time`"),
            });
        }
    };
    let plan = Plan {
        slice: span("slice", &merged.slice, base.slice)?,
        warmup: span("warmup", &merged.warmup, base.warmup)?,
        launch_time: span("launch_time", &merged.launch_time, base.launch_time)?,
        max_rounds: merged.max_rounds.unwrap_or(base.max_rounds),
        min_rounds: merged.min_rounds.unwrap_or(base.min_rounds),
        slow_operation: span("slow_operation", &merged.slow_operation, base.slow_operation)?,
        spent_cap: span("spent_cap", &merged.spent_cap, base.spent_cap)?,
        trim: merged.trim.unwrap_or(base.trim),
        batching,
        looks,
        may_say_equivalent: merged.may_say_equivalent.unwrap_or(base.may_say_equivalent),
        order: base.order,
        blocks: false,
        interval: base.interval,
        half_width: base.half_width,
        control_discovery: merged.control_discovery.unwrap_or(base.control_discovery),
        threshold: merged.threshold.unwrap_or(base.threshold),
        seed: merged.seed.unwrap_or(base.seed),
        sample_time: span("sample_time", &merged.sample_time, base.sample_time)?,
        sampling_time: span("sampling_time", &merged.sampling_time, base.sampling_time)?,
        max_samples: merged.max_samples.unwrap_or(base.max_samples),
        min_launches: merged.min_launches.unwrap_or(base.min_launches),
        max_launches: merged.max_launches.unwrap_or(base.max_launches),
        precision: merged.precision.unwrap_or(base.precision),
        confidence,
    };
    plan.validate().map_err(|message| ConfigError { message })?;
    for rule in merged.benchmark.iter().flatten() {
        if !(0.0..1.0).contains(&rule.threshold) {
            return Err(ConfigError {
                message: format!(
                    "`threshold` of `{}` is {}, but must be at least 0 and below 1",
                    rule.pattern, rule.threshold
                ),
            });
        }
    }
    let limit = |name: &str, text: &Option<String>| {
        text.as_ref()
            .map(|t| {
                parse_duration(t).map_err(|e| ConfigError { message: format!("`{name}`: {e}") })
            })
            .transpose()
    };
    Ok(Settings {
        preset,
        store: merged.store.clone(),
        seed_is_set: seed_is_own,
        benchmark_seed: plan.seed,
        rules: merged.benchmark.clone().unwrap_or_default(),
        batch_limit: limit("batch_limit", &merged.batch_limit)?,
        setup_limit: limit("setup_limit", &merged.setup_limit)?,
        layouts: merged.layouts.unwrap_or_default(),
        aliases: Aliases::of(merged.aliases.clone().unwrap_or_default())?,
        share: merged.share.clone().unwrap_or_default(),
        plan,
    })
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
            let settings = resolve([layer]).unwrap();
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
        let plan = resolve([flags, env, file]).unwrap().plan;
        assert_eq!((plan.threshold, plan.seed, plan.slice), (0.03, 9, Duration::from_millis(2)));
    }

    #[test]
    fn confidence_scales_the_error_of_the_looks() {
        let layer = Layer { confidence: Some(0.99), ..Layer::default() };
        let looks = resolve([layer]).unwrap().plan.looks;
        assert!((looks.confidence() - 0.99).abs() < 1e-12);
        assert!((looks.alpha[0] - 0.002).abs() < 1e-12);
    }

    #[test]
    fn rules_by_benchmark_are_read_and_checked() {
        let text = "[[benchmark]]\nmatch = \"parse/*\"\nthreshold = 0.03\n";
        let settings = resolve([Layer::from_toml(text, "nbench.toml").unwrap()]).unwrap();
        assert_eq!(settings.rules, [Rule { pattern: "parse/*".into(), threshold: 0.03 }]);
        let bad = text.replace("0.03", "3.0");
        let error = resolve([Layer::from_toml(&bad, "nbench.toml").unwrap()]).unwrap_err();
        assert!(error.message.contains("`parse/*`"), "{error}");
    }

    #[test]
    fn layouts_are_fresh_unless_a_layer_says_otherwise() {
        assert_eq!(resolve([]).unwrap().layouts, Layouts::Fresh);
        let file = Layer::from_toml("layouts = \"confirm\"", "nbench.toml").unwrap();
        assert_eq!(resolve([file.clone()]).unwrap().layouts, Layouts::Confirm);
        let flags = Layer { layouts: Some(Layouts::Off), ..Layer::default() };
        assert_eq!(resolve([flags, file]).unwrap().layouts, Layouts::Off);
        let wrong = Layer::from_toml("layouts = \"new\"", "nbench.toml").unwrap_err();
        assert!(wrong.message.contains("fresh") && wrong.message.contains("confirm"), "{wrong}");
        for layouts in [Layouts::Fresh, Layouts::Confirm, Layouts::Off] {
            let text = format!("layouts = \"{}\"", layouts.name());
            assert_eq!(Layer::from_toml(&text, "x").unwrap().layouts, Some(layouts));
        }
    }

    #[test]
    fn mistakes_are_named() {
        let unknown = Layer::from_toml("treshold = 0.5", "nbench.toml").unwrap_err();
        assert!(unknown.message.contains("treshold") && unknown.message.contains("nbench.toml"));
        let range = resolve([Layer { threshold: Some(2.0), ..Layer::default() }]).unwrap_err();
        assert!(range.message.contains("`threshold`"));
        let unit = resolve([Layer { slice: Some("5".into()), ..Layer::default() }]).unwrap_err();
        assert!(unit.message.contains("`slice`") && unit.message.contains("unit"));
        let env = Layer::from_environment(|n| (n == "NBENCH_PRESET").then(|| "fast".to_owned()));
        assert!(env.unwrap_err().message.contains("quick, default or thorough"));
    }
}
