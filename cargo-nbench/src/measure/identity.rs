//! By which id a benchmark goes, whatever its process calls it: an id may hold the path of a
//! checkout, a time, a random number or an address, or may have been renamed. It starts nothing and
//! matches no sides.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How the ids of one program are read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Naming {
    /// Text of places that only this side has, with what stands for it.
    places: Vec<(String, String)>,
    /// Ids of which a part changes from process to process.
    pub varying: Vec<Pattern>,
    /// Ids that benchmarks go by now, by the ids they had.
    pub renamed: BTreeMap<String, String>,
}

impl Naming {
    /// Lets `to` stand for the place `from`.
    pub fn place(&mut self, from: &str, to: &str) {
        if from.len() > 1 && from != to && !self.places.iter().any(|(known, _)| known == from) {
            self.places.push((from.to_owned(), to.to_owned()));
            // A place within another one goes first.
            self.places.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        }
    }

    /// The id that a benchmark of this program goes by.
    pub fn current(&self, id: &str) -> String {
        let id = self.without_places(id);
        let id = match self.varying.iter().find(|pattern| pattern.matches(&id)) {
            Some(pattern) => pattern.to_string(),
            None => id,
        };
        self.renamed.get(&id).cloned().unwrap_or(id)
    }

    /// `text` with what stands for places, where a whole path component ends.
    pub fn without_places(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (from, to) in &self.places {
            if text.contains(from.as_str()) {
                text = replace_place(&text, from, to);
            }
        }
        text
    }
}

fn replace_place(text: &str, from: &str, to: &str) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let end = at + from.len();
        let goes_on = rest[end..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        made.push_str(&rest[..at]);
        made.push_str(if goes_on { from } else { to });
        rest = &rest[end..];
    }
    made + rest
}

/// An id of which some words change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Changing,
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Text(text) => f.write_str(text),
            Piece::Changing => f.write_str("*"),
        })
    }
}

impl Pattern {
    fn of(id: &str) -> Pattern {
        Pattern(words(id).into_iter().map(|word| Piece::Text(word.to_owned())).collect())
    }

    /// The pattern that covers this one and `id`; nothing when they differ in more than numbers.
    fn widened(&self, id: &str) -> Option<Pattern> {
        let words = words(id);
        if words.len() != self.0.len() {
            return None;
        }
        let piece = |(piece, word): (&Piece, &str)| match piece {
            Piece::Text(text) if text == word => Some(piece.clone()),
            Piece::Text(text) if !(is_number(text) && is_number(word)) => None,
            Piece::Changing if !is_number(word) => None,
            _ => Some(Piece::Changing),
        };
        self.0.iter().zip(words).map(piece).collect::<Option<_>>().map(Pattern)
    }

    fn changes(&self) -> bool {
        self.0.contains(&Piece::Changing)
    }

    /// Whether `id` differs from this pattern in nothing but what changes.
    pub fn matches(&self, id: &str) -> bool {
        self.changes() && self.widened(id).as_ref() == Some(self)
    }
}

/// Note on a benchmark that goes by a pattern.
pub fn note(pattern: &Pattern) -> String {
    format!("its id changes from process to process: `{pattern}` stands for all")
}

/// Runs of letters and digits, and what stands between them.
fn words(id: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = id;
    while let Some(first) = rest.chars().next() {
        let kind = first.is_alphanumeric();
        let end = rest.find(|c: char| c.is_alphanumeric() != kind).unwrap_or(rest.len());
        words.push(&rest[..end]);
        rest = &rest[end..];
    }
    words
}

/// Whether a word can be a number, a digest, an address or a random name.
fn is_number(word: &str) -> bool {
    let hexadecimal = word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    word.bytes().any(|byte| byte.is_ascii_digit()) || hexadecimal
}

/// Pattern that several processes of the same suite have in common.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Common {
    /// Ids that change, where it is sure which is which.
    pub varying: Vec<Pattern>,
    /// Ids that came and went, without a counterpart that is sure.
    pub lost: BTreeSet<String>,
}

