//! The schedule of launches over all benchmarks: pilot, then launch after launch, each a walk of
//! every suite by fresh workers. It moves workers and trials together and tells a [`Sink`] what
//! happened; it neither prints nor stores, and does not know which side is older.

mod apart;
mod budget;
mod crew;
mod lane;
mod multiplicity;

use std::cell::Cell;
use std::time::{Duration, Instant};

use budget::{FEWEST, fit_budget, shrink};
use crew::{Astray, Crew, Stray, not_offered};
pub use lane::{Lane, LaneLayouts, Way};
use multiplicity::settle;
use nbench::wire::Offer;
use nbench_engine::remote::Remote;
use nbench_engine::{
    Compare, Decision, Iters, Measure, Plan, Sample, Silent, StopReason, Subject, SubjectError,
    SubjectErrorKind,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::failure::Failure;
use crate::interrupt;
use crate::measure::launch::{LaunchConditions, PAGE, Starter};
use crate::measure::layout::LayoutControl;
use crate::measure::orphans;
use crate::measure::placement::Addresses;

/// One offered benchmark.
#[derive(Debug)]
pub struct Unit {
    /// The offer, as the last side makes it.
    pub offer: Offer,
    /// Measurements and comparisons of it.
    pub tasks: Vec<Task>,
    /// Whether it failed; it is not run again then.
    pub failed: bool,
}

/// One measurement or comparison.
#[derive(Debug)]
pub struct Task {
    /// The id, with its case where there are several.
    pub name: String,
    /// Which case of which side each subject is.
    pub picks: Vec<Pick>,
    /// The trial.
    pub trial: Trial,
    /// Control of layout bias.
    pub layout: LayoutControl,
    /// p-values of the contenders, adjusted for all comparisons of the run so far; empty until the
    /// task ended, and where they are not adjusted.
    pub adjusted: Vec<Option<f64>>,
    /// Whether its end was told.
    pub is_reported: bool,
    /// Notes on how it was measured, beside those of its trial.
    pub notes: Vec<String>,
}

impl Task {
    /// A task that has not run.
    pub fn new(name: String, picks: Vec<Pick>, trial: Trial) -> Task {
        let layout = LayoutControl::default();
        Task {
            name,
            picks,
            trial,
            layout,
            adjusted: Vec::new(),
            is_reported: false,
            notes: Vec::new(),
        }
    }
}

impl Task {
    /// Ends launches that only explain its spread, if those are under way: its result stands.
    fn end_explaining(&mut self) -> bool {
        let Trial::Compare(trial) = &mut self.trial else { return false };
        let is_explaining = self.layout.is_explaining();
        if is_explaining {
            self.layout.give_up(trial, "");
        }
        is_explaining
    }
}

/// A case of a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pick {
    /// Index of the side.
    pub side: usize,
    /// Index of the case in the offer.
    pub case: usize,
}

/// Trial of a task.
#[derive(Debug)]
pub enum Trial {
    /// Measures one subject.
    Measure(Box<Measure>),
    /// Compares several with the first.
    Compare(Box<Compare>),
}

impl Trial {
    fn step(&mut self, subjects: &mut [&mut dyn Subject], pilot: bool) -> Result<(), SubjectError> {
        match self {
            Trial::Measure(trial) => {
                let subject: &mut dyn Subject = subjects[0];
                if pilot {
                    trial.pilot(subject, &mut Silent).map(|_| ())
                } else {
                    trial.launch(subject, &mut Silent).map(|_| ())
                }
            }
            Trial::Compare(trial) => {
                if pilot {
                    trial.pilot(subjects, &mut Silent).map(|_| ())
                } else {
                    trial.launch(subjects, &mut Silent).map(|_| ())
                }
            }
        }
    }

    /// Whether more launches are wanted.
    pub fn decide(&self) -> Decision {
        match self {
            Trial::Measure(trial) => trial.decide(),
            Trial::Compare(trial) => trial.decide(),
        }
    }

    fn plan(&self) -> &Plan {
        match self {
            Trial::Measure(trial) => trial.plan(),
            Trial::Compare(trial) => trial.plan(),
        }
    }

