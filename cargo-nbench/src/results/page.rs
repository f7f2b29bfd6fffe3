//! The page of one comparison run: translates trials of the engine and result lines into the views
//! of the template, and writes pages to files. It decides nothing; verdicts arrive in the lines.

use std::path::Path;

use nbench_engine::stats::{hodges_lehmann, signed_rank_interval};
use nbench_engine::{Compare, PairedLaunch, lead_averaged};
use nbench_templates::lines::{Comparison, Context, Line, Summary};
use nbench_templates::{AxisView, ComparedView, ComparisonView, LaunchView};

use crate::failure::{Exit, Failure};
use crate::results::date::utc;
use crate::results::record::now_ms;

/// The axis beside wall time.
const CPU: &str = "process CPU time";

/// Error of an interval where the wall time of the same launches has none to share.
const USUAL_ERROR: f64 = 0.05;

/// A page in the making.
#[derive(Debug)]
pub struct Page {
    view: ComparisonView,
}

impl Page {
    /// A page without results.
    pub fn new(title: &str) -> Page {
        Page {
            view: ComparisonView {
                title: title.to_owned(),
                generated_at: String::new(),
                about: Vec::new(),
                together: Vec::new(),
                comparisons: Vec::new(),
                missing: Vec::new(),
            },
        }
    }

    /// Takes what a line says beside comparisons: where they were made, what is missing, totals.
    pub fn hear(&mut self, line: &Line) {
        match line {
            Line::Context(context) => self.view.about = about(context),
            Line::Summary(summary) => self.view.together = together(summary),
            line => self.view.missing.extend(missing(line)),
        }
    }

    /// Adds a comparison; `trial` is the one whose word counts, `None` when nothing was measured.
    pub fn add(&mut self, line: &Comparison, trial: Option<&Compare>, contender: usize) {
        self.view.comparisons.push(compared(line, trial, contender));
    }

    /// Writes the page.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(mut self, file: &Path) -> Result<(), Failure> {
        self.view.generated_at = format!("{} UTC", utc(now_ms() / 1000));
        let page = nbench_templates::comparison_page(&self.view)
            .map_err(|error| Failure::new(Exit::Publish, format!("render the page: {error}")))?;
        write_file(&page, file)
    }
}

/// Writes a rendered page, with the directory it stands in.
///
/// # Errors
/// When the file cannot be written.
pub fn write_file(page: &str, file: &Path) -> Result<(), Failure> {
    if let Some(parent) = file.parent() {
        // An existing directory is fine; anything else shows when the file is written.
        let _ = std::fs::create_dir_all(parent);
    }
    std::fs::write(file, page).map_err(|error| {
        Failure::new(Exit::Publish, format!("cannot write `{}`: {error}", file.display()))
            .hint("`--html=FILE` names another place")
    })
}

fn about(context: &Context) -> Vec<String> {
    let seeded = format!(
        "preset {}, seed {}, cargo-nbench {}",
        context.preset, context.seed, context.version
    );
    [
        &context.invocation,
        &context.host_summary,
        &context.toolchain_summary,
        &context.placement,
        &seeded,
    ]
    .into_iter()
    .filter(|text| !text.is_empty())
    .cloned()
    .collect()
}

fn together(summary: &Summary) -> Vec<String> {
    let mut lines: Vec<String> =
        summary.geometric_means.iter().map(|mean| mean.sentence()).collect();
    if summary.interrupted {
        lines.push("interrupted: not all benchmarks were compared".to_owned());
    }
    lines
}

/// Benchmark of a line that is not on the page, with the reason.
fn missing(line: &Line) -> Option<String> {
    let (package, target, benchmark, reason) = match line {
        Line::Failure(f) => {
            let side = f.side.as_ref().map_or(String::new(), |side| format!(" at {side}"));
            (&f.package, &f.target, f.benchmark.as_deref(), format!("failed{side}: {}", f.error))
        }
        Line::Skipped(s) => (&s.package, &s.target, None, format!("skipped: {}", s.reason)),
        Line::Unmatched(u) => {
            (&u.package, &u.target, u.benchmark.as_deref(), format!("only at {}", u.side))
        }
        Line::NotMeasurable(n) => {
            (&n.package, &n.target, None, format!("not measurable at {}: {}", n.rev, n.reason))
        }
        Line::Context(_)
        | Line::Target(_)
        | Line::Measurement(_)
        | Line::Comparison(_)
        | Line::Summary(_)
        | Line::Error(_) => return None,
    };
    let benchmark = benchmark.map_or(String::new(), |benchmark| format!("  {benchmark}"));
    Some(format!("{package}/{target}{benchmark}: {reason}"))
}