/// Compares what processes of the same suite offered, `sides[side][process]` being ids in order.
///
/// An id that every process of its side offers stays as it is. The others are paired by their
/// places: every process must have the same number of them, and each must differ from the one in
/// the same place in numbers only. Where two of them could then be taken for each other, it is not
/// sure and none is paired: a process that offers `size-3` and `size-7` and one that offers
/// `size-4` and `size-9` measure different things.
pub fn common(sides: &[Vec<Vec<String>>]) -> Common {
    let mut left: Vec<Vec<&String>> = Vec::new();
    let mut kept: BTreeSet<&String> = BTreeSet::new();
    for processes in sides {
        let every = |id: &&String| processes.iter().all(|process| process.contains(id));
        kept.extend(processes.iter().flatten().filter(every));
        let own: Vec<Vec<&String>> = processes
            .iter()
            .map(|process| process.iter().filter(|id| !every(id)).collect())
            .collect();
        // A side may be older than what changes.
        if own.iter().any(|ids| !ids.is_empty()) {
            left.extend(own);
        }
    }
    if left.is_empty() {
        return Common::default();
    }
    match paired(&left) {
        Some(varying) if kept.iter().all(|id| !varying.iter().any(|p| p.matches(id))) => {
            Common { varying, lost: BTreeSet::new() }
        }
        _ => Common { varying: Vec::new(), lost: left.into_iter().flatten().cloned().collect() },
    }
}

fn paired(processes: &[Vec<&String>]) -> Option<Vec<Pattern>> {
    let (first, others) = processes.split_first()?;
    let mut patterns: Vec<Pattern> = first.iter().map(|id| Pattern::of(id)).collect();
    for process in others {
        if process.len() != patterns.len() {
            return None;
        }
        let widened = patterns.iter().zip(process.iter()).map(|(p, id)| p.widened(id));
        patterns = widened.collect::<Option<_>>()?;
    }
    let distinct: BTreeSet<String> = patterns.iter().map(Pattern::to_string).collect();
    (distinct.len() == patterns.len()).then_some(patterns)
}

/// Whether ids that only one of two sides has may be the same ones at another time: as many on
/// both, and each like the one in its place but for numbers.
pub fn may_be_equal(one: &[String], other: &[String]) -> bool {
    let lacking = |a: &[String], b: &[String]| -> Vec<String> {
        a.iter().filter(|id| !b.contains(id)).cloned().collect()
    };
    let (ours, theirs) = (lacking(one, other), lacking(other, one));
    !ours.is_empty()
        && ours.len() == theirs.len()
        && ours.iter().zip(&theirs).all(|(a, b)| Pattern::of(a).widened(b).is_some())
}

