//! From built executables to lanes: what each side offers, which benchmarks they share, and the
//! trials for them. It starts workers to list them and measures nothing.

mod listing;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub use listing::Unsteady;
use listing::listings;
use nbench::wire::Offer;
use nbench_config::Aliases;
use nbench_engine::{Batching, Compare, Measure, Plan};
use nbench_templates::lines::{FailureLine, Line, Skipped, Unmatched};

use crate::build::cargo::Executable;
use crate::measure::drive::{Lane, LaneLayouts, Pick, Task, Trial, Unit};
use crate::measure::filter::Filter;
use crate::measure::launch::{Program, Starter};
use crate::measure::orphans;
use crate::measure::plans::Plans;
use crate::measure::schedule::{Listing, plan_walks};

/// An executable as the launcher wants it.
pub fn program(executable: &Executable) -> Program {
    let mut program = Program {
        path: executable.path.clone(),
        cwd: executable.cwd.clone(),
        env: executable.env.clone(),
        runner: executable.runner.clone(),
        bridged: executable.has_own_runner(),
        ..Program::default()
    };
    for mirror in executable.mirror.iter().flat_map(|m| [Some(m.clone()), m.canonicalize().ok()]) {
        program.naming.place(&mirror.unwrap_or_default().to_string_lossy(), "");
    }
    program
}

/// One bench target on every side.
#[derive(Debug, Clone)]
pub struct Target {
    /// Package name.
    pub package: String,
    /// Target name.
    pub target: String,
    /// One program per side.
    pub programs: Vec<Program>,
    /// Notes on all its results.
    pub notes: Vec<String>,
}

impl Target {
    /// Its package and its own name.
    pub fn name(&self) -> (String, String) {
        (self.package.clone(), self.target.clone())
    }

    /// The executable of each side.
    pub fn executables(&self) -> Vec<&Path> {
        self.programs.iter().map(|program| program.path.as_path()).collect()
    }
}

/// Outcome of listing a target.
#[derive(Debug)]
pub struct Listed {
    /// The target.
    pub target: Target,
    /// Offers by side.
    pub listings: Vec<Listing>,
    /// Whether the tags and settings of the first side count, and not those of the last one: with
    /// a gate, where a change must not choose how it is judged.
    pub by_reference: bool,
    /// Ids and orders that differ from process to process.
    pub unsteady: Unsteady,
}

/// Lists a target on every side, with the ids that its benchmarks go by now.
pub fn list_target(starter: &Starter, mut target: Target, aliases: &Aliases) -> Listed {
    let renamed = aliases.of_target(&target.package, &target.target);
    let (mut listings, unsteady) = listings(starter, &mut target.programs);
    for (program, listing) in target.programs.iter_mut().zip(&mut listings) {
        program.naming.renamed = applicable(&renamed, &listing.offers);
        for offer in &mut listing.offers {
            // Places and what varies are replaced already.
            offer.id = program.naming.renamed.get(&offer.id).unwrap_or(&offer.id).clone();
        }
    }
    Listed { target, listings, unsteady, by_reference: false }
}

/// Which benchmarks failed set-up cost, as the end of its message.
fn cut_off(listing: &Listing, unreached: &[String]) -> String {
    const SHOWN: usize = 10;
    let named: Vec<String> = unreached.iter().take(SHOWN).map(|id| format!("`{id}`")).collect();
    match (unreached.len(), listing.offers.last()) {
        (0, Some(last)) => format!("; what follows it was not reached (last: `{}`)", last.id),
        (0, None) => String::new(),
        (count, _) if count > SHOWN => {
            format!("; not reached: {} and {} more", named.join(", "), count - SHOWN)
        }
        _ => format!("; not reached: {}", named.join(", ")),
    }
}

/// Aliases that hold for one side: where both ids are offered, the old one is a benchmark of its
/// own.
fn applicable(renamed: &BTreeMap<String, String>, offers: &[Offer]) -> BTreeMap<String, String> {
    let offered: BTreeSet<&str> = offers.iter().map(|offer| offer.id.as_str()).collect();
    let mut taken = BTreeSet::new();
    renamed
        .iter()
        .filter(|(old, new)| offered.contains(old.as_str()) && !offered.contains(new.as_str()))
        .filter(|(_, new)| taken.insert(new.as_str()))
        .map(|(old, new)| (old.clone(), new.clone()))
        .collect()
}

