//! The sources of this crate as texts, for whoever builds a stand-in for another harness from them.
//! It must not know what they are put together with.

/// The version of this crate, which stands in its sources as `env!("CARGO_PKG_VERSION")`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

macro_rules! sources {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!($path))),+]
    };
}

/// Every source file but those of tests and the root: its path below `src`, and its text.
pub const SOURCES: &[(&str, &str)] = sources![
    "axis.rs",
    "barrier.rs",
    "batch.rs",
    "bencher/mod.rs",
    "connect.rs",
    "entry.rs",
    "local.rs",
    "probe/alloc.rs",
    "probe/clock.rs",
    "probe/mod.rs",
    "probe/exit.rs",
    "probe/rusage.rs",
    "probe/system.rs",
    "serve.rs",
    "session.rs",
    "standalone/args.rs",
    "standalone/mod.rs",
    "standalone/table.rs",
    "subject.rs",
    "suite/compare.rs",
    "suite/group.rs",
    "suite/id.rs",
    "suite/mod.rs",
    "wire/line.rs",
    "wire/mod.rs",
];

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn walk(root: &Path, folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, found);
            } else {
                let relative = path.strip_prefix(root).unwrap();
                found.push(relative.to_str().unwrap().replace('\\', "/"));
            }
        }
    }

    #[test]
    fn the_list_is_complete() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut found = Vec::new();
        walk(&root, &root, &mut found);
        found.retain(|path| {
            !path.ends_with("tests.rs") && !["lib.rs", "sources.rs"].contains(&path.as_str())
        });
        found.sort();
        let mut listed: Vec<_> = SOURCES.iter().map(|(path, _)| (*path).to_owned()).collect();
        listed.sort();
        assert_eq!(listed, found);
    }
}
