//! `cargo nbench run`: measures the benchmarks of the working tree and stores every result.

use std::path::Path;

use nbench_config::Settings;
use nbench_store::RunCommand;

use crate::build::built::{Built, build_selected, report_harnesses};
use crate::build::cargo::{Words, load, refuse_unknown};
use crate::build::fingerprint::{describe_toolchain, host_row};
use crate::cli::args::{GatePolicy, RunArgs};
use crate::cli::settings::{self, build_options, flag_layer, store_path};
use crate::commands::{
    ANOTHER_BUILDS, exit_of, filter_of, invocation, none_of, nothing_selected, starter,
    warn_of_idle,
};
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::measure::drive::{Lane, Options, drive};
use crate::measure::filter::Filter;
use crate::measure::idle::ListedIds;
use crate::measure::launch::Starter;
use crate::measure::plans::Plans;
use crate::measure::suite::{Target, list_target, program};
use crate::results::opening::Opening;
use crate::results::record::now_ms;
use crate::results::report;
use crate::results::session::Session;
use crate::revisions::revision::{Repository, Revision, Undiscovered};
use crate::term::Term;

/// Builds, measures, stores and reports.
///
/// # Errors
/// When settings, build or selection fail; what fails later is reported and told by the exit code.
pub fn run(term: &mut Term, args: &RunArgs) -> Result<Exit, Failure> {
    let here = Path::new(".");
    let filter = filter_of(&args.filters, &args.filter.ids, &args.filter.tag)?;
    if let Some(busy) = crate::measure::busy::warning() {
        term.warn(&busy);
    }
    let tree = load(here, &build_options(&args.build), &mut || term.note(ANOTHER_BUILDS))?;
    let (workspace, options) = (&tree.workspace, &tree.options);
    let settings = settings_of(args, &workspace.root)?;
    let context = workspace.in_place(here, options);
    refuse_unknown(workspace, options, &context)?;
    let built = build_selected(term, workspace, options, &context, "@tree")?;
    if built.executables.is_empty() {
        for line in &built.skipped {
            report::print(term, line);
        }
        return Err(nothing_selected(&built.skipped, false, &options.words));
    }
    let toolchain = describe_toolchain(&context, options, workspace, &built.executables);
    tree.built();
    let revision = measured_revision(term, &settings::start(here, &args.build));
    let starter = starter(&settings, !args.plan.no_pin);
    let opening = Opening {
        command: RunCommand::Run,
        invocation: invocation(),
        store: &store_path(&workspace.root, args.store.store.as_deref(), &settings),
        settings: &settings,
        host: host_row(),
        toolchain,
        placement: starter.placement.summary.clone(),
        revisions: vec![revision],
    };
    let mut session = opening.begin(term);
    for line in built.harnesses().into_iter().chain(built.remarks("@tree")) {
        session.emit(line);
    }
    report_harnesses(session.term, &built.harnesses());
    let found = Measurable::list(&mut session, &built, &starter, &settings, &filter);
    let manifest = args.build.manifest_path.as_deref();
    warn_of_idle(session.term, &found.seen, &settings, manifest);
    if found.lanes.is_empty() && session.summary.failed == 0 {
        session.abandon();
        return Err(found.nothing(&filter, &options.words));
    }
    session.term.start_progress("measuring");
    let budget = args.plan.budget;
    let options = Options { budget, seed: settings.plan.seed, one_at_a_time: false };
    let mut lanes = found.lanes;
    if let Err(failure) = drive(&starter, &mut lanes, options, &mut session) {
        session.abandon();
        return Err(failure);
    }
    let ended = session.end(interrupt::requested());
    Ok(exit_of(&ended, GatePolicy::Report, false, true, term))
}

fn settings_of(args: &RunArgs, root: &Path) -> Result<Settings, Failure> {
    let mut flags = flag_layer(&args.plan);
    flags.precision = args.precision;
    flags.sequential_cases = args.sequential_cases.then_some(true);
    let mut settings = settings::load(root, flags)?;
    if settings.sequential_cases {
        settings.plan.order = nbench_engine::Order::Sequential;
    }
    Ok(settings)
}

