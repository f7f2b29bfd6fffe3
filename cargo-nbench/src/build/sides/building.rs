//! The builds of all sides, one after the other: the newest first, since its artefacts seed the
//! others and the dependencies that it resolves to hold for all where no lock file is tracked. It
//! must not know what is made of the sides.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use nbench_templates::lines::{Line, NotMeasurable};

use super::overlaid::{OverlayRequest, build_overlaid};
use super::toolchains::{self, ToolchainRequest, Toolchains};
use super::untracked::Trees;
use super::{BuildRequest, Side, Sides, absent};
use crate::build::built::{Built, build_hint, build_selected};
use crate::build::cargo::{
    BuildContext, BuildOptions, BuiltTarget, Executable, Workspace, configuration_of_checkout,
    load_in, refuse_unknown,
};
use crate::build::error::BuildError;
use crate::build::fingerprint::{describe_toolchain, flags_digest};
use crate::build::one_path;
use crate::build::own_runner::{self, Place};
use crate::build::relink::capture;
use crate::failure::{Exit, Failure};
use crate::revisions::checkout::{
    CheckoutRequest, Slot, Slots, seed_lock_files, seed_target, shared_paths,
};
use crate::revisions::revision::{Repository, Revision};
use crate::term::Term;

/// Checks out and builds every revision; equal trees share a checkout.
///
/// # Errors
/// When a checkout or a build fails; the message names the revision.
pub fn build_sides(
    term: &mut Term,
    request: &BuildRequest<'_>,
    revisions: &[Revision],
) -> Result<Sides, Failure> {
    let mut building = Building::check_out(term, request, revisions)?;
    building.report_toolchains(term);
    for side in (0..revisions.len()).rev() {
        if !building.built.contains_key(&building.distinct[side]) {
            building.build(term, side)?;
        }
    }
    building.in_one_way(term)?;
    building.finish()
}

/// Sides that are being built. What is told of a side by a number is told of its checkout, which
/// sides of equal trees share.
struct Building<'b> {
    request: &'b BuildRequest<'b>,
    revisions: &'b [Revision],
    toolchains: Toolchains,
    /// Where in the repository the workspace lies.
    place: PathBuf,
    /// The checkout of each side.
    distinct: Vec<usize>,
    slots: Vec<Rc<Slot>>,
    /// The toolchain that each side asks for.
    asked: Vec<ToolchainRequest>,
    /// Builds by checkout.
    built: BTreeMap<usize, Built>,
    /// The toolchains that were used, by checkout.
    records: BTreeMap<usize, nbench_store::Toolchain>,
    remarks: Vec<Line>,
    /// The newest side's workspace, whose benchmarks may be laid over the others, and the flags
    /// for it.
    newest: Option<(Workspace, BuildOptions)>,
}

impl<'b> Building<'b> {
    fn check_out(
        term: &mut Term,
        request: &'b BuildRequest<'b>,
        revisions: &'b [Revision],
    ) -> Result<Self, Failure> {
        let slots = Slots::open(request.repository)?;
        let distinct = distinct_trees(revisions);
        let mut trees: Vec<&Revision> = Vec::new();
        for (revision, index) in revisions.iter().zip(&distinct) {
            if *index == trees.len() {
                trees.push(revision);
            }
        }
        let toolchains = Toolchains::new(request.here, request.own_toolchains);
        let flags = flags(request, &toolchains);
        term.start_waiting("checking out");
        let place = within(request.repository, request.workspace);
        let share = shared_paths(request.share, &place)?;
        let wanted = CheckoutRequest { flags: &flags, workspace: &place, share: &share };
        let slots: Vec<Rc<Slot>> =
            slots.acquire_all(&trees, wanted)?.into_iter().map(Rc::new).collect();
        term.end_progress();
        let asked = distinct
            .iter()
            .map(|index| {
                Ok(ToolchainRequest::of(&relocated(request, &slots[*index])?, slots[*index].tree()))
            })
            .collect::<Result<_, Failure>>()?;
        Ok(Building {
            request,
            revisions,
            toolchains,
            place,
            distinct,
            slots,
            asked,
            built: BTreeMap::new(),
            records: BTreeMap::new(),
            remarks: Vec::new(),
            newest: None,
        })
    }

    /// Says which toolchains the sides ask for, where that is not one and the same.
    fn report_toolchains(&self, term: &mut Term) {
        let labels = self.revisions.iter().map(|revision| revision.label.as_str());
        let told: Vec<_> = labels.zip(&self.asked).collect();
        let own = self.request.own_toolchains;
        if let Some(remark) = toolchains::remark(&told, self.toolchains.here(), own) {
            if own { term.note(&remark) } else { term.warn(&remark) }
        }
    }

    fn last(&self) -> usize {
        self.revisions.len() - 1
    }

    fn slot(&self, side: usize) -> &Rc<Slot> {
        &self.slots[self.distinct[side]]
    }

