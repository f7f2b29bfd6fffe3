//! `cargo nbench ab`: compares revisions in pairs. The only command that knows which side is the
//! reference.

mod advice;
mod matched;

use std::collections::BTreeSet;
use std::path::Path;

use advice::OverlayOffer;
use clap::ValueEnum as _;
use matched::{Matched, Matching};
use nbench_config::Settings;
use nbench_store::RunCommand;
use nbench_templates::lines::Line;

use crate::build::built::report_harnesses;
use crate::build::fingerprint::host_row;
use crate::build::sides::{BuildRequest, Sides, build_sides};
use crate::cli::args::{AbArgs, GatePolicy};
use crate::cli::settings::{self, build_options, flag_layer, store_path};
use crate::commands::run::standing_on;
use crate::commands::{exit_of, filter_of, invocation, nothing_selected, starter};
use crate::failure::{Cause, Exit, Failure};
use crate::interrupt;
use crate::measure::drive::{Options, drive};
use crate::measure::launch::Starter;
use crate::measure::placement::addresses_summary;
use crate::results::opening::Opening;
use crate::results::page::Page;
use crate::results::policy::{self, Compared};
use crate::results::session::{RunOutcome, Session};
use crate::revisions::revision::{Repository, Revision};
use crate::term::Term;

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
    let (revisions, why) =
        choose(&repository, &args.revisions).map_err(|failure| detached(args, failure))?;
    let compared = Compared { repository: &repository, root: &root, revisions: &revisions };
    let settings = settings_of(term, args, compared)?;
    introduce(term, &repository, &revisions, why.as_deref());

    let options = build_options(&args.build);
    let request = BuildRequest {
        repository: &repository,
        here: &here,
        options: &options,
        overlay: args.overlay_benches,
        workspace: &root,
        share: &settings.share,
        own_toolchains: args.own_toolchains,
    };
    let built = build_sides(term, &request, &revisions)?;
    let (targets, unmatched) = built.common();
    let last = &revisions[revisions.len() - 1];
    let overlay = OverlayOffer { is_given: args.overlay_benches, options: &options, last };

    let starter = starter(&settings, !args.plan.no_pin);
    let mut session = begin(term, args, &settings, &built, (&starter, &repository, &root))?;
    introduce_targets(&mut session, &built, &unmatched);
    if targets.is_empty() {
        session.abandon();
        return Err(no_common_target(&built.remarks, !unmatched.is_empty(), overlay));
    }
    let listing = Matching {
        args,
        settings: &settings,
        built: &built,
        repository: &repository,
        filter: &filter,
    };
    let found = listing.find(&mut session, &starter, targets, (&unmatched, last))?;
    if found.lanes.is_empty() && !found.is_identical && session.summary.failed == 0 {
        let is_unmatched = session.summary.unmatched > 0;
        session.abandon();
        return Err(found.nothing(is_unmatched, overlay, &filter, &options.words));
    }
    session.term.start_progress("comparing");
    let Matched { mut lanes, newcomers, .. } = found;
    let driven = drive(&starter, &mut lanes, driving(args, &settings), &mut session);
    if let Err(failure) = driven {
        session.abandon();
        return Err(failure);
    }
    explain_failures(&mut session, &built);
    if let Some(advice) = newcomers.advice(overlay) {
        session.term.hint(&advice);
    }
    let ended = session.end(interrupt::requested());
    Ok(conclude(term, args, ended, &root))
}

/// The settings in force: with a gate those of the reference, and for both what only this command
/// has.
fn settings_of(
    term: &mut Term,
    args: &AbArgs,
    compared: Compared<'_>,
) -> Result<Settings, Failure> {
    let mut flags = flag_layer(&args.plan);
    flags.threshold = args.threshold;
    flags.confidence = args.confidence;
    flags.batching = args.batching;
    flags.interval = args.interval;
    flags.half_width = args.precision;
    flags.layouts = args.layouts.map(settings::layouts);
    let mut settings = if policy::is_gated(args.gate, args.require_verdict) {
        policy::settings(term, compared, flags)?
    } else {
        settings::load(compared.root, flags)?
    };
    if !settings.seed_is_set {
        settings.plan.seed = settings::fresh_seed();
    }
    Ok(settings)
}

