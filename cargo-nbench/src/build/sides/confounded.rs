//! What a comparison confounds with the library: the benchmark's own source, or an input, that
//! differs between the sides. It reads files of two checkouts and decides no verdict.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::build::cargo::{Executable, Sources, normal};
use crate::build::identical::inputs::{Evidence, Included, Reading, is_rust};
use crate::build::identical::is_inert;
use crate::build::identical::lexer::{Token, tokens};

/// One side of a target.
#[derive(Clone, Copy)]
pub(super) struct Half<'h> {
    /// Its executable.
    pub(super) executable: &'h Executable,
    /// Root of its checkout.
    pub(super) tree: &'h Path,
}

impl Half<'_> {
    /// A source as seen from the repository; nothing outside of it.
    fn within(&self, path: &Path) -> Option<String> {
        let path = path.strip_prefix(self.tree).ok()?;
        Some(path.to_string_lossy().replace('\\', "/"))
    }

    /// Sources of the benchmark itself by their path seen from its package, which may have moved.
    fn bench(&self) -> BTreeMap<PathBuf, &Path> {
        let package = normal(&self.executable.target.manifest_dir);
        let sources = &self.executable.sources.bench;
        let included = Included::by(sources);
        let own = sources.iter().filter(|p| p.starts_with(self.tree));
        own.filter(|path| !included.is_documentation(path))
            .map(|path| {
                let name = path.strip_prefix(&package).or_else(|_| path.strip_prefix(self.tree));
                (name.unwrap_or(path).to_owned(), path.as_path())
            })
            .collect()
    }

    /// Whether a path of the repository is one of the sources behind the executable.
    fn has_source(&self, path: &str) -> bool {
        self.executable.sources.local.contains(&self.tree.join(path))
    }

    /// Whether such a source is included as documentation and nothing else.
    fn is_documentation(&self, path: &str) -> bool {
        let path = self.tree.join(path);
        !is_rust(&path) && Included::by(&self.executable.sources.local).is_documentation(&path)
    }

    /// Whether there is code that is neither the benchmark's own nor that of helpers.
    fn has_library(&self) -> bool {
        let mut library = self.executable.sources.library.iter().filter(|path| is_rust(path));
        library.any(|path| !fs::read(path).is_ok_and(|bytes| code(&bytes).is_empty()))
    }

    /// Whether a path of the repository is a source of the benchmark and of no library.
    fn is_bench_only(&self, path: &str) -> bool {
        let Sources { bench, library, .. } = &self.executable.sources;
        let path = self.tree.join(path);
        bench.contains(&path) && !library.contains(&path)
    }
}

/// Notes on a comparison of two sides whose trees differ in `changed`, and whose result may be
/// `gated`.
pub(super) fn notes(
    reference: Half<'_>,
    contender: Half<'_>,
    changed: &[String],
    gated: bool,
) -> Vec<String> {
    let mut notes = Vec::new();
    let differing = differing_bench(reference, contender);
    if let Some(first) = differing.first() {
        let more = match differing.len() {
            1 => String::new(),
            many => format!(" and {} more", many - 1),
        };
        let advice = if gated {
            "`--overlay-benches` measures one source against both; the gate counts it all the same"
        } else {
            "`--overlay-benches` measures one source against both"
        };
        notes.push(if changed.iter().any(|path| may_be_library(reference, contender, path)) {
            format!(
                "its own source `{first}`{more} differs between the revisions as well: the change may be the benchmark's; {advice}"
            )
        } else {
            format!(
                "its own source `{first}`{more} differs between the revisions and the library does not: the change is the benchmark's; {advice}"
            )
        });
    }
    notes.extend(helper(reference, contender, changed));
    notes.extend(input(reference, contender, changed));
    notes.extend(build_settings(reference.tree, contender.tree, changed));
    notes
}

