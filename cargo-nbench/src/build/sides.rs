//! The sides of a comparison: one checkout and one set of executables per revision, built with equal
//! flags and toolchain. It does not run what it built.

mod absent;
mod confounded;
mod overlaid;
mod toolchains;
mod untracked;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::build::built::{Built, build_hint, build_selected};
use crate::build::cargo::{
    BuildContext, BuildOptions, BuiltTarget, Executable, Workspace, configuration_of_checkout,
    load_in, refuse_unknown,
};
use crate::build::fingerprint::{describe_toolchain, flags_digest};
use crate::build::identical::{loaded_text, only_inert_paths, same_code_in};
use crate::build::one_path;
use crate::build::own_runner::{self, Place};
use crate::build::relink::capture;
use crate::failure::{Exit, Failure};
use crate::lines::{Line, NotMeasurable};
use crate::revisions::checkout::{Slot, Slots, Wanted, seed_lock_files, seed_target, shared_paths};
use crate::revisions::revision::{Repository, Revision};
use crate::term::Term;
use confounded::Half;
use overlaid::{Request, build_overlaid};
use toolchains::{Request as Asked, Toolchains};
use untracked::Trees;

/// One built revision.
pub struct Side {
    /// The revision; a snapshot when it is a dirty working tree.
    pub revision: Revision,
    /// Its executables by package and target.
    pub executables: BTreeMap<(String, String), Executable>,
    /// The toolchain that its toolchain file asks for.
    asked: Asked,
    /// Its checkout, held as long as its executables run.
    pub(crate) slot: Rc<Slot>,
}

/// All sides and what is said about their builds.
pub struct Sides {
    /// Reference first.
    pub sides: Vec<Side>,
    /// Skipped targets of the last side, and targets that do not compile at a revision.
    pub remarks: Vec<Line>,
    /// The toolchain of the last side, for the record; that of every side where they have their own.
    pub toolchain: nbench_store::Toolchain,
    /// The root of the user's working tree.
    pub(crate) user: PathBuf,
    /// Where in the repository the workspace lies.
    place: PathBuf,
    /// Name of the toolchain that all sides are built with.
    used: String,
    /// Whether the benchmarks are the same everywhere, and whether each side has its own toolchain.
    overlay: bool,
    own_toolchains: bool,
}

/// Where in the repository the user stands and what is to be built there.
pub struct Wish<'w> {
    /// The repository.
    pub repository: &'w Repository,
    /// The user's current directory.
    pub here: &'w Path,
    /// Cargo's flags.
    pub options: &'w BuildOptions,
    /// Whether the last side's bench sources are built against every revision.
    pub overlay: bool,
    /// The root of the user's workspace.
    pub workspace: &'w Path,
    /// Inputs that git does not carry, relative to that root.
    pub share: &'w [String],
    /// Whether each side is built with the toolchain that its own toolchain file asks for.
    pub own_toolchains: bool,
}