fn compared(line: &Comparison, trial: Option<&Compare>, contender: usize) -> ComparedView {
    let launches = trial.map(Compare::launches).unwrap_or_default();
    let axes = trial.map(|trial| AxisView {
        name: CPU.to_owned(),
        change: cpu_change(
            launches,
            contender,
            trial.plan().trim,
            line.look_error.unwrap_or(USUAL_ERROR),
        ),
    });
    ComparedView {
        line: line.clone(),
        launches: launches.iter().map(|launch| launch_view(launch, contender)).collect(),
        axes: axes.into_iter().collect(),
    }
}

fn launch_view(launch: &PairedLaunch, contender: usize) -> LaunchView {
    LaunchView {
        log_ratios: launch
            .rounds
            .iter()
            .map(|round| (round.per_operation[contender] / round.per_operation[0]).ln())
            .collect(),
        estimate: launch.estimates.get(contender - 1).copied().flatten(),
    }
}

/// A change with the bounds of its interval, if it has one.
type Change = (f64, Option<(f64, f64)>);

/// The change of CPU time by the rule that wall time has: estimates by launch, their Hodges-Lehmann
/// centre, and the signed-rank interval at two-sided error `alpha`. It describes; nothing is called
/// by it.
///
/// # Errors
/// Why there is no such change. One missing or empty reading is enough: leaving such pairs out
/// would favour those that a coarse clock happened to round up.
fn cpu_change(
    launches: &[PairedLaunch],
    contender: usize,
    trim: f64,
    alpha: f64,
) -> Result<Change, String> {
    let mut estimates = Vec::with_capacity(launches.len());
    for launch in launches {
        let mut led = [Vec::new(), Vec::new()];
        for round in &launch.rounds {
            let reading = |subject: usize| {
                round.cpu.get(subject).copied().flatten().filter(|cpu| cpu.is_finite())
            };
            let (Some(reference), Some(other)) = (reading(0), reading(contender)) else {
                return Err("the probe had no value for some pairs".to_owned());
            };
            if reference <= 0.0 || other <= 0.0 {
                return Err("some readings are zero: the clock is too coarse for one slice".into());
            }
            let first = round.order.iter().find(|s| **s == 0 || **s == contender);
            led[usize::from(first == Some(&0))].push((other / reference).ln());
        }
        estimates.extend(lead_averaged(&led[0], &led[1], trim));
    }
    let centre = hodges_lehmann(&estimates).ok_or("there are no pairs")?;
    let interval = signed_rank_interval(&estimates, alpha);
    Ok((centre.exp_m1(), interval.map(|i| (i.low.exp_m1(), i.high.exp_m1()))))
}

#[cfg(test)]
mod tests {
    use nbench_engine::{Plan, Round, Silent};
    use nbench_templates::lines::{
        FailureLine, GeometricMeanLine, NotMeasurable, Rev, Skipped, Unmatched, Verdict,
    };

    use super::*;

    /// One pair; the reference takes 100 ns of either time.
    fn round(reference_first: bool, wall: f64, cpu: Option<f64>) -> Round {
        Round {
            order: if reference_first { vec![0, 1] } else { vec![1, 0] },
            per_operation: vec![100.0, wall],
            cpu: vec![cpu.map(|_| 100.0), cpu],
        }
    }

    fn trial(launches: &[Vec<Round>]) -> Compare {
        let mut trial = Compare::new("x", 2, Plan::default());
        for rounds in launches {
            trial.accept(rounds.clone(), &mut Silent);
        }
        trial
    }

    fn cpu(launches: &[Vec<Round>], alpha: f64) -> Result<Change, String> {
        cpu_change(trial(launches).launches(), 1, 0.2, alpha)
    }

    #[test]
    fn cpu_time_is_judged_by_launch() {
        // Launches at +1 %, .., +6 %. Of the 21 averages of two log-ratios, 9 lie below those of 1
        // and 6, 2 and 5, 3 and 4 %, and 9 above: the centre is the middle one of these
        // three. Six launches at 5 % have their extremes as bounds.
        let launches: Vec<Vec<Round>> = (1..=6)
            .map(|p| vec![round(p % 2 == 0, 500.0, Some(100.0 + f64::from(p))); 4])
            .collect();
        let (change, interval) = cpu(&launches, 0.05).unwrap();
        assert!((change - ((1.02_f64 * 1.05).sqrt() - 1.0)).abs() < 1e-12, "{change}");
        let (low, high) = interval.unwrap();
        assert!((low - 0.01).abs() < 1e-12 && (high - 0.06).abs() < 1e-12, "{low} {high}");
        let (_, interval) = cpu(&launches, 0.01).unwrap();
        assert_eq!(interval, None, "six launches have no interval at 1 %");
    }