    fn stop(&mut self, reason: StopReason) {
        match self {
            Trial::Measure(trial) => trial.stop(reason),
            Trial::Compare(trial) => trial.stop(reason),
        }
    }

    /// Launches taken, the pilot not counted.
    pub fn launches(&self) -> usize {
        match self {
            Trial::Measure(trial) => trial.launches().len(),
            Trial::Compare(trial) => trial.launches().len(),
        }
    }

    /// Launch counts after which this trial may stop, ascending; of a measurement three of them.
    fn ends(&self) -> Vec<usize> {
        match self {
            Trial::Measure(trial) => {
                let (first, last) = (trial.plan().min_launches, trial.plan().max_launches);
                vec![first, first.midpoint(last), last]
            }
            Trial::Compare(trial) => trial.looks().at.clone(),
        }
    }

    fn calibration(&self) -> Option<&nbench_engine::Calibration> {
        match self {
            Trial::Measure(trial) => trial.calibration(),
            Trial::Compare(trial) => trial.calibration(),
        }
    }

    fn limit_rounds(&mut self, rounds: usize) {
        match self {
            Trial::Measure(trial) => trial.limit_rounds(rounds),
            Trial::Compare(trial) => trial.limit_rounds(rounds),
        }
    }
}

/// Where something happened.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// Package name.
    pub package: &'a str,
    /// Target name.
    pub target: &'a str,
    /// The benchmark.
    pub offer: &'a Offer,
}