/// Checks out and builds every revision; equal trees share a checkout. The last one is built first:
/// its artefacts seed the others, and the dependencies it resolves to hold for all where none is
/// tracked.
///
/// # Errors
/// When a checkout or a build fails; the message names the revision.
pub fn build_sides(
    term: &mut Term,
    wish: &Wish<'_>,
    revisions: &[Revision],
) -> Result<Sides, Failure> {
    let slots = Slots::open(wish.repository)?;
    let distinct = distinct_trees(revisions);
    let mut trees: Vec<&Revision> = Vec::new();
    for index in &distinct {
        if *index == trees.len() {
            let position = distinct.iter().position(|i| i == index).unwrap_or(0);
            trees.push(&revisions[position]);
        }
    }
    let toolchains = Toolchains::new(wish.here, wish.own_toolchains);
    let probe = BuildContext {
        toolchain: toolchains.here().name.clone(),
        cap_lints: true,
        ..BuildContext::new(wish.here)
    };
    // Builds of versions that kept no link commands must not be taken for fresh.
    let mut flags = flags_digest(&probe, wish.options) + "-kept";
    if wish.overlay {
        flags.push_str("-overlay");
    }
    if wish.own_toolchains {
        flags.push_str("-own");
    }
    term.start_waiting("checking out");
    let place = within(wish.repository, wish.workspace);
    let share = shared_paths(wish.share, &place)?;
    let wanted = Wanted { flags: &flags, workspace: &place, share: &share };
    let slots: Vec<Rc<Slot>> =
        slots.acquire_all(&trees, wanted)?.into_iter().map(Rc::new).collect();
    term.end_progress();

    let last = revisions.len() - 1;
    let contender = &slots[distinct[last]];
    let make = |slot: &Slot| Setting::of(wish, slot, contender, &toolchains);
    let asked: Vec<Asked> = distinct
        .iter()
        .map(|index| Ok(Asked::of(&relocated(wish, &slots[*index])?, slots[*index].tree())))
        .collect::<Result<_, Failure>>()?;
    let labels = revisions.iter().map(|revision| revision.label.as_str());
    let told: Vec<_> = labels.zip(&asked).collect();
    if let Some(remark) = toolchains::remark(&told, toolchains.here(), wish.own_toolchains) {
        if wish.own_toolchains { term.note(&remark) } else { term.warn(&remark) }
    }
    let mut built: BTreeMap<usize, Built> = BTreeMap::new();
    let mut records = BTreeMap::new();
    let mut remarks = Vec::new();
    let mut main: Option<(Workspace, BuildOptions)> = None;
    for side in (0..revisions.len()).rev() {
        let slot = &slots[distinct[side]];
        if built.contains_key(&distinct[side]) {
            continue;
        }
        if !Rc::ptr_eq(slot, contender) {
            seed_lock_files(contender, slot)?;
            seed_target(contender, slot)?;
        }
        let label = &revisions[side].label;
        let trees =
            Trees { user: wish.repository.root(), checkout: slot.tree(), workspace: &place };
        let at = |failure: Failure| {
            let failure = named(failure, wish, side == last, &revisions[side]);
            match trees.explain(&failure.error).filter(|_| !absent::is_explained(&failure)) {
                Some(reason) => failure.hint(reason),
                None => failure,
            }
        };
        let setting = make(slot).map_err(at)?;
        let (context, options) = (setting.context(), setting.options.clone());
        let workspace = load_in(&context, &options)
            .map_err(|failure| absent::explain(failure, wish.repository.root(), slot.tree()))
            .map_err(at)?;
        if side == last {
            refuse_unknown(&workspace, &options, &context).map_err(at)?;
        }
        let builds = distinct.iter().max().map_or(1, |last| last + 1);
        term.number_build(built.len() + 1, builds);
        let mut done = if wish.overlay {
            let (newest, newest_options) =
                main.as_ref().map_or((&workspace, &options), |(w, o)| (w, o));
            let mut made = build_overlaid(
                term,
                &Request {
                    newest,
                    newest_tree: contender.tree(),
                    newest_options,
                    newest_label: &revisions[last].label,
                    workspace: &workspace,
                    tree: slot.tree(),
                    directory: slot.directory(),
                    label,
                    options: &options,
                    context: &context,
                },
            )
            .map_err(at)?;
            for line in &mut made.not_measurable {
                if let Line::NotMeasurable(line) = line {
                    add_reason(&mut line.reason, trees);
                }
            }
            remarks.extend(made.not_measurable);
            made.built
        } else {
            build_selected(term, &workspace, &options, &context, label).map_err(at)?
        };
        for target in &mut done.failed {
            add_reason(&mut target.error, trees);
        }
        let at_last = |line: &Line| match line {
            Line::Skipped(s) => contender_has(&built, distinct[last], &s.package, &s.target),
            _ => false,
        };
        if side != last {
            // What the last side measures and this one cannot, with the reason; a missing target is
            // told by comparing what there is.
            let skipped = done.skipped.iter().filter(|line| at_last(line));
            let reasons = skipped.filter_map(|line| match line {
                Line::Skipped(s) => Some((s.package.clone(), s.target.clone(), s.reason.clone())),
                _ => None,
            });
            let failed = done.failed.iter().map(|f| {
                let reason = format!("it does not compile: {}{}", f.error, build_hint(f));
                (f.package.clone(), f.target.clone(), reason)
            });
            for (package, target, reason) in reasons.chain(failed) {
                let rev = label.clone();
                remarks.push(Line::NotMeasurable(NotMeasurable { rev, package, target, reason }));
            }
        }
        if side == last || wish.own_toolchains {
            let executables = &done.executables;
            let row = describe_toolchain(&context, &options, &workspace, executables);
            records.insert(distinct[side], row);
        }
        if side == last {
            remarks.extend(done.remarks(label));
        }
        if main.is_none() {
            main = Some((workspace, options));
        }
        built.insert(distinct[side], done);
    }
    for (side, revision) in revisions.iter().enumerate().rev() {
        let setting = make(&slots[distinct[side]])?;
        let mismatches = in_one_way(term, &setting, &mut built, distinct[side])?;
        remarks.extend(mismatches.into_iter().map(|(package, target, reason)| {
            let rev = revision.label.clone();
            Line::NotMeasurable(NotMeasurable { rev, package, target, reason })
        }));
    }
    if let Some(done) = built.get(&distinct[last]) {
        remarks.splice(0..0, done.harnesses());
    }

    let sides = revisions
        .iter()
        .zip(asked)
        .zip(&distinct)
        .map(|((revision, asked), index)| Side {
            revision: revision.clone(),
            asked,
            executables: built
                .get(index)
                .map(|b| b.executables.iter().map(|e| (name(e), e.clone())).collect())
                .unwrap_or_default(),
            slot: Rc::clone(&slots[*index]),
        })
        .collect();
    let built_with: Vec<_> = revisions
        .iter()
        .zip(&distinct)
        .filter_map(|(revision, index)| Some((revision.label.clone(), records.get(index)?.clone())))
        .collect();
    let Some(toolchain) = toolchains::together(&built_with) else {
        return Err(Failure::new(Exit::Build, "no side was built"));
    };
    let used = toolchains.here().name.clone().unwrap_or_else(|| toolchain.summary.clone());
    let (overlay, own_toolchains) = (wish.overlay, wish.own_toolchains);
    let user = wish.repository.root().to_owned();
    Ok(Sides { sides, remarks, toolchain, used, overlay, own_toolchains, user, place })
}