    #[test]
    fn an_order_effect_of_cpu_time_cancels() {
        // Five pairs led by either side, twice as much or half as much: no change at all.
        let mut rounds = vec![round(true, 100.0, Some(200.0)); 5];
        rounds.extend(vec![round(false, 100.0, Some(50.0)); 5]);
        // Pairs of one lead more do not tilt the average of both leads.
        rounds.extend(vec![round(true, 100.0, Some(200.0)); 3]);
        let (change, _) = cpu(&[rounds], 0.05).unwrap();
        assert!(change.abs() < 1e-12, "{change}");
    }

    #[test]
    fn cpu_time_that_is_not_known_says_why() {
        let missing = vec![vec![round(true, 100.0, Some(100.0)), round(true, 100.0, None)]];
        assert!(cpu(&missing, 0.05).unwrap_err().contains("no value"));
        let coarse = vec![vec![round(true, 100.0, Some(100.0)), round(true, 100.0, Some(0.0))]];
        assert!(cpu(&coarse, 0.05).unwrap_err().contains("too coarse"));
        assert!(cpu(&[], 0.05).unwrap_err().contains("no pairs"));
    }

    #[test]
    fn a_trial_becomes_a_view() {
        let trial = trial(&[vec![round(true, 110.0, None); 3], vec![round(false, 0.0, None)]]);
        let line = Comparison {
            benchmark: "b".into(),
            contender: Rev { rev: "@tree".into(), commit: "0123456789ab".into(), dirty: true },
            verdict: Verdict::Inconclusive,
            low: Some(0.1),
            notes: vec!["n".into()],
            ..Comparison::default()
        };
        let view = compared(&line, Some(&trial), 1);
        assert_eq!(view.line, line);
        assert_eq!(view.line.contender.label(), "@tree (0123456789, dirty)");
        assert_eq!(view.line.interval(), None, "one bound is none");
        assert_eq!(view.launches.len(), 2);
        assert_eq!(view.launches[0].log_ratios, [1.1_f64.ln(); 3]);
        assert!((view.launches[0].estimate.unwrap() - 1.1_f64.ln()).abs() < 1e-12);
        assert_eq!(view.launches[1].estimate, None);
        assert!(view.axes[0].change.is_err());
        let view = compared(&line, None, 1);
        assert!(view.launches.is_empty() && view.axes.is_empty());
    }

    #[test]
    fn what_is_not_compared_is_told_with_its_reason() {
        let mut page = Page::new("p");
        let (package, target) = (|| "p".to_owned(), || "t".to_owned());
        for line in [
            Line::Failure(FailureLine {
                package: package(),
                target: target(),
                benchmark: Some("b".into()),
                side: Some("main".into()),
                error: "it panicked".into(),
                ..FailureLine::default()
            }),
            Line::Skipped(Skipped {
                package: package(),
                target: target(),
                reason: "r".into(),
                ..Skipped::default()
            }),
            Line::Unmatched(Unmatched {
                package: package(),
                target: target(),
                benchmark: None,
                side: "main".into(),
            }),
            Line::NotMeasurable(NotMeasurable {
                rev: "v1".into(),
                package: package(),
                target: target(),
                reason: "E0425".into(),
            }),
            Line::Comparison(Box::default()),
            Line::Summary(Summary {
                geometric_means: vec![GeometricMeanLine {
                    contender: "@tree".into(),
                    change: 0.012,
                    benchmarks: 2,
                    ..GeometricMeanLine::default()
                }],
                interrupted: true,
                ..Summary::default()
            }),
        ] {
            page.hear(&line);
        }
        assert_eq!(
            page.view.missing,
            [
                "p/t  b: failed at main: it panicked",
                "p/t: skipped: r",
                "p/t: only at main",
                "p/t: not measurable at v1: E0425"
            ]
        );
        assert_eq!(
            page.view.together,
            [
                "geometric mean of 2 benchmarks at @tree: +1.2 %  without an interval: fewer than 6 launches in common",
                "interrupted: not all benchmarks were compared"
            ]
        );
    }

    #[test]
    fn a_page_that_cannot_be_written_names_its_file_and_another_way() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("new/page.html");
        Page::new("p").write(&file).unwrap();
        assert!(std::fs::read_to_string(&file).unwrap().contains("Nothing was compared"));
        let failure = Page::new("p").write(home.path()).unwrap_err();
        assert_eq!(failure.exit, Exit::Publish);
        assert!(failure.error.contains(&home.path().display().to_string()));
        assert!(failure.hint.is_some());
    }
}
