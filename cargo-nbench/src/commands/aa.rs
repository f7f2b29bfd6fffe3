//! `cargo nbench aa`: the working tree against itself, again and again, so that a maintainer sees
//! what this host and this suite can and cannot tell before trusting a verdict.

use std::collections::BTreeMap;
use std::path::Path;

use nbench_config::{Layouts, Settings};
use nbench_engine::stats::{self, proportion_interval};
use nbench_engine::{Compare, Verdict};
use nbench_templates::lines::{FailureLine, Line};
use nbench_templates::number::percent;

use crate::build::built::report_harnesses;
use crate::build::sides::{BuildRequest, Sides, build_sides};
use crate::cli::args::AaArgs;
use crate::cli::settings::{self, build_options, flag_layer};
use crate::commands::{filter_of, none_of, nothing_selected, starter};
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::measure::drive::{At, Options, Sink, Task, Trial, drive};
use crate::measure::filter::Filter;
use crate::measure::launch::Starter;
use crate::measure::layout::{Draws, Supply};
use crate::measure::plans::Plans;
use crate::measure::suite::{Listed, list_target};
use crate::results::report;
use crate::revisions::revision::Repository;
use crate::term::{Term, Text, Tone};

/// Counts over repeated comparisons of one benchmark with itself.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct SelfComparison {
    /// Verdicts `faster`.
    pub faster: usize,
    /// Verdicts `slower`.
    pub slower: usize,
    /// Verdicts `equivalent`.
    pub equivalent: usize,
    /// Verdicts `inconclusive`.
    pub inconclusive: usize,
    /// Final intervals that exclude zero, called or not.
    pub excluding_zero: usize,
    /// Half-widths of the final intervals (fraction).
    pub half_widths: Vec<f64>,
    /// Smallest changes that could have been called (fraction).
    pub smallest: Vec<f64>,
    /// Launches taken.
    pub launches: Vec<f64>,
    /// Estimated changes (fraction).
    pub changes: Vec<f64>,
}

impl SelfComparison {
    fn add(&mut self, trial: &Compare) {
        let judgement = trial.judgement(1);
        match judgement.verdict {
            Verdict::Faster => self.faster += 1,
            Verdict::Slower => self.slower += 1,
            Verdict::Equivalent => self.equivalent += 1,
            Verdict::Inconclusive => self.inconclusive += 1,
        }
        if let Some(interval) = judgement.interval {
            self.excluding_zero += usize::from(interval.low > 0.0 || interval.high < 0.0);
            self.half_widths.push((interval.high - interval.low) / 2.0);
        }
        self.smallest.extend(judgement.smallest);
        self.changes.extend(judgement.change);
        self.launches.push(judgement.launches as f64);
    }

    /// Comparisons that ended.
    pub fn comparisons(&self) -> usize {
        self.faster + self.slower + self.equivalent + self.inconclusive
    }

    /// False alarms: the two sides are the same, so every call is one.
    pub fn called(&self) -> usize {
        self.faster + self.slower
    }
}

/// Collects judgements instead of printing them.
struct Collector<'t> {
    term: &'t mut Term,
    by_name: BTreeMap<(String, String, String), SelfComparison>,
    failures: Vec<FailureLine>,
    expected: u64,
}

impl Sink for Collector<'_> {
    fn launched(&mut self, _at: At<'_>, task: &mut Task) {
        self.term.advance(1, &task.name);
    }

    fn explained(&mut self, _at: At<'_>, task: &mut Task) {
        self.term.advance(1, &task.name);
    }

    fn finished(&mut self, at: At<'_>, task: &mut Task) {
        // A comparison that was cut off says nothing about those that run to their end.
        if interrupt::requested() {
            return;
        }
        if let Trial::Compare(trial) = &task.trial {
            let name = (at.package.to_owned(), at.target.to_owned(), task.name.clone());
            self.by_name.entry(name).or_default().add(trial);
        }
    }

    fn failed(&mut self, at: At<'_>, _side: Option<usize>, error: &str, stderr_tail: &str) {
        self.failures.push(FailureLine {
            package: at.package.to_owned(),
            target: at.target.to_owned(),
            benchmark: Some(at.offer.id.clone()),
            side: None,
            error: error.to_owned(),
            stderr_tail: stderr_tail.to_owned(),
        });
    }

    fn expect(&mut self, launches: u64) {
        self.term.expect_steps(self.expected + launches);
    }

    fn warn(&mut self, text: &str) {
        self.term.warn(text);
    }

    fn side(&self, side: usize) -> String {
        format!("copy {}", side + 1)
    }
}

