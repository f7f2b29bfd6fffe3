//! Turns a revision that does not resolve into the command that helps. It only
//! looks at names and never fetches.

use super::Repository;
use crate::revisions::error::RevisionError;
use crate::suggest::nearest;

/// The error for a revision that is not in this clone; `whole` is the text that it stands in.
pub(super) fn unknown_revision(repository: &Repository, spec: &str, whole: &str) -> RevisionError {
    RevisionError::Unknown { spec: spec.to_owned(), hint: hint(repository, spec, whole) }
}

/// Hint on what may have been meant, or on where it may be had.
fn hint(repository: &Repository, spec: &str, whole: &str) -> String {
    let remote = remote(repository);
    if let Some(remote) = &remote
        && is_full_hash(spec)
    {
        let depth = if repository.is_shallow() { "--depth=1 " } else { "" };
        return format!("it may not be fetched yet: run `git fetch {depth}{remote} {spec}`");
    }
    if let Some(remote) = &remote
        && repository.is_shallow()
    {
        return match generations(spec) {
            Some(count) => format!(
                "this clone is shallow; run `git fetch --deepen={count} {remote}` \
                 or `git fetch --unshallow {remote}`"
            ),
            None => format!("this clone is shallow; run `git fetch --unshallow --tags {remote}`"),
        };
    }
    let (base, behind) = spec.split_at(spec.find(['~', '^', '@', ':']).unwrap_or(spec.len()));
    let names = names(repository);
    let named = names.iter().any(|name| name == base) || base == "HEAD";
    if named && generations(spec).is_some() {
        return format!("`{base}` has fewer commits: `git log --oneline` shows them");
    }
    let known = names.iter().map(String::as_str).chain(["HEAD"]);
    if let Some(name) = nearest(base, known)
        && name != base
    {
        return meant(spec, &format!("{name}{behind}"), whole);
    }
    let default = repository.default_branch().map(|(name, _)| name);
    if let Some(name) = default_for(base, default.as_deref(), &names) {
        return meant(spec, &format!("{name}{behind}"), whole);
    }
    otherwise(spec, remote.as_deref())
}

/// The text that was meant, with `name` in the place of `spec`.
fn meant(spec: &str, name: &str, whole: &str) -> String {
    format!("did you mean `{}`?", whole.replacen(spec, name, 1))
}

/// The branch that somebody means who names the default branch as other repositories call it: the
/// default branch of this one, or its only one.
fn default_for(base: &str, default: Option<&str>, names: &[String]) -> Option<String> {
    const USUAL: [&str; 4] = ["main", "master", "trunk", "develop"];
    let last = base.rsplit('/').next().unwrap_or(base);
    let is_default = USUAL.contains(&last) || nearest(last, USUAL).is_some();
    let only = || match names {
        [only] => Some(only.as_str()),
        _ => None,
    };
    default.or_else(only).filter(|name| is_default && *name != base).map(str::to_owned)
}

/// Hint where no name is near: a revision is not fetched, or this was meant for benchmarks.
fn otherwise(spec: &str, remote: Option<&str>) -> String {
    let select = format!("to select benchmarks: `--filter {spec}`");
    // A hash is no part of a benchmark's id, and `main~3` neither.
    let is_revision = spec.contains(['~', '^', '@', ':'])
        || (spec.len() >= 7 && spec.bytes().all(|byte| byte.is_ascii_hexdigit()));
    match (remote, is_revision) {
        (Some(remote), true) => {
            format!("it may not be fetched yet: run `git fetch --tags {remote}`")
        }
        (Some(remote), false) => {
            format!("if it is not fetched yet: `git fetch --tags {remote}`; {select}")
        }
        (None, true) => "`git log --oneline --all` shows what there is".to_owned(),
        (None, false) => format!("`{spec}` is neither branch, tag nor commit; {select}"),
    }
}

/// The remote to fetch from: `origin`, else the first one.
pub(super) fn remote(repository: &Repository) -> Option<String> {
    let remotes = repository.git().line(&["remote"]).unwrap_or_default();
    let names: Vec<&str> = remotes.lines().collect();
    let chosen = names.iter().find(|name| **name == "origin").or(names.first());
    chosen.map(|name| (*name).to_owned())
}

fn is_full_hash(spec: &str) -> bool {
    matches!(spec.len(), 40 | 64) && spec.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// How many generations back `HEAD~3` or `main^` asks for.
fn generations(spec: &str) -> Option<u64> {
    let at = spec.find(['~', '^'])?;
    let mut count = 0_u64;
    let mut rest = spec.get(at..)?;
    while let Some(step) = rest.chars().next() {
        rest = rest.get(1..)?;
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number = rest.get(..digits)?;
        rest = rest.get(digits..)?;
        count = count.saturating_add(match step {
            '~' if number.is_empty() => 1,
            '~' => number.parse().ok()?,
            '^' => 1,
            _ => return None,
        });
    }
    Some(count)
}

fn names(repository: &Repository) -> Vec<String> {
    let format = "--format=%(refname:lstrip=2)";
    let names = repository.git().line(&["for-each-ref", format]).unwrap_or_default();
    names.lines().filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::{default_for, generations, meant, otherwise};

    #[test]
    fn counts_generations() {
        assert_eq!(generations("HEAD~3"), Some(3));
        assert_eq!(generations("HEAD~"), Some(1));
        assert_eq!(generations("main^^~2"), Some(4));
        assert_eq!(generations("main"), None);
        assert_eq!(generations("HEAD^{/fix}"), None);
    }

    #[test]
    fn the_default_branch_of_other_repositories_is_that_of_this_one() {
        let one = |name: &str| vec![name.to_owned()];
        let table = [
            ("main", Some("master"), one("master"), Some("master")),
            ("master", Some("origin/main"), one("main"), Some("origin/main")),
            ("mian", Some("master"), one("master"), Some("master")),
            ("main", None, one("stable"), Some("stable")),
            ("main", None, vec!["a".to_owned(), "b".to_owned()], None),
            ("parse", Some("master"), one("master"), None),
        ];
        for (base, default, names, wanted) in table {
            assert_eq!(default_for(base, default, &names).as_deref(), wanted, "{base}");
        }
        assert_eq!(meant("main", "master", "main..."), "did you mean `master...`?");
        assert_eq!(meant("mian~2", "main~2", "v1...mian~2"), "did you mean `v1...main~2`?");
    }

    #[test]
    fn what_helps_depends_on_the_remote_and_on_what_it_looks_like() {
        let table = [
            ("parse", None, "to select benchmarks: `--filter parse`"),
            ("words/count", None, "neither branch, tag nor commit"),
            ("parse", Some("upstream"), "`git fetch --tags upstream`; to select benchmarks"),
            ("main~3", Some("origin"), "it may not be fetched yet: run `git fetch --tags origin`"),
            ("deadbeef", Some("origin"), "it may not be fetched yet"),
            ("deadbeef", None, "`git log --oneline --all`"),
        ];
        for (spec, remote, hint) in table {
            let got = otherwise(spec, remote);
            assert!(got.contains(hint), "{spec} {remote:?}: {got}");
            assert_eq!(got.contains("fetch"), remote.is_some(), "{spec}: {got}");
        }
    }
}
