//! Notes on a result: doubts about it and advice on what would decide it, in the words that every
//! output shows. It must not know how a doubt is found.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Verdict;

/// Note on a result. Machines get its sentence; of those read back, the ones without numbers are
/// known again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum Note {
    /// The ratio of a pair changes within a launch, by this much (fraction).
    Drift(f64),
    /// Numbers of launches (from 1) that disagree with the others.
    DisagreeingLaunches(Vec<usize>),
    /// A call by itself, which the control of the false discovery rate took back.
    NotAmongOthers {
        /// p-value beside all comparisons of the run.
        p_adjusted: f64,
    },
    /// Cases were taken one after the other, not in turns.
    Sequential,
    /// The interval is that of a bootstrap over pairs.
    IntervalOverPairs,
    /// The benchmark reports no time at all.
    NoTime,
    /// The time of the benchmark does not depend on its iterations.
    ConstantTime,
    /// The benchmark reports less time than anything takes.
    TimeTooShort,
    /// Samples come in blocks from criterion's own runner.
    Blocks,
    /// One operation is so long that a launch has one pair.
    SlowOperation,
    /// There were too few pairs for a trimmed mean.
    Untrimmed,
    /// The budget ended it before its last look.
    BudgetEnded,
    /// So few launches have no interval at the confidence of their look.
    TooFewLaunches(usize),
    /// The plan has one early look, which cannot say `equivalent`.
    EarlyLookOnly,
    /// The change lies near the threshold (fraction).
    NearThreshold(f64),
    /// More launches than were taken would see a change as large as the threshold.
    MoreLaunches {
        /// About how many.
        needed: f64,
        /// The threshold (fraction).
        threshold: f64,
        /// Whether a preset takes that many.
        is_in_reach: bool,
    },
    /// A second trial with fresh layouts decided instead of the first.
    SecondTrial {
        /// Verdict of the first.
        first: Verdict,
        /// Change of the first (fraction).
        change: Option<f64>,
    },
    /// The call is as small as link layout alone can be, and layouts were kept for this reason.
    MayBeLayout(String),
    /// Some launches kept the layouts of the builds.
    LayoutsKept {
        /// Launches that kept them.
        kept: usize,
        /// All launches.
        launches: usize,
        /// Why.
        reason: String,
    },
    /// A sentence about the builds, the ids or the host of a comparison, or one that was read back.
    Sentence(String),
}

impl Note {
    /// Notes whose sentences have no numbers.
    const CONSTANT: [Note; 10] = [
        Note::Sequential,
        Note::IntervalOverPairs,
        Note::NoTime,
        Note::ConstantTime,
        Note::TimeTooShort,
        Note::Blocks,
        Note::SlowOperation,
        Note::Untrimmed,
        Note::BudgetEnded,
        Note::EarlyLookOnly,
    ];

