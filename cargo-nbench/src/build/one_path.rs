//! Makes the compiler forget in which of several checkouts it works: cargo puts the absolute path
//! of a package outside of the workspace into symbols and panic messages, and two checkouts of
//! equal sources would differ. It stands in the compiler wrapper; it does not know what the crates
//! are for.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::cache::digest;

/// Tells the wrapper which directories differ between checkouts: a list like that of PATH.
pub(crate) const DIRECTORY: &str = "NBENCH_CHECKOUT";

/// Word in its place, in panic messages and debug information.
pub(crate) const INSTEAD: &str = "/nbench";

/// Options of which only the first part, up to the first `=`, is the same in all checkouts.
const PLACES: [&str; 4] = ["--extern", "--out-dir", "-L", "--diagnostic-width"];

/// Codegen options that name a place or are derived from one.
const PLACE_OPTIONS: [&str; 4] = ["metadata=", "extra-filename=", "incremental=", "linker="];

/// The variable that makes the wrapper forget these directories. Nothing where their names cannot
/// stand in a list.
pub(crate) fn variable(directories: &[&Path]) -> Option<(String, String)> {
    let list = env::join_paths(directories).ok()?;
    Some((DIRECTORY.to_owned(), list.into_string().ok()?))
}

/// The arguments of a compiler, with what depends on the checkout replaced for a package in one.
pub(crate) fn rewrite(arguments: Vec<OsString>) -> Vec<OsString> {
    let Some(list) = env::var_os(DIRECTORY).filter(|value| !value.is_empty()) else {
        return arguments;
    };
    let directories: Vec<PathBuf> = env::split_paths(&list).collect();
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let inside = directories.iter().find_map(|directory| package.strip_prefix(directory).ok());
    let Some(inside) = inside else { return arguments };
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    rewritten(&arguments, &directories, &format!("{} {version}", inside.display()))
}

fn rewritten(arguments: &[OsString], directories: &[PathBuf], package: &str) -> Vec<OsString> {
    // Cargo asks for versions and configurations too, without a crate.
    let has_crate = arguments.iter().any(|argument| argument == "--crate-name");
    let is_metadata = |argument: &OsString| {
        argument.to_str().is_some_and(|argument| argument.starts_with("metadata="))
    };
    let position = arguments.iter().position(is_metadata);
    let (true, Some(position)) = (has_crate, position) else { return arguments.to_vec() };
    let identity = identity(arguments, directories, package);
    let mut rewritten = arguments.to_vec();
    if let Some(metadata) = rewritten.get_mut(position) {
        *metadata = format!("metadata={}", digest(identity.as_bytes())).into();
    }
    // Behind the compiler's name: the last one that fits wins, and one of the user's own is more
    // particular.
    for directory in directories {
        let mut remap = OsString::from("--remap-path-prefix=");
        remap.push(directory);
        remap.push("=");
        remap.push(INSTEAD);
        rewritten.insert(1, remap);
    }
    rewritten
}

/// All that makes this compilation another one than the rest of the same checkout, and that is the
/// same in every checkout. The compiler itself is not part of it: all sides have the same.
fn identity(arguments: &[OsString], directories: &[PathBuf], package: &str) -> String {
    let forget = |text: &str| {
        let mut text = text.to_owned();
        for directory in directories {
            text = text.replace(&*directory.to_string_lossy(), INSTEAD);
        }
        text
    };
    let mut identity = package.to_owned();
    let mut before: Option<&OsStr> = None;
    for argument in arguments.iter().skip(1) {
        let text = argument.to_string_lossy();
        let is_place = before.is_some_and(|name| PLACES.iter().any(|place| name == *place));
        let is_option = before.is_some_and(|name| name == "-C");
        let kept = if is_place || PLACES.iter().any(|place| text.starts_with(&format!("{place}=")))
        {
            text.split('=').next().unwrap_or_default().to_owned()
        } else if is_option && PLACE_OPTIONS.iter().any(|option| text.starts_with(option)) {
            String::new()
        } else {
            forget(&text)
        };
        if before.is_none_or(|name| name != "--out-dir") {
            identity.push('\n');
            identity.push_str(&kept);
        }
        before = Some(argument);
    }
    identity
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::PathBuf;

    use super::rewritten;

    fn of(slot: &str, arguments: &str) -> Vec<String> {
        let arguments: Vec<OsString> =
            arguments.replace("SLOT", slot).split(' ').map(OsString::from).collect();
        let directories = [slot, "/c/slot-07"].map(PathBuf::from);
        let rewritten = rewritten(&arguments, &directories, "tree/demo 0.1.0");
        rewritten.iter().map(|argument| argument.to_string_lossy().into_owned()).collect()
    }

    fn metadata(slot: &str, arguments: &str) -> String {
        let found = of(slot, arguments).into_iter().find(|a| a.starts_with("metadata="));
        found.expect("it is there")
    }

    const LIBRARY: &str = "rustc --crate-name demo SLOT/tree/src/lib.rs --crate-type lib -C \
        metadata=HASH -C extra-filename=-HASH --out-dir SLOT/target/deps -L \
        dependency=SLOT/target/deps --extern dep=SLOT/target/deps/libdep-HASH.rlib --cfg a";

    #[test]
    fn the_same_crate_in_two_checkouts_has_one_identity() {
        let (a, b) = (LIBRARY.replace("HASH", "0a"), LIBRARY.replace("HASH", "0b"));
        assert_eq!(metadata("/c/slot-00", &a), metadata("/c/slot-01", &b));
        // With benchmarks of the newest revision their sources lie in its checkout for all sides.
        let elsewhere = b.replace("SLOT/tree/src", "/c/slot-07/tree/src");
        assert_eq!(metadata("/c/slot-00", &a), metadata("/c/slot-01", &elsewhere));
        let line = of("/c/slot-00", &a);
        assert_eq!(line[0], "rustc");
        assert!(line.contains(&"--remap-path-prefix=/c/slot-00=/nbench".to_owned()));
        assert!(line.contains(&"extra-filename=-0a".to_owned()), "files keep their names");
        assert!(!line.contains(&"metadata=0a".to_owned()));
    }

    #[test]
    fn what_differs_in_one_checkout_stays_apart() {
        let base = metadata("/c/slot-00", LIBRARY);
        for (from, to) in [
            ("--cfg a", "--cfg b"),
            ("--crate-name demo", "--crate-name other"),
            ("src/lib.rs", "src/main.rs"),
            ("--crate-type lib", "--crate-type bin"),
            ("--crate-type lib", "--crate-type lib -C opt-level=3"),
            ("--extern dep=", "--extern renamed="),
            ("--crate-type lib", "--test"),
        ] {
            assert_ne!(metadata("/c/slot-00", &LIBRARY.replace(from, to)), base, "{to}");
        }
    }

    #[test]
    fn questions_to_the_compiler_are_left_alone() {
        for line in ["rustc -vV", "rustc - --crate-name ___ --print=file-names"] {
            assert_eq!(of("/c/slot-00", line).join(" "), line);
        }
    }
}
