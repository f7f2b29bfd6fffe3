//! When `ab` names `--overlay-benches`: where the newest revision has benchmarks that an older one
//! lacks, as most changes made for speed do. It must not know how they are laid over.

use std::collections::BTreeSet;

use nbench::wire::Offer;
use nbench_templates::lines::Line;

use crate::build::cargo::BuildOptions;
use crate::measure::filter::Filter;
use crate::measure::schedule::Listing;
use crate::measure::suite::Listed;
use crate::revisions::revision::Revision;

/// Whether the flag can be taken along with the others, and whose benchmarks it takes.
#[derive(Clone, Copy)]
pub struct OverlayOffer<'a> {
    /// Whether it was given.
    pub is_given: bool,
    /// The user's flags.
    pub options: &'a BuildOptions,
    /// The revision that has the benchmarks.
    pub last: &'a Revision,
}

impl OverlayOffer<'_> {
    /// Effect of the flag, unless it was given or cannot be.
    pub fn offer(self) -> Option<String> {
        let fits = !self.is_given && !self.options.criterion_runner;
        let whose = if self.last.label == super::TREE {
            "today's benchmarks".to_owned()
        } else {
            format!("the benchmarks of `{}`", self.last.label)
        };
        fits.then(|| format!("`--overlay-benches` measures {whose} against the other library too"))
    }
}

/// Benchmarks and targets that one side has and another one lacks.
#[derive(Debug, Default, PartialEq)]
pub struct Newcomers {
    /// Benchmarks of the last side that another one lacks.
    new: usize,
    /// Targets of the last side that another one lacks.
    targets: usize,
    /// Benchmarks that the last side lacks, in targets that have new ones.
    gone: usize,
    /// The old and the new id where exactly one went and one came in a target.
    renamed: Vec<(String, String)>,
    /// Whether settings are those of the reference.
    pub by_reference: bool,
}

impl Newcomers {
    /// Takes in one target. What depends on the process, or was not reached, is not new; and what
    /// criterion's own runner drives cannot be laid over.
    pub fn hear(&mut self, listed: &Listed, filter: &Filter) {
        let Some((last, others)) = listed.listings.split_last() else { return };
        let is_whole = listed.listings.iter().all(|l| l.broken.is_empty() && l.ended.is_none());
        let is_bridged = listed.target.programs.iter().any(|program| program.bridged);
        if !is_whole || is_bridged || listed.unsteady.has_lost() {
            return;
        }
        let has = |listing: &Listing, id: &str| listing.offers.iter().any(|o| o.id == id);
        let came: Vec<&Offer> =
            last.offers.iter().filter(|o| others.iter().any(|other| !has(other, &o.id))).collect();
        let theirs = others.iter().flat_map(|other| &other.offers);
        let went: Vec<&Offer> = theirs.filter(|o| !has(last, &o.id)).collect();
        let wanted = |offers: &[&Offer]| offers.iter().filter(|offer| filter.wants(offer)).count();
        if wanted(&came) > 0 {
            self.new += wanted(&came);
            self.gone += wanted(&went);
        }
        // A filter for one of the two names both.
        let old: BTreeSet<&str> = went.iter().map(|offer| offer.id.as_str()).collect();
        if let ([new], Some(old), 1) = (came.as_slice(), old.first(), old.len())
            && wanted(&came) + wanted(&went) > 0
        {
            self.renamed.push(((*old).to_owned(), new.id.clone()));
        }
    }

    /// Hint on how to pair benchmarks that may have been renamed.
    pub fn pairing(&self) -> Option<String> {
        let quoted = |id: &str| toml::Value::String(id.to_owned()).to_string();
        let whose = if self.by_reference { " of the reference" } else { "" };
        let table = format!("`[aliases]` in `nbench.toml`{whose}");
        let mut pairs =
            self.renamed.iter().map(|(o, n)| format!("`{} = {}`", quoted(o), quoted(n)));
        match (pairs.next(), pairs.next()) {
            (Some(pair), None) => Some(format!("if it was renamed, {pair} below {table} pairs it")),
            (Some(pair), Some(_)) => Some(format!("{table} pairs renamed ones, such as {pair}")),
            (None, _) if self.gone > 0 => Some(format!("{table} pairs renamed ones")),
            (None, _) => None,
        }
    }

