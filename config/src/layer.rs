//! One layer of settings: what a file, the environment or the command line says, and where each
//! value was written. It knows types and names; ranges are checked once layers are merged.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use nbench_engine::{Batching, IntervalMethod};
use serde::Deserialize;
use toml::de::DeTable;

use crate::{Alias, ConfigError, Layouts, Preset, Rule, value};

/// Declares the layer, its merging and its names from one list.
macro_rules! layer {
    ($($(#[$meta:meta])* $name:ident: $kind:ty,)*) => {
        /// One layer of settings; what is absent is left to the layer below.
        #[derive(Debug, Clone, Default, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Layer {
            $($(#[$meta])* pub $name: Option<$kind>,)*
            /// Where values were written, by setting: such as `--threshold` or `nbench.toml` line
            /// 3.
            #[serde(skip)]
            pub sources: BTreeMap<String, String>,
        }

        /// Every key of `nbench.toml`.
        pub(crate) const KEYS: &[&str] = &[$(stringify!($name)),*];

        impl Layer {
            /// This layer over `below`.
            pub fn over(self, below: Layer) -> Layer {
                let mut sources = below.sources;
                $(if self.$name.is_some() { sources.remove(stringify!($name)); })*
                sources.extend(self.sources);
                Layer { $($name: self.$name.or(below.$name),)* sources }
            }

            /// Notes flags as what these values were written in.
            #[must_use]
            pub fn from_flags(mut self) -> Layer {
                $(if self.$name.is_some() {
                    let flag = format!("`{}`", flag_of(stringify!($name)));
                    self.sources.insert(stringify!($name).to_owned(), flag);
                })*
                self
            }
        }
    };
}

layer! {
    /// Preset below this layer's own values.
    preset: Preset,
    /// Path of the store, relative to the workspace root.
    store: PathBuf,
    /// Length of one sample of a comparison.
    #[serde(deserialize_with = "value::time")]
    slice: Duration,
    /// Warm-up per launch.
    #[serde(deserialize_with = "value::time")]
    warmup: Duration,
    /// Paired time per launch.
    #[serde(deserialize_with = "value::time")]
    launch_time: Duration,
    /// Most rounds in a launch.
    max_rounds: usize,
    /// Fewest rounds in a launch.
    min_rounds: usize,
    /// Operations longer than this get one round per launch.
    #[serde(deserialize_with = "value::time")]
    slow_operation: Duration,
    /// Most that one batch may take with its set-up.
    #[serde(deserialize_with = "value::time")]
    spent_cap: Duration,
    /// Share trimmed at either end of a launch's log-ratios.
    #[serde(deserialize_with = "value::share")]
    trim: f64,
    /// Iteration counts of the sides: `shared` or `equal-time`.
    #[serde(deserialize_with = "value::batching")]
    batching: Batching,
    /// Whether cases of a benchmark are measured one after the other, in `run`.
    sequential_cases: bool,
    /// Method of the interval: `signed-rank` or `block-bootstrap`.
    #[serde(deserialize_with = "value::interval")]
    interval: IntervalMethod,
    /// Half-width that the interval of a comparison must reach (fraction), instead of a verdict.
    #[serde(deserialize_with = "value::share")]
    half_width: f64,
    /// Launch counts at which a verdict may be given.
    looks: Vec<usize>,
    /// Error spent at each look.
    #[serde(deserialize_with = "value::shares")]
    look_errors: Vec<f64>,
    /// Whether `equivalent` may be said.
    may_say_equivalent: bool,
    /// Whether calls among many benchmarks must survive the control of the false discovery rate.
    control_discovery: bool,
    /// Practical threshold (fraction).
    #[serde(deserialize_with = "value::share")]
    threshold: f64,
    /// Overall confidence (fraction).
    #[serde(deserialize_with = "value::share")]
    confidence: f64,
    /// Seed of orders and resampling.
    seed: u64,
    /// Length of one sample of a single measurement.
    #[serde(deserialize_with = "value::time")]
    sample_time: Duration,
    /// Sampling time per launch of a single measurement.
    #[serde(deserialize_with = "value::time")]
    sampling_time: Duration,
    /// Most samples in a launch of a single measurement.
    max_samples: usize,
    /// Fewest launches of a single measurement.
    min_launches: usize,
    /// Most launches of a single measurement.
    max_launches: usize,
    /// Relative half-width at which a single measurement stops.
    #[serde(deserialize_with = "value::share")]
    precision: f64,
    /// Settings by benchmark; of several that match the last one counts.
    benchmark: Vec<Rule>,
    /// Longest time a batch may take before its worker is given up.
    #[serde(deserialize_with = "value::time")]
    batch_limit: Duration,
    /// Longest time set-up between two benchmarks may take.
    #[serde(deserialize_with = "value::time")]
    setup_limit: Duration,
    /// `fresh`, `confirm` or `off`.
    layouts: Layouts,
    /// New ids of renamed benchmarks by old ones, for all targets or by `package/target`.
    aliases: BTreeMap<String, Alias>,
    /// Inputs that git does not carry, relative to the workspace root.
    share: Vec<String>,
}

/// The flag that a setting is given by.
fn flag_of(setting: &str) -> String {
    match setting {
        // Of comparisons; measurements have a setting of that name.
        "half_width" => "--precision".to_owned(),
        setting => format!("--{}", setting.replace('_', "-")),
    }
}

impl Layer {
    /// Reads the text of `nbench.toml`; `origin` names the file in errors.
    ///
    /// # Errors
    /// For text that is not TOML, unknown keys and values of the wrong type.
    pub fn from_toml(text: &str, origin: &str) -> Result<Layer, ConfigError> {
        let wrong = |error: toml::de::Error| ConfigError {
            message: format!("`{origin}` is not usable: {}", error.to_string().trim_end()),
        };
        let table = DeTable::parse(text).map_err(wrong)?;
        let line = |at: usize| 1 + text[..at].matches('\n').count();
        let mut sources = BTreeMap::new();
        // Where values stand, to name those that their own types refuse.
        let mut values: Vec<(Range<usize>, String)> = Vec::new();
        for (key, value) in table.get_ref() {
            let name: &str = key.get_ref();
            let place = |at: usize| format!("`{origin}` line {}", line(at));
            let elsewhere =
                (crate::rule::KEYS, "it belongs below `[[benchmark]]`, beside a `match`");
            known(name, KEYS, elsewhere, &place(key.span().start))?;
            sources.insert(name.to_owned(), place(key.span().start));
            values.push((value.span(), format!("{}: `{name}`", place(key.span().start))));
            let entries = value.get_ref().as_array().filter(|_| name == "benchmark");
            for (index, entry) in entries.into_iter().flatten().enumerate() {
                for (key, value) in entry.get_ref().as_table().into_iter().flatten() {
                    let place = place(key.span().start);
                    let elsewhere =
                        (KEYS, "it holds for all benchmarks: write it above all tables");
                    known(key.get_ref(), crate::rule::KEYS, elsewhere, &place)?;
                    values.push((value.span(), format!("{place}: `{}`", key.get_ref())));
                    sources.insert(format!("benchmark {index} {}", key.get_ref()), place);
                }
            }
        }
        let layer: Layer = toml::from_str(text).map_err(|error| {
            let of_value = error.span().filter(|_| error.message().starts_with('`'));
            // The innermost value is the last one that was pushed.
            let named = of_value.and_then(|span| {
                values.iter().rev().find(|(value, _)| value.contains(&span.start))
            });
            match named {
                Some((_, name)) => ConfigError { message: format!("{name}: {}", error.message()) },
                None => wrong(error),
            }
        })?;
        Ok(Layer { sources, ..layer })
    }

    /// Reads `NBENCH_PRESET`, `NBENCH_STORE`, `NBENCH_THRESHOLD`, `NBENCH_CONFIDENCE` and
    /// `NBENCH_RUN_SEED` through `variable`.
    ///
    /// # Errors
    /// For values that do not parse; the variable is named.
    pub fn from_environment(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Layer, ConfigError> {
        let mut sources = BTreeMap::new();
        let mut read = |name: &str, setting: &str| {
            let text = variable(name)?;
            sources.insert(setting.to_owned(), format!("`{name}`"));
            Some((name.to_owned(), text))
        };
        fn parsed<T>(
            written: Option<(String, String)>,
            parse: impl Fn(&str) -> Result<T, String>,
        ) -> Result<Option<T>, ConfigError> {
            let Some((name, text)) = written else { return Ok(None) };
            parse(text.trim())
                .map(Some)
                .map_err(|error| ConfigError { message: format!("`{name}`: {error}") })
        }
        let layer = Layer {
            preset: parsed(read("NBENCH_PRESET", "preset"), Preset::parse)?,
            store: read("NBENCH_STORE", "store").map(|(_, path)| PathBuf::from(path)),
            threshold: parsed(read("NBENCH_THRESHOLD", "threshold"), value::parse_share)?,
            confidence: parsed(read("NBENCH_CONFIDENCE", "confidence"), value::parse_share)?,
            seed: parsed(read("NBENCH_RUN_SEED", "seed"), |text| {
                text.parse().map_err(|_| format!("`{text}` is not a whole number of at least 0"))
            })?,
            ..Layer::default()
        };
        Ok(Layer { sources, ..layer })
    }

    /// Where a setting was written, in words to be put behind its name; nothing for what a preset
    /// says.
    pub(crate) fn origin(&self, setting: &str) -> Option<&str> {
        self.sources.get(setting).map(String::as_str)
    }
}

/// Refuses a key that is not among `keys`, with the place of one that belongs elsewhere, or the
/// nearest one.
fn known(
    name: &str,
    keys: &[&str],
    (others, belongs): (&[&str], &str),
    place: &str,
) -> Result<(), ConfigError> {
    if keys.contains(&name) {
        return Ok(());
    }
    if others.contains(&name) {
        return Err(ConfigError {
            message: format!("{place}: `{name}` has no effect here: {belongs}"),
        });
    }
    let near = keys
        .iter()
        .map(|key| (strsim::osa_distance(name, key), key))
        .filter(|(distance, key)| *distance <= 3 && distance * 2 < key.len())
        .min();
    let help = match near {
        Some((_, key)) => format!("did you mean `{key}`?"),
        None if keys.len() < 10 => format!("there are {}", keys.join(", ")),
        None => "the README lists all keys under \"Settings\"".to_owned(),
    };
    Err(ConfigError { message: format!("{place}: there is no setting `{name}`: {help}") })
}
