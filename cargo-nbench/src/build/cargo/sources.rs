//! Which files an executable was compiled from: those of the bench target itself and those of all
//! local crates in it, as the compiler's dependency files say. It reads no source and judges
//! nothing.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Component, Path, PathBuf};

use cargo_metadata::{Artifact, DependencyKind, Node, PackageId, TargetKind};

use super::Workspace;
use super::reach::HARNESS;

/// Files behind an executable, absolute and without repetition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// Files of the bench target's own crate, included ones too.
    pub bench: BTreeSet<PathBuf>,
    /// Those and the files of every crate in its dependency closure that comes from a directory.
    /// The harness, stand-ins, build scripts and procedural macros are not among them.
    pub local: BTreeSet<PathBuf>,
    /// Those of `local` that the measured libraries are compiled from. A benchmark that includes
    /// one of them as its input has it among its own too.
    pub library: BTreeSet<PathBuf>,
    /// Those of `local` that only dependencies for development bring in.
    pub helpers: BTreeSet<PathBuf>,
    /// Files of the build scripts of those crates, and of the crates from directories that they
    /// use: what they write and set, the benchmark may read.
    pub generators: BTreeSet<PathBuf>,
    /// Files of the procedural macros from directories, whose texts become texts of the benchmark.
    pub macros: BTreeSet<PathBuf>,
}

/// Sources of the executable of `bench`, which was built together with `artifacts`.
pub(super) fn of(workspace: &Workspace, artifacts: &[Artifact], bench: &Artifact) -> Sources {
    let own = written_down(&workspace.root, bench).unwrap_or_else(|| {
        // Without a dependency file the one file that is certain.
        [normal(bench.target.src_path.as_std_path())].into()
    });
    let mut sources = Sources { local: own.clone(), bench: own, ..Sources::default() };
    let ordinary = local_closure(workspace, &bench.package_id, false);
    let packages = local_closure(workspace, &bench.package_id, true);
    for package in &packages {
        for artifact in artifacts.iter().filter(|a| a.package_id == *package) {
            if is(artifact, TargetKind::CustomBuild) {
                sources.generators.extend(files_of_script(workspace, artifact));
            } else if is(artifact, TargetKind::ProcMacro) {
                sources.macros.extend(files_of(workspace, artifact));
            } else if is_linked(artifact) {
                let files = files_of(workspace, artifact);
                let kind = match ordinary.contains(package) {
                    true => &mut sources.library,
                    false => &mut sources.helpers,
                };
                kind.extend(files.iter().cloned());
                sources.local.extend(files);
            }
        }
    }
    for package in builders(workspace, &packages) {
        let linked = artifacts.iter().filter(|a| a.package_id == package && is_linked(a));
        sources.generators.extend(linked.flat_map(|artifact| files_of(workspace, artifact)));
    }
    sources
}

/// Files that an artifact was compiled from, or more where that is not written down.
fn files_of(workspace: &Workspace, artifact: &Artifact) -> BTreeSet<PathBuf> {
    written_down(&workspace.root, artifact)
        .unwrap_or_else(|| beside(artifact.target.src_path.as_std_path()))
}

/// The same for a build script, which cargo names by a link beside what the compiler wrote.
fn files_of_script(workspace: &Workspace, script: &Artifact) -> BTreeSet<PathBuf> {
    let made = script.executable.iter().chain(&script.filenames);
    let folders: BTreeSet<&Path> = made.filter_map(|path| path.as_std_path().parent()).collect();
    let notes = folders.into_iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
    let notes = notes.flatten().map(|entry| entry.path());
    let notes = notes.filter(|path| path.extension().is_some_and(|extension| extension == "d"));
    let texts = notes.filter_map(|path| fs::read_to_string(path).ok());
    let root = normal(script.target.src_path.as_std_path());
    texts.flat_map(|text| parse(&text, &workspace.root)).chain([root]).collect()
}

fn is(artifact: &Artifact, kind: TargetKind) -> bool {
    artifact.target.kind.contains(&kind)
}

/// Packages from directories that the build scripts of `packages` are made of.
fn builders(workspace: &Workspace, packages: &BTreeSet<PackageId>) -> BTreeSet<PackageId> {
    let nodes = workspace.metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let dependencies = nodes.filter(|node| packages.contains(&node.id)).flat_map(|node| &node.deps);
    let used = dependencies.filter(|dependency| {
        dependency.dep_kinds.iter().any(|info| info.kind == DependencyKind::Build)
            && workspace.package(&dependency.pkg).is_some_and(|package| package.source.is_none())
    });
    used.flat_map(|dependency| local_closure(workspace, &dependency.pkg, false)).collect()
}

/// Whether an artifact is code that a benchmark may run: a library, or a program of its package.
fn is_linked(artifact: &Artifact) -> bool {
    let never = [
        TargetKind::Bench,
        TargetKind::Test,
        TargetKind::Example,
        TargetKind::CustomBuild,
        TargetKind::ProcMacro,
    ];
    !artifact.target.kind.iter().any(|kind| never.contains(kind))
}

