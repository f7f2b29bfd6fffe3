//! One bench target on its way through the launches: how its workers are run, and which link layout
//! each launch has. It starts nothing and decides no verdict.

use nbench_config::Layouts;
use nbench_engine::StopReason;

use super::{Trial, Unit, uses_threads};
use crate::measure::launch::Program;
use crate::measure::layout::{Drawn, LayoutControl, SecondTrial, Supply, target_seed};

/// One bench target, built for every side.
#[derive(Debug)]
pub struct Lane {
    /// Package name.
    pub package: String,
    /// Target name.
    pub target: String,
    /// One program per side.
    pub programs: Vec<Program>,
    /// Ids in the order in which one pass of all workers reaches them.
    pub walks: Vec<Vec<String>>,
    /// Offers by side as they were listed, in their order.
    pub listed: Vec<Vec<String>>,
    /// Benchmarks of all walks.
    pub units: Vec<Unit>,
    /// Whether workers are not pinned.
    pub unpinned: bool,
    /// Why they must not be, if they must not.
    pub stays_unpinned: Option<String>,
    /// Whether the worker of one side ends before that of the next begins.
    pub apart: bool,
    /// Note of its results about that.
    pub apart_note: Option<String>,
    /// The benchmark that another way of running was begun for, until it is known to help.
    pub on_trial: Option<(usize, Way)>,
    /// Whether it was said that processes were left behind.
    pub orphans_reported: bool,
    /// Its link layouts.
    pub layouts: LaneLayouts,
}

/// Another way of running, for benchmarks that the usual one does not work for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// One side at a time.
    Apart,
    /// Not pinned to a CPU.
    Unpinned,
}

/// Where a lane's link layouts come from, and those of the launch that is running.
#[derive(Debug)]
pub struct LaneLayouts {
    when: Layouts,
    supply: Supply,
    /// Launches begun, the pilot not counted.
    launches: usize,
    /// Whether second trials confirm what first ones said.
    confirming: bool,
    /// The launch whose layout every further one has, while second trials explain the spread.
    fixed: Option<usize>,
    /// The executables of this launch, or why it has none; nothing where none are wanted.
    pub(super) drawn: Option<Result<Drawn, String>>,
}

impl Default for LaneLayouts {
    fn default() -> LaneLayouts {
        LaneLayouts {
            when: Layouts::Off,
            supply: Supply::Kept,
            launches: 0,
            confirming: false,
            fixed: None,
            drawn: None,
        }
    }
}

impl Lane {
    /// Decides whether workers are pinned, after a pilot that was not.
    pub(super) fn pin(&mut self, can_pin: bool) {
        let threaded = self.units.iter().find(|unit| uses_threads(unit));
        self.unpinned = threaded.is_some() || self.stays_unpinned.is_some();
        if let Some(unit) = threaded.filter(|_| can_pin && self.stays_unpinned.is_none()) {
            self.stays_unpinned = Some(format!("`{}` of this target uses threads", unit.offer.id));
        }
    }

    /// Notes of its results on how workers were run, beside what concerns one alone.
    pub(super) fn notes(&self) -> Vec<String> {
        let unpinned = self.stays_unpinned.as_ref().filter(|_| self.unpinned);
        let unpinned = unpinned.map(|reason| {
            format!("workers were not pinned to one CPU, as by `--no-pin`: {reason}")
        });
        unpinned.into_iter().chain(self.apart_note.clone()).collect()
    }

    pub(super) fn is_open(&self) -> bool {
        self.units.iter().any(Unit::is_open)
    }

    /// Lets the executables of every launch be linked anew, or says in results why they are not.
    /// With `explain`, what stays inconclusive is told the share of its layout.
    pub fn vary_layouts(&mut self, when: Layouts, supply: Supply, explain: bool) {
        for task in self.units.iter_mut().flat_map(|unit| &mut unit.tasks) {
            let control = LayoutControl::new(when, &supply);
            task.layout = if explain { control.explaining() } else { control };
        }
        self.layouts = LaneLayouts { when, supply, ..LaneLayouts::default() };
    }

    /// Seconds that a launch spends on linking.
    pub(super) fn seconds_of_layouts(&self) -> f64 {
        if self.layouts.when == Layouts::Fresh { self.layouts.supply.seconds() } else { 0.0 }
    }

    /// Begins the next launch: draws layouts if they are wanted.
    pub(super) fn begin(&mut self, seed: u64) {
        let seed = target_seed(seed, &self.package, &self.target);
        let wanted = self.layouts.when == Layouts::Fresh || self.layouts.confirming;
        // Those of the last launch go first: they have the same names.
        self.layouts.drawn = None;
        if wanted {
            let launch = self.layouts.fixed.unwrap_or(self.layouts.launches);
            self.layouts.drawn = self.layouts.supply.draw(seed, launch);
        }
        self.layouts.launches += 1;
    }

    /// The program of a side in this launch. When one side has no fresh layout, none has.
    pub(super) fn program(&self, side: usize) -> Program {
        let built = &self.programs[side];
        match &self.layouts.drawn {
            Some(Ok(drawn)) => drawn.program(side, built),
            Some(Err(_)) | None => built.clone(),
        }
    }

    /// Once all first trials are over, begins the second ones of those that need them: they share
    /// their processes, so their launches cannot differ in layouts.
    pub(super) fn begin_second_trials(&mut self) {
        if self.is_open() {
            return;
        }
        for unit in self.units.iter_mut().filter(|unit| !unit.failed) {
            for task in &mut unit.tasks {
                let Trial::Compare(trial) = &mut task.trial else { continue };
                match task.layout.begin_second(trial) {
                    Some(SecondTrial::Confirm) => self.layouts.confirming = true,
                    Some(SecondTrial::Explain) => self.layouts.fixed = Some(self.layouts.launches),
                    None => {}
                }
            }
        }
    }

    /// Ends what is not finished. A second trial that did not come to its end is given up.
    pub(super) fn stop(&mut self, reason: StopReason) {
        for task in self.units.iter_mut().flat_map(|unit| &mut unit.tasks) {
            if let Trial::Compare(trial) = &mut task.trial {
                task.layout.give_up(trial, "it was stopped before fresh layouts confirmed it");
            }
        }
        for unit in self.units.iter_mut().filter(|u| u.is_open()) {
            for task in &mut unit.tasks {
                task.trial.stop(reason);
            }
        }
    }
}
