//! Turns a revision that does not resolve into the command that helps. It only
//! looks at names and never fetches.

use super::Repository;
use crate::failure::{Exit, Failure};

/// The failure for a revision that is not in this clone.
pub(super) fn unknown_revision(repository: &Repository, spec: &str) -> Failure {
    let failure = Failure::new(Exit::Usage, format!("no revision `{spec}` in this repository"));
    let remote = remote(repository);
    if is_full_hash(spec) {
        let depth = if repository.is_shallow() { "--depth=1 " } else { "" };
        return failure
            .hint(format!("it may not be fetched yet: run `git fetch {depth}{remote} {spec}`"));
    }
    if repository.is_shallow() {
        return failure.hint(match generations(spec) {
            Some(count) => format!(
                "this clone is shallow; run `git fetch --deepen={count} {remote}` \
                 or `git fetch --unshallow {remote}`"
            ),
            None => format!("this clone is shallow; run `git fetch --unshallow --tags {remote}`"),
        });
    }
    if let Some(name) = nearest(spec, &names(repository)) {
        return failure.hint(format!("did you mean `{name}`?"));
    }
    failure.hint(format!("it may not be fetched yet: run `git fetch --tags {remote}`"))
}

/// The remote to fetch from: `origin`, else the first one, else `origin`.
pub(super) fn remote(repository: &Repository) -> String {
    let remotes = repository.git().line(&["remote"]).unwrap_or_default();
    let names: Vec<&str> = remotes.lines().collect();
    let chosen = names.iter().find(|name| **name == "origin").or(names.first());
    chosen.map_or_else(|| "origin".to_owned(), |name| (*name).to_owned())
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

/// The name with the fewest edits to `spec`, if it is close: at most two
/// edits, and fewer than half of its letters.
fn nearest(spec: &str, names: &[String]) -> Option<String> {
    let scored = names.iter().map(|name| {
        // `main` should suggest `origin/main` when there is no local branch.
        let short = name.rsplit('/').next().unwrap_or(name);
        (edits(spec, name).min(edits(spec, short)), name)
    });
    let (distance, name) = scored.min_by_key(|(distance, name)| (*distance, name.len()))?;
    (distance <= 2 && distance * 2 < spec.chars().count()).then(|| name.clone())
}

/// Levenshtein distance in characters.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, y) in row.iter_mut().skip(1).zip(&b) {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = *cell;
            left = replaced.min(left + 1).min(diagonal + 1);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{edits, generations, nearest};

    #[test]
    fn counts_generations() {
        assert_eq!(generations("HEAD~3"), Some(3));
        assert_eq!(generations("HEAD~"), Some(1));
        assert_eq!(generations("main^^~2"), Some(4));
        assert_eq!(generations("main"), None);
        assert_eq!(generations("HEAD^{/fix}"), None);
    }

    #[test]
    fn distances_worked_by_hand() {
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("same", "same"), 0);
    }

    #[test]
    fn suggests_only_what_is_close() {
        let names = ["v1.0.0".to_owned(), "origin/main".to_owned(), "feature".to_owned()];
        assert_eq!(nearest("v1.0.1", &names).as_deref(), Some("v1.0.0"));
        assert_eq!(nearest("mian", &names), None);
        assert_eq!(nearest("maim", &names).as_deref(), Some("origin/main"));
        assert_eq!(nearest("unrelated", &names), None);
    }
}
