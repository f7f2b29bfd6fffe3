//! The sides of a comparison: one checkout and one set of executables per revision, built with
//! equal flags and toolchain. It does not run what it built.

mod absent;
mod building;
mod confounded;
mod overlaid;
mod toolchains;
mod untracked;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

pub use building::build_sides;
use confounded::Half;
use nbench_templates::lines::Line;
use toolchains::ToolchainRequest;
use untracked::Trees;

use crate::build::cargo::{BuildOptions, Executable};
use crate::build::identical::{loaded_text, only_inert_paths, same_code_in};
use crate::failure::Failure;
use crate::revisions::checkout::Slot;
use crate::revisions::revision::{Repository, Revision};

/// One built revision.
pub struct Side {
    /// The revision; a snapshot when it is a dirty working tree.
    pub revision: Revision,
    /// Its executables by package and target.
    pub executables: BTreeMap<(String, String), Executable>,
    /// The toolchain that its toolchain file asks for.
    asked: ToolchainRequest,
    /// Its checkout, held as long as its executables run.
    pub(crate) slot: Rc<Slot>,
}

/// All sides and what is said about their builds.
pub struct Sides {
    /// Reference first.
    pub sides: Vec<Side>,
    /// Skipped targets of the last side, and targets that do not compile at a revision.
    pub remarks: Vec<Line>,
    /// The toolchain of the last side, for the record; that of every side where they have their
    /// own.
    pub toolchain: nbench_store::Toolchain,
    /// The root of the user's working tree.
    pub(crate) user: PathBuf,
    /// Where in the repository the workspace lies.
    place: PathBuf,
    /// Name of the toolchain that all sides are built with.
    used: String,
    /// Whether the benchmarks are the same everywhere, and whether each side has its own
    /// toolchain.
    overlay: bool,
    own_toolchains: bool,
}

/// Where in the repository the user stands and what is to be built there.
pub struct BuildRequest<'w> {
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
    /// Whether a target, of which every side has one of the `executables`, needs no measuring:
    /// every side loads the same code, nothing that differs between the trees may be read at
    /// run time, and no toolchain was made equal.
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
            if changed.iter().any(|path| evidence.reading(path, &loaded).is_some())
                || confounded::may_be_generated(reference, contender, &changed, &evidence)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Why a benchmark failed at the side of this name, or at any, when its checkout lacks a file
    /// of the user's.
    pub fn explain(&self, label: Option<&str>, message: &str) -> Option<String> {
        let meant = |side: &&Side| label.is_none_or(|label| side.revision.label == label);
        self.sides.iter().filter(meant).find_map(|side| {
            let checkout = side.slot.tree();
            Trees { user: &self.user, checkout, workspace: &self.place }.explain(message)
        })
    }

    /// Notes that every comparison of a target needs, by reference and contender: what else than
    /// the library differs between the two, and what a gate makes of it where there is one.
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
