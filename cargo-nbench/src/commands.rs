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

use nbench_config::Settings;

use crate::build::cargo::{
    BenchTarget, BuildContext, BuildNote, BuildOptions, BuiltTarget, Executable, FailedTarget,
    OWN_RUNNER, STAND_IN, Selected, Words, Workspace, build, failure, select,
};
use crate::build::own_runner::{self, Place};
use crate::cli::settings::limits;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::lines::{FailureLine, Line, Skipped, TargetLine};
use crate::measure::filter::Filter;
use crate::measure::launch::Starter;
use crate::measure::place::Placement;
use crate::results::gate::{self, GatePolicy};
use crate::results::report;
use crate::results::session::Ended;
use crate::term::{Term, Text, Tone};

/// What is said while another process builds in the same target directory.
const ANOTHER_BUILDS: &str = "another nbench builds this workspace: waiting for it";

/// What building brought.
#[derive(Debug, Default)]
pub struct Built {
    /// Ready to run.
    pub executables: Vec<Executable>,
    /// Left out, with the reason.
    pub skipped: Vec<Line>,
    /// Not built, while others were.
    pub failed: Vec<FailedTarget>,
}

impl Built {
    /// What is to be said of targets that are not measured here.
    pub fn remarks(&self, side: &str) -> Vec<Line> {
        let failed = self.failed.iter().map(|target| Line::Failure(not_built(target, side)));
        self.skipped.iter().cloned().chain(failed).collect()
    }

    /// Which harness serves each target.
    pub fn harnesses(&self) -> Vec<Line> {
        let line = |executable: &Executable| {
            Line::Target(TargetLine {
                package: executable.target.package.clone(),
                target: executable.target.target.clone(),
                harness: executable.served_by(),
            })
        };
        self.executables.iter().map(line).collect()
    }
}

fn not_built(target: &FailedTarget, side: &str) -> FailureLine {
    let hint = build_hint(target);
    FailureLine {
        package: target.package.clone(),
        target: target.target.clone(),
        benchmark: None,
        side: Some(side.to_owned()),
        error: format!("it does not build: {}{hint}", target.error),
        stderr_tail: String::new(),
    }
}

/// What may be the matter with a target that does not compile, behind a semicolon.
pub fn build_hint(target: &FailedTarget) -> String {
    // An empty file is what is left of code behind a `cfg` that nobody has set.
    if target.error.contains("E0601") {
        "; its code may stand behind a `cfg` that the project sets with RUSTFLAGS".to_owned()
    } else {
        format!("; `{}` tells whether it builds without nbench", target.command)
    }
}

/// Selects and builds bench targets with a progress display; cargo's own words go to standard error.
/// A target that does not build costs no other.
///
/// # Errors
/// When no target builds, or an interruption.
pub fn build_selected(
    term: &mut Term,
    workspace: &Workspace,
    options: &BuildOptions,
    context: &BuildContext<'_>,
    side: &str,
) -> Result<Built, Failure> {
    let what = format!("building {side}");
    let context = &BuildContext { colour: term.compilers_colour(), ..context.clone() };
    let mut built = Built::default();
    let mut targets: Vec<BenchTarget> = Vec::new();
    for selected in select(workspace, options) {
        match selected {
            Selected::Bench(target) => targets.push(target),
            Selected::Skipped { package, target, reason } => {
                built.skipped.push(Line::Skipped(Skipped { package, target, reason }));
            }
        }
    }
    let (as_they_are, targets) = own_runner::on_request(workspace, options, targets);
    let place = Place { options, context };
    own_runner::add(term, place, &as_they_are, &mut built)?;
    if !targets.is_empty() {
        build_with_stand_ins(term, workspace, &targets, place, &what, &mut built)?;
    }
    if built.executables.is_empty() && !built.failed.is_empty() {
        for target in &built.failed {
            report::for_machines(term, &Line::Failure(not_built(target, side)));
        }
        return Err(failure(&built.failed));
    }
    built.executables.sort_by(|a, b| order(a).cmp(&order(b)));
    Ok(built)
}

fn order(executable: &Executable) -> (&str, &str) {
    (&executable.target.package, &executable.target.target)
}

fn build_with_stand_ins(
    term: &mut Term,
    workspace: &Workspace,
    targets: &[BenchTarget],
    place: Place<'_>,
    what: &str,
    built: &mut Built,
) -> Result<(), Failure> {
    term.start_building(what);
    let outcome = build(
        workspace,
        targets,
        place.options,
        place.context,
        &mut |note| tell(term, note),
        &interrupt::requested,
    );
    term.end_building(outcome.is_ok());
    for target in outcome? {
        match target {
            BuiltTarget::Ready(executable) => built.executables.push(*executable),
            BuiltTarget::Skipped { package, target, reason } => {
                built.skipped.push(Line::Skipped(Skipped { package, target, reason }));
            }
            BuiltTarget::Failed(target) => built.failed.push(target),
        }
    }
    own_runner::rescue(term, place, workspace, targets, built)
}