/// Packages from directories that the benchmarks of `root` reach, `root` among them: through
/// ordinary dependencies, at `root` itself also through those for `development`.
fn local_closure(
    workspace: &Workspace,
    root: &PackageId,
    development: bool,
) -> BTreeSet<PackageId> {
    let Some(resolve) = &workspace.metadata.resolve else { return [root.clone()].into() };
    let nodes: HashMap<&PackageId, &Node> = resolve.nodes.iter().map(|n| (&n.id, n)).collect();
    let mut seen = BTreeSet::new();
    let mut left = vec![root.clone()];
    while let Some(id) = left.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        let dependencies = nodes.get(&id).map(|node| node.deps.as_slice()).unwrap_or_default();
        let wanted = dependencies.iter().filter(|dependency| {
            let kinds = &dependency.dep_kinds;
            kinds.is_empty()
                || kinds.iter().any(|info| {
                    info.kind == DependencyKind::Normal
                        || (development && id == *root && info.kind == DependencyKind::Development)
                })
        });
        left.extend(wanted.map(|dependency| dependency.pkg.clone()));
    }
    seen.retain(|id| {
        workspace.package(id).is_some_and(|package| {
            package.source.is_none()
                && package.name.as_str() != HARNESS
                && !workspace.injection.made(package.manifest_path.as_std_path())
        })
    });
    seen.insert(root.clone());
    seen
}

/// Files that the compiler wrote down for an artifact; nothing where there is no such file.
fn written_down(root: &Path, artifact: &Artifact) -> Option<BTreeSet<PathBuf>> {
    let made = artifact.executable.iter().chain(&artifact.filenames);
    made.flat_map(|path| dependency_files(path.as_std_path())).find_map(|path| {
        let text = fs::read_to_string(path).ok()?;
        let files: BTreeSet<PathBuf> = parse(&text, root).into_iter().collect();
        (!files.is_empty()).then_some(files)
    })
}

/// Where the dependency file of an artifact may stand: `libNAME-HASH.rlib` has `NAME-HASH.d`.
fn dependency_files(made: &Path) -> Vec<PathBuf> {
    let Some(name) = made.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let bare = stem.strip_prefix("lib").unwrap_or(stem);
    [name, bare, stem].map(|stem| made.with_file_name(format!("{stem}.d"))).into()
}

/// Prerequisites of every rule. Names are relative to `root`, and a blank in them is escaped.
fn parse(text: &str, root: &Path) -> Vec<PathBuf> {
    let rules = text.lines().filter(|line| !line.starts_with('#'));
    let named = rules.filter_map(|line| line.split_once(": ")).flat_map(|(_, names)| {
        let mut files = vec![String::new()];
        let mut chars = names.chars().peekable();
        while let Some(c) = chars.next() {
            let last = files.len() - 1;
            match c {
                '\\' if chars.next_if_eq(&' ').is_some() => files[last].push(' '),
                ' ' => files.push(String::new()),
                c => files[last].push(c),
            }
        }
        files
    });
    named.filter(|name| !name.is_empty()).map(|name| normal(&root.join(name))).collect()
}

/// Every source below the directory of a crate's root: more than the crate, never less.
fn beside(root: &Path) -> BTreeSet<PathBuf> {
    let mut found: BTreeSet<PathBuf> = [normal(root)].into();
    let mut folders: Vec<PathBuf> = root.parent().map(Path::to_owned).into_iter().collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            // A link may lead in a circle.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.insert(normal(&path));
            }
        }
    }
    found
}

/// `path` without `.` and `..`, by its words alone.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{beside, dependency_files, parse};

    #[test]
    fn prerequisites_of_a_makefile() {
        let text = "/t/deps/b-1.d: benches/b.rs benches/two\\ words.rs benches/../src/x.rs /far/y.rs\n\n\
                    /t/deps/b-1: benches/b.rs\n\nbenches/b.rs:\nbenches/two\\ words.rs:\n\n\
                    # env-dep:CARGO_PKG_README=README.md\n# checksum:blake3=0: benches/no.rs\n";
        let expected = ["/w/benches/b.rs", "/w/benches/two words.rs", "/w/src/x.rs", "/far/y.rs"];
        let mut files = parse(text, Path::new("/w"));
        files.dedup();
        let expected: Vec<PathBuf> = expected.map(PathBuf::from).into();
        assert_eq!(files, [&expected[..], &expected[..1]].concat());
        assert_eq!(parse("", Path::new("/w")), Vec::<PathBuf>::new());
        assert_eq!(parse("a\\: b", Path::new("/w")), [Path::new("/w/b")], "nothing panics");
    }

    #[test]
    fn an_artifact_and_its_dependency_file() {
        for (made, file) in [
            ("/t/deps/libdemo-0a.rlib", "/t/deps/demo-0a.d"),
            ("/t/deps/libdemo-0a.rmeta", "/t/deps/demo-0a.d"),
            ("/t/deps/b-0a", "/t/deps/b-0a.d"),
            ("/t/libdemo.so", "/t/libdemo.d"),
        ] {
            let files = dependency_files(Path::new(made));
            assert!(files.contains(&file.into()), "{made}: {files:?}");
        }
    }

    #[test]
    fn a_crate_without_a_dependency_file_is_its_whole_directory() {
        let directory = tempfile::tempdir().unwrap();
        let at = |path: &str| directory.path().join(path);
        fs::create_dir_all(at("src/deep")).unwrap();
        for path in ["src/lib.rs", "src/deep/a.rs", "src/data.txt", "build.rs"] {
            fs::write(at(path), "").unwrap();
        }
        let expected = [at("src/deep/a.rs"), at("src/lib.rs")].into();
        assert_eq!(beside(&at("src/lib.rs")), expected);
    }
}
