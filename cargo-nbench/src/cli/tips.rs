//! What to write instead of a flag of another harness, and of a verb with swapped letters. It knows
//! the words of the command line and must not know what they do.

use clap::error::{ContextKind, ContextValue};

use crate::suggest::nearest;

const STORED: &str = "every run is stored by its commit: `cargo nbench ab REV` compares with a revision, \
                      `cargo nbench compare A B` two stored runs";
const LENGTH: &str = "`--precision` says when it is enough and `--budget` bounds the time; `nbench.toml` \
                      sets launches and samples";

/// Flags of criterion and divan, and what takes their place.
const FLAGS: [(&str, &str); 19] = [
    ("--quick", "use `--preset quick`"),
    ("--thorough", "use `--preset thorough`"),
    ("--baseline", STORED),
    ("--baseline-lenient", STORED),
    ("--load-baseline", STORED),
    ("--retain-baseline", STORED),
    ("--save-baseline", STORED),
    ("--measurement-time", LENGTH),
    ("--sample-count", LENGTH),
    ("--sample-size", LENGTH),
    ("--nresamples", LENGTH),
    ("--max-time", LENGTH),
    ("--min-time", LENGTH),
    ("--profile-time", LENGTH),
    ("--warm-up-time", "`warmup` in `nbench.toml` sets it"),
    ("--noise-threshold", "use `--threshold` (of `ab`)"),
    ("--confidence-level", "use `--confidence` (of `ab`)"),
    ("--list", "use `cargo nbench list`"),
    ("--noplot", "nothing is plotted unless `--html` asks for it"),
];

/// Adds to an error of the command line what was probably meant; `verbs` are those that there are.
pub fn explain(error: &mut clap::Error, verbs: &[String]) {
    let text = |error: &clap::Error, kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    if let Some(flag) = text(error, ContextKind::InvalidArg)
        && let Some((_, tip)) = FLAGS.iter().find(|(name, _)| *name == flag)
    {
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::TrailingArg);
        // It would show the flag that only looks like it.
        error.remove(ContextKind::Usage);
        error.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![clap::builder::StyledStr::from(*tip)]),
        );
    }
    if let Some(verb) = text(error, ContextKind::InvalidSubcommand)
        && error.get(ContextKind::SuggestedSubcommand).is_none()
        && let Some(meant) = nearest(&verb, verbs.iter().map(String::as_str))
    {
        let meant = ContextValue::Strings(vec![meant.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, meant);
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::{Cli, verbs};

    #[test]
    fn flags_of_other_harnesses_and_misspelt_verbs_are_answered_with_ours() {
        let table = [
            (&["run", "--quick"][..], "tip: use `--preset quick`"),
            (&["ab", "--thorough"], "tip: use `--preset thorough`"),
            (&["run", "--save-baseline", "main"], "`cargo nbench ab REV`"),
            (&["run", "--baseline=main"], "`cargo nbench compare A B`"),
            (&["run", "--sample-size", "10"], "`--precision`"),
            (&["rnu"], "'run'"),
            (&["lsit"], "'list'"),
            (&["hisotry"], "'history'"),
        ];
        for (words, tip) in table {
            let words = [&["cargo-nbench"], words].concat();
            let mut error = Cli::try_parse_from(&words).unwrap_err();
            explain(&mut error, &verbs());
            let told = error.render().to_string();
            assert!(told.contains(tip), "{words:?}: {told}");
            assert_eq!(told.matches("tip:").count(), 1, "{words:?}: {told}");
            assert!(!told.contains("--quiet") && !told.contains("--seq"), "{words:?}: {told}");
        }
        for (flag, _) in FLAGS {
            let known = Cli::try_parse_from(["cargo-nbench", "run", flag]);
            assert!(known.is_err(), "{flag} is a flag of ours");
        }
    }
}
