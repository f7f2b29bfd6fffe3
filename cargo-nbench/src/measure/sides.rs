//! Built sides as what is measured: which target of one is which of another, also where a package
//! was renamed, how the ids of a checkout are read as those of the user's tree, and where layouts
//! come from. It does not know what the benchmarks are.

use std::collections::BTreeSet;
use std::path::Path;

use nbench_templates::lines::{Line, Unmatched};

use crate::build::cargo::Executable;
use crate::build::one_path;
use crate::build::relink::Relinker;
use crate::build::sides::Sides;
use crate::foreign::bridge;
use crate::measure::idle::TargetName;
use crate::measure::launch::Program;
use crate::measure::layout::{Draws, LayoutSource, Supply};
use crate::measure::suite::{Target, program};
use crate::revisions::checkout::Slot;

/// Word for the directory of generated packages in ids.
const GENERATED: &str = "<generated>";

/// An executable as the launcher wants it. Paths of its checkout in ids read as those of the user's
/// tree at `root`, on every side and in `run` alike.
fn located(executable: &Executable, slot: &Slot, root: &Path) -> Program {
    let mut program = program(executable);
    let target = root.join("target");
    // Where the compiler was made to forget the checkout, its directory reads as another one.
    let forgotten = |path: &Path| match path.strip_prefix(slot.directory()) {
        Ok(inside) => Path::new(one_path::INSTEAD).join(inside),
        Err(_) => path.to_owned(),
    };
    let (tree, built) = (forgotten(slot.tree()), forgotten(slot.target_dir()));
    let places = [
        (slot.tree(), root),
        (slot.target_dir(), &target),
        (slot.directory(), GENERATED.as_ref()),
        (&tree, root),
        (&built, &target),
    ];
    for (from, to) in places {
        let to = to.to_string_lossy();
        program.naming.place(&from.to_string_lossy(), &to);
        if let Ok(resolved) = from.canonicalize() {
            program.naming.place(&resolved.to_string_lossy(), &to);
        }
    }
    program
}

/// The package that `newer` calls otherwise than `older`, as its old and its new name: exactly one
/// package on each side is missing on the other, and they have a target of the same name.
fn renamed_package<'n>(
    older: impl Iterator<Item = &'n TargetName> + Clone,
    newer: impl Iterator<Item = &'n TargetName> + Clone,
) -> Option<(String, String)> {
    let packages = |names: &mut dyn Iterator<Item = &'n TargetName>| -> BTreeSet<&'n str> {
        names.map(|(package, _)| package.as_str()).collect()
    };
    let (old, new) = (packages(&mut older.clone()), packages(&mut newer.clone()));
    let gone: Vec<&str> = old.difference(&new).copied().collect();
    let come: Vec<&str> = new.difference(&old).copied().collect();
    let ([gone], [come]) = (gone.as_slice(), come.as_slice()) else { return None };
    let targets =
        |names: &mut dyn Iterator<Item = &'n TargetName>, of: &str| -> BTreeSet<&'n str> {
            names.filter(|(package, _)| package == of).map(|(_, target)| target.as_str()).collect()
        };
    let shared = targets(&mut older.clone(), gone)
        .intersection(&targets(&mut newer.clone(), come))
        .next()
        .is_some();
    shared.then(|| ((*gone).to_owned(), (*come).to_owned()))
}

/// Note on results of a package that was renamed.
fn renamed_note(label: &str, old: &str, new: &str) -> String {
    format!("its package `{new}` is called `{old}` at {label}")
}

