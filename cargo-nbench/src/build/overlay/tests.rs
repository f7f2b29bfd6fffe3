//! Overlays over two written revisions of a workspace, built with the real
//! cargo and without a registry.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Overlay, OverlaySources, generate, resolver};
use crate::build::cargo::{
    BenchTarget, BuildContext, BuildOptions, BuiltTarget, Selected, Workspace, build_each, load_in,
    select,
};

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn package(name: &str, rest: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{rest}")
}

/// The workspace of one revision: `lib` and a member it uses. Only the newer
/// one has benchmarks, a harness and the feature `fast`.
fn revision(root: &Path, answer: u32, newer: bool) {
    let members = "[workspace]\nmembers = [\"lib\", \"part\"]\nresolver = \"2\"\n\
                   [profile.bench]\nopt-level = 1\n";
    write(root, "Cargo.toml", members);
    write(root, "part/Cargo.toml", &package("part", ""));
    write(root, "part/src/lib.rs", &format!("pub fn answer() -> u32 {{ {answer} }}\n"));
    let mut lib = "[dependencies]\npart = { path = \"../part\" }\n".to_owned();
    let mut source = "pub fn answer() -> u32 { part::answer() }\n".to_owned();
    if newer {
        lib += "[dev-dependencies]\nnbench = { path = \"../../harness\" }\n\
                [features]\nfast = []\ndefault = [\"fast\"]\n\
                [[bench]]\nname = \"good\"\nharness = false\nrequired-features = [\"fast\"]\n\
                [[bench]]\nname = \"recent\"\nharness = false\n";
        let bench = "fn main() { nbench::touch(); \
                     print!(\"{} {}\", lib::answer(), part::answer()) }\n";
        write(root, "lib/benches/good.rs", bench);
        let bench = "fn main() { nbench::touch(); lib::recent() }\n";
        write(root, "lib/benches/recent.rs", bench);
        source += "pub fn recent() {}\n";
    }
    write(root, "lib/Cargo.toml", &package("lib", &lib));
    write(root, "lib/src/lib.rs", &source);
}

fn options() -> BuildOptions {
    BuildOptions { offline: true, workspace: true, ..BuildOptions::default() }
}

fn targets(workspace: &Workspace) -> Vec<BenchTarget> {
    let selected = select(workspace, &options()).into_iter();
    selected
        .filter_map(|selected| match selected {
            Selected::Bench(bench) => Some(bench),
            Selected::Skipped { .. } => None,
        })
        .collect()
}

fn build(overlay: &Overlay, out: &Path) -> Vec<BuiltTarget> {
    let options = overlay.options(&options());
    let generated = load_in(&BuildContext::new(out), &options).unwrap();
    let context = BuildContext::new(out);
    build_each(&generated, &targets(&generated), &options, &context, &mut |_| {}, &|| false)
        .unwrap()
}

#[test]
fn todays_benchmarks_measure_the_older_library() {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().canonicalize().unwrap();
    write(&top, "harness/Cargo.toml", &package("nbench", ""));
    let harness = "#[used]\nstatic MARKER: [u8; 38] = *b\"nbench-harness-marker version=9.8.7 x \";\n\
                   pub fn touch() { std::hint::black_box(&MARKER); }\n";
    write(&top, "harness/src/lib.rs", harness);
    let (old, new): (PathBuf, PathBuf) = (top.join("old"), top.join("new"));
    revision(&old, 1, false);
    revision(&new, 2, true);
    let before = load_in(&BuildContext::new(&old), &options()).unwrap();
    let after = load_in(&BuildContext::new(&new), &options()).unwrap();
    let targets = targets(&after);
    assert_eq!(targets.len(), 2);
    for (side, side_root, answers, recent_builds) in
        [(&before, &old, "1 1", false), (&after, &new, "2 2", true)]
    {
        let sources = OverlaySources {
            contender: &after,
            contender_root: &new,
            side,
            side_root,
            package: "lib",
            targets: &targets,
        };
        let out = top.join(format!("overlay-{answers}"));
        let overlay = generate(&sources, &out).unwrap();
        let manifest = fs::read_to_string(&overlay.manifest).unwrap();
        assert!(manifest.contains("opt-level = 1"), "{manifest}");
        let built = build(&overlay, &out);
        let [good, recent]: [BuiltTarget; 2] = built.try_into().unwrap();
        let BuiltTarget::Ready(good) = good else { panic!("{good:?}") };
        let good = overlay.adopt(*good);
        assert_eq!((good.target.package.as_str(), good.cwd), ("lib", new.join("lib")));
        let output = Command::new(&good.path).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), answers);
        match recent {
            BuiltTarget::Failed(failed) => {
                assert!(!recent_builds && failed.error.contains("recent"), "{}", failed.error);
            }
            other => assert!(recent_builds, "{other:?}"),
        }
        let modified = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
        let written = modified(&overlay.manifest);
        assert_eq!(generate(&sources, &out).unwrap(), overlay);
        assert_eq!(modified(&overlay.manifest), written, "cargo finds it fresh");
    }
    let sources = OverlaySources {
        contender: &after,
        contender_root: &new,
        side: &before,
        side_root: &old,
        package: "gone",
        targets: &targets,
    };
    assert!(generate(&sources, &top.join("none")).is_err());
}

#[test]
fn the_resolver_is_the_workspaces() {
    let cases = [
        ("[workspace]\nresolver = \"3\"\n", "3"),
        ("[workspace]\n", "1"),
        ("[package]\nedition = \"2021\"\n", "2"),
        ("[package]\nedition = \"2024\"\n", "3"),
        ("[package]\nedition = \"2024\"\nresolver = \"2\"\n", "2"),
        ("[package]\nedition.workspace = true\n[workspace.package]\nedition = \"2021\"\n", "2"),
        ("[package]\nname = \"x\"\n", "1"),
    ];
    for (manifest, expected) in cases {
        assert_eq!(resolver(&manifest.parse().unwrap()), expected, "{manifest}");
    }
}
