//! What builds left in a checkout and in its target directory. Cargo runs a build script again only
//! when an input of it changed, not when a file that it wrote is gone: where such files are deleted
//! its state has to go with them. It knows cargo's directories, and no git.

use std::fs;
use std::path::Path;

/// How deep below a target directory cargo keeps the state of build scripts, at most.
const DEEPEST: usize = 6;

/// Directories without such state, which may be large.
const SKIPPED: [&str; 4] = ["deps", "incremental", "examples", "out"];

/// Whether a path that git would delete is one that we put there ourselves before every build.
pub(super) fn is_ours(path: &Path) -> bool {
    path.ends_with("Cargo.lock")
        || [".cargo", ".cargo/config.toml", ".cargo/config"].iter().any(|own| path == *own)
}

/// Names of packages in manifests, as their texts come.
pub(super) fn package_name(manifest: &str) -> Option<String> {
    let table: toml::Table = manifest.parse().ok()?;
    Some(table.get("package")?.get("name")?.as_str()?.to_owned())
}

/// Makes cargo run the build scripts of these packages again, and returns whether there was one.
pub(super) fn forget_build_scripts(target: &Path, packages: &[String]) -> bool {
    forget_below(target, packages, false, DEEPEST)
}

fn forget_below(directory: &Path, packages: &[String], within: bool, depth: usize) -> bool {
    let mut forgot = false;
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if within && name.starts_with("run-build-script-") {
            forgot |= fs::remove_file(&path).is_ok();
        } else if depth > 0
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
            && !SKIPPED.contains(&&*name)
        {
            let within = within || packages.iter().any(|package| is_state_of(&name, package));
            forgot |= forget_below(&path, packages, within, depth - 1);
        }
    }
    forgot
}

/// Cargo calls the directory of a package's state by its name, with a hash behind it or below it.
fn is_state_of(directory: &str, package: &str) -> bool {
    let hash = directory.strip_prefix(package).map(|rest| rest.strip_prefix('-').unwrap_or(rest));
    hash.is_some_and(|hash| hash.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{forget_build_scripts, is_ours, is_state_of, package_name};

    #[test]
    fn only_build_scripts_of_these_packages_run_again() {
        let target = tempfile::tempdir().unwrap();
        let state = "run-build-script-build-script-build";
        let files = [
            ("release/.fingerprint/demo-0123456789abcdef", state, false),
            ("release/.fingerprint/demo-0123456789abcdef", "lib-demo", true),
            ("x86_64/release/.fingerprint/demo-ffff", state, false),
            ("release/build/demo/0123/fingerprint", state, false),
            ("release/.fingerprint/demo-sys-0123456789abcdef", state, true),
            ("release/.fingerprint/openssl-sys-0123456789abcdef", state, true),
            ("release/deps/demo-0123", state, true),
        ];
        for (directory, name, _) in files {
            fs::create_dir_all(target.path().join(directory)).unwrap();
            fs::write(target.path().join(directory).join(name), "").unwrap();
        }
        assert!(forget_build_scripts(target.path(), &["demo".to_owned()]));
        for (directory, name, stays) in files {
            assert_eq!(
                target.path().join(directory).join(name).exists(),
                stays,
                "{directory}/{name}"
            );
        }
        assert!(!forget_build_scripts(target.path(), &["demo".to_owned()]));
        assert!(is_state_of("a-b-12ab", "a-b") && !is_state_of("a-b-12ab", "a"));
    }

    #[test]
    fn what_we_copy_ourselves_is_nothing_that_was_generated() {
        for (path, ours) in [
            ("Cargo.lock", true),
            ("fuzz/Cargo.lock", true),
            (".cargo/config.toml", true),
            (".cargo/", true),
            ("src/gen.rs", false),
            ("sub/.cargo/config.toml", false),
        ] {
            assert_eq!(is_ours(Path::new(path)), ours, "{path}");
        }
        assert_eq!(package_name("[package]\nname = \"a\"\n").as_deref(), Some("a"));
        assert_eq!(package_name("[workspace]\n"), None);
    }
}
