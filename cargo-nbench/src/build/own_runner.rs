//! Which criterion suites are measured with criterion's own runner, and their builds with the real
//! criterion: those that do not compile with what stands in for it, or all on request. It must not
//! know how such a suite is driven.

use crate::build::built::{Built, is_any_built, report};
use crate::build::cargo::{
    BenchTarget, BuildContext, BuildNote, BuildOptions, BuiltTarget, FailedTarget, SkipReason,
    Workspace, build_each, load_as_it_is, names_harness, skipped_line,
};
use crate::failure::Failure;
use crate::interrupt;
use crate::term::Term;

/// How a build of one side is started.
#[derive(Clone, Copy)]
pub struct Place<'p> {
    /// The user's flags.
    pub options: &'p BuildOptions,
    /// Where and how.
    pub context: &'p BuildContext<'p>,
}

/// Splits targets into those that the user wants measured with criterion's own runner, and the
/// others.
pub fn on_request(
    workspace: &Workspace,
    options: &BuildOptions,
    targets: Vec<BenchTarget>,
) -> (Vec<BenchTarget>, Vec<BenchTarget>) {
    if options.criterion_runner {
        targets.into_iter().partition(|target| workspace.reaches_criterion(target))
    } else {
        (Vec::new(), targets)
    }
}

/// Builds targets as they are. Where cargo cannot even begin, each of them fails.
///
/// # Errors
/// When cargo cannot be started, or an interruption.
pub fn build(
    term: &mut Term,
    place: Place<'_>,
    targets: &[BenchTarget],
) -> Result<Vec<BuiltTarget>, Failure> {
    let workspace = match load_as_it_is(place.context, place.options) {
        Ok(workspace) => workspace,
        Err(failure) => {
            let lines: Vec<String> = failure.error.lines().map(str::to_owned).collect();
            let error = lines.iter().find_map(|line| line.split_once("error: "));
            let error = error.map_or(failure.error.as_str(), |(_, error)| error).to_owned();
            let failed = |target: &BenchTarget| {
                BuiltTarget::Failed(FailedTarget {
                    package: target.package.clone(),
                    target: target.target.clone(),
                    error: error.clone(),
                    log: lines.clone(),
                    told: false,
                    command: place.options.words.cargo_build_of(&target.package, &target.target),
                })
            };
            return Ok(targets.iter().map(failed).collect());
        }
    };
    term.start_building("building with the real criterion");
    let built = build_each(
        &workspace,
        targets,
        place.options,
        place.context,
        // What does not compile now either is told as a result.
        &mut |note| {
            if !matches!(&note, BuildNote::Line(_)) {
                report(term, note);
            }
        },
        &interrupt::requested,
    );
    term.end_building(built.as_deref().is_ok_and(is_any_built));
    let mut built = built?;
    for target in &mut built {
        if let BuiltTarget::Failed(target) = target {
            target.told = false;
        }
    }
    Ok(built)
}

/// Adds targets that the user wants measured so.
///
/// # Errors
/// As for [`build`].
pub fn add(
    term: &mut Term,
    place: Place<'_>,
    targets: &[BenchTarget],
    built: &mut Built,
) -> Result<(), Failure> {
    if targets.is_empty() {
        return Ok(());
    }
    for target in build(term, place, targets)? {
        match target {
            BuiltTarget::Ready(executable) => built.executables.push(*executable),
            BuiltTarget::Skipped { package, target, reason } => {
                built.skipped.push(skipped_line(package, target, &SkipReason::Lacking(reason)));
            }
            BuiltTarget::Failed(target) => built.failed.push(target),
        }
    }
    Ok(())
}

/// Builds anew what does not compile with a stand-in for criterion; what does not compile with the
/// real one either stays failed.
///
/// # Errors
/// As for [`build`].
pub fn rescue(
    term: &mut Term,
    place: Place<'_>,
    workspace: &Workspace,
    targets: &[BenchTarget],
    built: &mut Built,
) -> Result<(), Failure> {
    let is_failed = |target: &&BenchTarget| {
        let is_it = |f: &&FailedTarget| f.package == target.package && f.target == target.target;
        built.failed.iter().find(is_it).is_some_and(may_be_the_stand_in)
    };
    let lost: Vec<BenchTarget> = targets
        .iter()
        .filter(|target| workspace.has_stand_ins() && workspace.reaches_criterion(target))
        .filter(is_failed)
        .cloned()
        .collect();
    if lost.is_empty() {
        return Ok(());
    }
    for rebuilt in build(term, place, &lost)? {
        match rebuilt {
            BuiltTarget::Ready(executable) if executable.has_own_runner() => {
                let own = &executable.target;
                let at = built
                    .failed
                    .iter()
                    .position(|f| f.package == own.package && f.target == own.target);
                if let Some(at) = at {
                    let first = built.failed.remove(at).error;
                    let name = &own.target;
                    term.note(&format!(
                        "`{name}` does not compile with what stands in for criterion ({first}), so criterion's own runner measures it in blocks"
                    ));
                }
                built.executables.push(*executable);
            }
            BuiltTarget::Failed(again) => {
                if let Some(known) = failed(built, &again.package, &again.target) {
                    explain(known, again);
                }
            }
            BuiltTarget::Skipped { package, target, reason } => {
                if let Some(known) = failed(built, &package, &target) {
                    known.error.push_str(&format!("; {reason}"));
                }
            }
            BuiltTarget::Ready(_) => {}
        }
    }
    Ok(())
}

/// Whether the real criterion may compile where the stand-in does not: building it takes minutes,
/// so only errors of the target itself that name something of criterion's are worth it.
fn may_be_the_stand_in(target: &FailedTarget) -> bool {
    target.is_its_own_fault() && target.log.iter().any(|line| names_harness(line))
}

fn failed<'b>(built: &'b mut Built, package: &str, target: &str) -> Option<&'b mut FailedTarget> {
    built.failed.iter_mut().find(|f| f.package == package && f.target == target)
}

/// Tells what is wrong with the target itself: what it says with the real criterion, unless that is
/// what cannot be built.
fn explain(known: &mut FailedTarget, again: FailedTarget) {
    if again.is_its_own_fault() {
        *known = again;
    } else {
        known.error.push_str(&format!("; with the real criterion: {}", again.error));
    }
}

/// Targets that are not measured because one revision needs criterion's own runner and another
/// cannot have it.
pub fn mismatch(target: BuiltTarget) -> (String, String, String) {
    match target {
        BuiltTarget::Ready(executable) => {
            let reason = format!(
                "another revision needs criterion's own runner, and here it is {}",
                executable.served_by()
            );
            (executable.target.package, executable.target.target, reason)
        }
        BuiltTarget::Skipped { package, target, reason } => (package, target, reason),
        BuiltTarget::Failed(failed) => {
            let reason = format!("it does not compile with the real criterion: {}", failed.error);
            (failed.package, failed.target, reason)
        }
    }
}