/// Receives what happens, outside any timed region.
pub trait Sink {
    /// A task got another launch.
    fn launched(&mut self, at: At<'_>, task: &mut Task);
    /// A task got a launch that only explains its spread.
    fn explained(&mut self, at: At<'_>, task: &mut Task);
    /// A task ended; its trial says why.
    fn finished(&mut self, at: At<'_>, task: &mut Task);
    /// A benchmark failed on a side (`None` when no single side is to blame).
    fn failed(&mut self, at: At<'_>, side: Option<usize>, error: &str, stderr_tail: &str);
    /// How many launches are still expected, for a progress display.
    fn expect(&mut self, launches: u64);
    /// Something that concerns no single benchmark.
    fn warn(&mut self, text: &str);
    /// Name of a side.
    fn side(&self, side: usize) -> String;
}

/// Bounds of the whole schedule.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Bound on the measuring time of the whole suite.
    pub budget: Option<Duration>,
    /// Seed of start orders and environment sizes.
    pub seed: u64,
    /// Whether the worker of one side ends before that of the next begins.
    pub one_at_a_time: bool,
}

/// Runs pilot and launches until every task is done, the budget is spent or the user interrupts.
///
/// # Errors
/// When the budget cannot hold the fewest launches that make sense; nothing has been measured then.
pub fn drive(
    starter: &Starter,
    lanes: &mut [Lane],
    options: Options,
    sink: &mut dyn Sink,
) -> Result<(), Failure> {
    let started = Instant::now();
    let mut driver = Driver {
        starter,
        sink,
        seed: options.seed,
        random: StdRng::seed_from_u64(options.seed ^ 0x6c61_756e_6368),
    };
    for lane in lanes.iter_mut() {
        if options.one_at_a_time {
            lane.keep_apart("as `--one-at-a-time` asks for");
        }
        lane.unpinned = true;
        driver.lane(lane, true);
        lane.pin(starter.placement.pins());
    }
    let pilot = started.elapsed();
    let mut launch_cost = 0.0f64;
    if let Some(budget) = options.budget {
        launch_cost = fit_budget(lanes, pilot, budget)?;
    }
    driver.sink.expect(expected_launches(lanes));
    let mut launches = 0;
    while !interrupt::requested() && lanes.iter().any(Lane::is_open) {
        let left = options.budget.map(|b| b.saturating_sub(started.elapsed()).as_secs_f64());
        if let Some(left) = left {
            // Six launches are worth more than the budget: without them there is no interval.
            if launches >= FEWEST && left < launch_cost {
                break;
            }
            shrink(lanes, left, launch_cost, FEWEST.saturating_sub(launches));
        }
        launches += 1;
        let began = Instant::now();
        for lane in lanes.iter_mut().filter(|lane| lane.is_open()) {
            driver.lane(lane, false);
        }
        settle(lanes, driver.sink);
        lanes.iter_mut().for_each(Lane::begin_second_trials);
        // The plan's costs are the pilot's; what launches really take is known from here on.
        launch_cost = began.elapsed().as_secs_f64();
        driver.sink.expect(expected_launches(lanes));
    }
    let reason = if interrupt::requested() { StopReason::Interrupted } else { StopReason::Budget };
    for lane in lanes.iter_mut() {
        lane.stop(reason);
    }
    settle(lanes, driver.sink);
    Ok(())
}

/// Passes in succession that reach nothing, after which nothing more is tried.
const FRUITLESS: usize = 3;

/// The first line of a message, which may quote a back-trace.
fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

fn uses_threads(unit: &Unit) -> bool {
    let announced = unit.offer.settings.iter().any(|(k, v)| k == "threads" && v == "true");
    announced
        || unit.tasks.iter().any(|t| t.trial.calibration().and_then(|c| c.threads) == Some(true))
}

/// Launches that are expected in all. An open trial counts as if it ended at each of its looks with
/// even odds, so that the number moves little at a look, and not from the first look's to the last
/// one's.
fn expected_launches(lanes: &[Lane]) -> u64 {
    lanes
        .iter()
        .flat_map(|lane| &lane.units)
        .filter(|unit| !unit.failed)
        .flat_map(|unit| &unit.tasks)
        .map(|task| {
            let done = task.trial.launches();
            let own = match task.trial.decide() {
                Decision::Done(_) => done as f64,
                Decision::More => expected_end(&task.trial.ends(), done),
            };
            task.layout.launches_before() as f64 + own
        })
        .sum::<f64>()
        .round() as u64
}

/// Where a trial is expected to end that may do so at each of `ends`, and has `done` launches.
fn expected_end(ends: &[usize], done: usize) -> f64 {
    let mut odds = 1.0;
    let mut expected = 0.0;
    let mut to_come = ends.iter().filter(|end| **end > done).peekable();
    if to_come.peek().is_none() {
        return done as f64 + 1.0;
    }
    while let Some(end) = to_come.next() {
        let here = if to_come.peek().is_none() { odds } else { odds / 2.0 };
        expected += here * *end as f64;
        odds -= here;
    }
    expected
}

impl Unit {
    fn is_open(&self) -> bool {
        !self.failed && self.tasks.iter().any(|t| t.trial.decide() == Decision::More)
    }
}

/// Outcome of a pass of workers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// A benchmark was reached, or another way of running was found.
    Fruitful,
    /// The workers ended in order and offered nothing that is wanted.
    Ended,
    /// Workers were lost before they reached anything.
    Fruitless,
}

impl Pass {
    fn of(fruitful: bool) -> Pass {
        if fruitful { Pass::Fruitful } else { Pass::Fruitless }
    }
}

struct Driver<'d> {
    starter: &'d Starter,
    sink: &'d mut dyn Sink,
    seed: u64,
    random: StdRng,
}

/// A subject that remembers which side failed.
struct Sided<'r, 'p> {
    subject: Box<dyn Subject + 'p>,
    side: usize,
    culprit: &'r Cell<Option<usize>>,
}

impl Subject for Sided<'_, '_> {
    fn sample(&mut self, iters: Iters, count: usize) -> Result<Vec<Sample>, SubjectError> {
        let result = self.subject.sample(iters, count);
        if result.is_err() {
            self.culprit.set(Some(self.side));
        }
        result
    }
}

impl Driver<'_> {
    /// One launch of a lane: all its walks.
    fn lane(&mut self, lane: &mut Lane, pilot: bool) {
        if !pilot {
            lane.begin(self.seed);
        }
        self.walks(lane, pilot);
        lane.layouts.drawn = None;
    }

