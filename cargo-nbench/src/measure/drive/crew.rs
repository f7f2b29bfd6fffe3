//! The workers of one pass, one for each side, and moving them to the same benchmark in whatever
//! order their suites come. It measures nothing and decides nothing about what could not be
//! reached.

use std::cell::RefCell;
use std::time::Duration;

use nbench_engine::remote::Peer;
use nbench_engine::{SubjectError, SubjectErrorKind};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::Lane;
use crate::measure::launch::{LaunchConditions, Starter, Worker, interrupted};
use crate::measure::schedule::{Arrival, Passed, autopsy, move_to};
use crate::measure::{identity, orphans};

/// How many processes of one side are looked through for a benchmark that was listed.
const FRESH: usize = 3;

/// Running workers of one pass, by side.
pub(super) struct Crew<'i> {
    pub(super) workers: Vec<Worker>,
    pub(super) peers: Vec<RefCell<Peer<'i>>>,
    passed: Vec<Passed>,
    /// Order in which sides are moved and started, drawn per launch. The first one leads: the
    /// others follow it to what it offers next.
    order: Vec<usize>,
    /// Whether the worker still stands at a benchmark that is finished.
    standing: Vec<bool>,
    conditions: LaunchConditions,
}

/// Why a benchmark was not reached or not measured.
#[derive(Debug)]
pub(super) struct Stray {
    pub(super) side: usize,
    pub(super) message: String,
    pub(super) tail: String,
    /// Whether it happened while workers of other sides ran, in what each does alone when it is
    /// listed.
    pub(super) together: bool,
}

impl Stray {
    pub(super) fn at_start(side: usize, message: String) -> Stray {
        Stray { side, message, tail: String::new(), together: true }
    }
}

/// Answer of a worker that came instead of a benchmark.
#[derive(Debug)]
pub(super) enum Astray {
    /// The leading worker offers nothing more that is wanted.
    Ended,
    /// A worker cannot go on; with the benchmark that it was to reach, where that is known.
    Lost(Option<usize>, Stray),
}

impl<'i> Crew<'i> {
    /// Starts a worker for every side.
    pub(super) fn start(
        starter: &Starter,
        lane: &Lane,
        conditions: LaunchConditions,
        random: &mut StdRng,
    ) -> Result<Crew<'i>, (usize, SubjectError)> {
        let mut order: Vec<usize> = (0..lane.programs.len()).collect();
        order.shuffle(random);
        let mut started = Vec::new();
        for &side in &order {
            match starter.start(&lane.program(side), conditions, &interrupted) {
                Ok((worker, peer)) => started.push((side, worker, RefCell::new(peer))),
                Err(error) => return Err((side, error)),
            }
        }
        started.sort_by_key(|(side, ..)| *side);
        let (standing, passed) =
            (vec![false; started.len()], vec![Passed::default(); started.len()]);
        let (workers, peers) = started.into_iter().map(|(_, w, p)| (w, p)).unzip();
        Ok(Crew { workers, peers, passed, order, standing, conditions })
    }

    /// Moves all workers to the same benchmark of those that are `wanted`, one after the other:
    /// set-up of one side never runs while another's does. A worker that has passed it by,
    /// because its suite comes in another order, is replaced by a fresh one.
    pub(super) fn approach(
        &mut self,
        starter: &Starter,
        lane: &mut Lane,
        wanted: &[usize],
    ) -> Result<usize, Astray> {
        let Some((&leader, followers)) = self.order.split_first() else {
            return Err(Astray::Ended);
        };
        let followers = followers.to_vec();
        let position = |lane: &Lane, id: &str| {
            wanted.iter().copied().find(|unit| lane.units[*unit].offer.id == id)
        };
        let arrival = self.move_on(leader, lane, &|id| position(lane, id).is_some());
        let unit = match arrival {
            Ok(Arrival::There(id)) => position(lane, &id).ok_or(Astray::Ended)?,
            Ok(Arrival::Vanished(passed)) => return Err(ended(lane, leader, None, passed)),
            Ok(Arrival::Lost(error)) | Err(error) => {
                return Err(Astray::Lost(None, self.lost(leader, error)));
            }
        };
        for side in followers {
            self.follow(starter, lane, side, unit)?;
        }
        Ok(unit)
    }

    fn follow(
        &mut self,
        starter: &Starter,
        lane: &mut Lane,
        side: usize,
        unit: usize,
    ) -> Result<(), Astray> {
        let id = lane.units[unit].offer.id.clone();
        // The worker at hand may have passed it by already.
        for process in 0..=FRESH {
            match self.move_on(side, lane, &|offered| offered == id) {
                Ok(Arrival::There(_)) => return Ok(()),
                Ok(Arrival::Vanished(passed)) => {
                    let astray = ended(lane, side, Some(unit), passed);
                    if !matches!(astray, Astray::Ended) || lane.units[unit].offer.id != id {
                        return Err(astray);
                    }
                }
                Ok(Arrival::Lost(error)) | Err(error) => {
                    return Err(Astray::Lost(Some(unit), self.lost(side, error)));
                }
            }
            if process < FRESH {
                self.restart(starter, lane, side)
                    .map_err(|e| Astray::Lost(Some(unit), Stray::at_start(side, e.message)))?;
            }
        }
        let message = not_offered(&id, !lane.unpinned);
        Err(Astray::Lost(Some(unit), Stray { side, message, tail: String::new(), together: false }))
    }

    fn move_on(
        &mut self,
        side: usize,
        lane: &Lane,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Arrival, SubjectError> {
        // What an earlier benchmark wrote is not evidence against this one.
        self.workers[side].forget_stderr();
        if std::mem::take(&mut self.standing[side]) {
            self.peers[side].borrow_mut().proceed()?;
        }
        let passed = &mut self.passed[side];
        let arrival = move_to(&self.peers[side], &lane.program(side), passed, wanted);
        self.standing[side] = matches!(arrival, Arrival::There(_));
        Ok(arrival)
    }

    fn restart(&mut self, starter: &Starter, lane: &Lane, side: usize) -> Result<(), SubjectError> {
        self.peers[side].borrow_mut().quit();
        self.workers[side].finish(Duration::from_millis(500));
        let (worker, peer) = starter.start(&lane.program(side), self.conditions, &interrupted)?;
        self.workers[side] = worker;
        self.peers[side] = RefCell::new(peer);
        self.passed[side] = Passed::default();
        self.standing[side] = false;
        Ok(())
    }

    fn lost(&mut self, side: usize, error: SubjectError) -> Stray {
        let alive = error.kind == SubjectErrorKind::Failed;
        let (message, tail) = match alive {
            true => (error.message, self.workers[side].stderr_tail()),
            false => autopsy(&mut self.workers[side], error),
        };
        Stray { side, message, tail, together: self.workers.len() > 1 }
    }

    /// End of the worker of the side that a measurement failed on.
    pub(super) fn failed(&mut self, side: usize, error: SubjectError) -> Stray {
        Stray { together: false, ..self.lost(side, error) }
    }

    /// Ends all workers in order. Returns how many processes they left behind.
    pub(super) fn end(mut self) -> usize {
        for peer in &self.peers {
            peer.borrow_mut().quit();
        }
        for worker in &mut self.workers {
            worker.finish(Duration::from_millis(500));
        }
        orphans::end()
    }
}