/// Builds the working tree once, compares it with itself `--repeats` times and reports.
///
/// # Errors
/// When settings, build or selection fail.
pub fn aa(term: &mut Term, args: &AaArgs) -> Result<Exit, Failure> {
    let filter = filter_of(&args.filters, &args.filter.ids, &args.filter.tag)?;
    let here = Path::new(".").canonicalize().unwrap_or_else(|_| ".".into());
    let repository = Repository::discover(&settings::start(&here, &args.build))?;
    let root = settings::workspace_root(args.build.manifest_path.as_deref())?;
    let settings = settings_of(args, &root)?;
    let tree = repository.working_tree()?;
    for remark in repository.remarks() {
        term.warn(&remark);
    }
    if let Some(busy) = crate::measure::busy::warning() {
        term.warn(&busy);
    }
    let options = build_options(&args.build);
    let request = BuildRequest {
        repository: &repository,
        here: &here,
        options: &options,
        overlay: false,
        workspace: &root,
        share: &settings.share,
        own_toolchains: false,
    };
    let built = build_sides(term, &request, &[tree.clone(), tree])?;
    let (targets, _) = built.common();
    for line in &built.remarks {
        report::print(term, line);
    }
    report_harnesses(term, &built.remarks);
    if targets.is_empty() {
        return Err(nothing_selected(&built.remarks, false, &options.words));
    }
    let starter = starter(&settings, !args.plan.no_pin);
    let listed: Vec<Listed> =
        targets.into_iter().map(|t| list_target(&starter, t, &settings.aliases)).collect();
    if listed.iter().all(|l| l.common(&filter).is_empty()) {
        let ids: Vec<String> = listed.iter().flat_map(|target| target.ids()).collect();
        let targets: Vec<_> = listed.iter().map(|listed| listed.target.name()).collect();
        return Err(none_of(&ids, &targets, &filter, &options.words));
    }
    let supplies = supplies(term, &settings, &built, &listed);
    let targets: Vec<_> = listed.iter().zip(&supplies).collect();
    let Collector { term, by_name, failures, .. } =
        repeat(term, args, &settings, &filter, &starter, &targets)?;
    term.end_progress();
    for failure in &failures {
        report::print(term, &Line::Failure(failure.clone()));
    }
    show(term, &by_name, settings.plan.threshold);
    Ok(if interrupt::requested() {
        Exit::Interrupted
    } else if failures.is_empty() {
        Exit::Done
    } else {
        Exit::BenchmarkFailed
    })
}

fn settings_of(args: &AaArgs, root: &Path) -> Result<Settings, Failure> {
    let mut flags = flag_layer(&args.plan);
    flags.threshold = args.threshold;
    flags.confidence = args.confidence;
    flags.layouts = args.layouts.map(settings::layouts);
    flags.half_width = args.precision;
    let mut settings = settings::load(root, flags)?;
    if !settings.seed_is_set {
        settings.plan.seed = settings::fresh_seed();
    }
    Ok(settings)
}

/// Where the layouts of each target come from: each copy draws its own, as two builds would have
/// them.
fn supplies(term: &mut Term, settings: &Settings, built: &Sides, listed: &[Listed]) -> Vec<Supply> {
    let mut supplies = Vec::new();
    for target in listed {
        let supply = match settings.layouts {
            Layouts::Off => Supply::Kept,
            Layouts::Fresh | Layouts::Confirm => built.layouts(&target.target, Draws::PerSide),
        };
        if let Supply::Unavailable(reason) = &supply {
            let name = &target.target.target;
            term.note(&format!("`{name}` keeps the layout of its build: {reason}"));
        }
        supplies.push(supply);
    }
    supplies
}

