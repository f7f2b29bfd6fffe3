//! Walking suites: what each side offers, in which order their common benchmarks can be reached
//! together, and moving several workers to the same benchmark. It does not measure.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use nbench::wire::Offer;
use nbench_engine::SubjectError;
use nbench_engine::remote::{Peer, Reached};

use crate::measure::launch::{LaunchConditions, Program, Starter, Worker, interrupted, panic_in};
use crate::measure::orphans;
use crate::measure::placement::Addresses;
use crate::process::describe;

/// Offers of one executable, from a walk of skips.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// Benchmarks in flow order.
    pub offers: Vec<Offer>,
    /// Messages of set-up that failed outside any benchmark.
    pub broken: Vec<String>,
    /// Why the walk ended early, with the tail of standard error.
    pub ended: Option<(String, String)>,
    /// Processes that it left behind, which were ended.
    pub left: usize,
    /// Time of the walk: start of the process and set-up.
    pub spent: Duration,
}

impl Listing {
    /// Ids in flow order.
    pub fn ids(&self) -> Vec<String> {
        self.offers.iter().map(|offer| offer.id.clone()).collect()
    }
}

/// Walks a suite without running any benchmark. Runs its set-up code, on the workers' CPU if
/// `pinned`.
pub fn list(starter: &Starter, program: &Program, pinned: bool) -> Listing {
    let started = Instant::now();
    let mut listing = Listing::default();
    let conditions = LaunchConditions { padding: 0, pinned, addresses: Addresses::Random };
    match starter.start(program, conditions, &interrupted) {
        Err(error) => listing.ended = Some((error.message, String::new())),
        Ok((mut worker, mut peer)) => {
            let end = loop {
                match peer.reach() {
                    Ok(Reached::Offer(offer)) => {
                        listing.offers.push(offer);
                        if let Err(error) = peer.skip() {
                            break Some(error);
                        }
                    }
                    Ok(Reached::Broken(message)) => listing.broken.push(message),
                    Ok(Reached::Done) => break None,
                    Err(error) => break Some(error),
                }
            };
            peer.quit();
            listing.ended = end.map(|error| autopsy(&mut worker, error));
            if listing.ended.is_none() {
                worker.finish(Duration::from_secs(1));
            }
            listing.left = orphans::end();
        }
    }
    listing.spent = started.elapsed();
    listing
}

/// End of a worker that was lost: the message, made precise by its exit status, and the tail
/// of its standard error.
pub fn autopsy(worker: &mut Worker, error: SubjectError) -> (String, String) {
    let status = worker.finish(Duration::from_millis(500));
    let message = match status {
        // It was asked to quit after what happened, and did.
        Some(status) if !status.success() || error.message == "the worker ended" => {
            describe(&status)
        }
        _ => error.message,
    };
    let tail = worker.stderr_tail();
    match panic_in(&tail) {
        Some(panic) => (format!("{panic}; {message}"), tail),
        None => (message, tail),
    }
}

/// Splits the ids that all `suites` have in common into walks: in each walk the ids stand in the
/// order of every suite, so that one pass of all workers reaches them. Suites in equal order need
/// one walk. Ids are unique within a suite.
pub fn plan_walks(suites: &[Vec<String>]) -> Vec<Vec<String>> {
    let Some((first, others)) = suites.split_first() else { return Vec::new() };
    let mut left: Vec<String> =
        first.iter().filter(|id| others.iter().all(|suite| suite.contains(id))).cloned().collect();
    let mut walks = Vec::new();
    while !left.is_empty() {
        let mut walk = left.clone();
        for suite in others {
            let there: Vec<String> = suite.iter().filter(|id| walk.contains(id)).cloned().collect();
            walk = longest_common_subsequence(&walk, &there);
        }
        left.retain(|id| !walk.contains(id));
        walks.push(walk);
    }
    walks
}

fn longest_common_subsequence(a: &[String], b: &[String]) -> Vec<String> {
    if a == b {
        return a.to_vec();
    }
    // length[i][j]: of the longest common subsequence of a[i..] and b[j..].
    let mut length = vec![vec![0u32; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            length[i][j] = if a[i] == b[j] {
                length[i + 1][j + 1] + 1
            } else {
                length[i + 1][j].max(length[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut common = Vec::new();
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            common.push(a[i].clone());
            i += 1;
            j += 1;
        } else if length[i + 1][j] >= length[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    common
}

/// Outcome of moving a worker to a benchmark.
#[derive(Debug)]
pub enum Arrival {
    /// The worker offers the benchmark of this id.
    There(String),
    /// The suite ended without offering what was looked for.
    Vanished(Passed),
    /// The worker is lost.
    Lost(SubjectError),
}

/// Messages of a worker on its way to the end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Passed {
    /// Ids that it offered, in order.
    pub seen: Vec<String>,
    /// The first set-up that failed outside any benchmark.
    pub broken: Option<String>,
}

/// Skips what stands before the next benchmark that goes by one of the ids that are `wanted`.
pub fn move_to(
    peer: &RefCell<Peer<'_>>,
    program: &Program,
    passed: &mut Passed,
    wanted: &dyn Fn(&str) -> bool,
) -> Arrival {
    let mut peer = peer.borrow_mut();
    loop {
        match peer.reach() {
            Ok(Reached::Offer(offer)) => {
                let id = program.current(&offer.id);
                passed.seen.push(id.clone());
                if wanted(&id) {
                    return Arrival::There(id);
                }
                if let Err(error) = peer.skip() {
                    return Arrival::Lost(error);
                }
            }
            Ok(Reached::Broken(message)) => {
                passed.broken.get_or_insert(message);
            }
            Ok(Reached::Done) => return Arrival::Vanished(std::mem::take(passed)),
            Err(error) => return Arrival::Lost(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str) -> Vec<String> {
        text.chars().map(String::from).collect()
    }

    #[test]
    fn equal_suites_need_one_walk_and_strangers_none() {
        assert_eq!(plan_walks(&[ids("abc"), ids("abc")]), vec![ids("abc")]);
        assert!(plan_walks(&[ids("abc"), ids("xyz")]).is_empty());
        assert!(plan_walks(&[]).is_empty());
        assert_eq!(plan_walks(&[ids("ab")]), vec![ids("ab")]);
    }

    #[test]
    fn moved_benchmarks_get_a_walk_of_their_own() {
        let walks = plan_walks(&[ids("abcd"), ids("bcda")]);
        assert_eq!(walks, vec![ids("bcd"), ids("a")]);
        let walks = plan_walks(&[ids("abc"), ids("cxba"), ids("bac")]);
        assert_eq!(walks.iter().map(Vec::len).sum::<usize>(), 3);
        for walk in &walks {
            for suite in [ids("abc"), ids("cxba"), ids("bac")] {
                let places: Vec<usize> =
                    walk.iter().map(|id| suite.iter().position(|s| s == id).unwrap()).collect();
                assert!(places.is_sorted(), "{walk:?} in {suite:?}");
            }
        }
    }
}