    fn walks(&mut self, lane: &mut Lane, pilot: bool) {
        for walk in 0..lane.walks.len() {
            let mut wanted: Vec<usize> = lane.walks[walk]
                .iter()
                .filter_map(|id| lane.units.iter().position(|u| u.offer.id == *id && u.is_open()))
                .collect();
            // Each pass ends behind the last benchmark that its workers offer, or behind one that
            // lost a worker.
            let mut fruitless = 0;
            while !wanted.is_empty() && !interrupt::requested() {
                let pass = self.pass(lane, &mut wanted, pilot);
                fruitless = if pass == Pass::Fruitful { 0 } else { fruitless + 1 };
                if fruitless < FRUITLESS {
                    continue;
                }
                if pass == Pass::Ended {
                    self.give_up(lane, &mut wanted, pilot);
                    fruitless = 0;
                    continue;
                }
                for unit in std::mem::take(&mut wanted) {
                    let what = "not reached: workers are lost during set-up";
                    self.fail(lane, unit, None, what, "");
                }
            }
        }
    }

    /// Deals with benchmarks that were listed and that no process offers.
    fn give_up(&mut self, lane: &mut Lane, wanted: &mut Vec<usize>, pilot: bool) {
        for unit in wanted.clone() {
            let message = not_offered(&lane.units[unit].offer.id, !lane.unpinned);
            let stray = Stray { side: 0, message, tail: String::new(), together: false };
            if self.astray(lane, wanted, Some(unit), stray, pilot) {
                return;
            }
        }
    }

    /// One pass of fresh workers over `wanted`, which is shortened by what is dealt with.
    fn pass(&mut self, lane: &mut Lane, wanted: &mut Vec<usize>, pilot: bool) -> Pass {
        let conditions = self.draw_conditions(lane);
        if lane.apart {
            return Pass::of(self.pass_apart(lane, wanted, conditions, pilot));
        }
        let mut crew = match Crew::start(self.starter, lane, conditions, &mut self.random) {
            Ok(crew) => crew,
            Err((side, error)) => {
                let stray = Stray::at_start(side, error.message);
                return Pass::of(
                    !interrupt::requested() && self.astray(lane, wanted, None, stray, pilot),
                );
            }
        };
        let (mut reached, mut ended) = (false, false);
        while !wanted.is_empty() && !interrupt::requested() {
            // Whether the worker of a benchmark that failed goes on.
            let mut alive = false;
            let lost = match crew.approach(self.starter, lane, wanted) {
                Ok(unit) => {
                    reached = true;
                    let peers = &crew.peers;
                    let lost = self.measure(lane, unit, pilot, &|pick, expected| {
                        Box::new(Remote::new(&peers[pick.side], pick.case, expected))
                    });
                    if interrupt::requested() {
                        break;
                    }
                    match lost {
                        None => {
                            wanted.retain(|other| *other != unit);
                            None
                        }
                        Some((side, error)) => {
                            alive = error.kind == SubjectErrorKind::Failed;
                            Some((Some(unit), crew.failed(side, error)))
                        }
                    }
                }
                Err(Astray::Ended) => {
                    ended = true;
                    break;
                }
                Err(Astray::Lost(unit, stray)) => Some((unit, stray)),
            };
            if interrupt::requested() {
                break;
            }
            if let Some((unit, stray)) = lost {
                let achieved = self.astray(lane, wanted, unit, stray, pilot);
                if alive && !achieved {
                    continue;
                }
                drop(crew);
                self.sweep(lane, orphans::end());
                return Pass::of(achieved || reached);
            }
        }
        self.sweep(lane, crew.end());
        if ended && !reached { Pass::Ended } else { Pass::of(reached) }
    }

