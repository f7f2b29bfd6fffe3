//! Which `nbench.toml` decides what a gate rejects: the one of the reference. Whoever proposes a
//! change must not also choose the threshold at which it is rejected. It judges no result.

use std::path::Path;

use nbench_config::{Layer, Settings};
use toml::{Table, Value};

use crate::cli::args::GatePolicy;
use crate::cli::settings::{self, FILE};
use crate::failure::{Exit, Failure};
use crate::revisions::revision::{Repository, Revision};
use crate::term::Term;

/// The key that says where results lie, and nothing of what is called.
const STORE: &str = "store";

/// Revisions of a comparison and the one that judges it.
#[derive(Clone, Copy)]
pub struct Compared<'c> {
    /// The repository.
    pub repository: &'c Repository,
    /// The workspace in the working tree.
    pub root: &'c Path,
    /// The revisions, reference first.
    pub revisions: &'c [Revision],
}

/// Whether an exit code depends on verdicts, so that settings are a policy.
pub fn is_gated(gate: Option<GatePolicy>, require_verdict: bool) -> bool {
    require_verdict || gate.is_some_and(|policy| policy != GatePolicy::Report)
}

/// Settings of a comparison with a gate: those of the reference below flags and environment. Says
/// what the other sides' files would change.
///
/// # Errors
/// For a file of the reference or of the working tree that cannot be used.
pub fn settings(
    term: &mut Term,
    compared: Compared<'_>,
    flags: Layer,
) -> Result<Settings, Failure> {
    let Compared { repository, root, revisions } = compared;
    let [reference, contenders @ ..] = revisions else {
        return Err(Failure::new(Exit::Usage, "a gate needs a reference"));
    };
    // A workspace outside the repository has no file in any revision.
    let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let place = canonical(root);
    let place = place.strip_prefix(canonical(repository.root())).ok().map(|p| p.join(FILE));
    let at = |revision: &Revision| match &place {
        Some(path) => repository.file_at(revision, path),
        None => Ok(None),
    };
    let deciding = at(reference)?;
    let origin = format!("{FILE} of {}", reference.label);
    let decided = settings::layer(deciding.as_deref().unwrap_or_default(), &origin)?;
    let here = settings::file(root)?;
    let own = settings::layer(here.as_deref().unwrap_or_default(), FILE)?;
    let table = deciding.as_deref().map(parsed).unwrap_or_default();
    let mut others: Vec<(String, Option<String>)> = Vec::new();
    for contender in contenders {
        others.push((format!("that of `{}`", contender.label), at(contender)?));
    }
    others.push(("that of the working tree".to_owned(), here));
    let mut changed: Vec<String> = Vec::new();
    for (whose, text) in others {
        let changes = changes(&table, &text.as_deref().map(parsed).unwrap_or_default());
        if !changes.is_empty() && !changed.iter().any(|known| known.ends_with(&changes)) {
            changed.push(format!("{whose} would change {changes}"));
        }
    }
    if !changed.is_empty() {
        let file = match deciding {
            Some(_) => format!("`{FILE}` of the reference `{}` decides", reference.label),
            None => {
                format!("the reference `{}` has no `{FILE}`, so defaults decide", reference.label)
            }
        };
        term.warn(&format!("with a gate {file}: {}", changed.join("; ")));
    }
    settings::merged(flags, Layer { store: own.store, ..decided })
}

/// A file as a table; one that is no TOML differs in everything, which its own build would tell.
fn parsed(text: &str) -> Table {
    text.parse()
        .unwrap_or_else(|_| Table::from_iter([("(not TOML)".to_owned(), Value::Array(Vec::new()))]))
}

/// The keys in which two files differ, with the other one's value where it is a number or a switch.
fn changes(decided: &Table, other: &Table) -> String {
    let mut keys: Vec<&String> = decided.keys().chain(other.keys()).collect();
    keys.sort();
    keys.dedup();
    let differing =
        keys.into_iter().filter(|key| *key != STORE && decided.get(*key) != other.get(*key));
    let shown = differing.map(|key| {
        // Names and texts are written by others.
        let name: String = key.chars().flat_map(char::escape_default).collect();
        match other.get(key) {
            Some(value @ (Value::Float(_) | Value::Integer(_) | Value::Boolean(_))) => {
                format!("`{name}` to {value}")
            }
            Some(_) => format!("`{name}`"),
            None => format!("`{name}` to its default"),
        }
    });
    shown.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::{changes, is_gated, parsed};
    use crate::cli::args::GatePolicy;

    #[test]
    fn only_what_can_reject_is_a_gate() {
        assert!(is_gated(Some(GatePolicy::Slower), false));
        assert!(is_gated(Some(GatePolicy::Closed), false));
        assert!(is_gated(None, true) && is_gated(Some(GatePolicy::Report), true));
        assert!(!is_gated(None, false) && !is_gated(Some(GatePolicy::Report), false));
    }

    #[test]
    fn what_differs_is_named_and_the_place_of_the_store_does_not_count() {
        let table = [
            ("", "", ""),
            ("threshold = 0.01", "threshold = 0.01\nstore = \"x\"", ""),
            ("", "threshold = 0.5", "`threshold` to 0.5"),
            ("threshold = 0.01", "", "`threshold` to its default"),
            ("", "control_discovery = false\nlooks = [2]", "`control_discovery` to false, `looks`"),
            (
                "[[benchmark]]\nmatch = \"a\"\nthreshold = 0.1",
                "[[benchmark]]\nmatch = \"a\"\nthreshold = 0.2",
                "`benchmark`",
            ),
            ("", "[aliases]\na = \"b\"", "`aliases`"),
            ("", "preset = \"\\u001b[2J\"", "`preset`"),
            ("", "= nonsense", "`(not TOML)`"),
        ];
        for (decided, other, expected) in table {
            assert_eq!(changes(&parsed(decided), &parsed(other)), expected, "{other}");
        }
    }
}