/// Description of a benchmark that was listed and that nobody offers.
pub(super) fn not_offered(id: &str, pinned: bool) -> String {
    let hint = if pinned { "; `--no-pin` tells whether that is due to its single CPU" } else { "" };
    format!(
        "`{id}` was listed, but of {FRESH} more processes none offers it: its id changes from process to process{hint}"
    )
}

/// A worker came to the end of its suite: because set-up failed, or because it calls a benchmark
/// otherwise than the process that was listed. In the latter case the lane learns what changes.
fn ended(lane: &mut Lane, side: usize, unit: Option<usize>, passed: Passed) -> Astray {
    if let Some(message) = passed.broken {
        let together = lane.programs.len() > 1;
        return Astray::Lost(unit, Stray { side, message, tail: String::new(), together });
    }
    lane.learn(side, &passed.seen);
    Astray::Ended
}

impl Lane {
    /// Learns from what a process offered which ids change, and renames the benchmarks that have
    /// them.
    fn learn(&mut self, side: usize, seen: &[String]) {
        let listed = self.listed[side].clone();
        for unit in &mut self.units {
            let id = unit.offer.id.clone();
            if seen.contains(&id) {
                continue;
            }
            let Some(pattern) = identity::later(&id, &listed, seen) else { continue };
            // What was told already keeps its name.
            let is_new = unit.tasks.iter().all(|task| task.trial.launches() == 0);
            let name = if is_new { pattern.to_string() } else { id.clone() };
            for task in &mut unit.tasks {
                task.name = task.name.replacen(&id, &name, 1);
                task.notes.push(identity::note(&pattern));
            }
            unit.offer.id.clone_from(&name);
            let ids = self.walks.iter_mut().chain(&mut self.listed).flatten();
            ids.filter(|known| **known == id || pattern.matches(known))
                .for_each(|known| known.clone_from(&name));
            for program in &mut self.programs {
                program.naming.varying.push(pattern.clone());
                if !is_new {
                    program.naming.renamed.insert(pattern.to_string(), id.clone());
                }
            }
        }
    }
}
