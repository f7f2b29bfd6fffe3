//! Which target of one revision is which of another, when their package was renamed, and how the ids of a
//! checkout are read as those of the user's tree. It does not know what the benchmarks are.

use std::collections::BTreeSet;
use std::path::Path;

use crate::cargo::Executable;
use crate::checkout::Slot;
use crate::launch::Program;
use crate::one_path;
use crate::suite::program;

/// What stands for the directory of generated packages in ids.
const GENERATED: &str = "<generated>";

/// A target's name: its package and its own.
pub(super) type Name = (String, String);

/// An executable as the launcher wants it. Paths of its checkout in ids read as those of the user's tree at
/// `root`, on every side and in `run` alike.
pub(super) fn located(executable: &Executable, slot: &Slot, root: &Path) -> Program {
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

/// The package that `newer` calls otherwise than `older`, as its old and its new name: exactly one package on
/// each side is missing on the other, and they have a target of the same name.
pub(super) fn renamed_package<'n>(
    older: impl Iterator<Item = &'n Name> + Clone,
    newer: impl Iterator<Item = &'n Name> + Clone,
) -> Option<(String, String)> {
    let packages = |names: &mut dyn Iterator<Item = &'n Name>| -> BTreeSet<&'n str> {
        names.map(|(package, _)| package.as_str()).collect()
    };
    let (old, new) = (packages(&mut older.clone()), packages(&mut newer.clone()));
    let gone: Vec<&str> = old.difference(&new).copied().collect();
    let come: Vec<&str> = new.difference(&old).copied().collect();
    let ([gone], [come]) = (gone.as_slice(), come.as_slice()) else { return None };
    let targets = |names: &mut dyn Iterator<Item = &'n Name>, of: &str| -> BTreeSet<&'n str> {
        names.filter(|(package, _)| package == of).map(|(_, target)| target.as_str()).collect()
    };
    let shared = targets(&mut older.clone(), gone)
        .intersection(&targets(&mut newer.clone(), come))
        .next()
        .is_some();
    shared.then(|| ((*gone).to_owned(), (*come).to_owned()))
}

/// What is to be known of results of a package that was renamed.
pub(super) fn renamed_note(label: &str, old: &str, new: &str) -> String {
    format!("its package `{new}` is called `{old}` at {label}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &[&str]) -> Vec<Name> {
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
