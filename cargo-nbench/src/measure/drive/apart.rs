//! One side at a time: for what only one process can hold, such as a port or a lock file. The
//! worker of a side ends before that of the next begins; who comes first changes with the launch.

use std::cell::RefCell;
use std::time::Duration;

use nbench_engine::remote::{Peer, Remote};
use nbench_engine::{Iters, Order, Sample, Subject, SubjectError};

use super::crew::{Stray, not_offered};
use super::{Driver, Lane, Trial, Way};
use crate::interrupt;
use crate::measure::launch::{LaunchConditions, Program, Starter, Worker, interrupted};
use crate::measure::orphans;
use crate::measure::schedule::{Arrival, Passed, autopsy, move_to};

/// How long a worker may take to let go of what it holds.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where one worker at a time stands at a benchmark.
struct Stage<'s> {
    starter: &'s Starter,
    programs: Vec<Program>,
    conditions: LaunchConditions,
    id: String,
    now: Option<(usize, Worker, RefCell<Peer<'static>>)>,
}

impl Stage<'_> {
    /// Ends the worker that is there, and brings one of `side` to the benchmark.
    fn enter(&mut self, side: usize) -> Result<(), SubjectError> {
        if self.now.as_ref().is_some_and(|(there, ..)| *there == side) {
            return Ok(());
        }
        self.leave();
        let program = &self.programs[side];
        let (worker, peer) = self.starter.start(program, self.conditions, &interrupted)?;
        let peer = RefCell::new(peer);
        let mut passed = Passed::default();
        let arrival = move_to(&peer, program, &mut passed, &|id| id == self.id);
        self.now = Some((side, worker, peer));
        match arrival {
            Arrival::There(_) => Ok(()),
            Arrival::Vanished(Passed { broken: Some(message), .. }) => {
                Err(SubjectError::failed(message))
            }
            Arrival::Vanished(_) => {
                Err(SubjectError::failed(not_offered(&self.id, self.conditions.pinned)))
            }
            Arrival::Lost(error) => Err(error),
        }
    }

    fn leave(&mut self) {
        if let Some((_, mut worker, peer)) = self.now.take() {
            peer.borrow_mut().quit();
            worker.finish(PATIENCE);
        }
    }

    fn stray(&mut self, side: usize, error: SubjectError) -> Stray {
        let (message, tail) = match &mut self.now {
            Some((_, worker, _)) if error.kind == nbench_engine::SubjectErrorKind::Failed => {
                (error.message, worker.stderr_tail())
            }
            Some((_, worker, _)) => autopsy(worker, error),
            None => (error.message, String::new()),
        };
        Stray { side, message, tail, together: false }
    }
}

/// A side whose worker runs while it is sampled.
struct Solo<'s, 'd> {
    stage: &'s RefCell<Stage<'d>>,
    side: usize,
    case: usize,
    expected: Option<f64>,
}

impl Subject for Solo<'_, '_> {
    fn sample(&mut self, iters: Iters, count: usize) -> Result<Vec<Sample>, SubjectError> {
        let mut stage = self.stage.borrow_mut();
        stage.enter(self.side)?;
        let Some((_, _, peer)) = &stage.now else {
            return Err(SubjectError::protocol("no worker was started"));
        };
        let mut remote = Remote::new(peer, self.case, self.expected);
        let samples = remote.sample(iters, count);
        self.expected = remote.expected();
        samples
    }
}

impl Driver<'_> {
    /// One benchmark of `wanted`, its sides one after the other. Says whether it was measured.
    pub(super) fn pass_apart(
        &mut self,
        lane: &mut Lane,
        wanted: &mut Vec<usize>,
        conditions: LaunchConditions,
        pilot: bool,
    ) -> bool {
        let Some(&unit) = wanted.first() else { return false };
        let stage = RefCell::new(Stage {
            starter: self.starter,
            programs: (0..lane.programs.len()).map(|side| lane.program(side)).collect(),
            conditions,
            id: lane.units[unit].offer.id.clone(),
            now: None,
        });
        let lost = self.measure(lane, unit, pilot, &|pick, expected| {
            Box::new(Solo { stage: &stage, side: pick.side, case: pick.case, expected })
        });
        let stray = lost.map(|(side, error)| stage.borrow_mut().stray(side, error));
        stage.borrow_mut().leave();
        self.sweep(lane, orphans::end());
        if interrupt::requested() {
            return false;
        }
        match stray {
            None => {
                wanted.retain(|other| *other != unit);
                true
            }
            Some(stray) => self.astray(lane, wanted, Some(unit), stray, pilot),
        }
    }
}

impl Lane {
    /// Lets the sides run one at a time, for this reason.
    pub(super) fn keep_apart(&mut self, reason: &str) {
        if self.programs.len() < 2 {
            return;
        }
        self.apart = true;
        let note = format!(
            "sides were run one after the other, {reason}: weaker pairing, what the machine did meanwhile is part of this"
        );
        self.order(Order::Apart, Some(note));
    }

    /// Takes back a way that did not help either.
    pub(super) fn take_back(&mut self, way: Way) {
        match way {
            Way::Apart => {
                self.apart = false;
                self.order(Order::Rounds, None);
            }
            Way::Unpinned => {
                self.unpinned = false;
                self.stays_unpinned = None;
            }
        }
    }

    fn order(&mut self, order: Order, note: Option<String>) {
        self.apart_note = note;
        for task in self.units.iter_mut().flat_map(|unit| &mut unit.tasks) {
            if let Trial::Compare(trial) = &mut task.trial {
                trial.set_order(order);
            }
        }
    }
}
