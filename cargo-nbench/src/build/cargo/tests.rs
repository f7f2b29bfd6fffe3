//! Selection over written metadata and builds of tiny crates that depend on
//! nothing but each other. It never reaches a registry.

use std::fs;
use std::path::Path;

use super::{
    BuildContext, BuildNote, BuildOptions, BuiltTarget, Selected, build, build_each, failure,
    load_in, matches, select,
};
use crate::failure::Exit;

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A stand-in for the harness, a member that reaches it under another name
/// through a third crate, and one that does not reach it.
fn workspace() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let package = |name: &str, rest: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.2\"\nedition = \"2021\"\n{rest}")
    };
    let members = "[workspace]\nmembers = [\"nbench\", \"through\", \"mine\", \"other\"]\n\
                   default-members = [\"mine\", \"other\"]\nresolver = \"2\"\n";
    write(root, "Cargo.toml", members);
    write(root, "nbench/Cargo.toml", &package("nbench", ""));
    let harness = "#[used]\nstatic MARKER: [u8; 38] = *b\"nbench-harness-marker version=9.8.7 x \";\n\
                   pub fn touch() { std::hint::black_box(&MARKER); }\n";
    write(root, "nbench/src/lib.rs", harness);
    let through = "[dependencies]\nrenamed = { path = \"../nbench\", package = \"nbench\" }\n";
    write(root, "through/Cargo.toml", &package("through", through));
    write(root, "through/src/lib.rs", "pub use renamed::touch;\n");
    let mine = "[features]\nextra = []\nall = [\"extra\"]\n\
                [dev-dependencies]\nthrough = { path = \"../through\" }\n\
                [[bench]]\nname = \"good\"\nharness = false\n\
                [[bench]]\nname = \"foreign\"\nharness = false\n\
                [[bench]]\nname = \"needy\"\nharness = false\nrequired-features = [\"extra\"]\n";
    write(root, "mine/Cargo.toml", &package("mine", mine));
    write(root, "mine/src/lib.rs", "");
    write(root, "mine/benches/good.rs", "fn main() { through::touch() }\n");
    write(root, "mine/benches/foreign.rs", "fn main() {}\n");
    write(root, "mine/benches/needy.rs", "fn main() { through::touch() }\n");
    let other = "[[bench]]\nname = \"good\"\nharness = false\n";
    write(root, "other/Cargo.toml", &package("other", other));
    write(root, "other/src/lib.rs", "");
    write(root, "other/benches/good.rs", "fn main() {}\n");
    directory
}

fn options() -> BuildOptions {
    BuildOptions { offline: true, ..BuildOptions::default() }
}

/// `package/target` of what is to be built, or with the reason behind a colon.
fn chosen(root: &Path, options: &BuildOptions) -> Vec<String> {
    let workspace = load_in(&BuildContext::new(root), options).unwrap();
    let selected = select(&workspace, options);
    selected
        .into_iter()
        .map(|selected| match selected {
            Selected::Bench(bench) => format!("{}/{}", bench.package, bench.target),
            Selected::Skipped { package, target, reason } => {
                format!("{package}/{target}: {reason}")
            }
        })
        .collect()
}

#[test]
fn benchmarks_of_other_members_are_named_where_there_are_none() {
    let directory = workspace();
    let through = directory.path().join("through");
    assert_eq!(
        chosen(&through, &options()),
        [
            "mine/foreign: cargo does not build its package from here: add `-p mine`",
            "mine/good: cargo does not build its package from here: add `-p mine`",
            "mine/needy: cargo does not build its package from here: add `-p mine`",
        ]
    );
    let good = BuildOptions { benches: vec!["good".to_owned()], ..options() };
    assert_eq!(chosen(&through, &good).len(), 1);
    let through = BuildOptions { packages: vec!["through".to_owned()], ..options() };
    assert!(chosen(directory.path(), &through).is_empty(), "it was what the user asked for");
}