/// The note on a file that decides how the code is compiled and says it otherwise on the two sides:
/// a profile, or cargo's configuration.
fn build_settings(reference: &Path, contender: &Path, changed: &[String]) -> Option<String> {
    let profiles = |tree: &Path, path: &str| -> Option<toml::Value> {
        let text = fs::read_to_string(tree.join(path)).ok()?;
        text.parse::<toml::Table>().ok()?.remove("profile")
    };
    let decides = |path: &&String| {
        let mut parts = path.rsplit('/');
        match (parts.next(), parts.next()) {
            (Some("config.toml" | "config"), Some(".cargo")) => true,
            (Some("Cargo.toml"), _) => profiles(reference, path) != profiles(contender, path),
            _ => false,
        }
    };
    let first = changed.iter().find(decides)?;
    Some(format!(
        "`{first}` says otherwise how the code is compiled: the change may be that of the build"
    ))
}

/// Sources of the benchmark that say different things on the two sides. What only moved is not
/// among them, nor is a comment.
fn differing_bench(reference: Half<'_>, contender: Half<'_>) -> Vec<String> {
    let (old, new) = (reference.bench(), contender.bench());
    let mut differing = Vec::new();
    let mut gone: Vec<(&Path, &Path)> = Vec::new();
    for (name, path) in &old {
        match new.get(name) {
            Some(other) if differs(path, other) => differing.extend(contender.within(other)),
            Some(_) => {}
            None => gone.push((name, path)),
        }
    }
    for (name, path) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
        match gone.iter().position(|(_, before)| !differs(before, path)) {
            Some(at) => {
                gone.remove(at);
            }
            None => differing.push(contender.within(path).unwrap_or(name.display().to_string())),
        }
    }
    differing.extend(gone.iter().filter_map(|(_, path)| reference.within(path)));
    differing
}

/// Whether two files say different things; a file that cannot be read does.
fn differs(a: &Path, b: &Path) -> bool {
    let (Ok(left), Ok(right)) = (fs::read(a), fs::read(b)) else { return true };
    if left == right {
        return false;
    }
    !(is_rust(a) && is_rust(b) && code(&left) == code(&right))
}

fn code(bytes: &[u8]) -> Vec<Token> {
    tokens(&String::from_utf8_lossy(bytes))
}

/// Whether a changed file may be a change of the library, or of how it is built.
fn may_be_library(reference: Half<'_>, contender: Half<'_>, path: &str) -> bool {
    if reference.is_bench_only(path) || contender.is_bench_only(path) {
        return false;
    }
    if reference.has_source(path) && contender.has_source(path) {
        return !(reference.is_documentation(path) && contender.is_documentation(path))
            && differs(&reference.tree.join(path), &contender.tree.join(path));
    }
    if reference.has_source(path) || contender.has_source(path) {
        return true;
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let of_tests = path.split('/').any(|part| ["benches", "examples", "tests"].contains(&part));
    let is_build = name.starts_with("Cargo.") || name.starts_with("rust-toolchain");
    is_build || !(of_tests || is_inert(path)) || (is_rust(Path::new(path)) && !of_tests)
}

/// The note on a crate that only benchmarks and tests use, beside a library that is measured: where
/// the package has no code of its own, what it depends on for development is what it measures.
fn helper(reference: Half<'_>, contender: Half<'_>, changed: &[String]) -> Option<String> {
    let is_helper = |half: &Half<'_>, path: &str| {
        half.executable.sources.helpers.contains(&half.tree.join(path))
    };
    let halves = [reference, contender];
    let path = changed.iter().find(|path| {
        halves.iter().all(|half| is_helper(half, path))
            && may_be_library(reference, contender, path)
    })?;
    halves.iter().all(Half::has_library).then(|| {
        format!(
            "`{path}` differs between the revisions, and the package uses it for benchmarks and tests only: the change may be the benchmark's"
        )
    })
}

/// The note on a file that is neither source nor manifest, differs, and is named by the code.
fn input(reference: Half<'_>, contender: Half<'_>, changed: &[String]) -> Option<String> {
    let inputs: Vec<&String> = changed
        .iter()
        .filter(|path| !is_rust(Path::new(path)) && !path.contains("Cargo."))
        .filter(|path| {
            let compiled = |half: &Half<'_>| half.has_source(path) && !half.is_documentation(path);
            ![reference, contender].iter().any(compiled)
        })
        .collect();
    if inputs.is_empty() {
        return None;
    }
    let evidence = evidence(reference, contender);
    let mut named =
        inputs.into_iter().filter(|path| evidence.reading(path, "") == Some(Reading::Named));
    let first = named.next()?;
    let more = match named.count() {
        0 => String::new(),
        many => format!(" and {many} more"),
    };
    Some(format!(
        "`{first}`{more} differs between the revisions, and the code names it: where it is an input the change may be that of the input"
    ))
}

