//! `cargo nbench ab`: compares revisions in pairs. The only command that knows which side is the
//! reference.

mod advice;

use std::collections::BTreeSet;
use std::path::Path;

use nbench_config::Layouts;
use nbench_engine::IntervalMethod;
use nbench_store::{NewRun, RunCommand};

use crate::build::built::tell_harnesses;
use crate::build::fingerprint::host_row;
use crate::build::sides::{Sides, Wish, build_sides};
use crate::cli::args::AbArgs;
use crate::cli::args::GatePolicy;
use crate::cli::settings::{self, build_options, flag_layer, store_path};
use crate::commands::run::standing_on;
use crate::commands::{exit_of, filter_of, invocation, none_of, nothing_selected, starter};
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::lines::{Context, Line};
use crate::measure::drive::{Options, drive};
use crate::measure::layout::{Draws, Supply};
use crate::measure::place::addresses_summary;
use crate::measure::plans::Plans;
use crate::measure::suite::list_target;
use crate::results::page::Page;
use crate::results::policy::{self, Compared};
use crate::results::record::{Recorder, now_ms, rev, revision_row};
use crate::results::session::{self, Session};
use crate::results::stored_settings;
use crate::revisions::revision::{Repository, Revision};
use crate::term::Term;

use advice::{Newcomers, Overlay};

/// The working tree as the command line names it.
const TREE: &str = "@tree";

/// Most revisions in one comparison.
const MOST: usize = 16;