impl Listed {
    /// Failures of set-up and benchmarks that some sides lack, for the sides named by `labels`.
    pub fn remarks(&self, labels: &[String], filter: &Filter) -> Vec<Line> {
        let (package, target) = (&self.target.package, &self.target.target);
        let mut lines = Vec::new();
        for (listing, label) in self.listings.iter().zip(labels) {
            let failure = |error: String, tail: &str| {
                Line::Failure(FailureLine {
                    package: package.clone(),
                    target: target.clone(),
                    benchmark: None,
                    side: Some(label.clone()),
                    error,
                    stderr_tail: tail.to_owned(),
                })
            };
            let unreached = self.unreached(listing, filter);
            let after = cut_off(listing, &unreached);
            for message in &listing.broken {
                lines.push(failure(format!("set-up failed: {message}{after}"), ""));
            }
            if let Some((message, tail)) = &listing.ended {
                let seen = listing.offers.len();
                lines.push(failure(
                    format!(
                        "{message} while its benchmarks were listed, after {seen} of them{after}"
                    ),
                    tail,
                ));
            }
            for offer in listing.offers.iter().filter(|o| filter.wants(o)) {
                let lacking = |other: &Listing| {
                    !other.offers.iter().any(|o| o.id == offer.id)
                        // It is named with what kept it from being reached.
                        && other.broken.is_empty()
                        && other.ended.is_none()
                };
                if self.listings.iter().any(lacking) {
                    lines.push(Line::Unmatched(Unmatched {
                        package: package.clone(),
                        target: target.clone(),
                        benchmark: Some(offer.id.clone()),
                        side: label.clone(),
                    }));
                }
            }
        }
        if let Some(reason) = self.unsteady.of_lost(filter) {
            let (package, target) = (package.clone(), target.clone());
            lines.push(Line::Skipped(Skipped { package, target, reason, ..Skipped::default() }));
        }
        lines
    }

    /// Whether no id can be missing: every set-up came to its end, and ids are the same in each
    /// process.
    pub fn is_whole(&self) -> bool {
        let is_reached = |listing: &Listing| listing.broken.is_empty() && listing.ended.is_none();
        self.listings.iter().all(is_reached) && !self.unsteady.has_lost()
    }

    /// Every id that some side offers, filter or not.
    pub fn ids(&self) -> impl Iterator<Item = String> {
        self.listings.iter().flat_map(|listing| &listing.offers).map(|offer| offer.id.clone())
    }

    /// Description of processes that set-up started and left behind, if it did.
    pub fn left_behind(&self) -> Option<String> {
        (self.unsteady.left > 0).then(|| orphans::describe(&self.target.target, self.unsteady.left))
    }

    /// Ids that other sides offer and this one did not reach, if its set-up failed.
    fn unreached(&self, listing: &Listing, filter: &Filter) -> Vec<String> {
        if listing.broken.is_empty() && listing.ended.is_none() {
            return Vec::new();
        }
        let others = self.listings.iter().flat_map(|other| &other.offers);
        let mut ids: Vec<String> = Vec::new();
        for offer in others.filter(|o| filter.wants(o)) {
            if !ids.contains(&offer.id) && !listing.offers.iter().any(|o| o.id == offer.id) {
                ids.push(offer.id.clone());
            }
        }
        ids
    }

    /// Offers of the last side that every side has and `filter` wants, in flow order.
    pub fn common(&self, filter: &Filter) -> Vec<&Offer> {
        let Some((last, others)) = self.listings.split_last() else { return Vec::new() };
        last.offers
            .iter()
            .filter(|o| filter.wants(self.deciding(o)))
            .filter(|o| others.iter().all(|l| l.offers.iter().any(|x| x.id == o.id)))
            .collect()
    }

    /// The offer whose tags and settings count for a benchmark of the last side.
    fn deciding<'o>(&'o self, offer: &'o Offer) -> &'o Offer {
        let reference = self.listings.first().filter(|_| self.by_reference);
        reference.and_then(|l| l.offers.iter().find(|o| o.id == offer.id)).unwrap_or(offer)
    }