impl Sides {
    /// Targets that every side has, and remarks on those that some lack.
    pub fn common(&self) -> (Vec<Target>, Vec<Line>) {
        let mut remarks = Vec::new();
        let mut targets = Vec::new();
        let Some(last) = self.sides.last() else { return (targets, remarks) };
        // The old name of a package that is called otherwise at the last side, by side.
        let renamed: Vec<Option<(String, String)>> = self
            .sides
            .iter()
            .map(|side| renamed_package(side.executables.keys(), last.executables.keys()))
            .collect();
        let there = |side: usize, (package, target): &(String, String)| {
            let package = match &renamed[side] {
                Some((old, new)) if new == package => old,
                _ => package,
            };
            self.sides[side].executables.get(&(package.clone(), target.clone()))
        };
        for key in last.executables.keys() {
            let programs: Option<Vec<_>> = (0..self.sides.len())
                .map(|side| Some(located(there(side, key)?, &self.sides[side].slot, &self.user)))
                .collect();
            if let Some(programs) = programs {
                let (package, target) = key.clone();
                let notes = self.sides.iter().zip(&renamed).filter_map(|(side, renamed)| {
                    let (old, new) = renamed.as_ref().filter(|(_, new)| *new == package)?;
                    Some(renamed_note(&side.revision.label, old, new))
                });
                let notes = notes.collect();
                targets.push(Target { package, target, programs, notes });
            }
        }
        for (index, side) in self.sides.iter().enumerate() {
            for (package, target) in side.executables.keys() {
                let explained = self.remarks.iter().any(|line| match line {
                    Line::NotMeasurable(n) => n.package == *package && n.target == *target,
                    Line::Failure(f) => f.package == *package && f.target == *target,
                    _ => false,
                });
                // By its name at the last side.
                let package_now = match &renamed[index] {
                    Some((old, new)) if old == package => new,
                    _ => package,
                };
                let key = (package_now.clone(), target.clone());
                if (0..self.sides.len()).any(|other| there(other, &key).is_none()) && !explained {
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

    /// Where fresh link layouts of a target come from.
    pub fn layouts(&self, target: &Target, draws: Draws) -> Supply {
        if target.programs.iter().any(|program| program.bridged) {
            return Supply::Unavailable(bridge::KEEPS_LAYOUT.to_owned());
        }
        let mut sources: Vec<LayoutSource> = Vec::new();
        for (index, (side, program)) in self.sides.iter().zip(&target.programs).enumerate() {
            let to = side.slot.directory().join(format!("layout-{index:02}"));
            // Sides of equal trees have the same executable, which is proved once.
            let known = target.programs[..index].iter().position(|p| p.path == program.path);
            let layouts = match known.and_then(|at| sources.get(at)) {
                Some(source) => Ok(source.layouts.clone()),
                None => Relinker::read(&program.path).and_then(|mut layouts| {
                    layouts.prove(&program.path, &to)?;
                    layouts.align(&side.slot.directory().join("aligned"))?;
                    Ok(layouts)
                }),
            };
            match layouts {
                Ok(layouts) => {
                    let stream = if draws == Draws::Shared { 0 } else { index };
                    sources.push(LayoutSource { layouts, stream, to });
                }
                Err(reason) => return Supply::Unavailable(reason),
            }
        }
        Supply::Ready(sources)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &[&str]) -> Vec<TargetName> {
        let name = |word: &&str| word.split_once('/').map(|(p, t)| (p.to_owned(), t.to_owned()));
        text.iter().filter_map(name).collect()
    }

    /// Targets of the older side, of the newer one, and the package that was renamed.
    type Case<'c> = (&'c [&'c str], &'c [&'c str], Option<(&'c str, &'c str)>);

    #[test]
    fn a_package_was_renamed_when_one_came_one_went_and_they_share_a_target() {
        let cases: [Case<'_>; 8] = [
            (&["demo/b"], &["demo-core/b"], Some(("demo", "demo-core"))),
            (&["a/x", "demo/b", "demo/c"], &["a/x", "core/c"], Some(("demo", "core"))),
            (&["demo/b"], &["demo/b"], None),
            (&["demo/b"], &["core/c"], None),
            // Which became which cannot be known.
            (&["demo/b"], &["core/b", "extra/b"], None),
            (&["demo/b", "more/b"], &["core/b"], None),
            // A package that is only new is no renamed one.
            (&["demo/b"], &["demo/b", "core/b"], None),
            (&["demo/b"], &[], None),
        ];
        for (older, newer, wanted) in cases {
            let (old, new) = (names(older), names(newer));
            let found = renamed_package(old.iter(), new.iter());
            let found = found.as_ref().map(|(old, new)| (old.as_str(), new.as_str()));
            assert_eq!(found, wanted, "{older:?} {newer:?}");
        }
    }
}
