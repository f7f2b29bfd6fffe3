//! `cargo nbench list`: the ids of the working tree's benchmarks.

use std::path::Path;

use nbench::wire::Offer;
use nbench_config::Layer;
use nbench_templates::lines::Line;

use crate::build::built::{build_selected, report_harnesses};
use crate::build::cargo::{Executable, load, refuse_unknown};
use crate::cli::args::ListArgs;
use crate::cli::settings::{self, build_options};
use crate::commands::{ANOTHER_BUILDS, filter_of, none_of, nothing_selected};
use crate::failure::{Exit, Failure};
use crate::measure::launch::Starter;
use crate::measure::placement::Placement;
use crate::measure::suite::{Target, list_target, program};
use crate::results::report;
use crate::term::{Format, Term};

/// Lists benchmarks; runs the set-up code of every suite.
///
/// # Errors
/// When nothing is selected or a build fails.
pub fn list(term: &mut Term, args: &ListArgs) -> Result<Exit, Failure> {
    let here = Path::new(".");
    let filter = filter_of(&args.filters, &args.filter.ids, &args.filter.tag)?;
    let tree = load(here, &build_options(&args.build), &mut || term.note(ANOTHER_BUILDS))?;
    let (workspace, options) = (&tree.workspace, &tree.options);
    // They change nothing that is listed, but what `run` refuses must not seem to be in order.
    settings::load(&workspace.root, Layer::default())?;
    let context = workspace.in_place(here, options);
    refuse_unknown(workspace, options, &context)?;
    let built = build_selected(term, workspace, options, &context, "@tree")?;
    tree.built();
    for line in built.remarks("@tree") {
        report::print(term, &line);
    }
    if built.executables.is_empty() {
        return Err(nothing_selected(&built.skipped, false, &options.words));
    }
    let starter =
        Starter { placement: Placement::free("listing"), limits: Default::default(), seed: 1 };
    report_harnesses(term, &built.harnesses());
    let (mut ids, mut targets) = (Vec::new(), Vec::new());
    let (mut failed, mut found) = (!built.failed.is_empty(), false);
    for executable in &built.executables {
        let target = Target {
            package: executable.target.package.clone(),
            target: executable.target.target.clone(),
            programs: vec![program(executable)],
            notes: Vec::new(),
        };
        let listed = list_target(&starter, target, &Default::default());
        ids.extend(listed.ids());
        targets.push(listed.target.name());
        if let Some(text) = listed.left_behind() {
            term.warn(&text);
        }
        for remark in listed.remarks(&["@tree".to_owned()], &filter) {
            failed |= matches!(remark, Line::Failure(_));
            report::print(term, &remark);
        }
        for offer in listed.common(&filter) {
            found = true;
            show(term, executable, offer);
        }
    }
    if !found && !failed {
        return Err(none_of(&ids, &targets, &filter, &options.words));
    }
    Ok(if failed { Exit::BenchmarkFailed } else { Exit::Done })
}

fn show(term: &mut Term, executable: &Executable, offer: &Offer) {
    let (package, target) = (&executable.target.package, &executable.target.target);
    if term.format() == Format::Json {
        term.json(&serde_json::json!({
            "type": "benchmark",
            "package": package,
            "target": target,
            "benchmark": offer.id,
            "cases": offer.cases,
            "tags": offer.tags,
            "harness": executable.served_by(),
        }));
    } else if offer.cases.is_empty() {
        term.line(&format!("{package}/{target}  {}", offer.id));
    } else {
        term.line(&format!("{package}/{target}  {}  ({})", offer.id, offer.cases.join(", ")));
    }
}
