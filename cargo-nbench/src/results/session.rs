//! One measuring run from its first launch to its summary: it receives what the driver says, stores
//! it, prints it and counts it. It does not decide what is measured.

use std::collections::BTreeMap;
use std::time::Instant;

use nbench_engine::{Compare, Measure, Silent, SingleLaunch, geometric_mean, launch_estimates};
use nbench_store::{MeasurementLaunch, NewComparison, NewMeasurement, Side};
use nbench_templates::lines::{
    Comparison, FailureLine, GeometricMeanLine, Line, Measurement, Note, Rev, Stop, Summary,
    Verdict,
};

use crate::failure::Failure;
use crate::measure::drive::{At, Sink, Task, Trial};
use crate::measure::layout::{LayoutControl, LayoutFindings};
use crate::measure::words;
use crate::results::page::Page;
use crate::results::record::{
    self, Key, Recorder, comparison_line, measurement_line, paired_launch, small, throughput_line,
};
use crate::results::report::{self, Brief};
use crate::revisions::revision::Revision;
use crate::term::Term;

/// Outcome of a run.
#[derive(Debug)]
pub struct RunOutcome {
    /// Totals.
    pub summary: Summary,
    /// Every comparison between revisions or cases.
    pub comparisons: Vec<Comparison>,
    /// The first trouble with the store.
    pub trouble: Option<Failure>,
    /// The page, where one was asked for.
    pub page: Option<Page>,
}

/// Notes by the indices of reference and contender.
pub type NotesBySides = BTreeMap<(usize, usize), Vec<String>>;

/// Receives results and passes them on.
pub struct Session<'t> {
    /// The terminal.
    pub term: &'t mut Term,
    /// The store.
    pub recorder: Recorder,
    /// Revisions by side.
    pub revisions: Vec<Revision>,
    /// Totals so far.
    pub summary: Summary,
    /// The page of comparisons, for those who ask for one.
    pub page: Option<Page>,
    /// Lines that have no table of their own.
    aside: Vec<Line>,
    /// Results that the end repeats.
    brief: Brief,
    trouble_is_reported: bool,
    comparisons: Vec<Comparison>,
    /// Whether contenders are compared with each other too.
    pub all_pairs: bool,
    /// Launch estimates of every comparison between revisions, by contender.
    estimates: Vec<(usize, Vec<Option<f64>>)>,
    /// Notes for every comparison of a target, by its package and name.
    notes: BTreeMap<(String, String), NotesBySides>,
    started: Instant,
    /// Failures, side and text of each; they are explained at the end.
    failures: Vec<(Option<String>, String)>,
}

