//! Results as every output has them: the lines of `--format json`, whose field names are public and
//! only grow, are also what the terminal, pages and comments are made of, what the store keeps and
//! what `comment --from` reads back. It must not know an engine or a store.

mod note;
mod words;

pub use note::Note;
use serde::{Deserialize, Serialize};
pub use words::{LayoutState, Stop, Verdict};

use crate::number::{change, count};

/// One line. The field `type` tells which; readers ignore types and fields they do not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Line {
    /// Where and how everything below was measured; the first line of `run` and `ab`.
    Context(Context),
    /// The harness that serves a target.
    Target(TargetLine),
    /// A benchmark was measured by itself.
    Measurement(Measurement),
    /// A benchmark was compared.
    Comparison(Box<Comparison>),
    /// A benchmark, or a whole target, failed.
    Failure(FailureLine),
    /// A bench target was not run.
    Skipped(Skipped),
    /// A benchmark or target exists on some sides only.
    Unmatched(Unmatched),
    /// A target cannot be measured at a revision.
    NotMeasurable(NotMeasurable),
    /// Totals; the last line.
    Summary(Summary),
    /// The command failed as a whole; the last line then.
    Error(ErrorLine),
}

/// Why a command failed as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorLine {
    /// `run` or `ab`.
    pub command: String,
    /// The command line.
    pub invocation: String,
    /// Message; lines after the first are details.
    pub error: String,
    /// Hint on what helps.
    pub hint: Option<String>,
    /// The exit code.
    pub exit: u8,
}

/// Where and how everything was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Context {
    /// Version of cargo-nbench.
    pub version: String,
    /// `run` or `ab`.
    pub command: String,
    /// The command line.
    pub invocation: String,
    /// Key of the host.
    pub host: String,
    /// The host in words.
    pub host_summary: String,
    /// Key of the toolchain.
    pub toolchain: String,
    /// The toolchain in words.
    pub toolchain_summary: String,
    /// Where workers ran.
    pub placement: String,
    /// Name of the preset.
    pub preset: String,
    /// Seed of the schedule.
    pub seed: u64,
    /// Compared revisions, reference first; the measured one for `run`.
    pub revisions: Vec<Rev>,
}

/// A revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Rev {
    /// Name as the user wrote it, `@tree` for the working tree.
    pub rev: String,
    /// Full hash of the commit; for a working tree that of the commit it stands on.
    pub commit: String,
    /// Whether uncommitted changes were part of it.
    pub dirty: bool,
}

impl Rev {
    /// Name as the user wrote it, with the commit: `main (0123456789)`, `@tree (0123456789,
    /// dirty)`.
    pub fn label(&self) -> String {
        let dirty = if self.dirty { "dirty" } else { "" };
        // A branch without commits has none.
        let known: Vec<&str> =
            [short(&self.commit), dirty].into_iter().filter(|part| !part.is_empty()).collect();
        match known.is_empty() {
            true => self.rev.clone(),
            false => format!("{} ({})", self.rev, known.join(", ")),
        }
    }
}

/// Ten digits of a hash; a word that stands in its place is whole.
pub fn short(commit: &str) -> &str {
    let is_hash = commit.chars().all(|c| c.is_ascii_hexdigit());
    commit.get(..10).filter(|_| is_hash).unwrap_or(commit)
}

/// A bench target that is measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct TargetLine {
    /// Cargo package.
    pub package: String,
    /// Bench target.
    pub target: String,
    /// The harness in its executable, such as `nbench 0.1.0` or `criterion 0.5.1 (stand-in)`; that
    /// of the last revision where they differ.
    pub harness: String,
    /// Whether that is another harness than ours or stands in for one; for whoever reports it.
    #[serde(skip)]
    pub is_foreign: bool,
}

/// One benchmark by itself. Times are nanoseconds per operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Measurement {
    /// Cargo package.
    pub package: String,
    /// Bench target.
    pub target: String,
    /// Id of the benchmark, with its case where there are several.
    pub benchmark: String,
    /// Always `ns`.
    pub unit: String,
    /// Median of launch medians.
    pub estimate: f64,
    /// Lower bound of its interval; `null` below six launches.
    pub low: Option<f64>,
    /// Upper bound of its interval.
    pub high: Option<f64>,
    /// Coverage of the interval (fraction).
    pub confidence: Option<f64>,
    /// Launches, fresh processes each.
    pub launches: usize,
    /// Samples, all launches together.
    pub samples: usize,
    /// Iterations of one sample.
    pub iters_per_sample: u64,
    /// Why no more launches were taken.
    pub stop: Stop,
    /// Median over launches of the relative interquartile range.
    pub spread: Option<f64>,
    /// Fastest sample.
    pub min: f64,
    /// Mean of launch means.
    pub mean: f64,
    /// Samples labelled as outliers by Tukey's fences; none is removed.
    pub outliers: usize,
    /// Work per operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput: Option<ThroughputLine>,
    /// Quantities that the benchmark counts itself, such as allocations or a suite's own
    /// measurement.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<OwnLine>,
    /// Remarks on how it was measured; absent when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