#[test]
fn every_target_is_chosen_or_has_a_reason() {
    let directory = workspace();
    let root = directory.path();
    let no_harness = "other/good: its package depends on none of `nbench`, `criterion` and `divan`";
    let needy = "mine/needy: it needs features: add `--features extra`";
    assert_eq!(chosen(root, &options()), ["mine/foreign", "mine/good", needy, no_harness]);
    assert_eq!(chosen(&root.join("mine/src"), &options()), ["mine/foreign", "mine/good", needy]);

    for features in ["extra", "all", "mine/extra", "extra,all"] {
        let options = BuildOptions { features: vec![features.to_owned()], ..options() };
        assert_eq!(chosen(&root.join("mine"), &options).last().unwrap(), "mine/needy");
    }
    let everything = BuildOptions { all_features: true, ..options() };
    assert_eq!(chosen(&root.join("mine"), &everything).last().unwrap(), "mine/needy");

    let benches = vec!["go*".to_owned()];
    let named = BuildOptions { benches, packages: vec!["mine@0.1".to_owned()], ..options() };
    assert_eq!(chosen(root, &named), ["mine/good"]);

    let missing = BuildOptions { packages: vec!["gone".to_owned()], ..options() };
    assert_eq!(chosen(root, &missing), ["gone/: the workspace has no such package"]);
    let excluded = BuildOptions { workspace: true, exclude: vec!["m?ne".to_owned()], ..options() };
    assert_eq!(chosen(root, &excluded), [no_harness]);
}