/// Says in `text`, which tells what went wrong in a checkout, that only the user's tree has the file.
fn add_reason(text: &mut String, trees: Trees<'_>) {
    if let Some(reason) = trees.explain(text) {
        text.push_str("; ");
        text.push_str(&reason);
    }
}

/// How one side is built.
struct Setting {
    dir: PathBuf,
    /// The user's flags there.
    options: BuildOptions,
    /// All but the directory.
    context: BuildContext<'static>,
}

impl Setting {
    fn of(
        wish: &Wish<'_>,
        slot: &Slot,
        contender: &Slot,
        toolchains: &Toolchains,
    ) -> Result<Self, Failure> {
        let mut places = vec![slot.directory(), contender.directory()];
        places.dedup();
        let dir = relocated(wish, slot)?;
        let chosen = toolchains.of(&dir)?;
        // Only then may a package lie outside of its workspace, and its path get into the code.
        let is_below = !within(wish.repository, wish.workspace).as_os_str().is_empty();
        let reaches_out = wish.overlay || is_below;
        let forgets = if reaches_out { one_path::variable(&places) } else { None };
        let context = BuildContext {
            toolchain: chosen.name,
            cargo: chosen.cargo,
            cap_lints: true,
            cap_all_crates: reaches_out,
            target_dir: Some(slot.target_dir().to_owned()),
            configuration: configuration_of_checkout(wish.repository.root(), slot.tree(), &dir),
            extra_env: [capture::variable()].into_iter().chain(forgets).collect(),
            ..BuildContext::new(Path::new(""))
        };
        let options = BuildOptions {
            target_dir: None,
            ..wish.options.relocated(wish.here, wish.repository.root(), slot.tree())
        };
        Ok(Setting { dir, options, context })
    }