/// A quantity that a benchmark counts itself, per operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct OwnLine {
    /// Quantity that is counted.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Per operation, median over launches.
    pub value: f64,
}

/// A quantity that both sides of a comparison count themselves, per operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct OwnChangeLine {
    /// Quantity that is counted.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Of the reference, median over launches.
    pub reference: f64,
    /// Of the contender, median over launches.
    pub contender: f64,
    /// Change (fraction); `null` where one side counts nothing or launches lack values.
    pub change: Option<f64>,
    /// Lower bound of its interval, at the error of the look divided by the number of quantities.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
    /// `contender - reference`, where one side counts nothing and there is no ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// Why there is no change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
}

impl OwnChangeLine {
    /// Words where there is no change as a fraction: the difference, else why there is none.
    pub fn without_ratio(&self) -> String {
        match self.difference {
            Some(difference) => {
                let sign = if difference < 0.0 { "" } else { "+" };
                format!("{sign}{} {} an operation", count(difference), self.unit)
            }
            None => self.unavailable.clone().unwrap_or_default(),
        }
    }
}

/// Work per operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThroughputLine {
    /// How much per operation.
    pub amount: f64,
    /// `bytes`, `elements` or a unit of the benchmark's own.
    pub unit: String,
}

/// One benchmark against the reference. Changes are `contender / reference - 1`: positive is
/// slower.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Comparison {
    /// Cargo package.
    pub package: String,
    /// Bench target.
    pub target: String,
    /// Id of the benchmark, with its case where there are several.
    pub benchmark: String,
    /// The reference; for cases compared with each other, `rev` is the case.
    pub reference: Rev,
    /// The contender.
    pub contender: Rev,
    /// Estimated change (fraction); `null` when nothing was measured.
    pub change: Option<f64>,
    /// Lower bound of the change.
    pub low: Option<f64>,
    /// Upper bound of the change.
    pub high: Option<f64>,
    /// Overall confidence of the procedure, all looks together (fraction).
    pub confidence: Option<f64>,
    /// Exact two-sided error of the look that gave this interval.
    pub look_error: Option<f64>,
    /// Verdict on the contender.
    pub verdict: Verdict,
    /// p-value of "no change", adjusted for all comparisons of the run so that the false discovery
    /// rate is controlled; `null` where it is not adjusted.
    pub p_adjusted: Option<f64>,
    /// Practical threshold (fraction).
    pub threshold: f64,
    /// Pairs, all launches together.
    pub pairs: usize,
    /// Launches, fresh processes for both sides each.
    pub launches: usize,
    /// The smallest change this run could have called (fraction).
    pub smallest: Option<f64>,
    /// Why no more launches were taken.
    pub stop: Stop,
    /// Median nanoseconds per operation of the reference.
    pub reference_ns: Option<f64>,
    /// Median nanoseconds per operation of the contender.
    pub contender_ns: Option<f64>,
    /// Iterations of one sample, reference first.
    pub iters_per_sample: Vec<u64>,
    /// Whether link layouts were varied.
    pub layout: LayoutState,
    /// How much of the variance between launches is due to link layouts; `null` unless they were
    /// fresh, the comparison stayed inconclusive and there was time to find out.
    pub layout_share: Option<LayoutShare>,
    /// Effect of running first instead of second on the ratio (fraction).
    pub order_effect: Option<f64>,
    /// Correlation of neighbouring log-ratios.
    pub lag1: Option<f64>,
    /// Pairs in which the contender took less time.
    pub contender_wins: usize,
    /// Pairs in which the reference took less time.
    pub reference_wins: usize,
    /// Pairs of equal time.
    pub ties: usize,
    /// Standard deviation of launch estimates (log-ratio).
    pub between_launches: Option<f64>,
    /// Median standard deviation of log-ratios inside a launch.
    pub within_launch: Option<f64>,
    /// Estimated change of each launch (fraction), in launch order.
    pub launch_changes: Vec<f64>,
    /// Quantities that both sides count themselves; no verdict depends on them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<OwnChangeLine>,
    /// Doubts and advice.
    pub notes: Vec<Note>,
}

