//! Building one side from an overlay: the newest bench sources against this side's library. Targets
//! that do not compile here are named and left out; the others go on.

use std::path::Path;

use nbench_templates::lines::{Line, NotMeasurable};

use crate::build::built::{Built, is_any_built, report};
use crate::build::cargo::{
    BenchTarget, BuildContext, BuildOptions, BuiltTarget, Selected, SkipReason, Workspace,
    build_each, load_in, select, skipped_line,
};
use crate::build::overlay::{OverlaySources, generate};
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::term::Term;

/// One side of an overlay.
pub struct OverlayRequest<'r> {
    /// The workspace that has the benchmarks.
    pub newest: &'r Workspace,
    /// Root of its checkout.
    pub newest_tree: &'r Path,
    /// The user's flags for that workspace.
    pub newest_options: &'r BuildOptions,
    /// The revision that has the benchmarks, as the user named it.
    pub newest_label: &'r str,
    /// The workspace whose library is measured.
    pub workspace: &'r Workspace,
    /// Root of its checkout.
    pub tree: &'r Path,
    /// Directory of its slot, where the generated packages live.
    pub directory: &'r Path,
    /// The revision as the user wrote it.
    pub label: &'r str,
    /// The user's flags for this side.
    pub options: &'r BuildOptions,
    /// How cargo is started for this side.
    pub context: &'r BuildContext<'r>,
}

/// Executables of a side, and what does not compile there.
#[derive(Debug, Default)]
pub struct Made {
    /// Executables and skipped targets.
    pub built: Built,
    /// Targets that do not compile at this side.
    pub not_measurable: Vec<Line>,
}

/// Generates and builds one detached package per package with selected benchmarks.
///
/// # Errors
/// When a package cannot be generated or cargo cannot be started; compile errors are results.
pub fn build_overlaid(term: &mut Term, request: &OverlayRequest<'_>) -> Result<Made, Failure> {
    let mut made = Made::default();
    let mut targets: Vec<BenchTarget> = Vec::new();
    for selected in select(request.newest, request.newest_options) {
        match selected {
            Selected::Bench(target) => targets.push(target),
            Selected::Skipped { package, target, reason } => {
                made.built.skipped.push(skipped_line(package, target, &reason));
            }
        }
    }
    let mut packages: Vec<&str> = targets.iter().map(|t| t.package.as_str()).collect();
    packages.dedup();
    for package in packages {
        let own: Vec<BenchTarget> =
            targets.iter().filter(|t| t.package == package).cloned().collect();
        if let Err(failure) = one(term, request, package, &own, &mut made) {
            if failure.exit == Exit::Interrupted {
                return Err(failure);
            }
            for target in &own {
                made.not_measurable.push(not_measurable(
                    request,
                    package,
                    &target.target,
                    &failure.error,
                ));
            }
        }
    }
    Ok(made)
}

fn not_measurable(request: &OverlayRequest<'_>, package: &str, target: &str, reason: &str) -> Line {
    Line::NotMeasurable(NotMeasurable {
        rev: request.label.to_owned(),
        package: package.to_owned(),
        target: target.to_owned(),
        reason: reason.lines().take(3).collect::<Vec<_>>().join("; "),
    })
}

fn one(
    term: &mut Term,
    request: &OverlayRequest<'_>,
    package: &str,
    own: &[BenchTarget],
    made: &mut Made,
) -> Result<(), Failure> {
    let overlay = generate(
        &OverlaySources {
            contender: request.newest,
            contender_root: request.newest_tree,
            side: request.workspace,
            side_root: request.tree,
            package,
            targets: own,
        },
        &request.directory.join(format!("overlay-{package}")),
    )?;
    let options = overlay.options(request.options);
    let context = overlay.context(request.context);
    let workspace = load_in(&context, &options)?;
    let mut targets = Vec::new();
    for selected in select(&workspace, &options) {
        match selected {
            Selected::Bench(target) => targets.push(target),
            Selected::Skipped { target, reason, .. } => {
                made.built.skipped.push(skipped_line(package.to_owned(), target, &reason));
            }
        }
    }
    term.start_building(&format!(
        "building the benchmarks of {} against {}",
        request.newest_label, request.label
    ));
    let built = build_each(
        &workspace,
        &targets,
        &options,
        &context,
        // What does not compile is a result here, so the compiler's words are not passed on.
        &mut |note| {
            if !matches!(&note, crate::build::cargo::BuildNote::Line(_)) {
                report(term, note);
            }
        },
        &interrupt::requested,
    );
    term.end_building(built.as_deref().is_ok_and(is_any_built));
    for target in built? {
        match target {
            BuiltTarget::Ready(executable) => {
                made.built.executables.push(overlay.adopt(*executable));
            }
            BuiltTarget::Skipped { target, reason, .. } => {
                let reason = SkipReason::Lacking(reason);
                made.built.skipped.push(skipped_line(package.to_owned(), target, &reason));
            }
            BuiltTarget::Failed(failed) => {
                let reason = format!("it does not compile: {}", failed.error);
                made.not_measurable.push(not_measurable(request, package, &failed.target, &reason));
            }
        }
    }
    Ok(())
}
