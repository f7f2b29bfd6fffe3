//! The arguments that cargo and other tools pass to a bench target. It must not know what they do.

/// Request of a command line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Args {
    pub(super) mode: Mode,
    /// Parts of ids, or whole ids when `exact`; none selects everything.
    filters: Vec<String>,
    skips: Vec<String>,
    exact: bool,
    /// Only ignored benchmarks are asked for, of which there are none.
    only_ignored: bool,
    /// Flags that were ignored.
    pub(super) unknown: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Time each benchmark.
    Bench,
    /// Run each benchmark once.
    Test,
    /// Name each benchmark.
    List { terse: bool },
}

/// Flags of libtest, of tools that wrap it and of criterion, that change nothing here.
const WITHOUT_EFFECT: &[&str] = &[
    "--nocapture",
    "--no-capture",
    "--quiet",
    "-q",
    "--include-ignored",
    "--show-output",
    "--verbose",
    "-v",
    "--noplot",
    "-n",
    "--quick",
    "--discard-baseline",
];

/// The same, with a value that follows.
const WITH_VALUE: &[&str] = &[
    "--color",
    "-c",
    "--test-threads",
    "-Z",
    "--logfile",
    "--save-baseline",
    "-s",
    "--baseline",
    "-b",
    "--baseline-lenient",
    "--load-baseline",
    "--sample-size",
    "--warm-up-time",
    "--measurement-time",
    "--profile-time",
    "--nresamples",
    "--noise-threshold",
    "--confidence-level",
    "--significance-level",
    "--plotting-backend",
    "--output-format",
];

impl Args {
    pub(super) fn parse(args: impl IntoIterator<Item = String>) -> Args {
        let (mut bench, mut test, mut list, mut terse) = (false, false, false, false);
        let mut parsed = Args {
            mode: Mode::Test,
            filters: Vec::new(),
            skips: Vec::new(),
            exact: false,
            only_ignored: false,
            unknown: Vec::new(),
        };
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let (flag, inline) = match arg.split_once('=') {
                Some((flag, value)) if arg.starts_with('-') => (flag, Some(value.to_owned())),
                _ => (arg.as_str(), None),
            };
            match flag {
                "--bench" => bench = true,
                "--test" => test = true,
                "--list" => list = true,
                "--exact" => parsed.exact = true,
                "--ignored" => parsed.only_ignored = true,
                "--format" => terse = inline.or_else(|| args.next()).as_deref() == Some("terse"),
                "--skip" => parsed.skips.extend(inline.or_else(|| args.next())),
                "--" => parsed.filters.extend(args.by_ref()),
                flag if WITHOUT_EFFECT.contains(&flag) => {}
                flag if WITH_VALUE.contains(&flag) => drop(inline.or_else(|| args.next())),
                flag if flag.starts_with('-') && flag.len() > 1 => parsed.unknown.push(arg),
                _ => parsed.filters.push(arg),
            }
        }
        parsed.mode = match (list, test, bench) {
            (true, _, _) => Mode::List { terse },
            (false, true, _) | (false, false, false) => Mode::Test,
            (false, false, true) => Mode::Bench,
        };
        parsed
    }

    pub(super) fn selects(&self, id: &str) -> bool {
        let matches =
            |filter: &String| if self.exact { id == filter } else { id.contains(filter.as_str()) };
        !self.only_ignored
            && (self.filters.is_empty() || self.filters.iter().any(matches))
            && !self.skips.iter().any(matches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Args {
        Args::parse(text.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn the_mode_is_what_cargo_means() {
        assert_eq!(parse("--bench").mode, Mode::Bench);
        assert_eq!(parse("").mode, Mode::Test);
        assert_eq!(parse("--bench --test").mode, Mode::Test);
        assert_eq!(parse("--list --format terse").mode, Mode::List { terse: true });
        assert_eq!(parse("--list --format=pretty --bench").mode, Mode::List { terse: false });
    }

    #[test]
    fn flags_of_other_tools_do_not_become_filters() {
        let text = "--bench --nocapture --color always --quiet -q --include-ignored --show-output --format pretty \
                    --test-threads 1 --test-threads=1 -Z unstable-options --logfile x --save-baseline main --baseline main \
                    --noplot --sample-size 10 --measurement-time 1.5";
        let args = parse(text);
        assert!(args.filters.is_empty() && args.unknown.is_empty(), "{args:?}");
        assert!(args.selects("anything"));
    }

    #[test]
    fn unknown_flags_are_kept_for_one_note() {
        assert_eq!(parse("--frobnicate=3 --bench name -x").unknown, ["--frobnicate=3", "-x"]);
        assert!(parse("--color").unknown.is_empty());
    }

    #[test]
    fn filters_select_and_skips_leave_out() {
        let args = parse("sort parse --skip slow");
        assert!(args.selects("sort/1") && args.selects("parse"));
        assert!(!args.selects("hash") && !args.selects("sort/slow"));
        let exact = parse("--exact sort");
        assert!(exact.selects("sort") && !exact.selects("sort/1"));
        assert!(!parse("--ignored").selects("sort"));
        assert!(parse("-- --odd-name").selects("an --odd-name"));
    }
}
