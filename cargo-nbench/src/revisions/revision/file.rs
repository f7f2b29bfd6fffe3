//! Reads one file as a revision has it, without a checkout. It does not know what is in it.

use std::path::{Component, Path, PathBuf};

use super::{Repository, Revision};
use crate::failure::Failure;
use crate::revisions::error::RevisionError;

/// Most links that lead from one to the next.
const MOST_LINKS: usize = 8;

impl Repository {
    /// The text of the file at `path` below the repository's root, or `None` where the revision has
    /// none. A symbolic link is followed within the revision.
    ///
    /// # Errors
    ///
    /// A usage failure when git cannot read it, or when it is no text file.
    pub(crate) fn file_at(
        &self,
        revision: &Revision,
        path: &Path,
    ) -> Result<Option<String>, Failure> {
        let unusable = |why| -> Failure {
            let label = revision.label.clone();
            RevisionError::UnusableFile { path: path.to_owned(), label, why }.into()
        };
        let git = self.git_for_content()?;
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            let listed = git.run(&[
                "ls-tree".as_ref(),
                "-z".as_ref(),
                "--full-tree".as_ref(),
                revision.tree.as_ref(),
                "--".as_ref(),
                path.as_os_str(),
            ])?;
            let listed = String::from_utf8_lossy(&listed);
            // `MODE TYPE OBJECT\tPATH`
            let about = listed.split('\t').next().unwrap_or_default();
            let [mode, "blob", object] = about.split(' ').collect::<Vec<_>>()[..] else {
                return if listed.is_empty() { Ok(None) } else { Err(unusable("it is no file")) };
            };
            let text = git.run(&["cat-file", "blob", object])?;
            let text = String::from_utf8(text).map_err(|_| unusable("it is not UTF-8 text"))?;
            if mode != "120000" {
                return Ok(Some(text));
            }
            path = beside(&path, Path::new(&text))
                .ok_or_else(|| unusable("its link leaves the repository"))?;
        }
        Err(unusable("its links do not end"))
    }
}

/// Where a link in place of `path` leads, below the repository's root.
fn beside(path: &Path, link: &Path) -> Option<PathBuf> {
    let mut place = path.parent()?.to_owned();
    for component in link.components() {
        match component {
            Component::Normal(name) => place.push(name),
            Component::CurDir => {}
            Component::ParentDir if place.pop() => {}
            _ => return None,
        }
    }
    Some(place)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::beside;
    use crate::revisions::revision::tests::Fixture;

    #[test]
    fn links_stay_within_the_repository() {
        let lead = |path: &str, link: &str| beside(Path::new(path), Path::new(link));
        assert_eq!(lead("a/b.toml", "./c.toml").unwrap(), Path::new("a/c.toml"));
        assert_eq!(lead("a/b.toml", "../c.toml").unwrap(), Path::new("c.toml"));
        assert_eq!(lead("b.toml", "../c.toml"), None);
        assert_eq!(lead("b.toml", "/etc/passwd"), None);
    }

    #[test]
    fn a_file_is_read_as_each_revision_has_it() {
        let fixture = Fixture::new();
        fixture.write("deep/nbench.toml", "threshold = 0.1");
        fixture.commit("settings");
        fixture.write("deep/nbench.toml", "threshold = 0.2");
        std::os::unix::fs::symlink("deep/nbench.toml", fixture.path().join("link.toml")).unwrap();
        let repository = fixture.repository();
        let (head, tree) =
            (repository.resolve("HEAD").unwrap(), repository.working_tree().unwrap());
        let read = |revision, path: &str| repository.file_at(revision, Path::new(path)).unwrap();
        assert_eq!(read(&head, "deep/nbench.toml").as_deref(), Some("threshold = 0.1"));
        assert_eq!(read(&tree, "deep/nbench.toml").as_deref(), Some("threshold = 0.2"));
        assert_eq!(read(&tree, "link.toml").as_deref(), Some("threshold = 0.2"));
        assert_eq!(read(&head, "link.toml"), None);
        assert!(repository.file_at(&head, Path::new("deep")).is_err());
    }
}
