//! The words that a result line takes from a fixed set. Machines read them: they are never changed.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Verdict on one contender.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The contender takes less time, by more than the threshold.
    Faster,
    /// The contender takes more time, by more than the threshold.
    Slower,
    /// The whole interval lies inside the threshold.
    Equivalent,
    /// None of these could be shown.
    #[default]
    Inconclusive,
    /// Both sides are the same code, so nothing was measured.
    Identical,
}

impl Verdict {
    /// All verdicts, the gravest first.
    pub const ALL: [Verdict; 5] = [
        Verdict::Slower,
        Verdict::Faster,
        Verdict::Equivalent,
        Verdict::Inconclusive,
        Verdict::Identical,
    ];

    /// The stable word of machine output and of the store.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Equivalent => "equivalent",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Identical => "identical",
        }
    }

    /// The verdict that goes by `word`; `None` for words of other versions.
    pub fn of_word(word: &str) -> Option<Verdict> {
        Verdict::ALL.into_iter().find(|verdict| verdict.word() == word)
    }

    /// Whether it says that the contender differs from the reference.
    pub fn is_call(self) -> bool {
        matches!(self, Verdict::Faster | Verdict::Slower)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Reason why no more launches were taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// A planned look had a verdict.
    Decided,
    /// The last planned look passed without a verdict.
    LastLook,
    /// The interval of a single measurement became narrow enough.
    PrecisionReached,
    /// A single measurement took the most launches it may take.
    MaxLaunches,
    /// The time budget ran out.
    Budget,
    /// The user interrupted.
    Interrupted,
    /// Both sides are the same code: no launch was needed.
    Identical,
    /// Nothing ended it yet.
    #[default]
    Unfinished,
}

impl Stop {
    /// The stable word of machine output and of the store.
    pub fn word(self) -> &'static str {
        match self {
            Stop::Decided => "decided",
            Stop::LastLook => "last-look",
            Stop::PrecisionReached => "precision-reached",
            Stop::MaxLaunches => "max-launches",
            Stop::Budget => "budget",
            Stop::Interrupted => "interrupted",
            Stop::Identical => "identical",
            Stop::Unfinished => "unfinished",
        }
    }

    /// The reason that goes by `word`; `None` for words of other versions.
    pub fn of_word(word: &str) -> Option<Stop> {
        use Stop::{
            Budget, Decided, Identical, Interrupted, LastLook, MaxLaunches, PrecisionReached,
            Unfinished,
        };
        let all = [
            Decided,
            LastLook,
            PrecisionReached,
            MaxLaunches,
            Budget,
            Interrupted,
            Identical,
            Unfinished,
        ];
        all.into_iter().find(|stop| stop.word() == word)
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Variation of link layouts in one comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LayoutState {
    /// Every side had a layout of its own at every launch.
    Fresh,
    /// All launches kept the layouts of the builds because they could not be varied.
    Unconfirmed,
    /// All launches kept the layouts of the builds.
    #[default]
    Off,
}

impl LayoutState {
    /// The stable word of machine output.
    pub fn word(self) -> &'static str {
        match self {
            LayoutState::Fresh => "fresh",
            LayoutState::Unconfirmed => "unconfirmed",
            LayoutState::Off => "off",
        }
    }
}

impl fmt::Display for LayoutState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_that_serde_writes_and_are_read_back() {
        for verdict in Verdict::ALL {
            assert_eq!(serde_json::to_string(&verdict).unwrap(), format!("\"{verdict}\""));
            assert_eq!(Verdict::of_word(verdict.word()), Some(verdict));
        }
        for stop in ["decided", "last-look", "precision-reached", "max-launches", "identical"] {
            let read: Stop = serde_json::from_str(&format!("\"{stop}\"")).unwrap();
            assert_eq!((read.word(), Stop::of_word(stop)), (stop, Some(read)));
        }
        for layout in ["fresh", "unconfirmed", "off"] {
            let read: LayoutState = serde_json::from_str(&format!("\"{layout}\"")).unwrap();
            assert_eq!(read.word(), layout);
        }
        assert_eq!((Verdict::of_word("better"), Stop::of_word("")), (None, None));
    }

    #[test]
    fn words_fill_the_column_that_they_stand_in() {
        assert_eq!(format!("{:<12}|", Verdict::Slower), "slower      |");
    }
}
