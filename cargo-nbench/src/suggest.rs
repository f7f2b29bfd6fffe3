//! What somebody may have meant by a name that does not exist. It compares texts and knows nothing
//! of what they name.

use strsim::osa_distance;

/// The name with the fewest edits to `text`, if it is near: swapping two letters is one edit as
/// dropping one is. A name such as `origin/main` is near where its last part is.
pub fn nearest<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let wanted = text.to_lowercase();
    let scored = names.into_iter().map(|name| {
        let lower = name.to_lowercase();
        let last = lower.rsplit('/').next().unwrap_or(&lower);
        (osa_distance(&wanted, &lower).min(osa_distance(&wanted, last)), name)
    });
    let (distance, name) = scored.min_by_key(|(distance, name)| (*distance, name.len()))?;
    is_near(distance, wanted.chars().count()).then_some(name)
}

/// The id that has a run of parts (between `/` or `::`) near `text`, in which `*` is ignored.
pub fn nearest_id<'i>(text: &str, ids: &'i [String]) -> Option<&'i str> {
    let plain = |text: &str| text.to_lowercase().replace("::", "/");
    let wanted = plain(text).replace(['*', '?'], "");
    let wanted = wanted.trim_matches('/');
    let count = wanted.split('/').count();
    let best = |id: &str| {
        let id = plain(id);
        let parts: Vec<&str> = id.split('/').collect();
        let runs = parts.windows(count.min(parts.len())).map(|run| run.join("/"));
        runs.chain([id.clone()]).map(|run| osa_distance(wanted, &run)).min()
    };
    let scored = ids.iter().filter_map(|id| Some((best(id)?, id.as_str())));
    let (distance, id) = scored.min_by_key(|(distance, id)| (*distance, id.len()))?;
    is_near(distance, wanted.chars().count()).then_some(id)
}

/// At most two edits, and fewer than half of the letters.
fn is_near(distance: usize, letters: usize) -> bool {
    distance <= 2 && distance * 2 < letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swapped_letters_are_one_edit_and_only_near_names_are_meant() {
        let names = ["v1.0.0", "origin/main", "feature", "release-2"];
        let table = [
            ("v1.0.1", Some("v1.0.0")),
            ("mian", Some("origin/main")),
            ("amin", Some("origin/main")),
            ("maim", Some("origin/main")),
            ("Main", Some("origin/main")),
            ("featuer", Some("feature")),
            ("faeture", Some("feature")),
            ("realese-2", Some("release-2")),
            ("unrelated", None),
            ("ab", None),
            ("", None),
        ];
        for (text, meant) in table {
            assert_eq!(nearest(text, names), meant, "{text}");
        }
        assert_eq!(nearest("main", []), None);
    }

    #[test]
    fn parts_of_ids_are_compared_with_as_many_parts() {
        let ids = ["a::words/count/10", "parse/small"].map(str::to_owned);
        let table = [
            ("word/count", Some("a::words/count/10")),
            ("coutn", Some("a::words/count/10")),
            ("smal*", Some("parse/small")),
            ("x", None),
            ("*", None),
        ];
        for (text, meant) in table {
            assert_eq!(nearest_id(text, &ids), meant, "{text}");
        }
    }
}
