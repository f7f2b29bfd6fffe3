//! What is said of layouts, by table; when they are drawn; and that nothing of them is left.

use std::collections::BTreeSet;

use nbench_config::Layouts as When;
use nbench_engine::{Compare, Decision, Plan, Round, Silent, Verdict};
use nbench_templates::lines::Comparison;

use super::supply::order;
use super::{Drawn, LayoutControl, SecondTrial, Supply, target_seed};
use crate::measure::launch::Program;
use crate::measure::words;

/// A trial of ten launches in which contenders take `changes` more than the reference.
fn trial(changes: &[f64]) -> Compare {
    let mut trial = Compare::new("x", changes.len() + 1, Plan::default());
    launches(&mut trial, changes, 10);
    trial
}

fn launches(trial: &mut Compare, changes: &[f64], count: usize) {
    for _ in 0..count {
        let per_operation: Vec<f64> =
            [0.0].iter().chain(changes).map(|change| 100.0 * (1.0 + change)).collect();
        let order = (0..per_operation.len()).collect();
        let cpu = vec![None; per_operation.len()];
        trial.accept(vec![Round { order, per_operation, cpu }], &mut Silent);
    }
}

/// The word and the notes for a result of `trial`.
fn said(control: &LayoutControl, trial: &Compare, contender: usize) -> (String, Vec<String>) {
    let judgement = control.deciding(trial, contender).judgement(contender);
    let line = Comparison {
        verdict: words::verdict(judgement.verdict),
        change: judgement.change,
        ..Comparison::default()
    };
    let findings = control.findings(&line, contender);
    let notes = findings.notes.iter().map(ToString::to_string).collect();
    (findings.state.word().to_owned(), notes)
}

fn unavailable() -> Supply {
    Supply::Unavailable("`gold` cannot shuffle functions".to_owned())
}

#[test]
fn small_calls_without_fresh_layouts_may_be_layout() {
    let ready = Supply::Ready(Vec::new());
    let unavailable = unavailable();
    for (when, supply, change, word, note) in [
        (When::Off, &Supply::Kept, 0.03, "off", Some("both sides kept")),
        (When::Off, &Supply::Kept, -0.03, "off", Some("both sides kept")),
        (When::Off, &Supply::Kept, 0.08, "off", None),
        (When::Off, &Supply::Kept, 0.001, "off", None),
        (When::Fresh, &unavailable, 0.03, "unconfirmed", Some("`gold` cannot")),
        (When::Fresh, &unavailable, 0.08, "unconfirmed", None),
        (When::Fresh, &ready, 0.03, "fresh", None),
        (When::Confirm, &unavailable, -0.03, "unconfirmed", Some("`gold` cannot")),
        (When::Confirm, &ready, 0.08, "off", None),
    ] {
        let mut control = LayoutControl::new(when, supply);
        if when == When::Fresh && matches!(supply, Supply::Ready(_)) {
            control.count(Ok(()));
        }
        let (layout, notes) = said(&control, &trial(&[change]), 1);
        assert_eq!(layout, word, "{when:?} {change}");
        assert_eq!(notes.len(), usize::from(note.is_some()), "{when:?} {change}: {notes:?}");
        if let Some(note) = note {
            assert!(
                notes[0].starts_with("may be layout: ") && notes[0].contains(note),
                "{notes:?}"
            );
        }
    }
}

#[test]
fn a_launch_that_could_not_be_linked_is_said_whatever_the_verdict() {
    let mut control = LayoutControl::new(When::Fresh, &Supply::Ready(Vec::new()));
    control.count(Ok(()));
    control.count(Err("the disk is full"));
    control.count(Err("again"));
    let (layout, notes) = said(&control, &trial(&[0.08]), 1);
    assert_eq!(layout, "unconfirmed");
    assert_eq!(notes, ["2 of 3 launches kept the link layouts of the builds: the disk is full"]);
    let (_, notes) = said(&control, &trial(&[0.03]), 1);
    assert_eq!(notes, ["may be layout: the disk is full"]);
}

#[test]
fn a_second_trial_decides_small_calls_and_leaves_the_others() {
    let ready = Supply::Ready(Vec::new());
    let mut control = LayoutControl::new(When::Confirm, &ready);
    let mut trial = trial(&[0.03, 0.5]);
    assert!(control.finish(&mut trial), "a second trial is due");
    assert!(control.finish(&mut trial), "and still is while others of the target go on");
    assert_eq!(control.launches_before(), 0);
    assert_eq!(control.begin_second(&mut trial), Some(SecondTrial::Confirm));
    assert_eq!((control.launches_before(), trial.launches().len()), (10, 0));
    assert_eq!(trial.decide(), Decision::More);
    launches(&mut trial, &[0.001, 0.4], 10);
    assert!(matches!(trial.decide(), Decision::Done(_)));
    assert!(!control.finish(&mut trial), "once is enough");
    assert_eq!(control.begin_second(&mut trial), None);
    control.count(Ok(()));
    let (layout, notes) = said(&control, &trial, 1);
    assert_eq!((layout.as_str(), notes.len()), ("fresh", 1));
    assert!(notes[0].ends_with("it read slower +3.00 %"), "{notes:?}");
    assert_eq!(control.deciding(&trial, 1).judgement(1).verdict, Verdict::Equivalent);
    let other = control.deciding(&trial, 2).judgement(2);
    assert!((other.change.unwrap() - 0.5).abs() < 1e-9, "the first trial's: {other:?}");
    assert_eq!(said(&control, &trial, 2), ("off".to_owned(), Vec::new()));
}

