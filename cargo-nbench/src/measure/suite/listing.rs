//! Listing a target as often as it takes to know which of its ids depend on the process, and
//! whether pinning to one CPU changes what it offers. It measures nothing and knows no aliases.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::interrupt;
use crate::measure::filter::Filter;
use crate::measure::identity::{common, may_be_equal, note};
use crate::measure::launch::{Program, Starter};
use crate::measure::schedule::{Listing, list};

/// Set-up that takes longer is not repeated only to see whether ids depend on the process.
const CHEAP: Duration = Duration::from_secs(3);

/// After this long an id that holds the time has changed.
const LATER: Duration = Duration::from_millis(1100);

/// Ids of a target that differ from process to process.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Unsteady {
    /// Why its workers are not pinned, if they must not be.
    pub unpinned: Option<String>,
    /// Whether the order of its benchmarks changes.
    pub shuffled: bool,
    /// Processes that listing left behind, which were ended.
    pub left: usize,
    /// Ids that came and went, without a counterpart that is sure.
    lost: Vec<String>,
    /// Notes on benchmarks, by id.
    notes: BTreeMap<String, String>,
}

impl Unsteady {
    /// A target of which these ids come and go.
    #[cfg(test)]
    pub fn losing(ids: &[&str]) -> Unsteady {
        Unsteady { lost: ids.iter().map(|id| (*id).to_owned()).collect(), ..Unsteady::default() }
    }

    /// Note on one benchmark.
    pub fn note_of(&self, id: &str) -> Option<String> {
        self.notes.get(id).cloned()
    }

    /// Whether there are ids of which it is not sure what they mean elsewhere.
    pub fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Why what `filter` wants of the lost ids is not measured.
    pub fn of_lost(&self, filter: &Filter) -> Option<String> {
        const SHOWN: usize = 5;
        let lost: Vec<String> =
            self.lost.iter().filter(|id| filter.matches(id)).map(|id| format!("`{id}`")).collect();
        let more = match lost.len() {
            0 => return None,
            count if count > SHOWN => format!(" and {} more", count - SHOWN),
            _ => String::new(),
        };
        let named = lost.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        Some(format!(
            "ids that change from process to process cannot be told apart, and are not measured: {named}{more}"
        ))
    }
}

/// Lists every side, more than once where that tells something: a process pinned as launches are
/// must offer the same, and where ids or order differ it takes more processes to know why.
///
/// Programs learn how their ids are read, and the listings have them so.
pub fn listings(starter: &Starter, programs: &mut [Program]) -> (Vec<Listing>, Unsteady) {
    let mut unsteady = Unsteady::default();
    let mut first: Vec<Listing> = programs.iter().map(|p| listed(starter, p, false)).collect();
    let mut processes: Vec<Vec<Listing>> = first.iter().map(|l| vec![l.clone()]).collect();
    let is_cheap = first.iter().all(|listing| listing.spent <= CHEAP)
        && programs.iter().all(|program| !program.bridged);
    if is_cheap && !interrupt::requested() {
        unsteady.unpinned = look_again(starter, programs, &mut processes);
        let unequal = first.windows(2).any(|two| two[0].ids() != two[1].ids());
        if unequal || processes.iter().any(|listings| is_shuffled(listings)) {
            for (program, listings) in programs.iter().zip(&mut processes) {
                listings.push(listed(starter, program, false));
            }
        }
        let apart = first.windows(2).any(|two| may_be_equal(&two[0].ids(), &two[1].ids()));
        if apart && pause(LATER) {
            for (program, listings) in programs.iter().zip(&mut processes) {
                listings.push(listed(starter, program, false));
            }
        }
    }
    unsteady.shuffled = processes.iter().any(|listings| is_shuffled(listings));
    // A walk that ended early says nothing about what would have followed.
    let ids: Vec<Vec<Vec<String>>> = processes
        .iter()
        .map(|listings| {
            let whole = listings.iter().filter(|l| l.ended.is_none() && l.broken.is_empty());
            whole.map(Listing::ids).collect()
        })
        .collect();
    unsteady.left = processes.iter().flatten().map(|listing| listing.left).sum();
    let common = common(&ids);
    for pattern in &common.varying {
        unsteady.notes.insert(pattern.to_string(), note(pattern));
    }
    for (program, listing) in programs.iter_mut().zip(&mut first) {
        program.naming.varying.clone_from(&common.varying);
        for offer in &mut listing.offers {
            offer.id = program.naming.current(&offer.id);
        }
        listing.offers.retain(|offer| !common.lost.contains(&offer.id));
    }
    unsteady.lost = common.lost.into_iter().collect();
    (first, unsteady)
}

/// A listing with the places of the checkout read as those of the user.
fn listed(starter: &Starter, program: &Program, pinned: bool) -> Listing {
    let mut listing = list(starter, program, pinned);
    for offer in &mut listing.offers {
        offer.id = program.current(&offer.id);
        for case in &mut offer.cases {
            *case = program.naming.without_places(case);
        }
    }
    listing
}

/// Lists the last side once more, pinned if launches are. Returns why they must not be: what it
/// offers then differs, and does not so without.
fn look_again(
    starter: &Starter,
    programs: &[Program],
    processes: &mut [Vec<Listing>],
) -> Option<String> {
    let (program, known) = (programs.last()?, processes.last_mut()?);
    let pins = starter.placement.pins();
    if !pins && programs.len() > 1 {
        // The sides already are two processes to compare.
        return None;
    }
    let again = listed(starter, program, pins);
    let difference = known.first().and_then(|first| difference(first, &again));
    let Some(difference) = difference.filter(|_| pins) else {
        known.push(again);
        return None;
    };
    let third = listed(starter, program, false);
    if known.first().is_some_and(|first| is_by_pinning(first, &again, &third)) {
        known.push(third);
        return Some(difference);
    }
    known.extend([again, third]);
    None
}