/// The benchmarks of the built targets.
#[derive(Default)]
struct Measurable {
    /// Lanes to be measured.
    lanes: Vec<Lane>,
    /// All ids that were listed.
    ids: Vec<String>,
    /// The same by target, for settings that fit none.
    seen: ListedIds,
    /// Package and name of every target that was listed.
    targets: Vec<(String, String)>,
    /// Whether ids are missing because they change from process to process.
    has_lost: bool,
}

impl Measurable {
    fn list(
        session: &mut Session<'_>,
        built: &Built,
        starter: &Starter,
        settings: &Settings,
        filter: &Filter,
    ) -> Measurable {
        let plan = settings.plan.clone();
        let plans = Plans { plan, rules: &settings.rules, pinned: settings.pinned };
        let mut found = Measurable::default();
        session.term.start_waiting("listing benchmarks");
        for executable in &built.executables {
            let target = Target {
                package: executable.target.package.clone(),
                target: executable.target.target.clone(),
                programs: vec![program(executable)],
                notes: Vec::new(),
            };
            let listed = list_target(starter, target, &settings.aliases);
            found.ids.extend(listed.ids());
            found.targets.push(listed.target.name());
            found.seen.hear(listed.target.name(), listed.ids(), listed.is_whole());
            found.has_lost |= listed.unsteady.has_lost();
            if let Some(text) = listed.left_behind() {
                session.term.warn(&text);
            }
            for remark in listed.remarks(&["@tree".to_owned()], filter) {
                session.emit(remark);
            }
            let (lane, doubts) = listed.lane(filter, &plans);
            found.lanes.extend(lane);
            for doubt in doubts {
                session.term.warn(&doubt);
            }
        }
        session.term.end_progress();
        found
    }

    /// Why there is nothing to measure.
    fn nothing(&self, filter: &Filter, words: &Words) -> Failure {
        if !self.has_lost {
            return none_of(&self.ids, &self.targets, filter, words);
        }
        Failure::new(
            Exit::NothingSelected,
            "no benchmark has an id that is the same in another process",
        )
        .hint("give each benchmark a name without a time, a random number or an address")
    }
}

/// The commit that the working tree stands on, with the digest of what differs from it. What git
/// cannot tell costs a result its place in a history, not the measurement.
fn measured_revision(term: &mut Term, here: &Path) -> Revision {
    let unversioned = |subject: &str| Revision {
        label: "@tree".to_owned(),
        commit: "unversioned".to_owned(),
        tree: "unversioned".to_owned(),
        parents: Vec::new(),
        author_time: 0,
        committer_time: 0,
        subject: subject.to_owned(),
        dirty: None,
        snapshot: false,
    };
    let repository = match Repository::find(here) {
        Ok(repository) => repository,
        Err(Undiscovered::Outside(_)) => return unversioned("not in a git repository"),
        Err(Undiscovered::Refused(failure)) => {
            warn(term, "the results are stored without a commit", &failure);
            return unversioned("in a git repository that cannot be used");
        }
    };
    let tree = repository.working_tree().and_then(|tree| standing_on(&repository, &tree));
    for remark in repository.remarks() {
        term.warn(&remark);
    }
    tree.unwrap_or_else(|failure| {
        warn(term, "the results are stored as those of uncommitted changes", &failure);
        let head = repository.resolve("HEAD");
        let head = head.unwrap_or_else(|_| unversioned("a working tree that git cannot describe"));
        // Equal digests would say that two states of the tree are equal.
        let unknown = format!("unknown-{}", now_ms());
        Revision { label: "@tree".to_owned(), dirty: Some(unknown), ..head }
    })
}

fn warn(term: &mut Term, consequence: &str, failure: &Failure) {
    term.warn(&format!("{consequence}: {}", failure.error));
    if let Some(hint) = &failure.hint {
        term.note(&format!("hint: {hint}"));
    }
}

/// A snapshot of the working tree under the commit that it stands on; anything else as it is.
///
/// # Errors
/// When that commit cannot be read.
pub fn standing_on(repository: &Repository, revision: &Revision) -> Result<Revision, Failure> {
    if !revision.snapshot {
        return Ok(revision.clone());
    }
    // A snapshot of a branch without commits has no parent and stands for itself.
    let Some(parent) = revision.parents.first() else { return Ok(revision.clone()) };
    let base = repository.resolve(parent)?;
    Ok(Revision { label: revision.label.clone(), dirty: revision.dirty.clone(), ..base })
}