    /// Deals with a benchmark that could not be measured, the first one that is wanted if none was
    /// reached: tries it in another way if there is one that can help, otherwise it failed. Says
    /// whether something was achieved.
    fn astray(
        &mut self,
        lane: &mut Lane,
        wanted: &mut Vec<usize>,
        unit: Option<usize>,
        stray: Stray,
        pilot: bool,
    ) -> bool {
        let Some(unit) = unit.or(wanted.first().copied()) else { return false };
        let is_new = lane.units[unit].tasks.iter().all(|task| task.trial.launches() == 0);
        if stray.together && is_new && lane.programs.len() > 1 && !lane.apart {
            // Each worker reached it when it was listed alone.
            lane.keep_apart(&format!(
                "both sides at once do not work ({}: {})",
                self.sink.side(stray.side),
                first_line(&stray.message)
            ));
            lane.on_trial = Some((unit, Way::Apart));
            return true;
        }
        if !pilot && is_new && !lane.unpinned && self.starter.placement.pins() {
            // The pilot was not pinned and could measure it.
            lane.unpinned = true;
            lane.stays_unpinned = Some(format!("it fails on one: {}", first_line(&stray.message)));
            lane.on_trial = Some((unit, Way::Unpinned));
            return true;
        }
        if let Some((_, way)) = lane.on_trial.take_if(|(on_trial, _)| *on_trial == unit) {
            lane.take_back(way);
        }
        wanted.retain(|other| *other != unit);
        self.fail(lane, unit, Some(stray.side), &stray.message, &stray.tail);
        false
    }

    /// Says, once for each target, that processes were left behind.
    fn sweep(&mut self, lane: &mut Lane, left: usize) {
        if left > 0 && !std::mem::replace(&mut lane.orphans_reported, true) {
            self.sink.warn(&orphans::describe(&lane.target, left));
        }
    }

    fn draw_conditions(&mut self, lane: &Lane) -> LaunchConditions {
        // What is compared shares its luck; what is measured alone averages over it.
        let shared = lane.programs.len() > 1;
        LaunchConditions {
            padding: self.random.random_range(0..PAGE),
            pinned: !lane.unpinned,
            addresses: if shared { Addresses::Shared } else { Addresses::Random },
        }
    }

    /// Runs the open tasks of a unit; returns the side and error of a lost worker.
    fn measure<'p>(
        &mut self,
        lane: &mut Lane,
        unit: usize,
        pilot: bool,
        subject: &dyn Fn(Pick, Option<f64>) -> Box<dyn Subject + 'p>,
    ) -> Option<(usize, SubjectError)> {
        let (package, target) = (lane.package.clone(), lane.target.clone());
        let drawn = lane.layouts.drawn.as_ref();
        let Unit { offer, tasks, .. } = &mut lane.units[unit];
        let at = At { package: &package, target: &target, offer };
        for task in tasks.iter_mut().filter(|t| t.trial.decide() == Decision::More) {
            let culprit = Cell::new(None);
            let expected = task.trial.calibration().map(|c| {
                c.round_spent / c.iters.iter().sum::<u64>().max(1) as f64 * c.iters.len() as f64
            });
            let mut subjects: Vec<Sided<'_, '_>> = task
                .picks
                .iter()
                .map(|pick| Sided {
                    subject: subject(*pick, expected),
                    side: pick.side,
                    culprit: &culprit,
                })
                .collect();
            let mut borrowed: Vec<&mut dyn Subject> =
                subjects.iter_mut().map(|s| s as &mut dyn Subject).collect();
            match task.trial.step(&mut borrowed, pilot) {
                Ok(()) if pilot => {}
                // Nothing is counted or kept of launches that only explain.
                Ok(()) if task.layout.is_explaining() => self.sink.explained(at, task),
                Ok(()) => {
                    if let Some(drawn) = drawn {
                        task.layout.count(drawn.as_ref().map(|_| ()).map_err(String::as_str));
                    }
                    self.sink.launched(at, task);
                }
                // It ends launches that only explain; the worker lives on.
                Err(error) if error.kind == SubjectErrorKind::Failed && task.end_explaining() => {}
                Err(error) => return Some((culprit.get().unwrap_or(0), error)),
            }
        }
        // What was tried another way works so.
        lane.on_trial.take_if(|(on_trial, _)| *on_trial == unit);
        None
    }

    fn fail(&mut self, lane: &mut Lane, unit: usize, side: Option<usize>, what: &str, tail: &str) {
        let Lane { package, target, units, .. } = lane;
        let unit = &mut units[unit];
        let mut explaining = false;
        for task in &mut unit.tasks {
            explaining |= task.end_explaining();
        }
        if explaining {
            // Its result was complete before.
            return;
        }
        unit.failed = true;
        self.sink.failed(At { package, target, offer: &unit.offer }, side, what, tail);
    }
}

#[cfg(test)]
mod tests;