    fn context(&self) -> BuildContext<'_> {
        BuildContext { dir: &self.dir, ..self.context.clone() }
    }
}

/// Builds anew, at the side of index `at`, what another side measures with criterion's own runner:
/// both sides of a pair go the same way. Returns what cannot, as package, target and reason.
fn in_one_way(
    term: &mut Term,
    setting: &Setting,
    built: &mut BTreeMap<usize, Built>,
    at: usize,
) -> Result<Vec<(String, String, String)>, Failure> {
    let own: BTreeSet<_> = built
        .values()
        .flat_map(|built| &built.executables)
        .filter(|executable| executable.has_own_runner())
        .map(name)
        .collect();
    let Some(side) = built.get_mut(&at) else { return Ok(Vec::new()) };
    let (others, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut side.executables)
        .into_iter()
        .partition(|executable| !executable.has_own_runner() && own.contains(&name(executable)));
    side.executables = kept;
    let mut mismatches = Vec::new();
    if !others.is_empty() {
        let targets: Vec<_> = others.into_iter().map(|executable| executable.target).collect();
        let place = Place { options: &setting.options, context: &setting.context() };
        for target in own_runner::build(term, place, &targets)? {
            match target {
                BuiltTarget::Ready(made) if made.has_own_runner() => side.executables.push(*made),
                other => mismatches.push(own_runner::mismatch(other)),
            }
        }
    }
    Ok(mismatches)
}

fn contender_has(built: &BTreeMap<usize, Built>, at: usize, package: &str, target: &str) -> bool {
    let executables = built.get(&at).map(|built| built.executables.as_slice()).unwrap_or_default();
    executables.iter().any(|e| e.target.package == package && e.target.target == target)
}

fn name(executable: &Executable) -> (String, String) {
    (executable.target.package.clone(), executable.target.target.clone())
}

/// For each revision the index of its tree among the distinct ones, counted from 0 in order of first
/// appearance.
fn distinct_trees(revisions: &[Revision]) -> Vec<usize> {
    let mut seen: Vec<&str> = Vec::new();
    revisions
        .iter()
        .map(|revision| {
            seen.iter().position(|tree| *tree == revision.tree).unwrap_or_else(|| {
                seen.push(&revision.tree);
                seen.len() - 1
            })
        })
        .collect()
}

/// A directory of the user's as seen from the root of the repository; empty for one outside of it.
fn within(repository: &Repository, path: &Path) -> PathBuf {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    path.strip_prefix(repository.root()).map(Path::to_owned).unwrap_or_default()
}

/// The user's directory in a checkout; its nearest existing ancestor when the revision lacks it.
fn relocated(wish: &Wish<'_>, slot: &Slot) -> Result<PathBuf, Failure> {
    let mut dir = slot.tree().join(within(wish.repository, wish.here));
    while !dir.is_dir() && dir != slot.tree() {
        dir.pop();
    }
    if dir.is_dir() {
        Ok(dir)
    } else {
        Err(Failure::new(Exit::Host, format!("the checkout `{}` is gone", slot.tree().display()))
            .hint("`cargo nbench clean` removes damaged checkouts"))
    }
}

/// A failure of one side, which the user must be able to tell from the other's.
fn named(failure: Failure, wish: &Wish<'_>, is_last: bool, revision: &Revision) -> Failure {
    let hint = match (failure.exit, is_last) {
        (Exit::Build, false) if !absent::is_explained(&failure) => {
            let can_overlay = !wish.overlay && !wish.options.criterion_runner;
            let overlay = "; `--overlay-benches` reports targets that do not compile there and goes on with the others";
            Some(format!(
                "check that after `git checkout {}` this toolchain builds it: `{}`{}",
                revision.short(),
                wish.options.words.cargo_build(),
                if can_overlay { overlay } else { "" }
            ))
        }
        _ => failure.hint.clone(),
    };
    Failure {
        error: format!("at `{}`: {}", revision.label, failure.error),
        hint,
        exit: failure.exit,
    }
}

