//! Settings of single benchmarks that fit none: a misspelt name in `nbench.toml` would be silent.
//! It must not know what the settings say.

use std::collections::BTreeSet;

use nbench_config::Settings;

use crate::measure::filter::is_pattern_of;
use crate::suggest::{nearest, nearest_id};

/// A bench target, by package and name.
pub type TargetName = (String, String);

/// Listed ids by target, to be compared with settings.
#[derive(Debug, Default)]
pub struct ListedIds {
    /// Ids by target, as aliases left them.
    ids: Vec<(TargetName, Vec<String>)>,
    /// Whether something was not reached.
    is_cut: bool,
}

impl ListedIds {
    /// Takes in a target with all ids of all sides; `is_whole` when none can be missing.
    pub fn hear(&mut self, target: TargetName, ids: impl Iterator<Item = String>, is_whole: bool) {
        self.ids.push((target, ids.collect()));
        self.is_cut |= !is_whole;
    }

    /// A warning for each setting that fits nothing, where every one of `all` targets was listed.
    pub fn idle(&self, settings: &Settings, all: &BTreeSet<TargetName>) -> Vec<String> {
        let is_listed = |name: &TargetName| self.ids.iter().any(|(listed, _)| listed == name);
        if self.is_cut || self.ids.is_empty() || !all.iter().all(is_listed) {
            return Vec::new();
        }
        let ids: Vec<String> = self.ids.iter().flat_map(|(_, ids)| ids.clone()).collect();
        let rules = settings.rules.iter().map(|rule| rule.pattern.as_str());
        let mut warnings: Vec<String> = rules
            .filter(|pattern| !ids.iter().any(|id| is_pattern_of(pattern, id)))
            .map(|pattern| {
                let meant = pattern_meant(pattern, &ids);
                describe(
                    &format!("`[[benchmark]]`: `match = \"{pattern}\"` fits no benchmark"),
                    meant,
                )
            })
            .collect();
        for (scope, old, new) in settings.aliases.entries() {
            let of_scope: Vec<&(TargetName, Vec<String>)> =
                self.ids.iter().filter(|(name, _)| scope.is_none_or(|s| is_of(s, name))).collect();
            if let Some(scope) = scope.filter(|_| of_scope.is_empty()) {
                let names: Vec<String> =
                    all.iter().flat_map(|(p, t)| [p.clone(), format!("{p}/{t}")]).collect();
                let meant = nearest(scope, names.iter().map(String::as_str)).map(str::to_owned);
                let what = format!("`[aliases.\"{scope}\"]` names no bench target");
                if !warnings.iter().any(|known| known.starts_with(&what)) {
                    warnings.push(describe(&what, meant));
                }
                continue;
            }
            let ids: Vec<String> = of_scope.iter().flat_map(|(_, ids)| ids.clone()).collect();
            if !ids.iter().any(|id| id == old || id == new) {
                let meant = nearest_id(new, &ids).or_else(|| nearest_id(old, &ids));
                let what = format!("`[aliases]`: no benchmark is called `{old}` or `{new}`");
                warnings.push(describe(&what, meant.map(str::to_owned)));
            }
        }
        warnings
    }
}

fn is_of(scope: &str, (package, target): &TargetName) -> bool {
    scope == package || scope == format!("{package}/{target}")
}

fn describe(what: &str, meant: Option<String>) -> String {
    match meant {
        Some(meant) => format!("{what}: did you mean `{meant}`?"),
        None => format!("{what}: `cargo nbench list` shows all ids"),
    }
}