    /// The sentence of a note without numbers.
    fn constant_sentence(&self) -> Option<&'static str> {
        Some(match self {
            Note::Sequential => {
                "one case was taken after the other: what the machine did meanwhile is part of this"
            }
            Note::IntervalOverPairs => {
                "the interval is over pairs, which share the luck of their launch: it is too narrow"
            }
            Note::NoTime => {
                "it reports no time at all, however many iterations it is asked for: its times and changes mean nothing"
            }
            Note::ConstantTime => {
                "its time does not grow with the iterations it is asked for (does `iter_custom` ignore them?): the time is that of one call, whatever it does"
            }
            Note::TimeTooShort => {
                "it reports less time for an operation than a processor takes for anything (does `iter_custom` return the time of all iterations?): a time per operation means nothing"
            }
            Note::Blocks => "driven by criterion's own runner in blocks: weaker pairing",
            Note::SlowOperation => "one operation takes longer than 50 ms: one pair a launch",
            Note::Untrimmed => "fewer than 5 pairs a launch: nothing was trimmed",
            Note::BudgetEnded => "the budget ended it: a larger `--budget` gives it more launches",
            Note::EarlyLookOnly => {
                "one early look is too weak to say equivalent: drop `--preset quick`"
            }
            // Named, so that no new note is left without a sentence.
            Note::Drift(_)
            | Note::DisagreeingLaunches(_)
            | Note::NotAmongOthers { .. }
            | Note::TooFewLaunches(_)
            | Note::NearThreshold(_)
            | Note::MoreLaunches { .. }
            | Note::SecondTrial { .. }
            | Note::MayBeLayout(_)
            | Note::LayoutsKept { .. }
            | Note::Sentence(_) => return None,
        })
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |fraction: &f64| format!("{:.1} %", 100.0 * fraction);
        let sentence = match self {
            Note::Drift(drift) => {
                return write!(
                    f,
                    "the ratio drifts by {:+.1} % within a launch: its cost seems to grow or shrink with use",
                    100.0 * drift
                );
            }
            Note::DisagreeingLaunches(launches) => {
                let numbers: Vec<String> = launches.iter().map(usize::to_string).collect();
                let (noun, verb) = match launches.len() {
                    1 => ("launch", "disagrees"),
                    _ => ("launches", "disagree"),
                };
                let numbers = numbers.join(", ");
                return write!(
                    f,
                    "{noun} {numbers} {verb} with the others, which the estimate withstands"
                );
            }
            Note::NotAmongOthers { p_adjusted } => {
                return write!(
                    f,
                    "by itself it would be called, beside all comparisons of this run it is not (adjusted p = {p_adjusted:.2}); `--filter` asks about it alone"
                );
            }
            Note::TooFewLaunches(launches) => {
                return write!(
                    f,
                    "{launches} launches have no interval at this confidence: give it more (`--budget`, `--preset`)"
                );
            }
            Note::NearThreshold(threshold) => {
                return write!(
                    f,
                    "the change lies near the threshold of {}: more launches (`--preset thorough`) or another `--threshold` decide it",
                    percent(threshold)
                );
            }
            Note::MoreLaunches { needed, threshold, is_in_reach } => {
                let how = match is_in_reach {
                    true => "`--preset thorough`",
                    false => "a quieter host or a larger `--threshold` helps more",
                };
                let threshold = percent(threshold);
                return write!(f, "about {needed:.0} launches would see {threshold}: {how}");
            }
            Note::SecondTrial { first, change } => {
                let change = change.map_or_else(String::new, |c| format!(" {:+.2} %", 100.0 * c));
                return write!(
                    f,
                    "a second trial with fresh layouts decides: with the layouts of the builds it read {first}{change}"
                );
            }
            Note::MayBeLayout(reason) => return write!(f, "may be layout: {reason}"),
            Note::LayoutsKept { kept, launches, reason } => {
                return write!(
                    f,
                    "{kept} of {launches} launches kept the link layouts of the builds: {reason}"
                );
            }
            Note::Sentence(sentence) => sentence,
            constant => constant.constant_sentence().unwrap_or_default(),
        };
        f.write_str(sentence)
    }
}

impl From<Note> for String {
    fn from(note: Note) -> String {
        match note {
            Note::Sentence(sentence) => sentence,
            note => note.to_string(),
        }
    }
}

impl From<String> for Note {
    fn from(sentence: String) -> Note {
        let known = Note::CONSTANT.into_iter().find(|note| note.to_string() == sentence);
        known.unwrap_or(Note::Sentence(sentence))
    }
}

impl From<&str> for Note {
    fn from(sentence: &str) -> Note {
        sentence.to_owned().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_note_has_its_sentence() {
        let golden = include_str!("golden.jsonl");
        let kept = "both sides kept the link layout of their build".to_owned();
        let reason = "the linker failed".to_owned();
        let more =
            |needed, is_in_reach| Note::MoreLaunches { needed, threshold: 0.005, is_in_reach };
        let numbered = [
            Note::Drift(0.0123),
            Note::DisagreeingLaunches(vec![3]),
            Note::DisagreeingLaunches(vec![3, 7]),
            Note::NotAmongOthers { p_adjusted: 0.07 },
            Note::TooFewLaunches(4),
            Note::NearThreshold(0.005),
            more(48.0, true),
            more(480.0, false),
            Note::SecondTrial { first: Verdict::Slower, change: Some(0.021) },
            Note::SecondTrial { first: Verdict::Inconclusive, change: None },
            Note::MayBeLayout(kept),
            Note::LayoutsKept { kept: 2, launches: 24, reason },
        ];
        for note in numbered.into_iter().chain(Note::CONSTANT) {
            let written = serde_json::to_string(&note).unwrap();
            assert!(golden.contains(&written), "{written}");
        }
    }

    #[test]
    fn constant_notes_are_known_again_and_others_stay_sentences() {
        for note in Note::CONSTANT {
            let written = serde_json::to_string(&note).unwrap();
            assert_eq!(serde_json::from_str::<Note>(&written).unwrap(), note);
        }
        let other: Note = "may be layout: x".into();
        assert_eq!(other, Note::Sentence("may be layout: x".to_owned()));
    }
}
