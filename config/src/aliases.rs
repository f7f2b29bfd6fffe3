//! Benchmarks that were renamed: which id an older one goes by now. It does not know which ids
//! exist.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::ConfigError;

/// One entry of the table `aliases`: an id of any target, or the ids of one target.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "the new id, or a table of new ids by old ones below a package")]
pub enum Alias {
    /// The new id.
    Id(String),
    /// New ids by old ones, under `package` or `package/target`.
    Ids(BTreeMap<String, String>),
}

/// New ids by old ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Aliases {
    everywhere: BTreeMap<String, String>,
    /// By package, or package and target.
    within: BTreeMap<String, BTreeMap<String, String>>,
}

impl Aliases {
    pub(crate) fn of(table: BTreeMap<String, Alias>) -> Result<Aliases, ConfigError> {
        let mut aliases = Aliases::default();
        for (key, value) in table {
            match value {
                Alias::Id(id) => {
                    aliases.everywhere.insert(key, id);
                }
                Alias::Ids(ids) => {
                    aliases.within.insert(key, ids);
                }
            }
        }
        for ids in aliases.within.values().chain([&aliases.everywhere]) {
            if let Some((old, new)) = ids.iter().find(|(_, new)| ids.contains_key(*new)) {
                return Err(ConfigError {
                    message: format!(
                        "`aliases` leads from `{old}` to `{new}`, which has an alias itself: name the newest id"
                    ),
                });
            }
        }
        Ok(aliases)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.everywhere.is_empty() && self.within.is_empty()
    }

    /// Every entry: its `package` or `package/target`, if it has one, the old id and the new one.
    pub fn entries(&self) -> impl Iterator<Item = (Option<&str>, &str, &str)> {
        let within = self.within.iter().flat_map(|(key, ids)| {
            ids.iter().map(move |(old, new)| (Some(key.as_str()), old.as_str(), new.as_str()))
        });
        self.everywhere.iter().map(|(old, new)| (None, old.as_str(), new.as_str())).chain(within)
    }

    /// New ids by old ones of one target, the narrowest entry of an id winning.
    pub fn of_target(&self, package: &str, target: &str) -> BTreeMap<String, String> {
        let mut ids = self.everywhere.clone();
        for key in [package.to_owned(), format!("{package}/{target}")] {
            let narrower = self.within.get(&key).into_iter().flatten();
            ids.extend(narrower.map(|(old, new)| (old.clone(), new.clone())));
        }
        ids
    }

    /// The id that a benchmark goes by now.
    pub fn current(&self, package: &str, target: &str, id: &str) -> String {
        let own = [format!("{package}/{target}"), package.to_owned()];
        let narrow = own.iter().find_map(|key| self.within.get(key)?.get(id));
        narrow.or_else(|| self.everywhere.get(id)).map_or_else(|| id.to_owned(), String::clone)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Layer, resolve};

    fn aliases(text: &str) -> Result<super::Aliases, String> {
        let layer = Layer::from_toml(text, "nbench.toml").map_err(|e| e.message)?;
        resolve([(crate::Source::File, layer)])
            .map(|settings| settings.aliases)
            .map_err(|e| e.message)
    }

    #[test]
    fn the_narrowest_alias_of_an_id_counts() {
        let text = "[aliases]\n\"old\" = \"new\"\n\"a::b/1\" = \"c/1\"\n\
                    [aliases.\"geo\"]\n\"old\" = \"geo's\"\n\
                    [aliases.\"geo/area\"]\n\"old\" = \"area's\"\n";
        let aliases = aliases(text).unwrap();
        assert_eq!(aliases.current("other", "area", "old"), "new");
        assert_eq!(aliases.current("geo", "length", "old"), "geo's");
        assert_eq!(aliases.current("geo", "area", "old"), "area's");
        assert_eq!(aliases.current("geo", "area", "a::b/1"), "c/1");
        assert_eq!(aliases.current("geo", "area", "else"), "else");
        assert_eq!(aliases.of_target("geo", "area")["old"], "area's");
        assert_eq!(aliases.of_target("geo", "area").len(), 2);
    }

    #[test]
    fn a_chain_is_refused() {
        let message = aliases("[aliases]\n\"a\" = \"b\"\n\"b\" = \"c\"\n").unwrap_err();
        assert!(message.contains("`a` to `b`"), "{message}");
        assert!(super::Aliases::default().is_empty());
    }
}