/// Checks out, builds, compares, stores and reports.
///
/// # Errors
/// When revisions, settings, builds or the selection fail; what fails later is reported and told by
/// the exit code.
pub fn ab(term: &mut Term, args: &AbArgs) -> Result<Exit, Failure> {
    let filter = filter_of(&[], &args.filter.ids, &args.filter.tag)?;
    let here = Path::new(".").canonicalize().unwrap_or_else(|_| ".".into());
    let repository = Repository::discover(&settings::start(&here, &args.build))?;
    let root = settings::workspace_root(args.build.manifest_path.as_deref())?;
    let mut flags = flag_layer(&args.plan);
    flags.threshold = args.threshold;
    flags.confidence = args.confidence;
    flags.batching.clone_from(&args.batching);
    flags.layouts = args.layouts.map(settings::layouts);
    let (revisions, why) = choose(&repository, &args.revisions)?;
    let gated = policy::is_gated(args.gate, args.require_verdict);
    let mut settings = if gated {
        let compared = Compared { repository: &repository, root: &root, revisions: &revisions };
        policy::settings(term, compared, flags)?
    } else {
        settings::load(&root, flags)?
    };
    settings.plan.half_width = args.precision;
    if !settings.seed_is_set {
        settings.plan.seed = settings::fresh_seed();
    }
    if args.interval.as_deref() == Some("block-bootstrap") {
        settings.plan.interval = IntervalMethod::BlockBootstrap;
        // Its p-values are of the other method.
        settings.plan.control_discovery = false;
    }
    if let Some(why) = why {
        term.note(&why);
    }
    for remark in repository.remarks() {
        term.warn(&remark);
    }
    let names: Vec<String> =
        revisions.iter().map(|r| format!("{} ({})", r.label, r.short())).collect();
    term.note(&format!("comparing {} with {}", names[1..].join(", "), names[0]));

    if let Some(busy) = crate::measure::busy::warning() {
        term.warn(&busy);
    }
    let options = build_options(&args.build);
    let wish = Wish {
        repository: &repository,
        here: &here,
        options: &options,
        overlay: args.overlay_benches,
        workspace: &root,
        share: &settings.share,
        own_toolchains: args.own_toolchains,
    };
    let built = build_sides(term, &wish, &revisions)?;
    let (targets, unmatched) = built.common();
    let last = &revisions[revisions.len() - 1];
    let overlay = Overlay { is_given: args.overlay_benches, options: &options, last };
    let mut newcomers = Newcomers::default();
    // Whether a target that was not listed has what is wanted, nobody knows.
    if !filter.is_given() {
        newcomers.hear_targets(&unmatched, &last.label);
    }

    let recorded: Vec<Revision> =
        revisions.iter().map(|r| standing_on(&repository, r)).collect::<Result<_, _>>()?;
    let host = host_row();
    let starter = starter(&settings, !args.plan.no_pin);
    let mut recorder = Recorder::open(&store_path(&root, args.store.store.as_deref(), &settings));
    recorder.begin(
        &host,
        &built.toolchain,
        &recorded.iter().map(revision_row).collect::<Vec<_>>(),
        &NewRun {
            command: RunCommand::Ab,
            host: host.key.clone(),
            toolchain: built.toolchain.key.clone(),
            started_at: now_ms(),
            pid: std::process::id(),
            engine_version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: stored_settings::written(&settings),
            seed: settings.plan.seed,
            dirty_digest: recorded.iter().rev().find_map(|r| r.dirty.clone()),
        },
    );
    let labels: Vec<String> = recorded.iter().map(|r| r.label.clone()).collect();
    let mut session = Session::new(term, recorder, session::Sides { revisions: recorded.clone() });
    session.all_pairs = args.all_pairs;
    session.page = args.html.is_some().then(|| Page::new(&title(&root)));
    session.say(Line::Context(Context {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: "ab".to_owned(),
        invocation: invocation(),
        host: host.key,
        host_summary: host.summary,
        toolchain: built.toolchain.key.clone(),
        toolchain_summary: built.toolchain.summary.clone(),
        placement: format!("{}, {}", starter.placement.summary, addresses_summary()),
        preset: settings.preset.name().to_owned(),
        seed: settings.plan.seed,
        revisions: recorded.iter().map(rev).collect(),
    }));
    for line in built.remarks.iter().chain(&unmatched) {
        session.say(line.clone());
    }
    tell_harnesses(session.term, &built.remarks);
    if targets.is_empty() {
        let failure = no_common_target(&built.remarks, !unmatched.is_empty(), overlay);
        session.abandon();
        return Err(failure);
    }

    let plans = Plans {
        plan: settings.plan.clone(),
        rules: &settings.rules,
        threshold_is_given: args.threshold.is_some(),
    };
    let gated = args.gate.is_some_and(|policy| policy != GatePolicy::Report);
    let (mut lanes, mut ids) = (Vec::new(), Vec::new());
    let (mut any, mut changing) = (false, false);
    session.term.start_waiting("listing benchmarks");
    for target in targets {
        let identical =
            !args.force && built.identical(&repository, &target.name(), &target.executables())?;
        let mut listed = list_target(&starter, target, &settings.aliases);
        listed.by_reference = gated;
        ids.extend(listed.ids());
        changing |= listed.unsteady.has_lost();
        newcomers.hear(&listed, &filter);
        if let Some(text) = listed.left_behind() {
            session.term.warn(&text);
        }
        for remark in listed.remarks(&labels, &filter) {
            session.say(remark);
        }
        if identical {
            for offer in listed.common(&filter) {
                any = true;
                let names: Vec<String> = if offer.cases.is_empty() {
                    vec![offer.id.clone()]
                } else {
                    offer.cases.iter().map(|case| format!("{}/{case}", offer.id)).collect()
                };
                for name in names {
                    session.identical(
                        &listed.target.package,
                        &listed.target.target,
                        &name,
                        &offer.tags,
                        settings.plan.threshold,
                    );
                }
            }
            continue;
        }
        let (mut lane, doubts) = listed.lane(&filter, &plans);
        if let Some(lane) = &mut lane {
            let notes = built.notes(&repository, &listed.target.name(), gated)?;
            session.explain(&listed.target.package, &listed.target.target, notes);
            let supply = match settings.layouts {
                Layouts::Off => Supply::Kept,
                Layouts::Fresh | Layouts::Confirm => built.layouts(&listed.target, Draws::Shared),
            };
            if let Supply::Unavailable(reason) = &supply {
                let target = &lane.target;
                session.term.note(&format!("`{target}` keeps the layouts of its builds: {reason}"));
            }
            lane.vary_layouts(settings.layouts, supply, true);
        }
        lanes.extend(lane);
        for doubt in doubts {
            session.term.warn(&doubt);
        }
    }
    session.term.end_progress();
    if lanes.is_empty() && !any && session.summary.failed == 0 {
        let failure = if session.summary.unmatched > 0 || changing {
            nothing_in_common(changing, overlay)
        } else {
            none_of(&ids, &filter, &options.words)
        };
        session.abandon();
        return Err(failure);
    }
    session.term.start_progress("comparing");
    let driven = drive(
        &starter,
        &mut lanes,
        Options {
            budget: args.plan.budget,
            seed: settings.plan.seed,
            one_at_a_time: args.one_at_a_time,
        },
        &mut session,
    );
    if let Err(failure) = driven {
        session.abandon();
        return Err(failure);
    }
    explain_failures(&mut session, &built);
    if let Some(advice) = newcomers.advice(overlay) {
        session.term.hint(&advice);
    }
    let mut ended = session.end(interrupt::requested());
    if let Some(trouble) = ended.trouble.as_ref().filter(|_| !ended.trouble_is_told) {
        term.error(&trouble.error, trouble.hint.as_deref());
    }
    let page = ended.page.take().zip(args.html.as_ref());
    let published = page.is_none_or(|(page, file)| publish(term, page, file.as_deref(), &root));
    let exit = exit_of(&ended, args.gate.unwrap_or_default(), args.require_verdict, term);
    Ok(if exit == Exit::Done && !published { Exit::Publish } else { exit })
}