    fn setting(&self, side: usize) -> Result<Setting, Failure> {
        Setting::of(self.request, self.slot(side), self.slot(self.last()), &self.toolchains)
    }

    /// A failure of one side with what may be behind it.
    fn at(&self, side: usize, failure: Failure) -> Failure {
        let failure = named(failure, self.request, side == self.last(), &self.revisions[side]);
        let reason = self.trees(side).explain(&failure.error);
        match reason.filter(|_| !absent::is_explained(&failure)) {
            Some(reason) => failure.hint(reason),
            None => failure,
        }
    }

    fn trees(&self, side: usize) -> Trees<'_> {
        let user = self.request.repository.root();
        Trees { user, checkout: self.slot(side).tree(), workspace: &self.place }
    }

    fn build(&mut self, term: &mut Term, side: usize) -> Result<(), Failure> {
        let (slot, contender) = (Rc::clone(self.slot(side)), Rc::clone(self.slot(self.last())));
        if !Rc::ptr_eq(&slot, &contender) {
            seed_lock_files(&contender, &slot)?;
            seed_target(&contender, &slot)?;
        }
        let setting = self.setting(side).map_err(|failure| self.at(side, failure))?;
        let (context, options) = (setting.context(), setting.options.clone());
        let workspace = load_in(&context, &options)
            .map_err(|failure| {
                absent::explain(failure, self.request.repository.root(), slot.tree())
            })
            .map_err(|failure| self.at(side, failure))?;
        // A name that only older sides lack is no mistake.
        if side == self.last() {
            refuse_unknown(&workspace, &options, &context)
                .map_err(|failure| self.at(side, failure))?;
        }
        let builds = self.distinct.iter().max().map_or(1, |last| last + 1);
        term.number_build(self.built.len() + 1, builds);
        let mut done = if self.request.overlay {
            self.build_overlaid(term, side, &workspace, &options, &context)?
        } else {
            build_selected(term, &workspace, &options, &context, &self.revisions[side].label)
                .map_err(|failure| self.at(side, failure))?
        };
        for target in &mut done.failed {
            add_reason(&mut target.error, self.trees(side));
        }
        let is_last = side == self.last();
        if is_last || self.request.own_toolchains {
            let row = describe_toolchain(&context, &options, &workspace, &done.executables);
            self.records.insert(self.distinct[side], row);
        }
        if is_last {
            self.remarks.extend(done.remarks(&self.revisions[side].label));
        } else {
            self.report_not_measurable(side, &done);
        }
        if self.newest.is_none() {
            self.newest = Some((workspace, options));
        }
        self.built.insert(self.distinct[side], done);
        Ok(())
    }

    /// Builds the newest side's benchmarks against the library of another one.
    fn build_overlaid(
        &mut self,
        term: &mut Term,
        side: usize,
        workspace: &Workspace,
        options: &BuildOptions,
        context: &BuildContext<'_>,
    ) -> Result<Built, Failure> {
        let newest = self.newest.as_ref();
        let (newest, newest_options) = newest.map_or((workspace, options), |(w, o)| (w, o));
        let slot = self.slot(side);
        let request = OverlayRequest {
            newest,
            newest_tree: self.slot(self.last()).tree(),
            newest_options,
            newest_label: &self.revisions[self.last()].label,
            workspace,
            tree: slot.tree(),
            directory: slot.directory(),
            label: &self.revisions[side].label,
            options,
            context,
        };
        let mut made = build_overlaid(term, &request).map_err(|failure| self.at(side, failure))?;
        for line in &mut made.not_measurable {
            if let Line::NotMeasurable(line) = line {
                add_reason(&mut line.reason, self.trees(side));
            }
        }
        self.remarks.extend(made.not_measurable);
        Ok(made.built)
    }

    /// Targets that the last side measures and this one cannot, with the reason; a missing target
    /// is told by comparing what there is.
    fn report_not_measurable(&mut self, side: usize, done: &Built) {
        let at_last = |package: &str, target: &str| {
            contender_has(&self.built, self.distinct[self.last()], package, target)
        };
        let skipped = done.skipped.iter().filter_map(|line| match line {
            Line::Skipped(s) if at_last(&s.package, &s.target) => {
                Some((s.package.clone(), s.target.clone(), s.reason.clone()))
            }
            _ => None,
        });
        let failed = done.failed.iter().map(|f| {
            let reason = format!("it does not compile: {}{}", f.error, build_hint(f));
            (f.package.clone(), f.target.clone(), reason)
        });
        let rev = &self.revisions[side].label;
        let lines: Vec<Line> = skipped
            .chain(failed)
            .map(|(package, target, reason)| {
                Line::NotMeasurable(NotMeasurable { rev: rev.clone(), package, target, reason })
            })
            .collect();
        self.remarks.extend(lines);
    }

    /// Builds anew what another side measures with criterion's own runner: a pair goes one way.
    fn in_one_way(&mut self, term: &mut Term) -> Result<(), Failure> {
        for side in (0..self.revisions.len()).rev() {
            let setting = self.setting(side)?;
            let mismatches = in_one_way(term, &setting, &mut self.built, self.distinct[side])?;
            let rev = &self.revisions[side].label;
            self.remarks.extend(mismatches.into_iter().map(|(package, target, reason)| {
                Line::NotMeasurable(NotMeasurable { rev: rev.clone(), package, target, reason })
            }));
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Sides, Failure> {
        if let Some(done) = self.built.get(&self.distinct[self.last()]) {
            self.remarks.splice(0..0, done.harnesses());
        }
        let built_with: Vec<_> = self
            .revisions
            .iter()
            .zip(&self.distinct)
            .filter_map(|(revision, index)| {
                Some((revision.label.clone(), self.records.get(index)?.clone()))
            })
            .collect();
        let Some(toolchain) = toolchains::together(&built_with) else {
            return Err(BuildError::NoSideBuilt.into());
        };
        let used = self.toolchains.here().name.clone();
        let executables = |index: &usize| {
            let built = self.built.get(index);
            let pairs = built.map(|b| b.executables.iter().map(|e| (name(e), e.clone())).collect());
            pairs.unwrap_or_default()
        };
        let sides = self.revisions.iter().zip(self.asked).zip(&self.distinct);
        let sides = sides.map(|((revision, asked), index)| Side {
            revision: revision.clone(),
            asked,
            executables: executables(index),
            slot: Rc::clone(&self.slots[*index]),
        });
        Ok(Sides {
            sides: sides.collect(),
            remarks: self.remarks,
            used: used.unwrap_or_else(|| toolchain.summary.clone()),
            toolchain,
            overlay: self.request.overlay,
            own_toolchains: self.request.own_toolchains,
            user: self.request.repository.root().to_owned(),
            place: self.place,
        })
    }
}

/// Digest of everything beside its sources that a checkout was built by.
fn flags(request: &BuildRequest<'_>, toolchains: &Toolchains) -> String {
    let probe = BuildContext {
        toolchain: toolchains.here().name.clone(),
        cap_lints: true,
        ..BuildContext::new(request.here)
    };
    let ours = [(request.overlay, "overlay"), (request.own_toolchains, "own toolchains")];
    let ours: Vec<&str> = ours.iter().filter(|(given, _)| *given).map(|(_, name)| *name).collect();
    flags_digest(&probe, request.options, &ours)
}

/// Says in `text`, which tells what went wrong in a checkout, that only the user's tree has the
/// file.
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
        request: &BuildRequest<'_>,
        slot: &Slot,
        contender: &Slot,
        toolchains: &Toolchains,
    ) -> Result<Self, Failure> {
        let mut places = vec![slot.directory(), contender.directory()];
        places.dedup();
        let dir = relocated(request, slot)?;
        let chosen = toolchains.of(&dir)?;
        // Only then may a package lie outside of its workspace, and its path get into the code.
        let is_below = !within(request.repository, request.workspace).as_os_str().is_empty();
        let reaches_out = request.overlay || is_below;
        let forgets = if reaches_out { one_path::variable(&places) } else { None };
        let context = BuildContext {
            toolchain: chosen.name,
            cargo: chosen.cargo,
            cap_lints: true,
            cap_all_crates: reaches_out,
            target_dir: Some(slot.target_dir().to_owned()),
            configuration: configuration_of_checkout(request.repository.root(), slot.tree(), &dir),
            extra_env: [capture::variable()].into_iter().chain(forgets).collect(),
            ..BuildContext::new(Path::new(""))
        };
        let options = BuildOptions {
            target_dir: None,
            ..request.options.relocated(request.here, request.repository.root(), slot.tree())
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

/// For each revision the index of its tree among the distinct ones, counted from 0 in order of
/// first appearance.
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
fn relocated(request: &BuildRequest<'_>, slot: &Slot) -> Result<PathBuf, Failure> {
    let mut dir = slot.tree().join(within(request.repository, request.here));
    while !dir.is_dir() && dir != slot.tree() {
        dir.pop();
    }
    if dir.is_dir() {
        Ok(dir)
    } else {
        Err(BuildError::CheckoutGone(slot.tree().to_owned()).into())
    }
}

/// A failure of one side, which the user must be able to tell from the other's.
fn named(
    failure: Failure,
    request: &BuildRequest<'_>,
    is_last: bool,
    revision: &Revision,
) -> Failure {
    let hint = match (failure.exit, is_last) {
        (Exit::Build, false) if !absent::is_explained(&failure) => {
            let can_overlay = !request.overlay && !request.options.criterion_runner;
            let overlay = "; `--overlay-benches` reports targets that do not compile there and goes on with the others";
            Some(format!(
                "check that after `git checkout {}` this toolchain builds it: `{}`{}",
                revision.short(),
                request.options.words.cargo_build(),
                if can_overlay { overlay } else { "" }
            ))
        }
        _ => failure.hint.clone(),
    };
    Failure { error: format!("at `{}`: {}", revision.label, failure.error), hint, ..failure }
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