/// Says which targets are served by another harness than ours or its stand-in; nothing where there is none.
pub fn tell_harnesses(term: &mut Term, lines: &[Line]) {
    let mut targets: std::collections::BTreeMap<&str, Vec<&str>> = Default::default();
    for line in lines {
        if let Line::Target(line) = line
            && [STAND_IN, OWN_RUNNER].iter().any(|end| line.harness.ends_with(end))
        {
            targets.entry(&line.harness).or_default().push(&line.target);
        }
    }
    for (harness, targets) in targets {
        let more = if targets.len() > 3 {
            format!(" and {} more", targets.len() - 3)
        } else {
            String::new()
        };
        let named = targets.iter().take(3).copied().collect::<Vec<_>>().join(", ");
        term.note(&format!("{harness} serves {named}{more}"));
    }
}

/// Shows what cargo says: progress in the display, the rest as it is.
pub fn tell(term: &mut Term, note: BuildNote) {
    match note {
        BuildNote::Line(line) => {
            let plain = anstream::adapter::strip_str(&line).to_string();
            let word = plain.split_whitespace().next().unwrap_or_default();
            let progress = ["Compiling", "Finished", "Executable", "Blocking", "Fresh"];
            if progress.contains(&word) {
                term.advance(1, plain.trim());
            } else {
                term.pass(&line);
            }
        }
        BuildNote::Artifact { target, .. } => term.advance(1, &target),
    }
}

/// How workers are started under these settings.
pub fn starter(settings: &Settings, pin: bool) -> Starter {
    Starter {
        placement: if pin { Placement::choose() } else { Placement::free("--no-pin") },
        limits: limits(settings),
        seed: settings.benchmark_seed,
    }
}

/// The host as the store has it.
pub fn host_row() -> nbench_store::Host {
    let host = crate::build::fingerprint::Host::read();
    nbench_store::Host {
        key: host.key,
        summary: host.summary,
        components: components(&host.components),
    }
}

/// The toolchain of a build as the store has it.
pub fn describe_toolchain(
    context: &BuildContext<'_>,
    options: &BuildOptions,
    workspace: &Workspace,
    executables: &[Executable],
) -> nbench_store::Toolchain {
    let all: Vec<&Executable> = executables.iter().collect();
    let toolchain = crate::build::fingerprint::toolchain(context, options, workspace, &all);
    nbench_store::Toolchain {
        key: toolchain.key,
        summary: toolchain.summary,
        components: components(&toolchain.components),
    }
}

fn components(
    facts: &std::collections::BTreeMap<String, crate::build::fingerprint::Component>,
) -> String {
    let facts: serde_json::Map<String, serde_json::Value> =
        facts.iter().map(|(name, fact)| (name.clone(), fact.to_string().into())).collect();
    serde_json::Value::Object(facts).to_string()
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
        _ => failure("no bench target can be measured")
            .hint("the skipped targets above name what each one lacks"),
    }
}

/// The failure of benchmarks called `ids`, of which none is left to be measured.
pub fn none_of(ids: &[String], filter: &Filter, words: &Words) -> Failure {
    if filter.is_given() && !ids.is_empty() {
        filter.matches_nothing(ids, &words.nbench("list"))
    } else {
        nothing_selected(&[], filter.is_given(), words)
    }
}

/// The exit code of a finished run, with what the gate has to say; when several codes apply the first
/// of store, benchmark failure, gate, missing verdict wins. What made it fail is the last line.
pub fn exit_of(ended: &Ended, policy: GatePolicy, require_verdict: bool, term: &mut Term) -> Exit {
    let summary = &ended.summary;
    let gated = gate::judge(policy, &ended.comparisons, summary);
    for remark in &gated.remarks {
        term.warn(remark);
    }
    let open = gate::without_verdict(summary, false);
    let (exit, why) = if summary.interrupted {
        return Exit::Interrupted;
    } else if ended.trouble.is_some() {
        (Exit::Store, "results are not stored".to_owned())
    } else if summary.failed > 0 {
        let gate = gated.exit.map_or(String::new(), |_| format!("; gate: {}", gated.why));
        (Exit::BenchmarkFailed, format!("{} failed{gate}", summary.failed))
    } else if let Some(exit) = gated.exit {
        (exit, format!("gate: {}", gated.why))
    } else if require_verdict && !open.is_empty() {
        (Exit::NoVerdict, format!("require-verdict: {open}"))
    } else {
        return Exit::Done;
    };
    term.line(Text::toned(Tone::Bad, &format!("{why}: exit {}", exit.code())));
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
    use super::*;
    use crate::lines::{Comparison, Summary};
    use std::cell::RefCell;
    use std::rc::Rc;

    /// A stream that can be looked at afterwards.
    #[derive(Clone, Default)]
    struct Kept(Rc<RefCell<Vec<u8>>>);

    impl std::io::Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_gravest_exit_wins() {
        let slower =
            Comparison { verdict: "slower".into(), change: Some(0.2), ..Comparison::default() };
        let mut ended = Ended {
            summary: Summary { slower: 1, failed: 1, inconclusive: 1, ..Summary::default() },
            comparisons: vec![slower],
            trouble: Some(Failure::new(Exit::Store, "no store")),
            trouble_is_told: false,
            page: None,
        };
        let exit = |ended: &Ended, policy| {
            let out = Kept::default();
            let mut term = Term::captured(Box::new(out.clone()), Box::new(Vec::new()));
            let exit = exit_of(ended, policy, true, &mut term);
            let said = String::from_utf8(out.0.borrow().clone()).unwrap();
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
        ended.summary.interrupted = true;
        assert_eq!(exit(&ended, Slower), (Exit::Interrupted, String::new()));
    }
}
