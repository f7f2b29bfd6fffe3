//! Which benchmarks were asked for: the one matcher of every command. It knows ids and tags, and
//! nothing of where they come from.

use wildmatch::WildMatch;

use crate::build::cargo::quoted;
use crate::failure::{Exit, Failure};
use crate::suggest::nearest_id;

/// Which benchmarks were asked for.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Texts of which an id must match one; every id does where there is none.
    wanted: Vec<String>,
    /// Texts of which an id must match none.
    unwanted: Vec<String>,
    /// Whether texts are whole ids.
    exact: bool,
    /// Tags that a benchmark must all have.
    tags: Vec<String>,
}

impl Filter {
    /// The filter of texts as they were given.
    ///
    /// # Errors
    /// For `is_exact` with nothing that it could be said of.
    pub fn of(
        wanted: Vec<String>,
        unwanted: &[String],
        is_exact: bool,
        tags: &[String],
    ) -> Result<Filter, Failure> {
        if is_exact && wanted.is_empty() && unwanted.is_empty() {
            return Err(Failure::new(Exit::Usage, "`--exact` is given without a filter")
                .hint("name the whole id: `--exact --filter ID`"));
        }
        Ok(Filter { wanted, unwanted: unwanted.to_vec(), exact: is_exact, tags: tags.to_vec() })
    }

    /// Whether anything is left out by it.
    pub fn is_given(&self) -> bool {
        !(self.wanted.is_empty() && self.unwanted.is_empty() && self.tags.is_empty())
    }

    /// Whether a benchmark was asked for, by its id and its tags.
    pub fn wants(&self, offer: &nbench::wire::Offer) -> bool {
        self.matches(&offer.id) && self.tags.iter().all(|tag| offer.tags.contains(tag))
    }

    /// Whether `id` was asked for: it matches one of the texts, if there are any, and none of those
    /// to be skipped.
    pub fn matches(&self, id: &str) -> bool {
        let any = |texts: &[String]| texts.iter().any(|text| self.one_matches(text, id));
        (self.wanted.is_empty() || any(&self.wanted)) && !any(&self.unwanted)
    }

    /// A text matches where the id contains it, or as a pattern for the whole id if it holds `*` or
    /// `?`; without regard to case unless exact.
    fn one_matches(&self, text: &str, id: &str) -> bool {
        if self.exact {
            return id == text;
        }
        if text.contains(['*', '?']) {
            return is_pattern_of(text, id);
        }
        id.to_lowercase().contains(&text.to_lowercase())
    }

    /// Meaning of a text that matches none of `ids` and begins with the name of a package or, as
    /// `list` prints them, of one of these `targets`.
    pub fn names_target(&self, ids: &[String], targets: &[(String, String)]) -> Option<String> {
        let alone = Filter { exact: self.exact, ..Filter::default() };
        let unmatched = |text: &&String| !ids.iter().any(|id| alone.one_matches(text, id));
        let text = self.wanted.iter().find(unmatched)?;
        let behind = |(package, target): &(String, String), rest: &str| {
            let mut words = format!("-p {package} --bench {target}");
            if !rest.is_empty() {
                words += &format!(" -f {}", quoted(rest));
            }
            format!("`{text}` begins with a bench target, not with an id: `{words}`")
        };
        for both in targets {
            let rest = text.strip_prefix(&format!("{}/{}", both.0, both.1));
            if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with(['/', ' ']))
            {
                return Some(behind(both, rest.trim_matches(['/', ' '])));
            }
        }
        let package = text.trim_end_matches('/');
        let (package, _) = targets.iter().find(|(name, _)| name == package)?;
        Some(format!("`{text}` is a package, not a part of an id: `-p {package}`"))
    }

    /// The failure of a filter that leaves none of the benchmarks called `ids`, which the command
    /// `list` shows.
    pub fn matches_nothing(&self, ids: &[String], list: &str) -> Failure {
        let failure = |error: String| Failure::new(Exit::NothingSelected, error);
        let unmatched = self.wanted.iter().find(|text| {
            let alone = Filter { exact: self.exact, ..Filter::default() };
            !ids.iter().any(|id| alone.one_matches(text, id))
        });
        let Some(text) = unmatched else {
            return failure("no benchmark matches the filter".to_owned())
                .hint(format!("`--skip` and `--tag` leave none of them; `{list}` shows all ids"));
        };
        let failure = failure(format!("no benchmark matches the filter `{text}`"));
        if self.exact && ids.iter().any(|id| Filter::default().one_matches(text, id)) {
            return failure.hint("without `--exact` it matches parts of ids");
        }
        failure.hint(match nearest_id(text, ids) {
            Some(id) => format!("did you mean `{id}`? `{list}` shows all ids"),
            None => format!("`{list}` shows all ids"),
        })
    }
}

