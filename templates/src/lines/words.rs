//! The words that a result line takes from a fixed set. Machines read them: they are never changed.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Defines an enum that is written as one of a few words.
macro_rules! words {
    ($(#[$outer:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$outer])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$inner])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All of them, the gravest first.
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// The stable word of machine output and of the store.
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            /// The one that goes by `word`; `None` for words of other versions.
            pub fn of_word(word: &str) -> Option<$name> {
                match word { $($word => Some($name::$variant),)+ _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.word())
            }
        }
    };
}

words! {
    /// Verdict on one contender.
    Verdict {
        /// The contender takes more time, by more than the threshold.
        Slower = "slower",
        /// The contender takes less time, by more than the threshold.
        Faster = "faster",
        /// The whole interval lies inside the threshold.
        Equivalent = "equivalent",
        /// None of these could be shown.
        #[default]
        Inconclusive = "inconclusive",
        /// Both sides are the same code, so nothing was measured.
        Identical = "identical",
    }
}

impl Verdict {
    /// Whether it says that the contender differs from the reference.
    pub fn is_call(self) -> bool {
        matches!(self, Verdict::Faster | Verdict::Slower)
    }
}

words! {
    /// Reason why no more launches were taken.
    Stop {
        /// A planned look had a verdict.
        Decided = "decided",
        /// The last planned look passed without a verdict.
        LastLook = "last-look",
        /// The interval of a single measurement became narrow enough.
        PrecisionReached = "precision-reached",
        /// A single measurement took the most launches it may take.
        MaxLaunches = "max-launches",
        /// The time budget ran out.
        Budget = "budget",
        /// The user interrupted.
        Interrupted = "interrupted",
        /// Both sides are the same code: no launch was needed.
        Identical = "identical",
        /// Nothing ended it yet.
        #[default]
        Unfinished = "unfinished",
    }
}

words! {
    /// Variation of link layouts in one comparison.
    LayoutState {
        /// Every side had a layout of its own at every launch.
        Fresh = "fresh",
        /// Launches kept the layouts of the builds because they could not be varied.
        Unconfirmed = "unconfirmed",
        /// All launches kept the layouts of the builds.
        #[default]
        Off = "off",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_that_serde_writes_and_are_read_back() {
        for verdict in Verdict::ALL {
            assert_eq!(serde_json::to_string(verdict).unwrap(), format!("\"{verdict}\""));
            assert_eq!(Verdict::of_word(verdict.word()), Some(*verdict));
        }
        for stop in Stop::ALL {
            assert_eq!(serde_json::to_string(stop).unwrap(), format!("\"{stop}\""));
            assert_eq!(Stop::of_word(stop.word()), Some(*stop));
        }
        for word in ["fresh", "unconfirmed", "off"] {
            let read: LayoutState = serde_json::from_str(&format!("\"{word}\"")).unwrap();
            assert_eq!((read.word(), LayoutState::of_word(word)), (word, Some(read)));
        }
        assert_eq!((Verdict::of_word("better"), Stop::of_word("")), (None, None));
    }

    #[test]
    fn words_fill_the_column_that_they_stand_in() {
        assert_eq!(format!("{:<12}|", Verdict::Slower), "slower      |");
    }
}
