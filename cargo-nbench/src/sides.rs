//! The sides of a comparison: one checkout and one set of executables per revision, built with equal
//! flags and toolchain. It does not run what it built.

mod absent;
mod overlaid;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::bridge;
use crate::capture;
use crate::cargo::{
    BuildContext, BuildOptions, BuiltTarget, Executable, Workspace, configuration_of_checkout,
    load_in, resolve_toolchain,
};
use crate::checkout::{Slot, Slots, seed_lock_files, seed_target};
use crate::commands::{Built, build_hint, build_selected};
use crate::failure::{Exit, Failure};
use crate::fingerprint::flags_digest;
use crate::identical::{only_inert_paths, same_code};
use crate::layout::{Draws, Source, Supply};
use crate::lines::{Line, NotMeasurable, Unmatched};
use crate::link::Layouts;
use crate::own_runner::{self, Place};
use crate::revision::{Repository, Revision};
use crate::suite::{Target, program};
use crate::term::Term;
use overlaid::{Request, build_overlaid};

/// One built revision.
pub struct Side {
    /// The revision; a snapshot when it is a dirty working tree.
    pub revision: Revision,
    /// Its executables by package and target.
    pub executables: BTreeMap<(String, String), Executable>,
    /// Its checkout, held as long as its executables run.
    slot: Rc<Slot>,
}

/// All sides and what is said about their builds.
pub struct Sides {
    /// Reference first.
    pub sides: Vec<Side>,
    /// Skipped targets of the last side, and targets that do not compile at a revision.
    pub remarks: Vec<Line>,
    /// The toolchain of the last side, for the record.
    pub toolchain: nbench_store::Toolchain,
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
    let toolchain = resolve_toolchain(wish.here);
    let probe = BuildContext {
        toolchain: toolchain.clone(),
        cap_lints: true,
        ..BuildContext::new(wish.here)
    };
    // Builds of versions that kept no link commands must not be taken for fresh.
    let mut flags = flags_digest(&probe, wish.options) + "-kept";
    if wish.overlay {
        flags.push_str("-overlay");
    }
    term.start_waiting("checking out");
    let slots: Vec<Rc<Slot>> =
        slots.acquire_all(&trees, &flags)?.into_iter().map(Rc::new).collect();
    term.end_progress();

