//! Reads commits through libgit2, without starting a program for each. It knows objects by their
//! hashes and nothing of names; where it cannot read a repository, the git program does.

use std::path::Path;

/// The repository as libgit2 sees it; nothing where it does not know the format, or is refused.
pub(super) struct Library(Option<git2::Repository>);

impl Library {
    /// Opens the git directory of a working tree, whose repository's is `common`.
    pub(super) fn open(git_dir: &Path, common: &Path) -> Self {
        // It reads objects as they are, and git what was put in their place.
        if ["refs/replace", "info/grafts"].iter().any(|place| common.join(place).exists()) {
            return Self(None);
        }
        let flags = git2::RepositoryOpenFlags::NO_SEARCH | git2::RepositoryOpenFlags::NO_DOTGIT;
        let nowhere: [&std::ffi::OsStr; 0] = [];
        Self(git2::Repository::open_ext(git_dir, flags, nowhere).ok())
    }

    /// The bytes of a commit by its full hash, or nothing when the git program must be asked.
    pub(super) fn commit(&self, hash: &str) -> Option<Vec<u8>> {
        let odb = self.0.as_ref()?.odb().ok()?;
        let object = odb.read(git2::Oid::from_str(hash).ok()?).ok()?;
        (object.kind() == git2::ObjectType::Commit).then(|| object.data().to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::Library;
    use crate::revisions::revision::tests::Fixture;

    #[test]
    fn commits_are_read_and_nothing_else_is_taken_for_one() {
        let fixture = Fixture::new();
        fixture.commit("First");
        let repository = fixture.repository();
        let head = repository.head().unwrap();
        let library = Library::open(&repository.git_dir, &repository.common);
        let raw = repository.git().run(&["cat-file", "commit", &head]).unwrap();
        assert_eq!(library.commit(&head), Some(raw));
        let tree = repository.describe("HEAD", &head).unwrap().tree;
        assert_eq!(library.commit(&tree), None);
        assert_eq!(library.commit("no hash"), None);
        // What it cannot open is left to the program.
        let elsewhere = std::path::Path::new("/no/such/directory");
        let elsewhere = Library::open(elsewhere, elsewhere);
        assert_eq!(elsewhere.commit(&head), None);
        assert_eq!(repository.describe("HEAD", &head).unwrap().commit, head);
        // And so is what was replaced.
        fixture.write("other", "");
        let other = fixture.commit("Other");
        fixture.git(&["replace", &head, &other]);
        let library = Library::open(&repository.git_dir, &repository.common);
        assert_eq!(library.commit(&head), None);
    }
}