/// Says what is compared, why, and what may disturb it.
fn introduce(term: &mut Term, repository: &Repository, revisions: &[Revision], why: Option<&str>) {
    if let Some(why) = why {
        term.note(why);
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
}

/// Emits what is not measured and which harness serves the rest.
fn introduce_targets(session: &mut Session<'_>, built: &Sides, unmatched: &[Line]) {
    for line in built.remarks.iter().chain(unmatched) {
        session.emit(line.clone());
    }
    report_harnesses(session.term, &built.remarks);
}

/// Begins the run in the store; a page is collected for those who ask for one.
fn begin<'t>(
    term: &'t mut Term,
    args: &AbArgs,
    settings: &Settings,
    built: &Sides,
    place: (&Starter, &Repository, &Path),
) -> Result<Session<'t>, Failure> {
    let (starter, repository, root) = place;
    let revisions = built.sides.iter().map(|side| standing_on(repository, &side.revision));
    let opening = Opening {
        command: RunCommand::Ab,
        invocation: invocation(),
        store: &store_path(root, args.store.store.as_deref(), settings),
        settings,
        host: host_row(),
        toolchain: built.toolchain.clone(),
        placement: format!("{}, {}", starter.placement.summary, addresses_summary()),
        revisions: revisions.collect::<Result<_, _>>()?,
    };
    let mut session = opening.begin(term);
    session.all_pairs = args.all_pairs;
    session.page = args.html.is_some().then(|| Page::new(&title(root)));
    Ok(session)
}

fn driving(args: &AbArgs, settings: &Settings) -> Options {
    let (budget, seed) = (args.plan.budget, settings.plan.seed);
    Options { budget, seed, one_at_a_time: args.one_at_a_time }
}

/// Writes the page, asks the gate and says what the exit code means.
fn conclude(term: &mut Term, args: &AbArgs, mut ended: RunOutcome, root: &Path) -> Exit {
    let page = ended.page.take().zip(args.html.as_ref());
    let published = page.is_none_or(|(page, file)| publish(term, page, file.as_deref(), root));
    exit_of(&ended, args.gate.unwrap_or_default(), args.require_verdict, published, term)
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

/// The failure of a word that is no revision, where it is the value of a flag that takes one behind
/// `=` only.
fn detached(args: &AbArgs, failure: Failure) -> Failure {
    let Cause::UnknownRevision(unknown) = &failure.cause else { return failure };
    let Some(word) = args.revisions.iter().find(|word| *word == unknown) else { return failure };
    let is_policy = GatePolicy::from_str(word, true).is_ok();
    let is_page = word.ends_with(".html") || word.ends_with(".htm");
    let flag = if args.gate.is_some() && is_policy {
        "--gate"
    } else if args.html.is_some() && is_page {
        "--html"
    } else {
        return failure;
    };
    failure.hint(format!("did you mean `{flag}={word}`?"))
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

fn no_common_target(remarks: &[Line], unmatched: bool, overlay: OverlayOffer<'_>) -> Failure {
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

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::{Cli, Command};

    #[test]
    fn a_value_that_stands_apart_from_its_flag_is_no_revision() {
        let table = [
            (&["--gate", "closed"][..], "closed", "did you mean `--gate=closed`?"),
            (&["HEAD~1", "--gate", "slower"], "slower", "did you mean `--gate=slower`?"),
            (&["--gate", "report", "HEAD"], "report", "did you mean `--gate=report`?"),
            (&["--html", "out.html"], "out.html", "did you mean `--html=out.html`?"),
            (&["closed"], "closed", "as it was"),
            (&["--gate", "mian"], "mian", "as it was"),
        ];
        for (words, unknown, hint) in table {
            let words = [&["cargo-nbench", "ab"], words].concat();
            let Command::Ab(args) = Cli::try_parse_from(words).unwrap().command else {
                panic!("it is `ab`")
            };
            let cause = Cause::UnknownRevision(unknown.to_owned());
            let failure = Failure::new(Exit::Usage, "it is none").hint("as it was").because(cause);
            assert_eq!(detached(&args, failure).hint.as_deref(), Some(hint));
        }
    }
}