/// Whether a pinned process offers something else than the two others do, when what differs between
/// those is left aside: an id may hold the number of CPUs, and another one that of the process.
fn is_by_pinning(first: &Listing, pinned: &Listing, third: &Listing) -> bool {
    let common = common(&[vec![first.ids(), third.ids()]]);
    let read = |listing: &Listing| {
        let mut listing = listing.clone();
        for offer in &mut listing.offers {
            if let Some(pattern) = common.varying.iter().find(|p| p.matches(&offer.id)) {
                offer.id = pattern.to_string();
            }
        }
        listing
    };
    let (first, pinned, third) = (read(first), read(pinned), read(third));
    difference(&first, &third).is_none() && difference(&first, &pinned).is_some()
}

/// How a process differs from another one in what it offers, the order aside.
fn difference(first: &Listing, other: &Listing) -> Option<String> {
    if let (None, Some((message, _))) = (&first.ended, &other.ended) {
        return Some(format!("its set-up fails on one: {message}"));
    }
    if let Some(message) = other.broken.iter().find(|_| first.broken.is_empty()) {
        return Some(format!("its set-up fails on one: {message}"));
    }
    let sorted = |listing: &Listing| {
        let mut ids = listing.ids();
        ids.sort();
        ids
    };
    (sorted(first) != sorted(other)).then(|| "its benchmarks are others on one".to_owned())
}

/// Whether ids that all processes offer come in different orders.
fn is_shuffled(listings: &[Listing]) -> bool {
    let ids: Vec<Vec<String>> = listings.iter().map(Listing::ids).collect();
    let common = |of: &Vec<String>| -> Vec<String> {
        of.iter().filter(|id| ids.iter().all(|other| other.contains(id))).cloned().collect()
    };
    ids.windows(2).any(|two| common(&two[0]) != common(&two[1]))
}

/// Waits, and says whether nobody interrupted.
fn pause(time: Duration) -> bool {
    let since = Instant::now();
    while since.elapsed() < time && !interrupt::requested() {
        std::thread::sleep(Duration::from_millis(20));
    }
    !interrupt::requested()
}

#[cfg(test)]
mod tests {
    use nbench::wire::Offer;

    use super::*;

    fn offering(ids: &[&str]) -> Listing {
        let offers = ids.iter().map(|id| Offer { id: (*id).to_owned(), ..Offer::default() });
        Listing { offers: offers.collect(), ..Listing::default() }
    }

    #[test]
    fn a_difference_is_one_of_ids_or_of_set_up_and_not_of_order() {
        let (one, other) = (offering(&["a", "b"]), offering(&["b", "a"]));
        assert_eq!(difference(&one, &other), None);
        assert!(difference(&one, &offering(&["a"])).unwrap().contains("are others"));
        let broken = Listing { broken: vec!["two CPUs".into()], ..one.clone() };
        assert!(difference(&one, &broken).unwrap().contains("two CPUs"));
        let ended = Listing { ended: Some(("code 3".into(), String::new())), ..one.clone() };
        assert!(difference(&one, &ended).unwrap().contains("code 3"));
        assert_eq!(difference(&broken, &broken), None, "it fails either way");
    }

    #[test]
    fn what_pinning_changes_is_told_from_what_every_process_changes() {
        let of = |pid: u32, cpus: &str| offering(&["a", &format!("pid {pid}"), cpus]);
        let (first, third) = (of(4711, "cpus 8"), of(4713, "cpus 8"));
        assert!(is_by_pinning(&first, &of(4712, "cpus 1"), &third));
        assert!(!is_by_pinning(&first, &of(4712, "cpus 8"), &third), "only the process differs");
        assert!(!is_by_pinning(&first, &of(4712, "cpus 8"), &of(4713, "gpus")), "nothing is sure");
        let steady = offering(&["a", "cpus 8"]);
        assert!(is_by_pinning(&steady, &offering(&["a", "cpus 1"]), &steady));
        let broken = Listing { broken: vec!["two CPUs".into()], ..first.clone() };
        assert!(is_by_pinning(&first, &broken, &third));
    }

    #[test]
    fn an_order_is_compared_by_what_all_processes_offer() {
        assert!(!is_shuffled(&[offering(&["a", "b", "c"]), offering(&["a", "c"])]));
        assert!(is_shuffled(&[offering(&["a", "b", "c"]), offering(&["c", "a"])]));
        assert!(!is_shuffled(&[offering(&["a"])]));
    }

    #[test]
    fn lost_ids_are_named_as_far_as_they_are_wanted() {
        let lost = ["x 1", "x 2", "y 1", "y 2", "y 3", "y 4"].map(str::to_owned).to_vec();
        let unsteady = Unsteady { lost, ..Unsteady::default() };
        assert!(unsteady.of_lost(&Filter::default()).unwrap().ends_with("`y 3` and 1 more"));
        let filter = |text: &str| Filter::of(vec![text.into()], &[], false, &[]).unwrap();
        assert!(unsteady.of_lost(&filter("x")).unwrap().ends_with("`x 1`, `x 2`"));
        assert_eq!(unsteady.of_lost(&filter("z")), None);
    }
}