impl Comparison {
    /// Bounds of the change (fractions).
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.low.zip(self.high)
    }

    /// Median nanoseconds per operation, reference first.
    pub fn times(&self) -> Option<(f64, f64)> {
        self.reference_ns.zip(self.contender_ns)
    }
}

/// A share in the variance between launches, with its 90 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct LayoutShare {
    /// Estimated share (0..=1).
    pub share: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// A benchmark, or a whole target, that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct FailureLine {
    /// Cargo package.
    pub package: String,
    /// Bench target.
    pub target: String,
    /// Id of the benchmark; `null` when the target failed as a whole.
    pub benchmark: Option<String>,
    /// The side, as the user wrote its revision.
    pub side: Option<String>,
    /// Message.
    pub error: String,
    /// The end of what it wrote to standard error.
    pub stderr_tail: String,
}

/// A bench target that was not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Skipped {
    /// Cargo package.
    pub package: String,
    /// Bench target.
    pub target: String,
    /// Why.
    pub reason: String,
    /// Whether nothing keeps it from being measured but where the user stands; for advice, not for
    /// readers.
    #[serde(skip)]
    pub is_elsewhere: bool,
}

/// A benchmark or target that exists on some sides only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Unmatched {
    /// Cargo package.
    pub package: String,
    /// Bench target.
    pub target: String,
    /// Id of the benchmark; `null` when the target as a whole is missing elsewhere.
    pub benchmark: Option<String>,
    /// The revision that has it, as the user wrote it.
    pub side: String,
}

/// A target that cannot be measured at a revision: it does not compile there, or has another
/// harness.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct NotMeasurable {
    /// The revision, as the user wrote it.
    pub rev: String,
    /// Cargo package.
    pub package: String,
    /// Bench target.
    pub target: String,
    /// Why: what the compiler said first, or what is missing.
    pub reason: String,
}

/// Totals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Summary {
    /// Benchmarks measured by themselves.
    pub measured: usize,
    /// Verdicts `slower`.
    pub slower: usize,
    /// Verdicts `faster`.
    pub faster: usize,
    /// Verdicts `equivalent`.
    pub equivalent: usize,
    /// Verdicts `inconclusive`.
    pub inconclusive: usize,
    /// Verdicts `identical`.
    pub identical: usize,
    /// Failures.
    pub failed: usize,
    /// Targets skipped.
    pub skipped: usize,
    /// Benchmarks or targets on some sides only.
    pub unmatched: usize,
    /// Targets that do not compile at a revision.
    pub not_measurable: usize,
    /// Geometric mean of the ratios of all compared benchmarks, one per contender.
    pub geometric_means: Vec<GeometricMeanLine>,
    /// Whether the user interrupted.
    pub interrupted: bool,
    /// Row of the run in the store; `null` when it was not stored.
    pub run: Option<i64>,
    /// Wall seconds from the end of the builds to the last launch.
    pub seconds: f64,
}

/// A geometric mean over benchmarks, as a change. It is computed once, where a comparison ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct GeometricMeanLine {
    /// The contender, as the user wrote it.
    pub contender: String,
    /// Geometric mean of `contender / reference`, minus 1.
    pub change: f64,
    /// Lower bound of a 95 % interval; `null` below six launches that all benchmarks have.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
    /// Benchmarks it is taken over.
    pub benchmarks: usize,
    /// Launches that all of them have.
    pub launches: usize,
}

impl GeometricMeanLine {
    /// The mean in words, the same wherever people read it.
    pub fn sentence(&self) -> String {
        let interval = match self.low.zip(self.high) {
            Some((low, high)) => format!("[{} .. {}]", change(low), change(high)),
            None => "without an interval: fewer than 6 launches in common".to_owned(),
        };
        format!(
            "geometric mean of {} benchmarks at {}: {}  {interval}",
            self.benchmarks,
            self.contender,
            change(self.change)
        )
    }
}

impl Summary {
    /// Counts a line.
    pub fn count(&mut self, line: &Line) {
        match line {
            Line::Measurement(_) => self.measured += 1,
            Line::Comparison(c) => match c.verdict {
                Verdict::Slower => self.slower += 1,
                Verdict::Faster => self.faster += 1,
                Verdict::Equivalent => self.equivalent += 1,
                Verdict::Inconclusive => self.inconclusive += 1,
                Verdict::Identical => self.identical += 1,
            },
            Line::Failure(_) => self.failed += 1,
            Line::Skipped(_) => self.skipped += 1,
            Line::Unmatched(_) => self.unmatched += 1,
            Line::NotMeasurable(_) => self.not_measurable += 1,
            Line::Context(_) | Line::Target(_) | Line::Summary(_) | Line::Error(_) => {}
        }
    }
}