/// Says what a checkout lacks of the user's files, where benchmarks failed for want of it.
fn explain_failures(session: &mut Session<'_>, built: &Sides) {
    let reasons: BTreeSet<String> = session
        .failures()
        .iter()
        .filter_map(|(side, text)| built.explain(side.as_deref(), text))
        .collect();
    for reason in reasons {
        session.term.warn(&reason);
    }
}

/// Writes the page and says where, or why not; results are printed and stored by then. Says whether
/// it was written.
fn publish(term: &mut Term, page: Page, file: Option<&Path>, root: &Path) -> bool {
    let file = file.map_or_else(|| root.join(".nbench/comparison.html"), Path::to_path_buf);
    match page.write(&file) {
        Ok(()) => term.line(&format!("wrote {}", file.display())),
        Err(failure) => {
            term.error(&failure.error, failure.hint.as_deref());
            return false;
        }
    }
    true
}

/// The name of the project for people: that of its folder.
fn title(root: &Path) -> String {
    root.file_name().map_or("comparison".into(), |name| name.to_string_lossy().into_owned())
}

/// The revisions to compare, reference first, and why when they were chosen for the user.
fn choose(
    repository: &Repository,
    words: &[String],
) -> Result<(Vec<Revision>, Option<String>), Failure> {
    let one = |word: &str| {
        if word == TREE { repository.working_tree() } else { repository.resolve(word) }
    };
    match words {
        [] => {
            let (reference, why) = repository.default_reference()?;
            Ok((vec![reference, repository.working_tree()?], Some(why)))
        }
        [word] if word == TREE => {
            Err(Failure::new(Exit::Usage, "`@tree` alone names the contender, not a reference")
                .hint("name a reference first: `cargo nbench ab HEAD~1 @tree`"))
        }
        [word] => Ok((vec![one(word)?, repository.working_tree()?], None)),
        many if many.len() > MOST => Err(Failure::new(
            Exit::Usage,
            format!("{} revisions are more than the {MOST} that one comparison takes", many.len()),
        )
        .hint("compare fewer revisions at once")),
        many => Ok((many.iter().map(|word| one(word)).collect::<Result<_, _>>()?, None)),
    }
}

fn nothing_in_common(changing: bool, overlay: Overlay<'_>) -> Failure {
    let hint = if changing {
        "their ids change from process to process: give each benchmark a name of its own".to_owned()
    } else if overlay.is_given {
        "the ids differ although the sources are the same: do they depend on the library?"
            .to_owned()
    } else {
        overlay
            .offer()
            .unwrap_or_else(|| "`[aliases]` in `nbench.toml` pairs renamed ones".to_owned())
    };
    Failure::new(Exit::NothingSelected, "the revisions have no benchmark in common").hint(hint)
}

fn no_common_target(remarks: &[Line], unmatched: bool, overlay: Overlay<'_>) -> Failure {
    let not_measurable = remarks.iter().any(|l| matches!(l, Line::NotMeasurable(_)));
    if unmatched || not_measurable {
        let newer = "no bench target can be measured at every revision: choose a newer reference";
        let offer = overlay.offer().filter(|_| !not_measurable);
        Failure::new(Exit::NothingSelected, "the revisions have no bench target in common")
            .hint(offer.unwrap_or_else(|| newer.to_owned()))
    } else {
        let skipped: Vec<Line> =
            remarks.iter().filter(|l| matches!(l, Line::Skipped(_))).cloned().collect();
        nothing_selected(&skipped, false, &overlay.options.words)
    }
}
