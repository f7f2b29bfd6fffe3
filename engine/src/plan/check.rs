//! Which plans can be measured by: the range of every knob, and what knobs owe each other. It
//! changes nothing and knows no file, flag or variable.

use std::time::Duration;

use super::Plan;

/// Values that cannot be measured by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable {
    /// The settings at fault, by their names in `nbench.toml`.
    pub settings: Vec<&'static str>,
    /// A fragment that names them with their values and what they must be.
    pub message: String,
}

/// Longest time of anything that is planned: longer ones are slips of a unit, and would overflow
/// clocks.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// Most rounds or samples that one launch may hold, which are kept in memory.
const MOST_SAMPLES: usize = 1_000_000;
/// Most launches: the exact distribution of ranks grows with their cube.
const MOST_LAUNCHES: usize = 1000;
/// Confidence is asked for and error spent in decimal fractions, whose sums are not exact.
const SLACK: f64 = 1e-6;

impl Plan {
    /// Checks every range, and that settings fit each other.
    ///
    /// # Errors
    /// The first setting that cannot be used.
    pub fn validate(&self) -> Result<(), Unusable> {
        share("threshold", self.threshold, 0.0, 1.0)?;
        share("trim", self.trim, 0.0, 0.5)?;
        share("confidence", self.confidence, 0.5, 1.0)?;
        share("precision", self.precision, 0.0, 1.0)?;
        if let Some(wanted) = self.half_width {
            share("precision", wanted, 0.0, 1.0)?;
        }
        for (name, time) in [
            ("slice", self.slice),
            ("launch_time", self.launch_time),
            ("slow_operation", self.slow_operation),
            ("spent_cap", self.spent_cap),
            ("sample_time", self.sample_time),
            ("sampling_time", self.sampling_time),
        ] {
            if time.is_zero() {
                return unusable([name], format!("`{name}` is zero, but must be longer"));
            }
            longest(name, time)?;
        }
        longest("warmup", self.warmup)?;
        span(("min_rounds", self.min_rounds), ("max_rounds", self.max_rounds), MOST_SAMPLES)?;
        count("max_samples", self.max_samples, 1, MOST_SAMPLES)?;
        span(
            ("min_launches", self.min_launches),
            ("max_launches", self.max_launches),
            MOST_LAUNCHES,
        )?;
        self.validate_looks()
    }

    fn validate_looks(&self) -> Result<(), Unusable> {
        let (at, alpha) = (&self.looks.at, &self.looks.alpha);
        if at.is_empty() {
            return unusable(["looks"], "`looks` is empty, but a verdict needs one".to_owned());
        }
        for launches in at {
            count("looks", *launches, 2, MOST_LAUNCHES)?;
        }
        if let Some(pair) = at.windows(2).find(|pair| pair[0] >= pair[1]) {
            let (one, next) = (pair[0], pair[1]);
            return unusable(
                ["looks"],
                format!("`looks` holds {one} before {next}, but must ascend"),
            );
        }
        if at.len() != alpha.len() {
            return unusable(
                ["looks", "look_errors"],
                format!(
                    "`looks` has {} and `look_errors` {}, but every look needs its error",
                    numbers(at.len()),
                    numbers(alpha.len())
                ),
            );
        }
        for error in alpha {
            if !error.is_finite() || *error <= 0.0 || *error >= 1.0 {
                return unusable(
                    ["look_errors"],
                    format!(
                        "`look_errors` holds {error}, but must hold numbers above 0 and below 1"
                    ),
                );
            }
        }
        let (sum, wanted) = (alpha.iter().sum::<f64>(), 1.0 - self.confidence);
        if (sum - wanted).abs() > SLACK {
            return unusable(
                ["look_errors", "confidence"],
                format!(
                    "`look_errors` spend {} together, but `confidence` leaves {} to spend",
                    rounded(sum),
                    rounded(wanted)
                ),
            );
        }
        Ok(())
    }
}

fn unusable<const N: usize>(settings: [&'static str; N], message: String) -> Result<(), Unusable> {
    Err(Unusable { settings: settings.to_vec(), message })
}

fn share(name: &'static str, value: f64, low: f64, high: f64) -> Result<(), Unusable> {
    if value >= low && value < high {
        return Ok(());
    }
    let meant = if value > 1.0 && value < 100.0 * high {
        format!(" (did you mean `{value}%`?)")
    } else {
        String::new()
    };
    unusable(
        [name],
        format!("`{name}` is {value}, but must be at least {low} and below {high}{meant}"),
    )
}

fn longest(name: &'static str, time: Duration) -> Result<(), Unusable> {
    if time <= LONGEST {
        return Ok(());
    }
    unusable([name], format!("`{name}` is {} s, but must be at most 24 h", time.as_secs()))
}

fn count(name: &'static str, value: usize, least: usize, most: usize) -> Result<(), Unusable> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let verb = if name == "looks" { "holds" } else { "is" };
    unusable(
        [name],
        format!("`{name}` {verb} {value}, but must be at least {least} and at most {most}"),
    )
}

fn span(
    least: (&'static str, usize),
    most: (&'static str, usize),
    bound: usize,
) -> Result<(), Unusable> {
    count(least.0, least.1, 1, bound)?;
    count(most.0, most.1, 1, bound)?;
    if most.1 >= least.1 {
        return Ok(());
    }
    unusable(
        [most.0, least.0],
        format!("`{}` is {}, but `{}` is {}", most.0, most.1, least.0, least.1),
    )
}

fn numbers(count: usize) -> String {
    if count == 1 { "1 number".to_owned() } else { format!("{count} numbers") }
}

/// Without the dust of binary fractions.
fn rounded(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}
