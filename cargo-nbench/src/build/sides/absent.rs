//! Turns cargo's complaint about a manifest that a checkout lacks into the reason: it lies outside
//! the repository, or git does not carry it. It only reads messages and looks at paths.

use std::path::{Component, Path, PathBuf};

use crate::failure::{Cause, Failure};

/// `failure` with the reason, when it is about a manifest missing from the checkout `tree` of the
/// repository at `root`.
pub(super) fn explain(failure: Failure, root: &Path, tree: &Path) -> Failure {
    let Some(manifest) = unread_manifest(&failure.error) else { return failure };
    let directory = manifest.parent().unwrap_or(&manifest);
    let (shown, hint) = if let Ok(inside) = directory.strip_prefix(tree) {
        if !root.join(inside).join("Cargo.toml").is_file() {
            return failure;
        }
        let hint = "git ignores it, or it is a repository of its own: commit it, make it a \
                    submodule, or name it in `share` of nbench.toml";
        (inside.to_owned(), hint)
    } else if let Some(outside) = from_above(directory, tree)
        // It is there for the user, at the same place seen from the repository.
        && root.join(&outside).join("Cargo.toml").is_file()
    {
        (
            outside,
            "give the dependency an absolute path or a `git` source, or move it into the repository",
        )
    } else {
        return failure;
    };
    let error = format!(
        "the workspace needs the package in `{}`, which a checkout of the repository does not have",
        shown.display()
    );
    Failure::new(failure.exit, error).hint(hint).because(Cause::MissingFromCheckout)
}

/// Whether the hint of this failure is to be kept.
pub(super) fn is_explained(failure: &Failure) -> bool {
    failure.cause == Cause::MissingFromCheckout
}

/// The manifest that cargo says it failed to read.
fn unread_manifest(message: &str) -> Option<PathBuf> {
    let (_, rest) = message.split_once("failed to read `")?;
    let (path, _) = rest.split_once('`')?;
    let path = Path::new(path);
    (path.is_absolute() && path.ends_with("Cargo.toml")).then(|| path.to_owned())
}

/// `directory` as `../x` seen from `tree`, when `x` lies in one of the directories that hold
/// `tree`. Absolute dependencies share at most the root with a checkout, and are not meant.
fn from_above(directory: &Path, tree: &Path) -> Option<PathBuf> {
    let mut up = PathBuf::new();
    for ancestor in tree.ancestors().skip(1) {
        up.push(Component::ParentDir);
        ancestor.parent()?;
        if let Ok(rest) = directory.strip_prefix(ancestor) {
            return Some(up.join(rest));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;

    fn complaint(path: &Path) -> Failure {
        let text = format!(
            "`cargo metadata` failed: error: failed to load source\n  failed to read `{}`\n  No such file",
            path.display()
        );
        Failure::new(Exit::Build, text)
    }

    #[test]
    fn a_dependency_outside_the_repository_is_named_from_it() {
        let directory = tempfile::tempdir().unwrap();
        let user = directory.path().join("user/team");
        for dependency in ["user/team/dep", "user/far/dep"] {
            let dependency = directory.path().join(dependency);
            std::fs::create_dir_all(&dependency).unwrap();
            std::fs::write(dependency.join("Cargo.toml"), "").unwrap();
        }
        let root = user.join("project");
        std::fs::create_dir(&root).unwrap();
        let tree = Path::new("/cache/0/slot-00/tree");
        let explained = |path: &str| explain(complaint(Path::new(path)), &root, tree);
        for (path, shown) in [
            ("/cache/0/slot-00/dep/Cargo.toml", "`../dep`"),
            ("/cache/0/far/dep/Cargo.toml", "`../../far/dep`"),
        ] {
            let failure = explained(path);
            assert!(is_explained(&failure) && failure.error.contains(shown), "{}", failure.error);
            assert!(failure.hint.is_some_and(|hint| hint.contains("absolute")));
        }
        for path in ["/cache/0/slot-00/gone/Cargo.toml", "/opt/dep/Cargo.toml"] {
            assert!(!is_explained(&explained(path)), "{path}");
        }
    }

    #[test]
    fn what_git_does_not_carry_is_told_from_what_is_nowhere() {
        let directory = tempfile::tempdir().unwrap();
        let (root, tree) = (directory.path().join("root"), directory.path().join("tree"));
        std::fs::create_dir_all(root.join("inner")).unwrap();
        std::fs::write(root.join("inner/Cargo.toml"), "").unwrap();
        let failure = explain(complaint(&tree.join("inner/Cargo.toml")), &root, &tree);
        assert!(is_explained(&failure) && failure.error.contains("`inner`"), "{}", failure.error);
        let nowhere = explain(complaint(&tree.join("gone/Cargo.toml")), &root, &tree);
        assert!(!is_explained(&nowhere));
        assert!(!is_explained(&explain(Failure::new(Exit::Build, "other"), &root, &tree)));
    }
}