#[test]
fn a_package_that_depends_on_its_own_release_is_told_from_it() {
    let directory = workspace();
    let root = directory.path().canonicalize().unwrap();
    let vendored = "[source.crates-io]\nreplace-with = \"vendored\"\n\
                    [source.vendored]\ndirectory = \"vendored\"\n";
    write(&root, ".cargo/config.toml", vendored);
    let release = "[package]\nname = \"mine\"\nversion = \"0.1.2\"\nedition = \"2021\"\n";
    write(&root, "vendored/mine/Cargo.toml", release);
    write(&root, "vendored/mine/src/lib.rs", "");
    write(&root, "vendored/mine/.cargo-checksum.json", r#"{"files":{},"package":null}"#);
    let through = fs::read_to_string(root.join("through/Cargo.toml")).unwrap();
    write(&root, "through/Cargo.toml", &format!("{through}mine = \"0.1\"\n"));
    let here = root.join("mine");
    let good = BuildOptions { benches: vec!["good".to_owned()], ..options() };
    let workspace = load_in(&BuildContext::new(&here), &good).unwrap();
    let selected = select(&workspace, &good);
    let [Selected::Bench(target)] = selected.as_slice() else { panic!("{selected:?}") };
    let context = BuildContext::new(&here);
    let targets = std::slice::from_ref(target);
    let built = build(&workspace, targets, &good, &context, &mut |_| {}, &|| false).unwrap();
    assert!(matches!(built.as_slice(), [BuiltTarget::Ready(_)]), "{built:?}");
}

#[test]
fn builds_what_is_ours_and_tells_the_rest() {
    let directory = workspace();
    let root = directory.path().canonicalize().unwrap();
    write(&root, "mine/benches/needy.rs", "fn main() { missing() }\n");
    let options = BuildOptions { features: vec!["extra".to_owned()], ..options() };
    let workspace = load_in(&BuildContext::new(&root.join("mine")), &options).unwrap();
    let targets: Vec<_> = select(&workspace, &options)
        .into_iter()
        .filter_map(|selected| match selected {
            Selected::Bench(bench) => Some(bench),
            Selected::Skipped { .. } => None,
        })
        .collect();
    assert_eq!(targets.len(), 3);
    let here = root.join("mine");
    let mut context = BuildContext::new(&here);
    context.target_dir = Some(root.join("elsewhere"));
    let mut notes = Vec::new();
    let results =
        build_each(&workspace, &targets, &options, &context, &mut |n| notes.push(n), &|| false)
            .unwrap();
    let [foreign, good, needy]: [BuiltTarget; 3] = results.try_into().unwrap();
    assert!(matches!(foreign, BuiltTarget::Skipped { reason, .. }
        if reason.contains("its `main` is that of none")));
    assert!(matches!(needy, BuiltTarget::Failed(failed) if failed.error.contains("missing")));
    let BuiltTarget::Ready(good) = good else { panic!("{good:?}") };
    assert!(good.path.starts_with(root.join("elsewhere")) && good.path.is_file());
    assert_eq!((good.harness.to_string().as_str(), good.cwd.as_path()), ("9.8.7", here.as_path()));
    assert_eq!(good.profile.opt_level, "3");
    assert_eq!(good.features, ["extra"]);
    let variable =
        |name: &str| good.env.iter().find(|(n, _)| n == name).and_then(|(_, value)| value.to_str());
    assert_eq!(variable("CARGO_MANIFEST_DIR"), here.to_str());
    assert_eq!(variable("CARGO_PKG_VERSION_PATCH"), Some("2"));
    assert!(notes.contains(&BuildNote::Artifact { target: "good".to_owned(), fresh: false }));

    let together = build(&workspace, &targets, &options, &context, &mut |_| {}, &|| false).unwrap();
    assert!(matches!(
        together.as_slice(),
        [BuiltTarget::Skipped { .. }, BuiltTarget::Ready(_), BuiltTarget::Failed(_)]
    ));
    let lost: Vec<_> = together
        .into_iter()
        .filter_map(|target| match target {
            BuiltTarget::Failed(failed) => Some(failed),
            _ => None,
        })
        .collect();
    assert!(lost[0].error.contains("(mine/benches/needy.rs:1:"), "{}", lost[0].error);
    let failure = failure(&lost);
    assert_eq!(failure.exit, Exit::Build);
    assert!(failure.error.contains("`needy` of package `mine`"), "{}", failure.error);
    assert!(failure.hint.is_some_and(|hint| hint.contains("cargo bench --no-run")));
    let mut full = lost[..1].to_vec();
    full[0].log.insert(0, "rustc-LLVM ERROR: IO failure: No space left on device".into());
    let hint = super::failure(&full).hint;
    assert!(hint.is_some_and(|hint| hint.contains("cargo nbench clean")));
    let stopped = build(&workspace, &targets, &options, &context, &mut |_| {}, &|| true);
    assert_eq!(stopped.unwrap_err().exit, Exit::Interrupted);
}

#[test]
fn a_broken_manifest_is_a_build_failure() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "Cargo.toml", "[package]\nname = 1\n");
    let failure = load_in(&BuildContext::new(directory.path()), &options()).unwrap_err();
    assert_eq!(failure.exit, Exit::Build);
    assert!(failure.hint.is_some());
}

#[test]
fn a_manifest_moves_with_its_checkout() {
    let directory = workspace();
    let root = directory.path().canonicalize().unwrap();
    let manifest_path = Some("Cargo.toml".into());
    let options = BuildOptions { manifest_path, ..options() };
    let moved = options.relocated(&root.join("mine"), &root, Path::new("/slot"));
    assert_eq!(moved.manifest_path.unwrap(), Path::new("/slot/mine/Cargo.toml"));
}

#[test]
fn patterns_worked_by_hand() {
    let cases = [
        ("a", "a", true),
        ("a", "ab", false),
        ("a*", "a", true),
        ("*b", "ab", true),
        ("a*c*e", "abcde", true),
        ("a?c", "abc", true),
        ("a?", "a", false),
        ("*", "", true),
        ("?", "ä", true),
        ("b[ae]n", "ben", true),
        ("b[!ae]n", "ben", false),
        ("b[0-9]", "b7", true),
        ("**", "ab", true),
        ("a", "A", false),
        ("a[", "a[", true),
        ("a[", "ab", false),
    ];
    for (pattern, text, expected) in cases {
        assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
    }
    // Trying every way to share out the text would not end.
    assert!(!matches(&format!("{}b", "*a".repeat(40)), &"a".repeat(400)));
}