/// A target at two sides, by its package and its own name.
fn halves<'s>(
    one: &'s Side,
    other: &'s Side,
    name: &(String, String),
) -> Option<(Half<'s>, Half<'s>)> {
    let half = |side: &'s Side| {
        let executable = side.executables.get(name)?;
        Some(Half { executable, tree: side.slot.tree() })
    };
    Some((half(one)?, half(other)?))
}

impl Sides {
    /// Whether a target, of which every side has one of the `executables`, needs no measuring: every side loads the same code, nothing that differs
    /// between the trees may be read at run time, and no toolchain was made equal.
    ///
    /// # Errors
    /// When an executable or a tree cannot be read.
    pub fn identical(
        &self,
        repository: &Repository,
        name: &(String, String),
        executables: &[&Path],
    ) -> Result<bool, Failure> {
        let Some((first, others)) = self.sides.split_first() else { return Ok(false) };
        for (other, executable) in others.iter().zip(&executables[1..]) {
            if first.revision.tree == other.revision.tree {
                continue;
            }
            if first.asked != other.asked && !self.own_toolchains {
                // What the toolchains make of the sources was not built.
                return Ok(false);
            }
            let changed = repository.changed_paths(&first.revision.tree, &other.revision.tree)?;
            if only_inert_paths(&changed).is_some()
                || !same_code_in(
                    (executables[0], first.slot.directory()),
                    (executable, other.slot.directory()),
                )?
            {
                return Ok(false);
            }
            let Some((reference, contender)) = halves(first, other, name) else {
                return Ok(false);
            };
            let evidence = confounded::evidence(reference, contender);
            let loaded = loaded_text(executable)?;
            if changed.iter().any(|path| evidence.reading(path, &loaded).is_some()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Why a benchmark failed at the side of this name, or at any, when its checkout lacks a file of
    /// the user's.
    pub fn explain(&self, label: Option<&str>, message: &str) -> Option<String> {
        let meant = |side: &&Side| label.is_none_or(|label| side.revision.label == label);
        self.sides.iter().filter(meant).find_map(|side| {
            let checkout = side.slot.tree();
            Trees { user: &self.user, checkout, workspace: &self.place }.explain(message)
        })
    }

    /// Notes that every comparison of a target needs, by reference and contender: what else than the
    /// library differs between the two, and what a gate makes of it where there is one.
    ///
    /// # Errors
    /// When a tree cannot be read.
    pub fn notes(
        &self,
        repository: &Repository,
        name: &(String, String),
        gated: bool,
    ) -> Result<BTreeMap<(usize, usize), Vec<String>>, Failure> {
        let mut notes = BTreeMap::new();
        for (at, reference) in self.sides.iter().enumerate() {
            for (beside, contender) in self.sides.iter().enumerate().skip(at + 1) {
                if reference.revision.tree == contender.revision.tree {
                    continue;
                }
                let (old, new) = (&reference.asked, &contender.asked);
                let toolchain = toolchains::note(old, new, &self.used, self.own_toolchains);
                let mut both: Vec<String> = toolchain.into_iter().collect();
                if let Some((old, new)) = halves(reference, contender, name)
                    && !self.overlay
                {
                    let trees = (&reference.revision.tree, &contender.revision.tree);
                    let changed = repository.changed_paths(trees.0, trees.1)?;
                    both.extend(confounded::notes(old, new, &changed, gated));
                }
                notes.insert((at, beside), both);
            }
        }
        Ok(notes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_trees_share_a_checkout() {
        let revision = |tree: &str| Revision {
            label: tree.into(),
            commit: tree.into(),
            tree: tree.into(),
            parents: Vec::new(),
            author_time: 0,
            committer_time: 0,
            subject: String::new(),
            dirty: None,
            snapshot: false,
        };
        let all: Vec<Revision> = ["a", "b", "a", "c", "b"].map(revision).into();
        assert_eq!(distinct_trees(&all), [0, 1, 0, 2, 1]);
    }
}