    let last = revisions.len() - 1;
    let make = |slot: &Slot| Setting::of(wish, slot, &toolchain);
    let contender = &slots[distinct[last]];
    let mut built: BTreeMap<usize, Built> = BTreeMap::new();
    let mut record = None;
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
        let setting = make(slot)?;
        let (context, options) = (setting.context(), setting.options.clone());
        let label = &revisions[side].label;
        let at = |failure: Failure| named(failure, label, side == last, &revisions[side]);
        let workspace = load_in(&context, &options)
            .map_err(|failure| absent::explain(failure, wish.repository.root(), slot.tree()))
            .map_err(at)?;
        term.number_build(built.len() + 1, trees.len());
        let done = if wish.overlay {
            let (newest, newest_options) =
                main.as_ref().map_or((&workspace, &options), |(w, o)| (w, o));
            let made = build_overlaid(
                term,
                &Request {
                    newest,
                    newest_tree: contender.tree(),
                    newest_options,
                    workspace: &workspace,
                    tree: slot.tree(),
                    directory: slot.directory(),
                    label,
                    options: &options,
                    context: &context,
                },
            )
            .map_err(at)?;
            remarks.extend(made.not_measurable);
            made.built
        } else {
            build_selected(term, &workspace, &options, &context, label).map_err(at)?
        };
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
        if side == last {
            record = Some(crate::commands::describe_toolchain(
                &context,
                &options,
                &workspace,
                &done.executables,
            ));
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
        .zip(&distinct)
        .map(|(revision, index)| Side {
            revision: revision.clone(),
            executables: built
                .get(index)
                .map(|b| b.executables.iter().map(|e| (name(e), e.clone())).collect())
                .unwrap_or_default(),
            slot: Rc::clone(&slots[*index]),
        })
        .collect();
    let Some(toolchain) = record else {
        return Err(Failure::new(Exit::Build, "no side was built"));
    };
    Ok(Sides { sides, remarks, toolchain })
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
    fn of(wish: &Wish<'_>, slot: &Slot, toolchain: &Option<String>) -> Result<Self, Failure> {
        let dir = relocated(wish, slot)?;
        let context = BuildContext {
            toolchain: toolchain.clone(),
            cap_lints: true,
            cap_all_crates: wish.overlay,
            target_dir: Some(slot.target_dir().to_owned()),
            configuration: configuration_of_checkout(wish.repository.root(), slot.tree(), &dir),
            extra_env: vec![capture::variable()],
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

/// The user's directory in a checkout; its nearest existing ancestor when the revision lacks it.
fn relocated(wish: &Wish<'_>, slot: &Slot) -> Result<PathBuf, Failure> {
    let here = wish.here.canonicalize().unwrap_or_else(|_| wish.here.to_owned());
    let root =
        wish.repository.root().canonicalize().unwrap_or_else(|_| wish.repository.root().to_owned());
    let inside = here.strip_prefix(&root).unwrap_or(Path::new(""));
    let mut dir = slot.tree().join(inside);
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
fn named(failure: Failure, label: &str, is_last: bool, revision: &Revision) -> Failure {
    let hint = match (failure.exit, is_last) {
        (Exit::Build, false) if !absent::is_explained(&failure) => Some(format!(
            "check that `git checkout {}` builds with this toolchain; `--overlay-benches` reports targets that do not compile there and goes on with the others",
            revision.short()
        )),
        _ => failure.hint.clone(),
    };
    Failure { error: format!("at `{label}`: {}", failure.error), hint, exit: failure.exit }
}

impl Sides {
    /// Targets that every side has, and remarks on those that some lack.
    pub fn common(&self) -> (Vec<Target>, Vec<Line>) {
        let mut remarks = Vec::new();
        let mut targets = Vec::new();
        let Some(last) = self.sides.last() else { return (targets, remarks) };
        for key in last.executables.keys() {
            let programs: Option<Vec<_>> =
                self.sides.iter().map(|s| s.executables.get(key).map(program)).collect();
            if let Some(programs) = programs {
                let (package, target) = key.clone();
                targets.push(Target { package, target, programs });
            }
        }
        for side in &self.sides {
            for (package, target) in side.executables.keys() {
                let key = (package.clone(), target.clone());
                let explained = self.remarks.iter().any(|line| match line {
                    Line::NotMeasurable(n) => n.package == *package && n.target == *target,
                    Line::Failure(f) => f.package == *package && f.target == *target,
                    _ => false,
                });
                if self.sides.iter().any(|other| !other.executables.contains_key(&key))
                    && !explained
                {
                    remarks.push(Line::Unmatched(Unmatched {
                        package: package.clone(),
                        target: target.clone(),
                        benchmark: None,
                        side: side.revision.label.clone(),
                    }));
                }
            }
        }
        (targets, remarks)
    }

    /// Whether a target needs no measuring: every side loads the same code, and nothing that differs
    /// between the trees may be read at run time.
    ///
    /// # Errors
    /// When an executable or a tree cannot be read.
    pub fn identical(&self, repository: &Repository, target: &Target) -> Result<bool, Failure> {
        let Some((first, others)) = self.sides.split_first() else { return Ok(false) };
        for (other, program) in others.iter().zip(&target.programs[1..]) {
            if first.revision.tree == other.revision.tree {
                continue;
            }
            let changed = repository.changed_paths(&first.revision.tree, &other.revision.tree)?;
            if only_inert_paths(&changed).is_some()
                || !same_code(&target.programs[0].path, &program.path)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Where fresh link layouts of a target come from.
    pub fn layouts(&self, target: &Target, draws: Draws) -> Supply {
        if target.programs.iter().any(|program| program.bridged) {
            return Supply::Unavailable(bridge::KEEPS_LAYOUT.to_owned());
        }
        let mut sources: Vec<Source> = Vec::new();
        for (index, (side, program)) in self.sides.iter().zip(&target.programs).enumerate() {
            let to = side.slot.directory().join(format!("layout-{index:02}"));
            // Sides of equal trees have the same executable, which is proved once.
            let known = target.programs[..index].iter().position(|p| p.path == program.path);
            let layouts = match known.and_then(|at| sources.get(at)) {
                Some(source) => Ok(source.layouts.clone()),
                None => Layouts::read(&program.path).and_then(|mut layouts| {
                    layouts.prove(&program.path, &to)?;
                    layouts.align(&side.slot.directory().join("aligned"))?;
                    Ok(layouts)
                }),
            };
            match layouts {
                Ok(layouts) => {
                    let stream = if draws == Draws::Shared { 0 } else { index };
                    sources.push(Source { layouts, stream, to });
                }
                Err(reason) => return Supply::Unavailable(reason),
            }
        }
        Supply::Ready(sources)
    }

    /// Directories of the checkouts, to be named in messages.
    pub fn trees(&self) -> Vec<&Path> {
        self.sides.iter().map(|side| side.slot.tree()).collect()
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