    /// A lane with trials for what all sides have in common; `None` when that is nothing. Settings
    /// of offers that cannot be used are returned in words.
    pub fn lane(&self, filter: &Filter, plans: &Plans<'_>) -> (Option<Lane>, Vec<String>) {
        let common = self.common(filter);
        let ids: BTreeSet<&str> = common.iter().map(|o| o.id.as_str()).collect();
        let suites: Vec<Vec<String>> = self
            .listings
            .iter()
            .map(|l| {
                let offers = l.offers.iter().map(|o| o.id.clone());
                offers.filter(|id| ids.contains(id.as_str())).collect()
            })
            .collect();
        let mut doubts = Vec::new();
        let mut units = Vec::new();
        for offer in common {
            let (plan, unusable) = plans.of(self.deciding(offer));
            doubts.extend(unusable.into_iter().map(|d| format!("`{}`: {d}", offer.id)));
            let mut tasks = self.tasks(offer, &plan);
            for task in &mut tasks {
                task.notes.extend(self.target.notes.iter().cloned());
                task.notes.extend(self.unsteady.note_of(&offer.id));
            }
            units.push(Unit { offer: offer.clone(), tasks, failed: false });
        }
        if units.is_empty() {
            return (None, doubts);
        }
        let lane = Lane {
            package: self.target.package.clone(),
            target: self.target.target.clone(),
            programs: self.target.programs.clone(),
            // Where the order changes, each process is followed as it goes.
            walks: match self.unsteady.shuffled {
                true => suites.last().cloned().into_iter().collect(),
                false => plan_walks(&suites),
            },
            listed: self.listings.iter().map(Listing::ids).collect(),
            units,
            unpinned: false,
            stays_unpinned: self.unsteady.unpinned.clone(),
            apart: false,
            apart_note: None,
            on_trial: None,
            // It was said when they were listed.
            orphans_reported: self.left_behind().is_some(),
            layouts: LaneLayouts::default(),
        };
        (Some(lane), doubts)
    }

    fn tasks(&self, offer: &Offer, plan: &Plan) -> Vec<Task> {
        let sides = self.listings.len();
        match (sides, offer.cases.len()) {
            (1, 0 | 1) => {
                let trial = Measure::new(self.seed_name(&offer.id), plan.clone());
                let picks = vec![Pick { side: 0, case: 0 }];
                vec![Task::new(offer.id.clone(), picks, Trial::Measure(Box::new(trial)))]
            }
            // Cases compared with each other: different implementations, so equal time; the
            // reference comes first.
            (1, cases) => {
                let reference = offer.reference.unwrap_or(0);
                let mut order: Vec<usize> = (0..cases).collect();
                order.swap(0, reference);
                let plan = Plan { batching: Batching::EqualTime, ..plan.clone() };
                let picks = order.iter().map(|case| Pick { side: 0, case: *case }).collect();
                let trial = Compare::new(self.seed_name(&offer.id), cases, plan);
                vec![Task::new(offer.id.clone(), picks, Trial::Compare(Box::new(trial)))]
            }
            // Across revisions each case is a benchmark of its own.
            (_, cases) => {
                (0..cases.max(1)).filter_map(|case| self.across(offer, case, plan)).collect()
            }
        }
    }

    /// One case compared across sides, wherever it stands in each side's offer.
    fn across(&self, offer: &Offer, case: usize, plan: &Plan) -> Option<Task> {
        let name = match offer.cases.get(case) {
            Some(case) => format!("{}/{case}", offer.id),
            None => offer.id.clone(),
        };
        let picks: Option<Vec<Pick>> = self
            .listings
            .iter()
            .enumerate()
            .map(|(side, listing)| {
                let theirs = listing.offers.iter().find(|o| o.id == offer.id)?;
                let case = match offer.cases.get(case) {
                    Some(wanted) => theirs.cases.iter().position(|c| c == wanted)?,
                    None => 0,
                };
                Some(Pick { side, case })
            })
            .collect();
        let picks = picks?;
        let trial = Compare::new(self.seed_name(&name), picks.len(), plan.clone());
        Some(Task::new(name, picks, Trial::Compare(Box::new(trial))))
    }

