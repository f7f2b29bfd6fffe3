//! How each benchmark is measured: the plan of the run, rules of `nbench.toml`, and what the
//! benchmark asks for itself. It must not know where a run's own settings come from.

use std::time::Duration;

use nbench_config::{Pinned, Rule, Source, weakest_first};
use nbench_engine::Plan;

use crate::foreign::bridge::BLOCKS;
use crate::measure::filter::is_pattern_of;

/// The plan of every benchmark of a run.
#[derive(Debug, Clone)]
pub struct Plans<'s> {
    /// The plan of the run.
    pub plan: Plan,
    /// Rules by benchmark.
    pub rules: &'s [Rule],
    /// Settings that the command line gave.
    pub pinned: Pinned,
}

/// Settings of one benchmark from one source.
enum Step<'s> {
    Offered(&'s [(String, String)]),
    Rule(&'s Rule),
    Pinned(Pinned),
}

impl Plans<'_> {
    /// The plan of one benchmark. Of its own settings those that cannot be used are returned in
    /// words.
    pub fn of(&self, offer: &nbench::wire::Offer) -> (Plan, Vec<String>) {
        let rules = self.rules.iter().filter(|rule| is_pattern_of(&rule.pattern, &offer.id));
        let steps = weakest_first(
            [
                (Source::Flag, Step::Pinned(self.pinned)),
                (Source::Benchmark, Step::Offered(&offer.settings)),
            ]
            .into_iter()
            .chain(rules.map(|rule| (Source::Rule, Step::Rule(rule)))),
        );
        let (mut plan, mut doubts) = (self.plan.clone(), Vec::new());
        for step in steps {
            match step {
                Step::Offered(settings) => {
                    let (changed, unusable) = with_offer(&plan, settings);
                    plan = changed;
                    doubts.extend(unusable);
                }
                Step::Rule(rule) => match rule.applied(&plan) {
                    Ok(changed) => plan = changed,
                    // Checked by itself; beside what the benchmark asks for it may not fit.
                    Err((_, message)) => {
                        doubts.push(format!("`{}` is not used: {message}", rule.pattern));
                    }
                },
                Step::Pinned(pinned) => plan = pinned.applied(&plan),
            }
        }
        (plan, doubts)
    }
}

/// Settings that a benchmark carries in its offer, applied to a plan.
fn with_offer(
    plan: &nbench_engine::Plan,
    settings: &[(String, String)],
) -> (nbench_engine::Plan, Vec<String>) {
    let mut plan = plan.clone();
    let mut doubts = Vec::new();
    for (key, value) in settings {
        let mut changed = plan.clone();
        let nanos = || value.parse::<u64>().ok().map(Duration::from_nanos);
        let read = match key.as_str() {
            "slice_ns" => nanos().map(|d| changed.slice = d),
            "warmup_ns" => nanos().map(|d| changed.warmup = d),
            "launches" => value.parse().ok().map(|n: usize| {
                changed.max_launches = n.max(1);
                changed.min_launches = plan.min_launches.min(changed.max_launches);
            }),
            "threshold" => value.parse().ok().map(|t| changed.threshold = t),
            "pairing" if value == BLOCKS => {
                changed.blocks = true;
                Some(())
            }
            // Known elsewhere, or to a newer version.
            _ => Some(()),
        };
        // What others send is held to the same ranges as what users write.
        match read
            .ok_or("it is no number".to_owned())
            .and(changed.validate().map_err(|e| e.message))
        {
            Ok(()) => plan = changed,
            Err(reason) => doubts
                .push(format!("its setting `{key}` is `{value}`, which cannot be used: {reason}")),
        }
    }
    (plan, doubts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offered_settings_change_the_plan_or_are_named() {
        let offered = [("slice_ns", "5000"), ("threshold", "7"), ("tomorrow", "x")]
            .map(|(k, v)| (k.to_owned(), v.to_owned()));
        let (plan, doubts) = with_offer(&nbench_engine::Plan::default(), &offered);
        assert_eq!(plan.slice, Duration::from_micros(5));
        assert_eq!(plan.threshold, 0.005);
        assert_eq!(doubts.len(), 1);
        assert!(doubts[0].contains("`threshold`"));
        for (key, value) in [
            ("slice_ns", "0"),
            ("slice_ns", "18446744073709551615"),
            ("slice_ns", "-1"),
            ("warmup_ns", "18446744073709551615"),
            ("warmup_ns", ""),
            ("launches", "18446744073709551615"),
            ("launches", "many"),
            ("threshold", "NaN"),
            ("threshold", "-0.1"),
            ("threshold", "inf"),
        ] {
            let offered = [(key.to_owned(), value.to_owned())];
            let (plan, doubts) = with_offer(&nbench_engine::Plan::default(), &offered);
            assert_eq!(plan, nbench_engine::Plan::default(), "{key} {value}");
            assert!(doubts.len() == 1 && doubts[0].contains(key), "{doubts:?}");
        }
    }

    #[test]
    fn the_command_line_wins_over_rules_over_the_benchmark() {
        let rules =
            [("*", 0.05), ("parse/*", 0.03)].map(|(pattern, threshold)| nbench_config::Rule {
                pattern: pattern.into(),
                threshold: Some(threshold),
                slice: (threshold > 0.04).then(|| Duration::from_millis(3)),
                ..Default::default()
            });
        let offer = nbench::wire::Offer {
            id: "Parse/1".into(),
            settings: vec![("threshold".into(), "0.2".into())],
            ..Default::default()
        };
        let plan = nbench_engine::Plan::default();
        let whole = |rules, is_given: bool| {
            let pinned = Pinned { threshold: is_given.then_some(0.005), ..Pinned::default() };
            Plans { plan: plan.clone(), rules, pinned }.of(&offer).0
        };
        let of = |rules, given| whole(rules, given).threshold;
        // What the last one that matches does not say is left to those before it.
        assert_eq!(whole(&rules, false).slice, Duration::from_millis(3));
        assert_eq!(of(&rules, false), 0.03);
        assert_eq!(of(&rules[..0], false), 0.2);
        assert_eq!(of(&rules, true), 0.005);
    }
}