impl<'t> Session<'t> {
    /// A session that has said nothing yet.
    pub fn new(term: &'t mut Term, recorder: Recorder, revisions: Vec<Revision>) -> Session<'t> {
        let mut session = Session {
            term,
            recorder,
            brief: Brief::new(revisions.len()),
            trouble_is_reported: false,
            revisions,
            summary: Summary::default(),
            page: None,
            aside: Vec::new(),
            comparisons: Vec::new(),
            all_pairs: false,
            estimates: Vec::new(),
            notes: BTreeMap::new(),
            started: Instant::now(),
            failures: Vec::new(),
        };
        if let Some(warning) = session.recorder.warning() {
            session.term.warn(&warning);
            // What waits may yet end well, and is told then if it does not.
            if let Some(trouble) = session.recorder.trouble().cloned() {
                if let Some(hint) = &trouble.hint {
                    session.term.hint(hint);
                }
                session.trouble_is_reported = true;
            }
        }
        session
    }

    /// Prints and counts a line; lines without a table are kept for the store.
    pub fn emit(&mut self, line: Line) {
        self.brief.emit(self.term, &line);
        self.summary.count(&line);
        self.term.show_findings(&so_far(&self.summary));
        if let Some(page) = &mut self.page {
            page.hear(&line);
        }
        match line {
            Line::Failure(failure) => {
                self.recorder.failure(&failure);
                let text = format!("{}\n{}", failure.error, failure.stderr_tail);
                self.failures.push((failure.side, text));
            }
            Line::Context(_)
            | Line::Target(_)
            | Line::Skipped(_)
            | Line::Unmatched(_)
            | Line::NotMeasurable(_) => {
                self.aside.push(line);
                self.recorder.details(&self.aside);
            }
            Line::Comparison(comparison) => self.comparisons.push(*comparison),
            Line::Measurement(_) | Line::Summary(_) | Line::Error(_) => {}
        }
    }

    /// Keeps notes for the comparisons of a target that are still to come.
    pub fn explain(&mut self, package: &str, target: &str, notes: NotesBySides) {
        self.notes.insert((package.to_owned(), target.to_owned()), notes);
    }

    /// Puts the notes on two sides of a target before those on the measurement, which they
    /// outweigh.
    fn annotate(&self, line: &mut Comparison, task: &Task, subjects: (usize, usize)) {
        let sides = (task.picks[subjects.0].side, task.picks[subjects.1].side);
        let key = (line.package.clone(), line.target.clone());
        if let Some(notes) = self.notes.get(&key).and_then(|notes| notes.get(&sides)) {
            line.notes.splice(0..0, notes.iter().cloned().map(Note::from));
        }
    }

    /// Failures that were said: the side and all that is known of each.
    pub fn failures(&self) -> &[(Option<String>, String)] {
        &self.failures
    }

    /// Says that both sides of a benchmark are the same code.
    pub fn identical(
        &mut self,
        package: &str,
        target: &str,
        benchmark: &str,
        tags: &[String],
        threshold: f64,
    ) {
        for contender in 1..self.revisions.len() {
            let key = Key {
                package: package.to_owned(),
                target: target.to_owned(),
                benchmark: benchmark.to_owned(),
                contender,
            };
            let line = Comparison {
                package: key.package.clone(),
                target: key.target.clone(),
                benchmark: key.benchmark.clone(),
                reference: self.rev(0),
                contender: self.rev(contender),
                verdict: Verdict::Identical,
                stop: Stop::Identical,
                threshold,
                ..Comparison::default()
            };
            let (reference, other) = (self.side(0), self.side(contender));
            self.recorder.comparison_launch(
                &key,
                tags,
                move |run, benchmark| NewComparison {
                    run,
                    benchmark,
                    reference: reference.clone(),
                    contender: other.clone(),
                    threshold,
                },
                None,
            );
            self.recorder.comparison_result(&key, &line);
            if let Some(page) = &mut self.page {
                page.add(&line, None, contender);
            }
            self.emit(Line::Comparison(Box::new(line)));
        }
    }

    fn rev(&self, side: usize) -> Rev {
        record::rev(&self.revisions[side])
    }

    fn side(&self, side: usize) -> Side {
        let revision = &self.revisions[side];
        Side {
            commit: revision.commit.clone(),
            label: revision.label.clone(),
            dirty_digest: revision.dirty.clone(),
        }
    }

    /// Names of the subjects of a comparison: revisions, or cases of one revision.
    fn subject(&self, at: At<'_>, task: &Task, subject: usize) -> (Rev, Side) {
        let pick = task.picks[subject];
        let (mut rev, mut side) = (self.rev(pick.side), self.side(pick.side));
        if is_between_cases(task)
            && let Some(case) = at.offer.cases.get(pick.case)
        {
            rev.rev.clone_from(case);
            side.label.clone_from(case);
        }
        (rev, side)
    }

    /// Ends the session: the last line, the state of the run, trouble with the store.
    pub fn end(mut self, interrupted: bool) -> RunOutcome {
        self.term.end_progress();
        self.summary.interrupted = interrupted;
        self.summary.run = self.recorder.run();
        self.summary.seconds = self.started.elapsed().as_secs_f64();
        self.summary.geometric_means = self.geometric_means();
        let line = Line::Summary(self.summary.clone());
        // What all benchmarks say together is told the same by `comment` from the store.
        self.aside.push(line.clone());
        self.recorder.details(&self.aside);
        self.recorder.finish(if interrupted {
            nbench_store::RunState::Interrupted
        } else {
            nbench_store::RunState::Finished
        });
        self.brief.end(self.term);
        report::print(self.term, &line);
        if let Some(page) = &mut self.page {
            page.hear(&line);
        }
        let trouble = self.recorder.trouble().cloned();
        if let Some(trouble) = trouble.as_ref().filter(|_| !self.trouble_is_reported) {
            self.term.error(&trouble.error, trouble.hint.as_deref());
        }
        RunOutcome {
            summary: self.summary,
            comparisons: self.comparisons,
            trouble,
            page: self.page,
        }
    }

    /// One geometric mean per contender that has at least two comparisons.
    fn geometric_means(&self) -> Vec<GeometricMeanLine> {
        (1..self.revisions.len())
            .filter_map(|contender| {
                let own: Vec<Vec<Option<f64>>> = self
                    .estimates
                    .iter()
                    .filter(|(of, _)| *of == contender)
                    .map(|(_, estimates)| estimates.clone())
                    .collect();
                let mean = (own.len() > 1).then(|| geometric_mean(&own, 0.05)).flatten()?;
                Some(GeometricMeanLine {
                    contender: self.revisions[contender].label.clone(),
                    change: mean.change,
                    low: mean.interval.map(|i| i.0),
                    high: mean.interval.map(|i| i.1),
                    benchmarks: mean.benchmarks,
                    launches: mean.launches,
                })
            })
            .collect()
    }

    /// Ends a session that found nothing to measure; the failure that follows says why.
    pub fn abandon(mut self) {
        self.term.end_progress();
        self.recorder.abandon();
    }

    /// Every two contenders against each other.
    fn emit_all_pairs(&mut self, at: At<'_>, task: &Task, trial: &Compare) {
        for first in 1..task.picks.len() {
            for second in first + 1..task.picks.len() {
                let key = key(at, &self.name(at, task, second), second);
                let (reference, _) = self.subject(at, task, first);
                let (contender, _) = self.subject(at, task, second);
                let mut line =
                    record::between_line(&key, trial, (first, second), reference, contender);
                with_layout(&mut line, &task.layout, second);
                self.annotate(&mut line, task, (first, second));
                // Neither counted nor gated: the summary is about the reference.
                self.brief.emit(self.term, &Line::Comparison(Box::new(line)));
            }
        }
    }

    fn store_measurement(&mut self, at: At<'_>, task: &Task) {
        let Trial::Measure(trial) = &task.trial else { return };
        let Some((index, launch)) = trial.launches().iter().enumerate().next_back() else { return };
        let iters = trial.calibration().and_then(|c| c.iters.first().copied()).unwrap_or(1);
        let row = MeasurementLaunch {
            launch: small(index + 1),
            iters,
            samples: launch.samples.clone(),
            spent: launch.spent as u64,
        };
        let key = key(at, &task.name, 0);
        let new = self.new_measurement(at, task.picks[0].side);
        self.recorder.measurement_launch(&key, &at.offer.tags, new, &row);
    }

    fn new_measurement(
        &self,
        at: At<'_>,
        side: usize,
    ) -> impl Fn(nbench_store::RunId, nbench_store::BenchmarkId) -> NewMeasurement + use<> {
        let revision = &self.revisions[side];
        let (commit, dirty_digest) = (revision.commit.clone(), revision.dirty.clone());
        let throughput = at
            .offer
            .throughput
            .as_ref()
            .and_then(|t| serde_json::to_string(&throughput_line(t)).ok());
        move |run, benchmark| NewMeasurement {
            run,
            benchmark,
            commit: commit.clone(),
            dirty_digest: dirty_digest.clone(),
            unit: "ns".to_owned(),
            throughput: throughput.clone(),
        }
    }

    fn store_comparison(&mut self, at: At<'_>, task: &Task) {
        let Trial::Compare(trial) = &task.trial else { return };
        let Some((index, launch)) = trial.launches().iter().enumerate().next_back() else { return };
        for contender in 1..task.picks.len() {
            let iters = trial.calibration().map_or(1, |c| c.iters[contender]);
            // A second trial goes on counting where the first one ended.
            let index = task.layout.launches_before() + index + 1;
            let Some(row) = paired_launch(index, launch, contender, iters) else { continue };
            let key = key(at, &self.name(at, task, contender), contender);
            let (_, reference) = self.subject(at, task, 0);
            let (_, other) = self.subject(at, task, contender);
            let threshold = trial.plan().threshold;
            self.recorder.comparison_launch(
                &key,
                &at.offer.tags,
                move |run, benchmark| NewComparison {
                    run,
                    benchmark,
                    reference: reference.clone(),
                    contender: other.clone(),
                    threshold,
                },
                Some(&row),
            );
        }
    }

    /// The name of a comparison: that of the task, or of the contending case.
    fn name(&self, at: At<'_>, task: &Task, contender: usize) -> String {
        if is_between_cases(task) {
            case_name(at, task.picks[contender].case)
        } else {
            task.name.clone()
        }
    }

    /// Cases compared with each other are measured by the same launches: each gets its card and its
    /// place in the history.
    fn case_measurements(&mut self, at: At<'_>, task: &Task, trial: &Compare) {
        for (subject, pick) in task.picks.iter().enumerate() {
            let key = key(at, &case_name(at, pick.case), 0);
            let iters = trial.calibration().map_or(1, |c| c.iters[subject]);
            let mut alone = Measure::new(key.benchmark.clone(), trial.plan().clone());
            for (index, launch) in trial.launches().iter().enumerate() {
                let samples: Vec<f64> =
                    launch.rounds.iter().map(|r| r.per_operation[subject]).collect();
                let spent = samples.iter().sum::<f64>() * iters as f64;
                let new = self.new_measurement(at, pick.side);
                let row = MeasurementLaunch {
                    launch: small(index + 1),
                    iters,
                    spent: spent as u64,
                    samples: samples.clone(),
                };
                self.recorder.measurement_launch(&key, &at.offer.tags, new, &row);
                let own = launch.own.get(subject).cloned().unwrap_or_default();
                alone.accept(SingleLaunch { samples, spent, own }, &mut Silent);
            }
            let Some(line) = measurement_line(&key, &alone, at.offer.throughput.as_ref()) else {
                continue;
            };
            let line = Measurement {
                iters_per_sample: iters,
                stop: words::stop(trial.decide()),
                notes: line.notes.iter().cloned().chain(notes_of(task)).collect(),
                ..line
            };
            self.recorder.measurement_result(&key, &record::measurement_result(&line));
            self.emit(Line::Measurement(line));
        }
    }
}

/// Notes on how a task was run.
fn notes_of(task: &Task) -> impl Iterator<Item = Note> {
    task.notes.iter().cloned().map(Note::from)
}

/// Adds to the result of the deciding trial what its layouts are worth.
fn with_layout(line: &mut Comparison, control: &LayoutControl, contender: usize) {
    let LayoutFindings { state, share, notes } = control.findings(line, contender);
    line.layout = state;
    line.layout_share = share;
    line.notes.extend(notes);
}

/// Findings of a run so far, for somebody who waits.
fn so_far(summary: &Summary) -> String {
    let counts =
        [(summary.failed, "failed"), (summary.slower, "slower"), (summary.faster, "faster")];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

/// Whether the subjects of a task are cases of one side.
fn is_between_cases(task: &Task) -> bool {
    task.picks.len() > 1 && task.picks.iter().all(|p| p.side == task.picks[0].side)
}

fn case_name(at: At<'_>, case: usize) -> String {
    match at.offer.cases.get(case) {
        Some(case) => format!("{}/{case}", at.offer.id),
        None => at.offer.id.clone(),
    }
}

fn key(at: At<'_>, benchmark: &str, contender: usize) -> Key {
    Key {
        package: at.package.to_owned(),
        target: at.target.to_owned(),
        benchmark: benchmark.to_owned(),
        contender,
    }
}

impl Sink for Session<'_> {
    fn explained(&mut self, _at: At<'_>, task: &mut Task) {
        self.term.advance(1, &task.name);
    }

    fn launched(&mut self, at: At<'_>, task: &mut Task) {
        match &task.trial {
            Trial::Measure(_) => self.store_measurement(at, task),
            Trial::Compare(_) => self.store_comparison(at, task),
        }
        self.term.advance(1, &task.name);
    }

    fn finished(&mut self, at: At<'_>, task: &mut Task) {
        match &task.trial {
            Trial::Measure(trial) => {
                let key = key(at, &task.name, 0);
                if let Some(mut line) = measurement_line(&key, trial, at.offer.throughput.as_ref())
                {
                    line.notes.extend(notes_of(task));
                    self.recorder.measurement_result(&key, &record::measurement_result(&line));
                    self.emit(Line::Measurement(line));
                }
            }
            Trial::Compare(trial) => {
                if trial.launches().is_empty() {
                    return;
                }
                if is_between_cases(task) {
                    self.case_measurements(at, task, trial);
                }
                for contender in 1..task.picks.len() {
                    let key = key(at, &self.name(at, task, contender), contender);
                    let (reference, _) = self.subject(at, task, 0);
                    let (other, _) = self.subject(at, task, contender);
                    let deciding = task.layout.deciding(trial, contender);
                    let mut line = comparison_line(
                        &key,
                        deciding,
                        reference,
                        other,
                        task.adjusted.get(contender - 1).copied().flatten(),
                    );
                    with_layout(&mut line, &task.layout, contender);
                    self.annotate(&mut line, task, (0, contender));
                    line.notes.extend(notes_of(task));
                    if !is_between_cases(task) {
                        self.estimates.push((contender, launch_estimates(deciding, contender)));
                    }
                    self.recorder.comparison_result(&key, &line);
                    if let Some(page) = &mut self.page {
                        page.add(&line, Some(deciding), contender);
                    }
                    self.emit(Line::Comparison(Box::new(line)));
                }
                if self.all_pairs {
                    self.emit_all_pairs(at, task, trial);
                }
            }
        }
    }

    fn failed(&mut self, at: At<'_>, side: Option<usize>, error: &str, stderr_tail: &str) {
        self.emit(Line::Failure(FailureLine {
            package: at.package.to_owned(),
            target: at.target.to_owned(),
            benchmark: Some(at.offer.id.clone()),
            side: side.map(|s| self.revisions[s].label.clone()),
            error: error.to_owned(),
            stderr_tail: stderr_tail.to_owned(),
        }));
    }

    fn expect(&mut self, launches: u64) {
        self.term.expect_steps(launches);
    }

    fn warn(&mut self, text: &str) {
        self.term.warn(text);
    }

    fn side(&self, side: usize) -> String {
        self.revisions.get(side).map_or_else(String::new, |rev| rev.label.clone())
    }
}