/// Whether `pattern` holds for the whole of `id`, case ignored: `*` for any text, `?` for one
/// character.
pub fn is_pattern_of(pattern: &str, id: &str) -> bool {
    // Both by the same rule, which is not that of ASCII alone.
    WildMatch::new(&pattern.to_lowercase()).matches(&id.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(words: &[&str], skip: &[&str], exact: bool) -> Filter {
        let owned = |texts: &[&str]| -> Vec<String> {
            texts.iter().map(|text| (*text).to_owned()).collect()
        };
        Filter::of(owned(words), &owned(skip), exact, &[]).unwrap()
    }

    #[test]
    fn filters_are_substrings_patterns_or_exact() {
        assert!(
            is_pattern_of("GR\u{dc}N/?", "gr\u{fc}n/\u{e9}"),
            "case is not that of ASCII alone"
        );
        assert!(!is_pattern_of(&format!("{}b", "*a".repeat(40)), &"a".repeat(400)));
        type Case<'t> = (&'t [&'t str], &'t [&'t str], bool, &'t str, bool);
        let table: [Case<'_>; 14] = [
            (&[], &[], false, "anything", true),
            (&["PARSE"], &[], false, "json/parse/1", true),
            (&["json/*/?"], &[], false, "json/parse/1", true),
            (&["parse/*"], &[], false, "json/parse/1", false),
            (&["*1*1"], &[], false, "a1b1c1", true),
            (&["parse"], &[], true, "json/parse", false),
            (&["json/parse"], &[], true, "json/parse", true),
            (&["a*"], &[], true, "a*", true),
            (&["print", "parse"], &[], false, "json/parse", true),
            (&["print", "scan"], &[], false, "json/parse", false),
            (&[], &["PARSE"], false, "json/parse", false),
            (&["json"], &["*/parse"], false, "json/parse", false),
            (&["json"], &["*/parse"], false, "json/parse/2", true),
            (&[], &["json"], true, "json/parse", true),
        ];
        for (words, skip, exact, id, wanted) in table {
            let got = filter(words, skip, exact).matches(id);
            assert_eq!(got, wanted, "{words:?} {skip:?} {exact} {id}");
        }
    }

    #[test]
    fn a_filter_with_the_name_of_a_target_is_answered_with_the_flags_that_select_it() {
        let targets = [("a", "words"), ("b-c", "scan")].map(|(p, t)| (p.to_owned(), t.to_owned()));
        let ids = ["words/count".to_owned()];
        let table = [
            ("a/words", Some("`-p a --bench words`")),
            ("a/words/count", Some("`-p a --bench words -f count`")),
            ("a/words  words/count", Some("`-p a --bench words -f words/count`")),
            ("b-c/", Some("`-p b-c`")),
            ("b-c", Some("`-p b-c`")),
            ("a/wordsmith", None),
            ("elsewhere", None),
            // It matches ids.
            ("words", None),
        ];
        for (text, hint) in table {
            let got = filter(&[text], &[], false).names_target(&ids, &targets);
            assert_eq!(got.is_some(), hint.is_some(), "{text}: {got:?}");
            assert!(got.unwrap_or_default().ends_with(hint.unwrap_or_default()), "{text}");
        }
    }

    #[test]
    fn a_filter_that_matches_nothing_names_what_is_near() {
        let ids = ["words/count", "words/longest", "parse/json/small"].map(str::to_owned);
        let table: [(&[&str], bool, &str, &str); 8] = [
            (&["cuont"], false, "`cuont`", "did you mean `words/count`?"),
            (&["Longst"], false, "`Longst`", "did you mean `words/longest`?"),
            (&["words/conut"], false, "`words/conut`", "did you mean `words/count`?"),
            (&["pasre/json"], false, "`pasre/json`", "did you mean `parse/json/small`?"),
            (&["word/*"], false, "`word/*`", "did you mean `words/"),
            (&["zebra"], false, "`zebra`", "`cargo nbench list` shows all ids"),
            (&["count"], true, "`count`", "without `--exact`"),
            (&["count", "nosuch"], false, "`nosuch`", "list"),
        ];
        for (words, exact, error, hint) in table {
            let failure = filter(words, &[], exact).matches_nothing(&ids, "cargo nbench list");
            assert_eq!(failure.exit, Exit::NothingSelected);
            assert!(failure.error.contains(error), "{words:?}: {failure:?}");
            assert!(
                failure.hint.as_deref().unwrap().starts_with(hint) || !hint.starts_with("did"),
                "{words:?}: {failure:?}"
            );
            assert!(failure.hint.unwrap().contains(hint), "{words:?}");
        }
        let skipped =
            filter(&["count"], &["words"], false).matches_nothing(&ids, "cargo nbench list");
        assert!(skipped.hint.unwrap().contains("--skip"));
    }
}
