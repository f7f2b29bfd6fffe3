//! Chooses what to compare with when the user named nothing, and says why. It
//! must not choose silently: every answer carries its sentence.

use super::{Repository, Revision};
use crate::failure::Failure;
use crate::revisions::error::RevisionError;

impl Repository {
    /// The reference when none was named, and the sentence that explains it:
    /// `HEAD` for a dirty tree, else the merge base with the default branch
    /// when that is another commit, else `HEAD~1`.
    ///
    /// # Errors
    ///
    /// A usage failure when there is no earlier commit to compare with.
    pub fn default_reference(&self) -> Result<(Revision, String), Failure> {
        let head = self.head().ok_or(RevisionError::NoCommit)?;
        if self.working_tree()?.dirty.is_some() {
            let why = "the working tree is dirty: compared with HEAD".to_owned();
            return Ok((self.resolve("HEAD")?, why));
        }
        let branch = self.default_branch();
        if let Some((name, tip)) = &branch
            && let Ok(base) = self.merge_base(name, &head, tip)
            && base != head
        {
            let revision = self.describe(&format!("{name}..."), &base)?;
            return Ok((revision, format!("compared with the merge base with `{name}`")));
        }
        let why = match branch {
            Some((name, _)) => {
                format!("nothing here is ahead of `{name}`: compared with HEAD~1")
            }
            None => "no default branch was found: compared with HEAD~1".to_owned(),
        };
        let is_first = self.describe("HEAD", &head)?.parents.is_empty();
        if is_first && !self.is_shallow() {
            return Err(RevisionError::NothingToCompare.into());
        }
        Ok((self.resolve("HEAD~1")?, why))
    }

    /// The default branch by name and tip: where `origin/HEAD` points, else
    /// `init.defaultBranch`, else `main`, else `master`.
    pub(super) fn default_branch(&self) -> Option<(String, String)> {
        let tip = |full: &str| self.peeled(full);
        let git = self.git();
        if let Ok(target) = git.line(&["symbolic-ref", "-q", "refs/remotes/origin/HEAD"])
            && let Some(commit) = tip(&target)
        {
            let name = target.strip_prefix("refs/remotes/").unwrap_or(&target);
            return Some((name.to_owned(), commit));
        }
        let configured = git.line(&["config", "--get", "init.defaultBranch"]).ok();
        configured.into_iter().chain(["main".to_owned(), "master".to_owned()]).find_map(|name| {
            let remote = format!("origin/{name}");
            tip(&format!("refs/remotes/{remote}"))
                .map(|commit| (remote, commit))
                .or_else(|| tip(&format!("refs/heads/{name}")).map(|commit| (name, commit)))
        })
    }
}