/// A pattern that fits something and is near: a part of an id made one for the whole of it, or with
/// every part that is misspelt replaced.
fn pattern_meant(pattern: &str, ids: &[String]) -> Option<String> {
    let fits = |pattern: &String| ids.iter().any(|id| is_pattern_of(pattern, id));
    let wider = [format!("{pattern}/*"), format!("*/{pattern}"), format!("*{pattern}*")];
    if let Some(wide) = wider.into_iter().find(|wide| !pattern.is_empty() && fits(wide)) {
        return Some(wide);
    }
    let part = |(index, part): (usize, &str)| {
        if part.contains(['*', '?']) {
            return part.to_owned();
        }
        let here = ids.iter().filter_map(|id| id.split('/').nth(index));
        nearest(part, here).unwrap_or(part).to_owned()
    };
    let mended: Vec<String> = pattern.split('/').enumerate().map(part).collect();
    let mended = Some(mended.join("/")).filter(fits);
    mended.or_else(|| nearest_id(pattern, ids).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use nbench_config::{Layer, resolve};

    use super::*;

    fn name(target: &str) -> TargetName {
        ("p".to_owned(), target.to_owned())
    }

    fn seen(is_whole: bool) -> ListedIds {
        let mut seen = ListedIds::default();
        let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        let listed = [("words", ids(&["words/count", "words/longest"])), ("scan", ids(&["scan"]))];
        for (target, ids) in listed {
            seen.hear(name(target), ids.into_iter(), is_whole);
        }
        seen
    }

    fn idle(seen: &ListedIds, toml: &str, more: &[&str]) -> Vec<String> {
        let settings = resolve([(
            nbench_config::Source::File,
            Layer::from_toml(toml, "nbench.toml").unwrap(),
        )])
        .unwrap();
        let all = ["words", "scan"].iter().chain(more).map(|target| name(target)).collect();
        seen.idle(&settings, &all)
    }

    const RULE: &str = "[[benchmark]]\nthreshold = 0.1\nmatch = ";

    #[test]
    fn a_setting_that_fits_nothing_is_named_with_what_was_meant() {
        let table = [
            ("match = \"wrods/*\"", "did you mean `words/*`?"),
            ("match = \"words\"", "did you mean `words/*`?"),
            ("match = \"longest\"", "did you mean `*/longest`?"),
            ("match = \"*/longset\"", "did you mean `*/longest`?"),
            ("match = \"zebra\"", "`cargo nbench list` shows all ids"),
        ];
        for (rule, hint) in table {
            let warnings =
                idle(&seen(true), &format!("[[benchmark]]\nthreshold = 0.1\n{rule}"), &[]);
            assert_eq!(warnings.len(), 1, "{rule}: {warnings:?}");
            assert!(warnings[0].contains(rule) && warnings[0].ends_with(hint), "{warnings:?}");
        }
        let table = [
            ("[aliases]\n\"old\" = \"words/longset\"", "did you mean `words/longest`?"),
            ("[aliases]\n\"x\" = \"y\"", "`cargo nbench list` shows all ids"),
            ("[aliases.\"p/scan\"]\n\"old\" = \"words/count\"", "shows all ids"),
            ("[aliases.\"p/wrods\"]\n\"old\" = \"words/count\"", "did you mean `p/words`?"),
        ];
        for (toml, hint) in table {
            let warnings = idle(&seen(true), toml, &[]);
            assert_eq!(warnings.len(), 1, "{toml}: {warnings:?}");
            assert!(warnings[0].ends_with(hint), "{toml}: {warnings:?}");
        }
    }

    #[test]
    fn what_fits_or_may_fit_what_was_not_listed_is_not_named() {
        let fitting = [
            format!("{RULE}\"WORDS/*\""),
            format!("{RULE}\"*\""),
            "[aliases]\n\"words/count\" = \"words/many\"".to_owned(),
            "[aliases]\n\"old\" = \"words/count\"".to_owned(),
            "[aliases.p]\n\"old\" = \"scan\"".to_owned(),
        ];
        for toml in fitting {
            assert_eq!(idle(&seen(true), &toml, &[]), Vec::<String>::new(), "{toml}");
        }
        let nothing = format!("{RULE}\"zebra\"");
        assert!(idle(&seen(false), &nothing, &[]).is_empty(), "a set-up failed");
        assert!(
            idle(&seen(true), &nothing, &["more"]).is_empty(),
            "`--bench`, `-p` or another place"
        );
        assert!(idle(&ListedIds::default(), &nothing, &[]).is_empty());
    }
}