    /// Takes in what was said of targets that some side lacks.
    pub fn hear_targets(&mut self, unmatched: &[Line], last: &str) {
        let is_new = |line: &&Line| matches!(line, Line::Unmatched(u) if u.side == last);
        self.targets += unmatched.iter().filter(is_new).count();
    }

    /// The line for the user, if there is something new and something to be done.
    pub fn advice(&self, overlay: OverlayOffer<'_>) -> Option<String> {
        let count = |n: usize, what: &str| match n {
            0 => None,
            1 => Some(format!("1 {what}")),
            n => Some(format!("{n} {what}s")),
        };
        let parts: Vec<String> =
            [count(self.new, "benchmark"), count(self.targets, "bench target")]
                .into_iter()
                .flatten()
                .collect();
        if parts.is_empty() {
            return None;
        }
        let are = if self.new + self.targets == 1 { "is" } else { "are" };
        let means: Vec<String> = overlay.offer().into_iter().chain(self.pairing()).collect();
        if means.is_empty() {
            return None;
        }
        Some(format!(
            "{} {are} new at `{}` and not compared: {}",
            parts.join(" and "),
            overlay.last.label,
            means.join("; ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use nbench_templates::lines::Unmatched;

    use super::*;
    use crate::measure::launch::Program;
    use crate::measure::suite::{Target, Unsteady};

    fn listed(sides: &[&[&str]]) -> Listed {
        let program = Program { path: "x".into(), cwd: ".".into(), ..Program::default() };
        let listing = |ids: &&[&str]| Listing {
            offers: ids.iter().map(|id| Offer { id: (*id).into(), ..Offer::default() }).collect(),
            ..Listing::default()
        };
        Listed {
            target: Target {
                package: "p".into(),
                target: "t".into(),
                programs: vec![program; sides.len()],
                notes: Vec::new(),
            },
            listings: sides.iter().map(listing).collect(),
            by_reference: false,
            unsteady: Unsteady::default(),
        }
    }

    fn revision(label: &str) -> Revision {
        Revision {
            label: label.into(),
            commit: "c".into(),
            tree: "t".into(),
            parents: Vec::new(),
            author_time: 0,
            committer_time: 0,
            subject: String::new(),
            dirty: None,
            snapshot: false,
        }
    }

    fn advised(listed: &Listed, last: &str, filter: &str) -> Option<String> {
        let words: Vec<String> =
            Some(filter.to_owned()).into_iter().filter(|f| !f.is_empty()).collect();
        let filter = Filter::of(words.to_vec(), &[], false, &[]).unwrap();
        let mut newcomers = Newcomers::default();
        newcomers.hear(listed, &filter);
        let (options, last) = (BuildOptions::default(), revision(last));
        newcomers.advice(OverlayOffer { is_given: false, options: &options, last: &last })
    }

    #[test]
    fn what_is_new_is_counted_and_says_whose_benchmarks_would_be_taken() {
        let tree = "`--overlay-benches` measures today's benchmarks against the other library too";
        let table = [
            (vec![&["a"][..], &["a", "b"]], "@tree", "", Some(format!("1 benchmark is new at `@tree` and not compared: {tree}"))),
            (
                vec![&["a", "old"], &["a", "b", "c"]],
                "v2",
                "",
                Some("2 benchmarks are new at `v2` and not compared: `--overlay-benches` measures the benchmarks of `v2` against the other library too; `[aliases]` in `nbench.toml` pairs renamed ones".to_owned()),
            ),
            (
                vec![&["a", "words/longest"], &["a", "words/widest"]],
                "@tree",
                "",
                Some(format!("1 benchmark is new at `@tree` and not compared: {tree}; if it was renamed, `\"words/longest\" = \"words/widest\"` below `[aliases]` in `nbench.toml` pairs it")),
            ),
            // One of three sides lacks it.
            (vec![&["a", "b"], &["a"], &["a", "b"]], "@tree", "", Some(format!("1 benchmark is new at `@tree` and not compared: {tree}"))),
            (vec![&["a", "b"], &["a"]], "@tree", "", None),
            (vec![&["a"], &["a", "b"]], "@tree", "a", None),
        ];
        for (sides, last, filter, wanted) in table {
            assert_eq!(advised(&listed(&sides), last, filter), wanted, "{sides:?}");
        }
    }

    #[test]
    fn one_that_went_and_one_that_came_may_be_the_same_whatever_was_filtered() {
        let pairing = |listed: &Listed, filter: &str| {
            let words = Some(filter.to_owned()).into_iter().filter(|f| !f.is_empty()).collect();
            let mut newcomers = Newcomers::default();
            newcomers.hear(listed, &Filter::of(words, &[], false, &[]).unwrap());
            newcomers.pairing().unwrap_or_default()
        };
        let pair = "`\"old\" = \"new\"`";
        for filter in ["", "old", "new"] {
            let listed = listed(&[&["a", "old"], &["a", "new"]]);
            assert!(pairing(&listed, filter).contains(pair), "{filter}");
        }
        assert!(pairing(&listed(&[&["old"], &["old"], &["new"]]), "").contains(pair));
        assert_eq!(pairing(&listed(&[&["a", "old"], &["a", "new"]]), "a"), "");
        let many = pairing(&listed(&[&["a", "b"], &["c", "d"]]), "");
        assert_eq!(many, "`[aliases]` in `nbench.toml` pairs renamed ones");
        assert_eq!(pairing(&listed(&[&["a"], &["a", "b"]]), ""), "");
        let judged = Newcomers { gone: 1, by_reference: true, ..Newcomers::default() };
        let whose = judged.pairing().unwrap();
        assert!(whose.starts_with("`[aliases]` in `nbench.toml` of the reference"), "{whose}");
        let odd = pairing(&listed(&[&["say \"a\""], &["b"]]), "");
        assert!(odd.contains("`'say \"a\"' = \"b\"`"), "{odd}");
    }

    #[test]
    fn it_is_not_named_where_it_does_not_help() {
        let new = || listed(&[&["a"], &["a", "b"]]);
        let mut changing = new();
        changing.unsteady = Unsteady::losing(&["x-17"]);
        let mut bridged = new();
        bridged.target.programs[0].bridged = true;
        let mut cut = new();
        cut.listings[0].ended = Some(("the worker exited with code 3".into(), String::new()));
        for listed in [changing, bridged, cut] {
            assert_eq!(advised(&listed, "@tree", ""), None, "{listed:?}");
        }
        let newcomers = Newcomers { new: 1, ..Newcomers::default() };
        let last = revision("@tree");
        let runner = BuildOptions { criterion_runner: true, ..BuildOptions::default() };
        for (is_given, options) in [(true, &BuildOptions::default()), (false, &runner)] {
            assert_eq!(newcomers.advice(OverlayOffer { is_given, options, last: &last }), None);
        }
    }

    #[test]
    fn whole_targets_count_where_the_last_side_has_them() {
        let line = |side: &str| {
            Line::Unmatched(Unmatched {
                package: "p".into(),
                target: "t".into(),
                benchmark: None,
                side: side.into(),
            })
        };
        let mut newcomers = Newcomers::default();
        newcomers.hear_targets(&[line("v1"), line("v2"), line("v2")], "v2");
        assert_eq!(newcomers, Newcomers { targets: 2, ..Newcomers::default() });
    }
}
