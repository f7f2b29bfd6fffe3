//! Quantities that benchmarks count themselves (allocations, a suite's own measurement): what they
//! come to per operation, and how they change. They describe; no verdict depends on them.

use nbench::axis::OwnReading;

use crate::paired::{ChangeInterval, PairedLaunch};
use crate::stats;

/// Sums of what a subject counted in one launch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally(Vec<(OwnReading, f64)>);

impl Tally {
    /// Adds the readings of one reply that ran `iterations` in all.
    pub fn add(&mut self, own: &[OwnReading], iterations: f64) {
        for reading in own {
            let known = self.0.iter_mut().find(|(known, _)| known.name == reading.name);
            match known {
                Some((known, count)) => {
                    known.value += reading.value;
                    *count += iterations;
                }
                None => self.0.push((reading.clone(), iterations)),
            }
        }
    }

    /// Each quantity per operation, in the order in which they came.
    pub fn per_operation(self) -> Vec<OwnReading> {
        let each = self.0.into_iter().filter(|(_, iterations)| *iterations > 0.0);
        each.map(|(reading, iterations)| OwnReading {
            value: reading.value / iterations,
            ..reading
        })
        .collect()
    }
}

/// Value of each quantity per operation: the median over launches.
pub fn typical<'l>(launches: impl Iterator<Item = &'l [OwnReading]> + Clone) -> Vec<OwnReading> {
    let mut found: Vec<OwnReading> = Vec::new();
    for reading in launches.clone().flatten() {
        if !found.iter().any(|known| known.name == reading.name) {
            found.push(reading.clone());
        }
    }
    for known in &mut found {
        let own = launches.clone().flatten().filter(|reading| reading.name == known.name);
        let values: Vec<f64> = own.map(|reading| reading.value).collect();
        known.value = stats::median(&values).unwrap_or(known.value);
    }
    found
}

/// A quantity on both sides of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnChange {
    /// Name of the quantity.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Per operation of the reference, median over launches.
    pub reference: f64,
    /// Per operation of the contender, median over launches.
    pub contender: f64,
    /// The change (`contender / reference - 1`), or why there is none.
    pub change: Result<f64, String>,
    /// `contender - reference`, where one of them counts nothing in some launch and there is no
    /// ratio.
    pub difference: Option<f64>,
    /// The interval of the change; `None` where the launches are too few or there is no change.
    pub interval: Option<ChangeInterval>,
}

/// Why there is no ratio where there is a difference.
const NO_RATIO: &str = "one of the sides counts nothing, which has no ratio";

/// The quantities that both sides count, by the rule that wall time has: a log-ratio for each
/// launch, their Hodges-Lehmann centre and the signed-rank interval. The error `alpha` is divided
/// by their number (Bonferroni), so that among many axes one that excludes zero means something.
pub fn changes(launches: &[PairedLaunch], contender: usize, alpha: f64) -> Vec<OwnChange> {
    let of = |subject: usize| {
        launches.iter().filter_map(move |launch| launch.own.get(subject)).map(Vec::as_slice)
    };
    let pairs: Vec<(OwnReading, OwnReading)> = typical(of(0))
        .into_iter()
        .filter_map(|reference| {
            let other = typical(of(contender)).into_iter().find(|o| o.name == reference.name)?;
            Some((reference, other))
        })
        .collect();
    let alpha = alpha / pairs.len().max(1) as f64;
    pairs
        .into_iter()
        .map(|(reference, other)| {
            let ratios: Result<Vec<f64>, String> = launches
                .iter()
                .map(|launch| {
                    let value = |subject: usize| {
                        let own = launch.own.get(subject)?;
                        Some(own.iter().find(|o| o.name == reference.name)?.value)
                    };
                    match (value(0), value(contender)) {
                        (Some(a), Some(b)) if a > 0.0 && b > 0.0 => Ok((b / a).ln()),
                        (Some(a), Some(b)) if a == b => Ok(0.0),
                        (Some(_), Some(_)) => Err(NO_RATIO.to_owned()),
                        _ => Err("some launches have no value".to_owned()),
                    }
                })
                .collect();
            let interval = ratios
                .as_ref()
                .ok()
                .and_then(|ratios| stats::signed_rank_interval(ratios, alpha))
                .map(|i| ChangeInterval {
                    low: i.low.exp_m1(),
                    high: i.high.exp_m1(),
                    level: i.level,
                });
            let has_no_ratio = ratios.as_ref().is_err_and(|reason| reason == NO_RATIO);
            OwnChange {
                difference: has_no_ratio.then_some(other.value - reference.value),
                name: reference.name,
                unit: reference.unit,
                reference: reference.value,
                contender: other.value,
                change: ratios.and_then(|ratios| {
                    let centre = stats::hodges_lehmann(&ratios);
                    centre.map(f64::exp_m1).ok_or_else(|| "there are no launches".to_owned())
                }),
                interval,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(name: &str, value: f64) -> OwnReading {
        OwnReading { name: name.to_owned(), unit: "bytes".to_owned(), value }
    }

    fn launch(reference: &[(&str, f64)], contender: &[(&str, f64)]) -> PairedLaunch {
        let of = |own: &[(&str, f64)]| own.iter().map(|(name, v)| reading(name, *v)).collect();
        PairedLaunch {
            rounds: Vec::new(),
            estimates: vec![None],
            own: vec![of(reference), of(contender)],
        }
    }

    #[test]
    fn a_tally_is_per_operation_of_the_replies_that_counted() {
        let mut tally = Tally::default();
        tally.add(&[reading("a", 30.0)], 10.0);
        tally.add(&[], 10.0);
        tally.add(&[reading("b", 5.0), reading("a", 10.0)], 10.0);
        assert_eq!(tally.per_operation(), [reading("a", 2.0), reading("b", 0.5)]);
    }

    #[test]
    fn changes_are_between_what_both_sides_count() {
        let launches: Vec<PairedLaunch> = (0..10)
            .map(|_| launch(&[("a", 12.0), ("x", 1.0)], &[("a", 9.0), ("y", 1.0)]))
            .collect();
        let changes = changes(&launches, 1, 0.01);
        assert_eq!(changes.len(), 1);
        assert!((changes[0].change.clone().unwrap() + 0.25).abs() < 1e-12);
        let interval = changes[0].interval.unwrap();
        assert!((interval.low + 0.25).abs() < 1e-12 && (interval.high + 0.25).abs() < 1e-12);
        assert_eq!((changes[0].reference, changes[0].contender), (12.0, 9.0));
    }

    #[test]
    fn nothing_on_both_sides_is_no_change_and_on_one_side_has_no_ratio() {
        let none: Vec<_> = (0..6).map(|_| launch(&[("a", 0.0)], &[("a", 0.0)])).collect();
        assert_eq!(changes(&none, 1, 0.05)[0].change, Ok(0.0));
        let one: Vec<_> = (0..6).map(|_| launch(&[("a", 0.0)], &[("a", 2.0)])).collect();
        let change = &changes(&one, 1, 0.05)[0];
        assert!(change.change.as_ref().unwrap_err().contains("nothing"));
        assert_eq!((change.contender, change.interval, change.difference), (2.0, None, Some(2.0)));
        let gone: Vec<_> = (0..6).map(|_| launch(&[("a", 368.0)], &[("a", 0.0)])).collect();
        assert_eq!(changes(&gone, 1, 0.05)[0].difference, Some(-368.0));
        let both: Vec<_> = (0..6).map(|_| launch(&[("a", 4.0)], &[("a", 2.0)])).collect();
        assert_eq!(changes(&both, 1, 0.05)[0].difference, None);
    }
}