    /// The name that seeds a schedule: equal ids of different targets must not share orders.
    fn seed_name(&self, id: &str) -> String {
        format!("{}/{}/{id}", self.target.package, self.target.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plans() -> Plans<'static> {
        Plans { plan: Plan::default(), rules: &[], pinned: Default::default() }
    }

    fn listed(sides: &[&[(&str, &[&str])]]) -> Listed {
        let program = Program { path: "x".into(), cwd: ".".into(), ..Program::default() };
        Listed {
            target: Target {
                package: "p".into(),
                target: "t".into(),
                programs: vec![program; sides.len()],
                notes: Vec::new(),
            },
            unsteady: Unsteady::default(),
            listings: sides
                .iter()
                .map(|offers| Listing {
                    offers: offers
                        .iter()
                        .map(|(id, cases)| Offer {
                            id: (*id).to_owned(),
                            cases: cases.iter().map(|c| (*c).to_owned()).collect(),
                            reference: cases.len().checked_sub(1),
                            ..Offer::default()
                        })
                        .collect(),
                    ..Listing::default()
                })
                .collect(),
            by_reference: false,
        }
    }

    #[test]
    fn one_side_measures_and_compares_cases_with_their_reference() {
        let (lane, _) =
            listed(&[&[("a", &[]), ("s", &["x", "y", "z"])]]).lane(&Filter::default(), &plans());
        let lane = lane.unwrap();
        assert!(matches!(lane.units[0].tasks[0].trial, Trial::Measure(_)));
        let picks: Vec<usize> = lane.units[1].tasks[0].picks.iter().map(|p| p.case).collect();
        assert_eq!(picks, [2, 1, 0]);
    }

    #[test]
    fn two_sides_pair_equal_cases_wherever_they_stand() {
        let both =
            listed(&[&[("s", &["x", "y"]), ("old", &[])], &[("new", &[]), ("s", &["y", "z"])]]);
        let (lane, _) = both.lane(&Filter::default(), &plans());
        let lane = lane.unwrap();
        assert_eq!(lane.units.len(), 1);
        assert_eq!(lane.units[0].tasks.len(), 1);
        let task = &lane.units[0].tasks[0];
        assert_eq!((task.name.as_str(), task.picks[0].case, task.picks[1].case), ("s/y", 1, 0));
        let remarks = both.remarks(&["v1".into(), "v2".into()], &Filter::default());
        assert_eq!(remarks.len(), 2);
    }

    #[test]
    fn with_a_gate_the_reference_decides_how_a_benchmark_is_judged() {
        let mut both = listed(&[&[("a", &[]), ("b", &[])], &[("a", &[]), ("b", &[])]]);
        for (side, threshold) in ["0.01", "0.9"].into_iter().enumerate() {
            for offer in &mut both.listings[side].offers {
                offer.settings = vec![("threshold".into(), threshold.into())];
            }
        }
        // The contender has lost the tag by which benchmarks are chosen.
        both.listings[0].offers[0].tags = vec!["gated".into()];
        let tagged = Filter::of(vec![], &[], false, &["gated".into()]).unwrap();
        for (by_reference, names, threshold) in [(false, vec![], 0.9), (true, vec!["a"], 0.01)] {
            both.by_reference = by_reference;
            let common: Vec<&str> = both.common(&tagged).iter().map(|o| o.id.as_str()).collect();
            assert_eq!(common, names);
            let plan = plans().of(both.deciding(&both.listings[1].offers[0])).0;
            assert_eq!(plan.threshold, threshold);
        }
    }

    #[test]
    fn failed_set_up_names_what_it_cost() {
        let mut both = listed(&[&[("a", &[]), ("b", &[]), ("c", &[])], &[("a", &[])]]);
        both.listings[1].broken.push("`s` panicked: no such file".into());
        let remarks = both.remarks(&["v1".into(), "v2".into()], &Filter::default());
        let [Line::Failure(failure)] = remarks.as_slice() else { panic!("{remarks:?}") };
        assert_eq!(
            failure.error,
            "set-up failed: `s` panicked: no such file; not reached: `b`, `c`"
        );
        // Alone there is nobody who knows them.
        let mut alone = listed(&[&[("a", &[])]]);
        alone.listings[0].ended = Some(("the worker exited with code 3".into(), String::new()));
        let remarks = alone.remarks(&["v1".into()], &Filter::default());
        let [Line::Failure(failure)] = remarks.as_slice() else { panic!("{remarks:?}") };
        assert!(failure.error.ends_with("(last: `a`)"), "{}", failure.error);
        let many: Vec<String> = (0..12).map(|i| i.to_string()).collect();
        assert!(cut_off(&alone.listings[0], &many).ends_with("`9` and 2 more"));
        // What the filter leaves out is no loss.
        let filter = Filter::of(vec!["b".into()], &[], false, &[]).unwrap();
        let remarks = both.remarks(&["v1".into(), "v2".into()], &filter);
        let [Line::Failure(failure)] = remarks.as_slice() else { panic!("{remarks:?}") };
        assert!(failure.error.ends_with("not reached: `b`"), "{}", failure.error);
    }

    #[test]
    fn nothing_in_common_is_no_lane() {
        let both = listed(&[&[("a", &[])], &[("b", &[])]]);
        assert!(both.lane(&Filter::default(), &plans()).0.is_none());
    }

    #[test]
    fn an_alias_holds_where_only_the_old_id_is_offered() {
        let renamed: BTreeMap<String, String> = [("a", "x"), ("b", "y"), ("c", "z"), ("d", "z")]
            .map(|(old, new)| (old.to_owned(), new.to_owned()))
            .into();
        let offers = |ids: &[&str]| -> Vec<Offer> {
            ids.iter().map(|id| Offer { id: (*id).to_owned(), ..Offer::default() }).collect()
        };
        let held = |ids: &[&str]| -> Vec<String> {
            applicable(&renamed, &offers(ids)).into_keys().collect()
        };
        assert_eq!(held(&["a", "e"]), ["a"]);
        assert!(held(&["b", "y"]).is_empty(), "both are there");
        assert_eq!(held(&["c", "d"]), ["c"], "two benchmarks cannot both be one");
    }
}