/// Evidence of both sides' sources about files.
pub(super) fn evidence(reference: Half<'_>, contender: Half<'_>) -> Evidence {
    let halves = [reference, contender];
    let sources = halves.iter().flat_map(|half| &half.executable.sources.local);
    let mut evidence = Evidence::gather(sources, &places(&halves));
    for source in halves.iter().flat_map(|half| &half.executable.sources.macros) {
        evidence.add_macro(source);
    }
    evidence
}

/// Where the names of files in sources may begin.
fn places<'h>(halves: &[Half<'h>]) -> Vec<&'h Path> {
    halves.iter().flat_map(|half| [half.executable.cwd.as_path(), half.tree]).collect()
}

/// Whether a changed file may decide what build scripts leave for code that says `evidence`.
pub(super) fn may_be_generated(
    reference: Half<'_>,
    contender: Half<'_>,
    changed: &[String],
    evidence: &Evidence,
) -> bool {
    let halves = [reference, contender];
    let scripts = || halves.iter().flat_map(|half| &half.executable.sources.generators);
    if scripts().next().is_none() {
        return false;
    }
    let said = Evidence::gather(scripts(), &places(&halves));
    changed.iter().any(|path| {
        let is_script =
            |half: &Half<'_>| half.executable.sources.generators.contains(&half.tree.join(path));
        evidence.generated(path, halves.iter().any(is_script), &said)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mark of a source of the library that the benchmark includes as its input.
    const INCLUDED: &str = "// include_bytes!";

    /// A checkout of these files, with an executable of package `demo`, whose benchmark is made of
    /// what lies in `benches` or is marked, and whose helper lies in `support`.
    fn half(tree: &Path, files: &[(&str, &str)]) -> Executable {
        let mut sources = Sources::default();
        for (name, text) in files {
            let path = tree.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            if name.ends_with(".rs") {
                if name.contains("benches/") || text.contains(INCLUDED) {
                    sources.bench.insert(path.clone());
                }
                if name.starts_with("support/") {
                    sources.helpers.insert(path.clone());
                } else if !name.contains("benches/") {
                    sources.library.insert(path.clone());
                }
                sources.local.insert(path);
            }
        }
        let mut executable = Executable { sources, ..Executable::default() };
        executable.target.manifest_dir = tree.join("demo");
        executable
    }

    type Files<'f> = &'f [(&'f str, &'f str)];

    fn told(old: Files<'_>, new: Files<'_>) -> Vec<String> {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (reference, contender) = (half(a.path(), old), half(b.path(), new));
        let mut changed: Vec<String> = old
            .iter()
            .chain(new)
            .filter(|(name, _)| {
                fs::read(a.path().join(name)).ok() != fs::read(b.path().join(name)).ok()
            })
            .map(|(name, _)| (*name).to_owned())
            .collect();
        changed.sort();
        changed.dedup();
        notes(
            Half { executable: &reference, tree: a.path() },
            Half { executable: &contender, tree: b.path() },
            &changed,
            false,
        )
    }

    const LIBRARY: (&str, &str) = ("demo/src/lib.rs", "fn f() {}");
    const BENCH: (&str, &str) = ("demo/benches/b.rs", "fn main() { f(1) }");

    #[test]
    fn what_is_told_of_a_benchmark_that_changed() {
        let other = ("demo/benches/b.rs", "fn main() { f(2) }");
        let remark = ("demo/benches/b.rs", "// Why.\nfn main() { f(1) }");
        let part = ("demo/benches/common/mod.rs", "fn input() {}");
        let library = ("demo/src/lib.rs", "fn f() { g() }");
        let manifest = ("Cargo.toml", "[profile.bench]");
        let moved = ("demo/benches/sub/b.rs", BENCH.1);
        let words = ("README.md", "Words.");
        let input = ("demo/src/lib.rs", "fn f() {} // include_bytes!");
        let other_input = ("demo/src/lib.rs", "fn f() { g() } // include_bytes!");
        for (old, new, expected) in [
            (
                &[LIBRARY, BENCH][..],
                &[LIBRARY, other][..],
                "`demo/benches/b.rs` differs between the revisions and the library does not",
            ),
            (&[LIBRARY, BENCH], &[LIBRARY, other, words], "the library does not"),
            (&[LIBRARY, BENCH], &[library, other], "as well"),
            (&[LIBRARY, BENCH], &[LIBRARY, other, manifest], "as well"),
            (
                &[input, BENCH],
                &[other_input, BENCH],
                "`demo/src/lib.rs` differs between the revisions as well",
            ),
            (&[LIBRARY, BENCH], &[LIBRARY, BENCH, part], "`demo/benches/common/mod.rs`"),
            (&[LIBRARY, BENCH, part], &[LIBRARY, BENCH], "`demo/benches/common/mod.rs`"),
            (&[LIBRARY, BENCH], &[LIBRARY, other, part], "and 1 more"),
            (&[LIBRARY, BENCH], &[LIBRARY, remark], ""),
            (&[LIBRARY, BENCH], &[library, BENCH], ""),
            (&[LIBRARY, BENCH], &[library, moved], ""),
        ] {
            let told = told(old, new).join("\n");
            assert!(
                told.contains(expected) && told.is_empty() == expected.is_empty(),
                "{new:?}: {told}"
            );
        }
    }

    #[test]
    fn what_is_told_of_helpers_and_inputs() {
        let reads = ("demo/benches/b.rs", "fn main() { f(\"data/in.txt\") }");
        let helper = |text| ("support/src/lib.rs", text);
        let input = |text| ("demo/data/in.txt", text);
        let empty = ("demo/src/lib.rs", "//! Nothing.\n");
        for (old, new, expected) in [
            (
                &[LIBRARY, BENCH, helper("fn h() {}")][..],
                &[LIBRARY, BENCH, helper("fn h() { i() }")][..],
                "`support/src/lib.rs`",
            ),
            (
                &[LIBRARY, BENCH, helper("fn h() {}")],
                &[LIBRARY, BENCH, helper("fn h() {} // i")],
                "",
            ),
            // A package of benchmarks alone measures what it depends on.
            (&[empty, BENCH, helper("fn h() {}")], &[empty, BENCH, helper("fn h() { i() }")], ""),
            (&[LIBRARY, reads, input("1")], &[LIBRARY, reads, input("2")], "`demo/data/in.txt`"),
            (&[LIBRARY, BENCH, input("1")], &[LIBRARY, BENCH, input("2")], ""),
        ] {
            let told = told(old, new).join("\n");
            assert!(
                told.contains(expected) && told.is_empty() == expected.is_empty(),
                "{new:?}: {told}"
            );
        }
    }

    #[test]
    fn settings_of_the_build_that_differ_are_told() {
        let manifest = |profile: &str| format!("[package]\nname = \"demo\"\n{profile}");
        let (plain, slow) = (manifest(""), manifest("[profile.bench]\nopt-level = 1\n"));
        let other = manifest("description = \"new\"\n");
        type Pair<'p> = (&'p str, Option<&'p str>, Option<&'p str>);
        let table: [(Pair<'_>, bool); 6] = [
            (("Cargo.toml", Some(&plain), Some(&slow)), true),
            (("Cargo.toml", Some(&slow), Some(&plain)), true),
            (("demo/Cargo.toml", Some(&plain), Some(&other)), false),
            ((".cargo/config.toml", None, Some("[build]\nrustflags = []\n")), true),
            (("demo/.cargo/config", Some("[net]\n"), None), true),
            (("config.toml", None, Some("[build]\n")), false),
        ];
        for ((name, old, new), is_told) in table {
            let old: Vec<(&str, &str)> = old.iter().map(|text| (name, *text)).collect();
            let new: Vec<(&str, &str)> = new.iter().map(|text| (name, *text)).collect();
            let said = told(&old, &new).join("\n");
            let note = format!("`{name}` says otherwise how the code is compiled");
            assert_eq!(said.contains(&note), is_told, "{name}: {said}");
        }
    }
}
