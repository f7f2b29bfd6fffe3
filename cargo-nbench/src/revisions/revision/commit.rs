//! Reads commits as git stores them, which no setting of the user's changes. It knows neither names
//! nor trees.

use super::Revision;

/// The commit `hash` with this raw text, under the name `label`.
pub(super) fn parse(label: &str, hash: &str, raw: &[u8]) -> Option<Revision> {
    let text = String::from_utf8_lossy(raw);
    let (head, message) = text.split_once("\n\n").unwrap_or((&text, ""));
    let mut revision = Revision {
        label: label.to_owned(),
        commit: hash.to_owned(),
        tree: String::new(),
        parents: Vec::new(),
        author_time: 0,
        committer_time: 0,
        subject: message
            .lines()
            .find(|line| !line.is_empty())
            .unwrap_or_default()
            .trim()
            .to_owned(),
        dirty: None,
        snapshot: false,
    };
    for line in head.lines() {
        match line.split_once(' ') {
            Some(("tree", tree)) => tree.clone_into(&mut revision.tree),
            Some(("parent", parent)) => revision.parents.push(parent.to_owned()),
            Some(("author", who)) => revision.author_time = seconds(who)?,
            Some(("committer", who)) => revision.committer_time = seconds(who)?,
            // Signatures and other headers go on over lines that begin with a space.
            _ => {}
        }
    }
    (!revision.tree.is_empty()).then_some(revision)
}

/// The time in `Name <mail> 1700000000 +0100`.
fn seconds(who: &str) -> Option<i64> {
    let (rest, _zone) = who.rsplit_once(' ')?;
    rest.rsplit_once(' ')?.1.parse().ok()
}

/// The objects in the output of `git cat-file --batch`: hash and raw text of each commit, nothing
/// for one that is missing or no commit.
pub(super) fn batch(output: &[u8]) -> Vec<Option<(String, &[u8])>> {
    let mut found = Vec::new();
    let mut rest = output;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let (line, after) = (String::from_utf8_lossy(&rest[..end]).into_owned(), &rest[end + 1..]);
        let words: Vec<&str> = line.split(' ').collect();
        let (object, next) = match words[..] {
            [hash, kind, size] => {
                let Some(text) = size.parse().ok().and_then(|size: usize| after.get(..size)) else {
                    break;
                };
                let object = (kind == "commit").then(|| (hash.to_owned(), text));
                (object, after.get(text.len() + 1..).unwrap_or_default())
            }
            _ => (None, after),
        };
        found.push(object);
        rest = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{batch, parse};

    #[test]
    fn commits_are_read_as_they_are_stored() {
        let raw = b"tree t1\nparent p1\nparent p2\nauthor A B <a@b> 1700000000 +0100\n\
            committer C <c> -5 -0230\nencoding latin1\ngpgsig -----BEGIN\n tree fake\n\n\
            \n  the subject \n\nbody\n";
        let revision = parse("v1", "h", raw).unwrap();
        assert_eq!(revision.tree, "t1");
        assert_eq!(revision.parents, ["p1", "p2"]);
        assert_eq!((revision.author_time, revision.committer_time), (1_700_000_000, -5));
        assert_eq!(revision.subject, "the subject");
        assert!(parse("v1", "h", b"nonsense").is_none());
        assert!(parse("v1", "h", b"tree t\nauthor nobody\n\n").is_none());
    }

    #[test]
    fn a_batch_is_cut_by_its_sizes() {
        let output = b"h1 commit 5\na\n\nbc\nh2 missing\nh3 tree 1\nx\nh4 commit 0\n\n";
        let objects = batch(output);
        assert_eq!(
            objects,
            [
                Some(("h1".to_owned(), &b"a\n\nbc"[..])),
                None,
                None,
                Some(("h4".to_owned(), &b""[..]))
            ]
        );
        assert!(batch(b"h1 commit 50\nshort").is_empty());
        assert!(batch(b"").is_empty());
    }
}
