//! `cargo nbench run`: measures the benchmarks of the working tree and stores every result.

use std::path::Path;

use nbench_store::{NewRun, RunCommand};

use crate::args::RunArgs;
use crate::cargo::{load, refuse_unknown};
use crate::commands::{
    ANOTHER_BUILDS, build_selected, describe_toolchain, exit_of, host_row, invocation, none_of,
    nothing_selected, starter, tell_harnesses,
};
use crate::drive::{Options, drive};
use crate::failure::{Exit, Failure};
use crate::filter::Filter;
use crate::gate::GatePolicy;
use crate::interrupt;
use crate::lines::{Context, Line};
use crate::record::{Recorder, now_ms, rev, revision_row};
use crate::revision::{Repository, Revision, Undiscovered};
use crate::session::{Session, Sides};
use crate::settings::{self, Plans, build_options, flag_layer, store_path};
use crate::stored_settings;
use crate::suite::{Target, list_target, program};
use crate::term::Term;

/// Builds, measures, stores and reports.
///
/// # Errors
/// When settings, build or selection fail; what fails later is reported and told by the exit code.
pub fn run(term: &mut Term, args: &RunArgs) -> Result<Exit, Failure> {
    let here = Path::new(".");
    let filter = Filter::of(&args.filters, &args.filter.ids, &args.filter.tag)?;
    if let Some(busy) = crate::busy::warning() {
        term.warn(&busy);
    }
    let tree = load(here, &build_options(&args.build), &mut || term.note(ANOTHER_BUILDS))?;
    let (workspace, options) = (&tree.workspace, &tree.options);
    let mut flags = flag_layer(&args.plan);
    flags.precision = args.precision;
    let mut settings = settings::load(&workspace.root, flags)?;
    if args.sequential_cases {
        settings.plan.order = nbench_engine::Order::Sequential;
    }
    let context = workspace.in_place(here, options);
    refuse_unknown(workspace, options, &context)?;
    let built = build_selected(term, workspace, options, &context, "@tree")?;
    if built.executables.is_empty() {
        for line in &built.skipped {
            crate::report::print(term, line);
        }
        return Err(nothing_selected(&built.skipped, false, &options.words));
    }

    let toolchain = describe_toolchain(&context, options, workspace, &built.executables);
    tree.built();
    let revision = measured_revision(term, &settings::start(here, &args.build));
    let host = host_row();
    let starter = starter(&settings, !args.plan.no_pin);
    let mut recorder =
        Recorder::open(&store_path(&workspace.root, args.store.store.as_deref(), &settings));
    recorder.begin(
        &host,
        &toolchain,
        &[revision_row(&revision)],
        &NewRun {
            command: RunCommand::Run,
            host: host.key.clone(),
            toolchain: toolchain.key.clone(),
            started_at: now_ms(),
            pid: std::process::id(),
            engine_version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: stored_settings::written(&settings),
            seed: settings.plan.seed,
            dirty_digest: revision.dirty.clone(),
        },
    );
    let sides = Sides { revisions: vec![revision.clone()] };
    let mut session = Session::new(term, recorder, sides);
    session.say(Line::Context(Context {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: "run".to_owned(),
        invocation: invocation(),
        host: host.key,
        host_summary: host.summary,
        toolchain: toolchain.key,
        toolchain_summary: toolchain.summary,
        placement: starter.placement.summary.clone(),
        preset: settings.preset.name().to_owned(),
        seed: settings.plan.seed,
        revisions: vec![rev(&revision)],
    }));
    for line in built.harnesses().into_iter().chain(built.remarks("@tree")) {
        session.say(line);
    }
    tell_harnesses(session.term, &built.harnesses());

    let plans =
        Plans { plan: settings.plan.clone(), rules: &settings.rules, threshold_is_given: false };
    let (mut lanes, mut ids) = (Vec::new(), Vec::new());
    let mut changing = false;
    session.term.start_waiting("listing benchmarks");
    for executable in &built.executables {
        let listed = list_target(
            &starter,
            Target {
                package: executable.target.package.clone(),
                target: executable.target.target.clone(),
                programs: vec![program(executable)],
                notes: Vec::new(),
            },
            &settings.aliases,
        );
        ids.extend(listed.ids());
        changing |= listed.unsteady.has_lost();
        if let Some(text) = listed.left_behind() {
            session.term.warn(&text);
        }
        for remark in listed.remarks(&["@tree".to_owned()], &filter) {
            session.say(remark);
        }
        let (lane, doubts) = listed.lane(&filter, &plans);
        lanes.extend(lane);
        for doubt in doubts {
            session.term.warn(&doubt);
        }
    }
    session.term.end_progress();
    if lanes.is_empty() && session.summary.failed == 0 {
        let failure = if changing {
            Failure::new(
                Exit::NothingSelected,
                "no benchmark has an id that is the same in another process",
            )
            .hint("give each benchmark a name without a time, a random number or an address")
        } else {
            none_of(&ids, &filter, &options.words)
        };
        session.abandon();
        return Err(failure);
    }
    session.term.start_progress("measuring");
    let driven = drive(
        &starter,
        &mut lanes,
        Options { budget: args.plan.budget, seed: settings.plan.seed, one_at_a_time: false },
        &mut session,
    );
    if let Err(failure) = driven {
        session.abandon();
        return Err(failure);
    }
    let ended = session.end(interrupt::requested());
    if let Some(trouble) = ended.trouble.as_ref().filter(|_| !ended.trouble_is_told) {
        term.error(&trouble.error, trouble.hint.as_deref());
    }
    Ok(exit_of(&ended, GatePolicy::Report, false, term))
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