/// Fields without which a line of a type says nothing. The others came later, or have a meaning
/// when absent.
fn required(kind: &str) -> &'static [&'static str] {
    match kind {
        "measurement" => &["package", "target", "benchmark", "estimate"],
        "comparison" => &["package", "target", "benchmark", "reference", "contender", "verdict"],
        "failure" => &["package", "target", "error"],
        "unmatched" => &["package", "target", "side"],
        "not_measurable" => &["rev", "package", "target", "reason"],
        _ => &[],
    }
}

/// Reads lines; types that this version does not know are passed over.
///
/// # Errors
/// A fragment with the number of the first line that is not a JSON object with a `type`, or that
/// lacks what its type needs.
pub fn parse(text: &str) -> Result<Vec<Line>, String> {
    const KNOWN: [&str; 10] = [
        "context",
        "target",
        "measurement",
        "comparison",
        "failure",
        "skipped",
        "unmatched",
        "not_measurable",
        "summary",
        "error",
    ];
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let number = number + 1;
        let value: serde_json::Value = serde_json::from_str(line)
            .map_err(|error| format!("line {number} is not JSON: {error}"))?;
        let Some(kind) = value.get("type").and_then(|t| t.as_str()) else {
            return Err(format!("line {number} has no `type`"));
        };
        if KNOWN.contains(&kind) {
            if let Some(name) = required(kind).iter().find(|name| value.get(**name).is_none()) {
                return Err(format!("line {number} is a {kind} without `{name}`"));
            }
            lines.push(
                serde_json::from_value(value)
                    .map_err(|error| format!("line {number} is not usable: {error}"))?,
            );
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive_a_round_trip_and_unknown_types_are_passed_over() {
        let comparison = Line::Comparison(Box::new(Comparison {
            benchmark: "a|b".into(),
            verdict: Verdict::Slower,
            change: Some(0.021),
            ..Comparison::default()
        }));
        let text = format!(
            "{}\n\n{{\"type\":\"tomorrow\",\"x\":1}}\n{{\"type\":\"skipped\",\"reason\":\"r\",\"new\":2}}\n",
            serde_json::to_string(&comparison).unwrap()
        );
        let lines = parse(&text).unwrap();
        assert_eq!(lines[0], comparison);
        assert!(matches!(&lines[1], Line::Skipped(s) if s.reason == "r"));
        assert_eq!(lines.len(), 2);
    }

    /// Every type with all of its fields, and every word that a field can hold.
    const GOLDEN: &str = include_str!("lines/golden.jsonl");

    #[test]
    fn every_line_is_written_byte_for_byte_as_ever() {
        let lines = parse(GOLDEN).unwrap();
        assert_eq!(lines.len(), GOLDEN.lines().count());
        for (line, golden) in lines.iter().zip(GOLDEN.lines()) {
            assert_eq!(serde_json::to_string(line).unwrap(), golden);
        }
    }

    #[test]
    fn bad_lines_are_named_by_number() {
        assert!(parse("{\"type\":\"summary\"}\nnonsense").unwrap_err().contains("line 2"));
        assert!(parse("{\"a\":1}").unwrap_err().contains("`type`"));
        assert!(parse("{\"type\":\"summary\",\"slower\":\"x\"}").unwrap_err().contains("line 1"));
    }

    #[test]
    fn a_line_without_what_it_is_about_is_refused_by_name() {
        for (line, field) in [
            (r#"{"type":"comparison"}"#, "package"),
            (
                r#"{"type":"comparison","package":"p","target":"t","benchmark":"b","reference":{},"contender":{}}"#,
                "verdict",
            ),
            (r#"{"type":"failure","package":"p","target":"t"}"#, "error"),
            (r#"{"type":"unmatched","package":"p","target":"t"}"#, "side"),
            (r#"{"type":"not_measurable","package":"p","target":"t","reason":"r"}"#, "rev"),
            (r#"{"type":"measurement","package":"p","target":"t","benchmark":"b"}"#, "estimate"),
        ] {
            let error = parse(&format!("{{\"type\":\"summary\"}}\n{line}\n")).unwrap_err();
            assert!(error.contains("line 2") && error.contains(&format!("`{field}`")), "{error}");
        }
    }
}
