//! The bench targets of one tree, selected and built with a progress display. It must not know how
//! they are measured, nor that there are other trees.

use std::collections::BTreeMap;

use nbench_templates::lines::{FailureLine, Line, TargetLine};

use crate::build::cargo::{
    BenchTarget, BuildContext, BuildNote, BuildOptions, BuiltTarget, Executable, FailedTarget,
    Harness, Selected, SkipReason, Workspace, build, failure, select, skipped_line,
};
use crate::build::own_runner::{self, Place};
use crate::failure::Failure;
use crate::interrupt;
use crate::term::Term;

/// Outcome of building the selected bench targets of one tree.
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
    /// Lines about targets that are not measured here.
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
                is_foreign: !matches!(executable.harness, Harness::Own { .. }),
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

/// Likely reason why a target does not compile, behind a semicolon.
pub fn build_hint(target: &FailedTarget) -> String {
    // An empty file is what is left of code behind a `cfg` that nobody has set.
    if target.error.contains("E0601") {
        "; its code may stand behind a `cfg` that the project sets with RUSTFLAGS".to_owned()
    } else {
        format!("; `{}` tells whether it builds without nbench", target.command)
    }
}

/// Selects and builds bench targets with a progress display; cargo's own words go to standard
/// error. A target that does not build costs no other.
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
                built.skipped.push(skipped_line(package, target, &reason));
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
            term.for_machines(&Line::Failure(not_built(target, side)));
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
        &mut |note| report(term, note),
        &interrupt::requested,
    );
    term.end_building(outcome.as_deref().is_ok_and(is_any_built));
    for target in outcome? {
        match target {
            BuiltTarget::Ready(executable) => built.executables.push(*executable),
            BuiltTarget::Skipped { package, target, reason } => {
                built.skipped.push(skipped_line(package, target, &SkipReason::Lacking(reason)));
            }
            BuiltTarget::Failed(target) => built.failed.push(target),
        }
    }
    own_runner::rescue(term, place, workspace, targets, built)
}

/// Whether a build made something: one that failed did not take its time to build.
pub fn is_any_built(targets: &[BuiltTarget]) -> bool {
    targets.iter().any(|target| !matches!(target, BuiltTarget::Failed(_)))
}

/// Says which targets are served by another harness than ours or its stand-in; nothing where there
/// is none.
pub fn report_harnesses(term: &mut Term, lines: &[Line]) {
    let mut targets: BTreeMap<&str, Vec<&str>> = Default::default();
    for line in lines {
        if let Line::Target(line) = line
            && line.is_foreign
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
pub fn report(term: &mut Term, note: BuildNote) {
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
