//! Settings of some benchmarks, by pattern: what an entry of `[[benchmark]]` may say.

use std::time::Duration;

use nbench_engine::Plan;
use serde::Deserialize;

use crate::{ConfigError, value};

/// Every key of an entry.
pub(crate) const KEYS: &[&str] = &["match", "threshold", "slice", "warmup", "launches"];

/// Settings of some benchmarks, by pattern.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rule {
    /// Pattern for the whole id, case ignored: `*` for any text, `?` for one character.
    #[serde(rename = "match")]
    pub pattern: String,
    /// Practical threshold of these benchmarks (fraction).
    #[serde(deserialize_with = "value::share")]
    pub threshold: Option<f64>,
    /// Length of one sample of a comparison.
    #[serde(deserialize_with = "value::time")]
    pub slice: Option<Duration>,
    /// Warm-up per launch.
    #[serde(deserialize_with = "value::time")]
    pub warmup: Option<Duration>,
    /// Most launches of a single measurement.
    pub launches: Option<usize>,
}

impl Rule {
    /// The plan of a benchmark that the pattern fits.
    ///
    /// # Errors
    /// For values that cannot be used: the key, and a fragment that names it.
    pub fn applied(&self, plan: &Plan) -> Result<Plan, (&'static str, String)> {
        let mut plan = plan.clone();
        plan.threshold = self.threshold.unwrap_or(plan.threshold);
        plan.slice = self.slice.unwrap_or(plan.slice);
        plan.warmup = self.warmup.unwrap_or(plan.warmup);
        if let Some(launches) = self.launches {
            if launches == 0 {
                return Err(("launches", "`launches` is 0, but must be at least 1".to_owned()));
            }
            plan.max_launches = launches;
            plan.min_launches = plan.min_launches.min(launches);
        }
        match plan.validate() {
            Ok(()) => Ok(plan),
            Err(refused) => {
                let setting = refused.settings.first().copied().unwrap_or_default();
                let key = KEYS.iter().find(|key| **key == setting).copied().unwrap_or("launches");
                Err((key, refused.message))
            }
        }
    }

    /// Refuses an entry that says nothing, or what cannot be used on top of `plan`.
    pub(crate) fn check(
        &self,
        plan: &Plan,
        place: impl Fn(&str) -> Option<String>,
    ) -> Result<(), ConfigError> {
        let refuse = |key: &str, message: String| {
            let at = place(key).map_or(String::new(), |place| format!("{place}: "));
            Err(ConfigError { message: format!("{at}{message}") })
        };
        if self.pattern.is_empty() {
            let keys = ["threshold", "slice", "warmup", "launches"];
            let key = keys.into_iter().find(|key| place(key).is_some()).unwrap_or_default();
            return refuse(
                key,
                "an entry of `[[benchmark]]` needs `match`, a pattern of ids".into(),
            );
        }
        match self.applied(plan) {
            Ok(_) => Ok(()),
            Err((key, message)) => {
                refuse(key, format!("of the benchmarks `{}` {message}", self.pattern))
            }
        }
    }
}