#[test]
fn nothing_is_confirmed_that_need_not_or_cannot_be() {
    let ready = Supply::Ready(Vec::new());
    let needs = |when, supply: &Supply, change| {
        LayoutControl::new(when, supply).needs_confirmation(&trial(&[change]))
    };
    assert!(needs(When::Confirm, &ready, -0.02));
    assert!(!needs(When::Confirm, &ready, 0.001));
    assert!(!needs(When::Confirm, &ready, 0.06));
    assert!(!needs(When::Confirm, &unavailable(), 0.02));
    assert!(!needs(When::Fresh, &ready, 0.02));
    assert!(!needs(When::Off, &Supply::Kept, 0.02));
}

#[test]
fn a_confirmation_that_was_stopped_leaves_the_first_trial_and_says_so() {
    let mut control = LayoutControl::new(When::Confirm, &Supply::Ready(Vec::new()));
    let mut trial = trial(&[0.03]);
    assert!(control.finish(&mut trial));
    control.begin_second(&mut trial);
    launches(&mut trial, &[0.0], 2);
    control.give_up(&mut trial, "stopped");
    assert_eq!((trial.launches().len(), control.finish(&mut trial)), (10, false));
    let expected = ("unconfirmed".to_owned(), vec!["may be layout: stopped".to_owned()]);
    assert_eq!(said(&control, &trial, 1), expected);
}

#[test]
fn every_side_and_launch_has_an_order_of_its_own() {
    let mut seen = BTreeSet::new();
    for seed in [target_seed(1, "p", "t"), target_seed(1, "p", "u"), target_seed(2, "p", "t")] {
        for launch in 0..50 {
            for side in 0..16 {
                assert_eq!(order(seed, launch, side), order(seed, launch, side));
                seen.insert(order(seed, launch, side));
            }
        }
    }
    assert_eq!(seen.len(), 3 * 50 * 16);
    assert_ne!(target_seed(1, "ab", "c"), target_seed(1, "a", "bc"));
}

#[test]
fn executables_of_a_launch_stand_in_for_the_built_ones_and_vanish() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("layout-00");
    std::fs::write(&path, "").unwrap();
    let drawn = Drawn { paths: vec![path.clone()] };
    let built = Program { path: "built".into(), cwd: "there".into(), ..Program::default() };
    assert_eq!(drawn.program(0, &built), Program { path: path.clone(), ..built.clone() });
    assert_eq!(drawn.paths.len(), 1);
    drop(drawn);
    assert!(!path.exists());
    assert!(Supply::Kept.draw(1, 0).is_none() && unavailable().draw(1, 0).is_none());
}

#[test]
fn what_stays_inconclusive_is_told_the_share_of_its_layout() {
    let ready = Supply::Ready(Vec::new());
    let control = || LayoutControl::new(When::Fresh, &ready).explaining();
    // Launches at +-4 % around zero: undecided to the last look.
    let swinging = |trial: &mut Compare, by: f64, count: usize| {
        for launch in 0..count {
            launches(trial, &[if launch % 2 == 0 { by } else { -by }], 1);
        }
    };
    let mut trial = Compare::new("x", 2, Plan::default());
    swinging(&mut trial, 0.04, 23);
    assert!(!control().needs_explanation(&trial), "it goes on");
    swinging(&mut trial, 0.04, 1);
    assert!(!LayoutControl::new(When::Fresh, &ready).needs_explanation(&trial), "nobody asked");
    assert!(!LayoutControl::new(When::Off, &ready).explaining().needs_explanation(&trial));
    let mut control = control();
    assert!(control.finish(&mut trial));
    assert_eq!(control.begin_second(&mut trial), Some(SecondTrial::Explain));
    assert!(control.is_explaining() && trial.launches().is_empty());
    assert_eq!(control.evidence(&trial).launches().len(), 24);
    swinging(&mut trial, 0.004, 6);
    assert!(matches!(trial.decide(), Decision::Done(_)));
    assert!(!control.finish(&mut trial), "once is enough");
    assert_eq!(trial.launches().len(), 24, "the result is that of the first trial");
    assert!(!control.finish(&mut trial), "nor is it at the next look of others");
    control.count(Ok(()));
    let share = control.findings(&Comparison::default(), 1).share.unwrap();
    assert!(share.share > 0.98 && share.low > 0.9 && share.high <= 1.0, "{share:?}");
}

#[test]
fn an_explanation_that_was_cut_off_leaves_the_result_as_it_was() {
    let mut control = LayoutControl::new(When::Fresh, &Supply::Ready(Vec::new())).explaining();
    let mut trial = Compare::new("x", 2, Plan::default());
    for launch in 0..24 {
        launches(&mut trial, &[if launch % 2 == 0 { 0.04 } else { -0.04 }], 1);
    }
    assert!(control.finish(&mut trial));
    control.begin_second(&mut trial);
    launches(&mut trial, &[0.5], 2);
    control.give_up(&mut trial, "interrupted");
    control.count(Ok(()));
    assert!(!control.is_explaining() && !control.finish(&mut trial));
    let (layout, _) = said(&control, &trial, 1);
    assert_eq!((layout.as_str(), trial.launches().len()), ("fresh", 24));
}