/// Name of a benchmark that was listed as `id` in a process that offered `seen` where `listed` was
/// expected; nothing where that is not sure.
pub fn later(id: &str, listed: &[String], seen: &[String]) -> Option<Pattern> {
    let sides = [vec![listed.to_vec(), seen.to_vec()]];
    common(&sides).varying.into_iter().find(|pattern| pattern.matches(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str) -> Vec<String> {
        text.split_terminator('|').map(str::to_owned).collect()
    }

    /// Patterns of processes of one side, joined; `lost: ..` where it is not sure.
    fn found(processes: &[&str]) -> String {
        let common = common(&[processes.iter().map(|p| ids(p)).collect()]);
        if common.lost.is_empty() {
            common.varying.iter().map(Pattern::to_string).collect::<Vec<_>>().join("|")
        } else {
            format!("lost: {}", common.lost.into_iter().collect::<Vec<_>>().join("|"))
        }
    }

    #[test]
    fn ids_that_change_are_paired_by_place_where_that_is_sure() {
        let cases: [(&[&str], &str); 12] = [
            (&["a|b", "a|b"], ""),
            (&["a|b|c", "c|a|b"], ""),
            (&["case-1|case-2", "case-2|case-1"], ""),
            (&["a|t 100", "a|t 101"], "t *"),
            (&["t 100|a", "t 101|a", "t 102|a"], "t *"),
            (&["x at 0x7f3a|y at 0x81aa", "x at 0x7f44|y at 0x91bb"], "x at *|y at *"),
            (&["0 t 5|1 t 5", "0 t 6|1 t 6"], "0 t *|1 t *"),
            (&["2026-12-01 02:41:07|z", "2026-12-01 02:41:09|z"], "2026-12-01 02:41:*"),
            (&["sum/deadbeef01", "sum/cafe00aa"], "sum/*"),
            // Which of them is which cannot be known.
            (&["size-3|size-7", "size-4|size-9"], "lost: size-3|size-4|size-7|size-9"),
            // Nor whether these are the same.
            (&["a|red", "a|green"], "lost: green|red"),
            (&["a|t 1|t 2", "a|t 1"], "lost: t 2"),
        ];
        for (processes, wanted) in cases {
            assert_eq!(found(processes), wanted, "{processes:?}");
        }
    }

    #[test]
    fn what_is_stable_on_one_side_is_not_mixed_up_with_what_changes() {
        let side = |processes: &[&str]| processes.iter().map(|p| ids(p)).collect::<Vec<_>>();
        let both = common(&[side(&["old/1|t 5", "old/1|t 6"]), side(&["new/1|t 7", "new/1|t 8"])]);
        assert_eq!(both.varying.iter().map(Pattern::to_string).collect::<Vec<_>>(), ["t *"]);
        // A stable id that looks like a changing one makes it unsure.
        let both = common(&[side(&["t 5", "t 6"]), side(&["t 1", "t 1"])]);
        assert!(both.varying.is_empty() && both.lost.len() == 2, "{both:?}");
    }

    #[test]
    fn ids_of_another_time_are_seen_to_be_alike() {
        assert!(may_be_equal(&ids("a|t 100"), &ids("a|t 101")));
        assert!(!may_be_equal(&ids("a|b"), &ids("a|b")));
        assert!(!may_be_equal(&ids("a|t 100"), &ids("a|u 100")));
        assert!(!may_be_equal(&ids("a|t 100"), &ids("a")));
        let pattern = later("t 100", &ids("a|t 100"), &ids("a|t 103")).unwrap();
        assert_eq!(pattern.to_string(), "t *");
        assert_eq!(later("a", &ids("a|t 100"), &ids("t 103")), None);
    }

    #[test]
    fn a_pattern_matches_numbers_only() {
        let pattern = Pattern::of("t 1/x").widened("t 2/x").unwrap();
        for (id, fits) in
            [("t 9/x", true), ("t abc/x", false), ("t 9/y", false), ("t 9/x/1", false)]
        {
            assert_eq!(pattern.matches(id), fits, "{id}");
        }
        assert!(!Pattern::of("t").matches("t"), "nothing changes in it");
    }

    #[test]
    fn places_of_a_side_are_read_as_those_of_the_user() {
        let mut naming = Naming::default();
        naming.place("/cache/slot-1/tree", "/home/ada/repo");
        naming.place("/cache/slot-1", "/slot");
        naming.place("/", "nothing");
        let cases = [
            ("/cache/slot-1/tree/data/in1.txt", "/home/ada/repo/data/in1.txt"),
            ("load \"/cache/slot-1/tree\"", "load \"/home/ada/repo\""),
            ("/cache/slot-1/tree2/x", "/slot/tree2/x"),
            ("/cache/slot-12/x", "/cache/slot-12/x"),
            ("a/b", "a/b"),
        ];
        for (id, wanted) in cases {
            assert_eq!(naming.current(id), wanted);
        }
        naming.renamed.insert("/home/ada/repo/old".to_owned(), "new".to_owned());
        assert_eq!(naming.current("/cache/slot-1/tree/old"), "new");
    }
}
