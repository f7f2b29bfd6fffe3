//! The verbs, one file each; every one reads as a recipe. What several of them need stands here.

pub mod aa;
pub mod ab;
pub mod clean;
pub mod comment;
pub mod compare;
pub mod completions;
pub mod history;
pub mod list;
pub mod run;

use std::path::Path;

use nbench_config::Settings;
use nbench_store::Store;
use nbench_templates::lines::Line;

use crate::build::cargo::Words;
use crate::cli::args::{GatePolicy, StoredFilterArgs};
use crate::cli::settings::{self, limits};
use crate::failure::{Exit, Failure};
use crate::measure::filter::Filter;
use crate::measure::idle::ListedIds;
use crate::measure::launch::Starter;
use crate::measure::placement::Placement;
use crate::results::gate;
use crate::results::record::store_failure;
use crate::results::session::RunOutcome;
use crate::term::{Term, Text, Tone};

/// Message while another process builds in the same target directory.
const ANOTHER_BUILDS: &str = "another nbench builds this workspace: waiting for it";

/// The filter of a command line: `words` are those that stand there without a flag.
///
/// # Errors
/// As for [`Filter::of`].
pub fn filter_of(
    words: &[String],
    flags: &StoredFilterArgs,
    tags: &[String],
) -> Result<Filter, Failure> {
    let wanted = words.iter().chain(&flags.filter).cloned().collect();
    Filter::of(wanted, &flags.skip, flags.exact, tags)
}

/// The store at `path`, to be read; `words` are the user's flags.
///
/// # Errors
/// When there is none, or it cannot be read.
pub fn open_store(path: &Path, words: &Words) -> Result<Store, Failure> {
    Store::open_read_only(path).map_err(|error| match error.kind() {
        nbench_store::ErrorKind::Missing => {
            Failure::new(Exit::Store, format!("there is no store at `{}`", path.display()))
                .hint(format!("`{}` measures the working tree and makes one", words.nbench("run")))
        }
        _ => store_failure(&error),
    })
}

/// Package, target and name of a stored benchmark.
pub type BenchmarkKey = (String, String, String);

/// The key of a stored benchmark.
pub fn key_of(benchmark: &nbench_store::Benchmark) -> BenchmarkKey {
    (benchmark.package.clone(), benchmark.target.clone(), benchmark.name.clone())
}

/// How workers are started under these settings.
pub fn starter(settings: &Settings, pin: bool) -> Starter {
    Starter {
        placement: if pin { Placement::choose() } else { Placement::free("--no-pin") },
        limits: limits(settings),
        seed: settings.benchmark_seed,
    }
}

/// The failure of a selection that holds nothing, with the most helpful hint.
pub fn nothing_selected(skipped: &[Line], filtered: bool, words: &Words) -> Failure {
    let failure = |error: &str| Failure::new(Exit::NothingSelected, error);
    if filtered {
        return failure("no benchmark matches the filter")
            .hint(format!("`{}` shows all ids", words.nbench("list")));
    }
    match skipped {
        [] => failure("no bench target is selected").hint(
            "`-p`, `--workspace` and `--bench` select; a new target needs these lines in `Cargo.toml`, and `benches/speed.rs`:\n\n[dev-dependencies]\nnbench = { git = \"https://github.com/nbench/nbench\" }\n\n[[bench]]\nname = \"speed\"\nharness = false",
        ),
        [Line::Skipped(missing)] if missing.target.is_empty() => {
            failure(&format!("`{}`: {}", missing.package, missing.reason))
                .hint(format!("`{} --no-deps` lists the packages", words.cargo_metadata()))
        }
        _ if skipped.iter().all(is_elsewhere) => {
            let package = skipped.iter().find_map(|line| match line {
                Line::Skipped(skipped) => Some(skipped.package.as_str()),
                _ => None,
            });
            failure("no bench target belongs to the packages that cargo builds from here").hint(
                format!(
                    "`--workspace` takes all packages, `-p {}` one",
                    package.unwrap_or_default()
                ),
            )
        }
        _ => failure("no bench target can be measured")
            .hint("the skipped targets above name what each one lacks"),
    }
}

/// Whether nothing keeps a target from being measured but where the user stands.
fn is_elsewhere(line: &Line) -> bool {
    matches!(line, Line::Skipped(skipped) if skipped.is_elsewhere)
}

/// The failure of benchmarks called `ids` in `targets`, of which none is left to be measured.
pub fn none_of(
    ids: &[String],
    targets: &[(String, String)],
    filter: &Filter,
    words: &Words,
) -> Failure {
    if filter.is_given() && !ids.is_empty() {
        let failure = filter.matches_nothing(ids, &words.nbench("list"));
        match filter.names_target(ids, targets) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    } else {
        nothing_selected(&[], filter.is_given(), words)
    }
}

/// Warns of settings of single benchmarks that fit none of those that were seen.
pub fn warn_of_idle(
    term: &mut Term,
    seen: &ListedIds,
    settings: &Settings,
    manifest: Option<&Path>,
) {
    if settings.rules.is_empty() && settings.aliases.is_empty() {
        return;
    }
    // The workspace was read before; what became of it since is told by what follows.
    let Ok(all) = settings::bench_targets(manifest) else { return };
    for warning in seen.idle(settings, &all) {
        term.warn(&warning);
    }
}