/// Compares again and again, each time with orders, start orders and environments of its own.
fn repeat<'t>(
    term: &'t mut Term,
    args: &AaArgs,
    settings: &Settings,
    filter: &Filter,
    starter: &Starter,
    targets: &[(&Listed, &Supply)],
) -> Result<Collector<'t>, Failure> {
    let mut collector =
        Collector { term, by_name: BTreeMap::new(), failures: Vec::new(), expected: 0 };
    collector.term.start_progress("comparing with itself");
    let budget =
        args.plan.budget.map(|b| b / u32::try_from(args.repeats).unwrap_or(u32::MAX).max(1));
    for repeat in 0..args.repeats {
        let seed = settings.plan.seed.wrapping_add(repeat.wrapping_mul(0x9e37_79b9));
        let plans = Plans {
            plan: nbench_engine::Plan { seed, ..settings.plan.clone() },
            rules: &settings.rules,
            pinned: settings.pinned,
        };
        let mut lanes = Vec::new();
        for (target, supply) in targets {
            let Some(mut lane) = target.lane(filter, &plans).0 else { continue };
            lane.vary_layouts(settings.layouts, (*supply).clone(), false);
            lanes.push(lane);
        }
        let options = Options { budget, seed, one_at_a_time: false };
        drive(starter, &mut lanes, options, &mut collector)?;
        collector.expected += lanes
            .iter()
            .flat_map(|l| &l.units)
            .flat_map(|u| &u.tasks)
            .map(|t| t.trial.launches() as u64)
            .sum::<u64>();
        if interrupt::requested() {
            break;
        }
    }
    Ok(collector)
}

/// Results by package, target and benchmark.
type ByName = BTreeMap<(String, String, String), SelfComparison>;

fn show(term: &mut Term, by_name: &ByName, threshold: f64) {
    for (name, result) in by_name {
        show_one(term, name, result, threshold);
    }
    let comparisons: usize = by_name.values().map(SelfComparison::comparisons).sum();
    let called: usize = by_name.values().map(SelfComparison::called).sum();
    let excluding: usize = by_name.values().map(|result| result.excluding_zero).sum();
    let bound = proportion_interval(called, comparisons, 0.95);
    term.json(&serde_json::json!({
        "type": "self_comparison_summary",
        "comparisons": comparisons,
        "called": called,
        "called_low": bound.map(|b| b.0),
        "called_high": bound.map(|b| b.1),
        "excluding_zero": excluding,
    }));
    let bound = match bound {
        Some((_, high)) => {
            format!("95 % interval up to {}", percent(high).trim_start_matches('+'))
        }
        None => "no comparison ended".to_owned(),
    };
    term.line(&format!(
        "{called} of {comparisons} comparisons of equal code called faster or slower ({bound}); {excluding} final interval{} zero",
        if excluding == 1 { " excludes" } else { "s exclude" }
    ));
}

fn show_one(
    term: &mut Term,
    (package, target, name): &(String, String, String),
    result: &SelfComparison,
    threshold: f64,
) {
    let typical = |values: &[f64]| stats::median(values);
    term.json(&serde_json::json!({
        "type": "self_comparison",
        "package": package,
        "target": target,
        "benchmark": name,
        "comparisons": result.comparisons(),
        "faster": result.faster,
        "slower": result.slower,
        "equivalent": result.equivalent,
        "inconclusive": result.inconclusive,
        "excluding_zero": result.excluding_zero,
        "half_width": typical(&result.half_widths),
        "smallest": typical(&result.smallest),
        "launches": typical(&result.launches),
        "change": typical(&result.changes),
        "threshold": threshold,
    }));
    let mut text = Text::toned(Tone::Strong, &format!("{package}/{target}  {name}"));
    let share = |values: &[f64]| {
        typical(values).map_or("unavailable".to_owned(), |v| format!("{:.2} %", 100.0 * v))
    };
    let alarms = format!("{} of {} called", result.called(), result.comparisons());
    let tone = if result.called() > 0 { Tone::Bad } else { Tone::Good };
    text.line(2).add(tone, &alarms).push(&format!(
        ", {} inconclusive; half-width {}, smallest change that would be called {}, {} launches (medians)",
        result.inconclusive,
        share(&result.half_widths),
        share(&result.smallest),
        typical(&result.launches).map_or("no".to_owned(), |l| format!("{l:.0}")),
    ));
    term.line(text);
}

#[cfg(test)]
mod tests {
    use nbench_engine::{Plan, Round, Silent};

    use super::*;

    #[test]
    fn calls_of_equal_code_are_counted_as_alarms() {
        let mut result = SelfComparison::default();
        for ratio in [1.0, 1.05] {
            let mut trial = Compare::new("x", 2, Plan::default());
            for _ in 0..10 {
                let round = |order: Vec<usize>| Round {
                    order,
                    per_operation: vec![100.0, 100.0 * ratio],
                    cpu: vec![None, None],
                };
                trial.accept(vec![round(vec![0, 1]), round(vec![1, 0])], &mut Silent);
            }
            result.add(&trial);
        }
        assert_eq!((result.comparisons(), result.called(), result.equivalent), (2, 1, 1));
        assert_eq!(result.excluding_zero, 1);
    }
}
