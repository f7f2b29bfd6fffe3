//! Turns a revision that does not resolve into the command that helps. It only
//! looks at names and never fetches.

use super::Repository;
use crate::failure::{Exit, Failure};
use crate::suggest::nearest;

/// The failure for a revision that is not in this clone.
pub(super) fn unknown_revision(repository: &Repository, spec: &str) -> Failure {
    let failure = Failure::new(Exit::Usage, format!("no revision `{spec}` in this repository"));
    let remote = remote(repository);
    if let Some(remote) = &remote
        && is_full_hash(spec)
    {
        let depth = if repository.is_shallow() { "--depth=1 " } else { "" };
        return failure
            .hint(format!("it may not be fetched yet: run `git fetch {depth}{remote} {spec}`"));
    }
    if let Some(remote) = &remote
        && repository.is_shallow()
    {
        return failure.hint(match generations(spec) {
            Some(count) => format!(
                "this clone is shallow; run `git fetch --deepen={count} {remote}` \
                 or `git fetch --unshallow {remote}`"
            ),
            None => format!("this clone is shallow; run `git fetch --unshallow --tags {remote}`"),
        });
    }
    let (base, behind) = spec.split_at(spec.find(['~', '^', '@', ':']).unwrap_or(spec.len()));
    let names = names(repository);
    let named = names.iter().any(|name| name == base) || base == "HEAD";
    if named && generations(spec).is_some() {
        return failure.hint(format!("`{base}` has fewer commits: `git log --oneline` shows them"));
    }
    let known = names.iter().map(String::as_str).chain(["HEAD"]);
    if let Some(name) = nearest(base, known)
        && name != base
    {
        return failure.hint(format!("did you mean `{name}{behind}`?"));
    }
    failure.hint(otherwise(spec, remote.as_deref()))
}

/// What helps where no name is near: a revision is not fetched, or this was meant for benchmarks.
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
    use super::{generations, otherwise};

    #[test]
    fn counts_generations() {
        assert_eq!(generations("HEAD~3"), Some(3));
        assert_eq!(generations("HEAD~"), Some(1));
        assert_eq!(generations("main^^~2"), Some(4));
        assert_eq!(generations("main"), None);
        assert_eq!(generations("HEAD^{/fix}"), None);
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