/// The exit code of a finished run, with what the gate has to say. What made it fail is the last
/// line.
pub fn exit_of(
    outcome: &RunOutcome,
    policy: GatePolicy,
    require_verdict: bool,
    published: bool,
    term: &mut Term,
) -> Exit {
    let summary = &outcome.summary;
    let gated = gate::judge(policy, &outcome.comparisons, summary);
    for remark in &gated.remarks {
        term.warn(remark);
    }
    let open = gate::without_verdict(summary, false);
    let gate = format!("gate: {}", gated.why);
    let also_gated = if gated.exit.is_some() { format!("; {gate}") } else { String::new() };
    let applying = [
        summary.interrupted.then(|| (Exit::Interrupted, String::new())),
        outcome.trouble.as_ref().map(|_| (Exit::Store, "results are not stored".to_owned())),
        (summary.failed > 0)
            .then(|| (Exit::BenchmarkFailed, format!("{} failed{also_gated}", summary.failed))),
        gated.exit.map(|exit| (exit, gate)),
        (require_verdict && !open.is_empty())
            .then(|| (Exit::NoVerdict, format!("require-verdict: {open}"))),
        // What could not be written was said where it failed.
        (!published).then(|| (Exit::Publish, String::new())),
    ];
    let Some((exit, why)) = Exit::gravest(applying.into_iter().flatten()) else {
        return Exit::Done;
    };
    if !why.is_empty() {
        term.line(Text::toned(Tone::Bad, &format!("{why}: exit {}", exit.code())));
    }
    exit
}

/// The command line as the user would repeat it.
pub fn invocation() -> String {
    let words = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned());
    let words: Vec<String> = words.skip_while(|w| w == "nbench").collect();
    format!("cargo nbench {}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use nbench_templates::lines::{Comparison, Summary, Verdict};

    use super::*;
    use crate::build::cargo::{SkipReason, skipped_line};
    use crate::term::kept::Kept;

    #[test]
    fn targets_of_other_packages_are_taken_by_the_flag_that_is_named() {
        let skipped = |package: &str, reason: &SkipReason| {
            skipped_line(package.to_owned(), "words".to_owned(), reason)
        };
        let elsewhere = SkipReason::Elsewhere { package: "a".to_owned() };
        let lacking = SkipReason::Lacking("it needs features".to_owned());
        let hint = |lines: &[Line]| nothing_selected(lines, false, &Words::default()).hint.unwrap();
        let all = hint(&[skipped("a", &elsewhere), skipped("b", &elsewhere)]);
        assert_eq!(all, "`--workspace` takes all packages, `-p a` one");
        let mixed = hint(&[skipped("a", &elsewhere), skipped("b", &lacking)]);
        assert!(mixed.starts_with("the skipped targets above"), "{mixed}");
        assert!(hint(&[]).contains("[[bench]]"));
    }

    #[test]
    fn words_and_flags_are_one_filter() {
        let flags = StoredFilterArgs { filter: vec!["scan".into()], ..Default::default() };
        let both = filter_of(&["parse".into()], &flags, &[]).unwrap();
        assert!(both.matches("a/parse") && both.matches("a/scan") && !both.matches("a/print"));
        assert!(both.is_given() && !Filter::default().is_given());
        let bare = StoredFilterArgs { exact: true, ..Default::default() };
        assert!(filter_of(&[], &bare, &[]).unwrap_err().hint.unwrap().contains("--exact"));
    }

    #[test]
    fn the_gravest_exit_wins() {
        let slower =
            Comparison { verdict: Verdict::Slower, change: Some(0.2), ..Comparison::default() };
        let mut ended = RunOutcome {
            summary: Summary { slower: 1, failed: 1, inconclusive: 1, ..Summary::default() },
            comparisons: vec![slower],
            trouble: Some(Failure::new(Exit::Store, "no store")),
            page: None,
        };
        let exit = |ended: &RunOutcome, policy| {
            let out = Kept::default();
            let mut term = Term::captured(Box::new(out.clone()), Box::new(Vec::new()));
            let exit = exit_of(ended, policy, true, true, &mut term);
            let said = out.text();
            let last = said.lines().last().unwrap_or_default().to_owned();
            (exit, last)
        };
        let told = |exit: Exit, why: &str| (exit, format!("{why}: exit {}", exit.code()));
        use GatePolicy::{Closed, Report, Slower};
        assert_eq!(exit(&ended, Slower), told(Exit::Store, "results are not stored"));
        ended.trouble = None;
        let both = "1 failed; gate: 1 slower";
        assert_eq!(exit(&ended, Slower), told(Exit::BenchmarkFailed, both));
        assert_eq!(exit(&ended, Report), told(Exit::BenchmarkFailed, "1 failed"));
        ended.summary.failed = 0;
        assert_eq!(exit(&ended, Slower), told(Exit::Slower, "gate: 1 slower"));
        let verdict = "require-verdict: 1 inconclusive";
        assert_eq!(exit(&ended, Report), told(Exit::NoVerdict, verdict));
        ended.comparisons.clear();
        ended.summary.unmatched = 2;
        let closed = "gate: 1 inconclusive, 2 on one side only";
        assert_eq!(exit(&ended, Closed), told(Exit::NoVerdict, closed));
        ended.summary.inconclusive = 0;
        assert_eq!(exit(&ended, Report), (Exit::Done, String::new()));
        let mut term = Term::captured(Box::new(Kept::default()), Box::new(Vec::new()));
        assert_eq!(exit_of(&ended, Report, true, false, &mut term), Exit::Publish);
        ended.summary.interrupted = true;
        assert_eq!(exit(&ended, Slower), (Exit::Interrupted, String::new()));
    }
}
