//! Decides without measuring that two executables are the same code and that
//! nothing they could read differs. In doubt it says no: then it is measured.
//!
//! A changed file is no input when both hold: by its name it is a source, a
//! manifest, a document, a licence or a setting of tools outside the folders
//! of data, and nothing in the code behind the benchmark may read it under
//! that name ([`inputs`]). The first alone is no proof: a parser's benchmark
//! may well read README.md or src/lib.rs. The second alone is none either,
//! because names can be computed.

pub(crate) mod inputs;
pub(crate) mod lexer;

use std::fs;
use std::path::Path;

use object::{Object as _, ObjectSection as _, ObjectSegment as _, SectionFlags, SectionKind};

use crate::build::error::BuildError;
use crate::failure::Failure;

/// Whether two executables load the same bytes at the same addresses. The
/// build identifier aside, which is a digest of debug information too.
///
/// # Errors
///
/// A build failure when a file cannot be read as an executable.
pub fn same_code(a: &Path, b: &Path) -> Result<bool, Failure> {
    same_code_in((a, Path::new("")), (b, Path::new("")))
}

/// The same for executables that may name the directories they were built in, each behind its
/// executable. Names of equal length stand for one another: a benchmark that finds its files by
/// `env!("CARGO_MANIFEST_DIR")` is no other code for it.
///
/// # Errors
///
/// As for [`same_code`].
pub fn same_code_in(a: (&Path, &Path), b: (&Path, &Path)) -> Result<bool, Failure> {
    let ((a, place), (b, other)) = (a, b);
    let (mut left, mut right) = (read(a)?, read(b)?);
    let (place, other) =
        (place.as_os_str().as_encoded_bytes(), other.as_os_str().as_encoded_bytes());
    if place.len() == other.len() {
        // Either may name both: benchmarks of one revision are built against another's library.
        replace(&mut left, other, place);
        replace(&mut right, other, place);
    }
    if left == right {
        return Ok(true);
    }
    Ok(image(a, &left)? == image(b, &right)?)
}

/// Writes `to` over every `from`, which is as long. Sections stay where they are.
fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    let Some(first) = from.first().filter(|_| from != to) else { return };
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(|b| b == first)) {
        at += found;
        match bytes.get_mut(at..at + from.len()) {
            Some(place) if place == from => {
                place.copy_from_slice(to);
                at += from.len();
            }
            _ => at += 1,
        }
    }
}

/// Sections that the loader maps, in the order of the file.
#[derive(PartialEq)]
struct Image<'data> {
    architecture: object::Architecture,
    entry: u64,
    /// Address, size in memory and protection.
    segments: Vec<(u64, u64, object::SegmentFlags)>,
    sections: Vec<Section<'data>>,
}

#[derive(PartialEq)]
struct Section<'data> {
    segment: Option<String>,
    name: String,
    address: u64,
    size: u64,
    align: u64,
    bytes: &'data [u8],
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| failure(path, &error.to_string()))
}

fn failure(path: &Path, error: &str) -> Failure {
    let (path, reason) = (path.to_owned(), error.to_owned());
    BuildError::IncomparableExecutable { path, reason }.into()
}

fn image<'data>(path: &Path, bytes: &'data [u8]) -> Result<Image<'data>, Failure> {
    let unreadable = |error: object::Error| failure(path, &error.to_string());
    let file = object::File::parse(bytes).map_err(unreadable)?;
    let mut sections = Vec::new();
    for section in file.sections() {
        let name = section.name().map_err(unreadable)?;
        let segment = section.segment_name().map_err(unreadable)?;
        if name == ".note.gnu.build-id" || !is_loaded(&section, segment) {
            continue;
        }
        sections.push(Section {
            segment: segment.map(str::to_owned),
            name: name.to_owned(),
            address: section.address(),
            size: section.size(),
            align: section.align(),
            bytes: section.data().map_err(unreadable)?,
        });
    }
    if sections.is_empty() {
        return Err(failure(path, "it has no sections to compare"));
    }
    // The header and the tables that the loader maps from the start of the
    // file change with debug information, so segments are compared by place
    // and size, and content by section.
    let segments = match file.format() {
        object::BinaryFormat::Elf => {
            file.segments().map(|s| (s.address(), s.size(), s.flags())).collect()
        }
        _ => Vec::new(),
    };
    Ok(Image { architecture: file.architecture(), entry: file.entry(), segments, sections })
}

/// Sections of an executable that the loader maps, as text: where names of files stand.
///
/// # Errors
///
/// A build failure when the file cannot be read as an executable.
pub fn loaded_text(path: &Path) -> Result<String, Failure> {
    let bytes = read(path)?;
    let image = image(path, &bytes)?;
    let sections = image.sections.iter().map(|section| String::from_utf8_lossy(section.bytes));
    Ok(sections.collect::<Vec<_>>().join("\n"))
}

fn is_loaded(section: &object::Section<'_, '_>, segment: Option<&str>) -> bool {
    match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.contains(object::elf::SHF_ALLOC),
        SectionFlags::MachO { .. } => segment != Some("__DWARF"),
        _ => !matches!(section.kind(), SectionKind::Debug | SectionKind::DebugString),
    }
}

/// Directories whose files benchmarks are likely to read, whatever they are.
const INPUT_DIRECTORIES: [&str; 12] = [
    "asset",
    "assets",
    "corpora",
    "corpus",
    "data",
    "fixture",
    "fixtures",
    "input",
    "inputs",
    "samples",
    "testdata",
    "test-data",
];

/// Names of documents, without extension and in lower case, as prefixes.
const DOCUMENTS: [&str; 12] = [
    "architecture",
    "authors",
    "changelog",
    "changes",
    "code_of_conduct",
    "contributing",
    "contributors",
    "history",
    "news",
    "readme",
    "releases",
    "security",
];

/// The first of the changed paths that by its name may be an input, or
/// nothing when all of them are sources, manifests, documents, licences or
/// settings of tools. Paths are relative, with `/` as separator. What a
/// toolchain file asks for is compared where it is obeyed.
pub fn only_inert_paths(paths: &[String]) -> Option<String> {
    paths.iter().find(|path| !is_inert(path)).cloned()
}

pub(crate) fn is_inert(path: &str) -> bool {
    let mut directories: Vec<&str> = path.split('/').collect();
    let Some(name) = directories.pop() else { return false };
    let directories: Vec<String> = directories.iter().map(|d| d.to_lowercase()).collect();
    let within = |names: &[&str]| directories.iter().any(|d| names.contains(&d.as_str()));
    if within(&INPUT_DIRECTORIES) {
        return false;
    }
    let lower = name.to_lowercase();
    let (stem, extension) = lower.rsplit_once('.').unwrap_or((&lower, ""));
    let top = directories.first().map(String::as_str);
    if matches!(top, Some(".github" | ".ci" | ".gitlab" | ".circleci")) {
        return true;
    }
    if extension == "rs" && !stem.is_empty() {
        return true;
    }
    let settings = [
        "Cargo.toml",
        "Cargo.lock",
        "rust-toolchain",
        "rust-toolchain.toml",
        ".gitlab-ci.yml",
        ".travis.yml",
        ".gitignore",
        ".gitattributes",
        ".editorconfig",
        "rustfmt.toml",
        ".rustfmt.toml",
        "clippy.toml",
        ".clippy.toml",
    ];
    if settings.contains(&name) {
        return true;
    }
    let document = matches!(extension, "md" | "txt" | "rst" | "adoc" | "");
    let is_licence = ["license", "licence", "copying", "unlicense"]
        .iter()
        .any(|prefix| lower.starts_with(prefix));
    let named = DOCUMENTS.iter().any(|prefix| stem.starts_with(prefix));
    let in_docs = !extension.is_empty() && within(&["doc", "docs"]);
    document && (is_licence || named || in_docs)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use super::{is_inert, only_inert_paths, replace, same_code, same_code_in};

    #[test]
    fn paths_that_cannot_be_inputs() {
        for path in [
            "src/lib.rs",
            "benches/a.rs",
            "Cargo.toml",
            "crates/a/Cargo.toml",
            "Cargo.lock",
            "rust-toolchain",
            "rust-toolchain.toml",
            "README.md",
            "crates/a/README",
            "CHANGELOG.md",
            "docs/guide/start.md",
            "LICENSE-MIT",
            "LICENSE",
            "COPYING.txt",
            ".github/workflows/ci.yml",
            ".gitlab-ci.yml",
            ".gitignore",
            "a/.gitattributes",
            ".ci/run",
            "rustfmt.toml",
            "clippy.toml",
            ".editorconfig",
        ] {
            assert!(is_inert(path), "{path}");
        }
    }

    #[test]
    fn paths_that_may_be_inputs() {
        for path in [
            "benches/words.txt",
            "data/README.md",
            "benches/data/big.rs",
            "input.json",
            "tests/fixtures/Cargo.toml",
            ".cargo/config.toml",
            "build.sh",
            "docs/page.html",
            "notes.md",
            "license.json",
            "sub",
            "docs/data",
            "x/.rs",
            "nbench.toml",
            "",
            "a.github/x",
            "docs/image.png",
            "readme.json",
        ] {
            assert!(!is_inert(path), "{path}");
        }
    }

    #[test]
    fn the_first_input_is_named() {
        let paths = ["README.md", "words.txt", "input.json"].map(str::to_owned);
        assert_eq!(only_inert_paths(&paths).as_deref(), Some("words.txt"));
        assert_eq!(only_inert_paths(&[]), None);
    }

    #[test]
    fn places_of_equal_length_stand_for_one_another() {
        let mut bytes = *b"//c/slot-01/a /c/slot-0 /c/slot-01";
        replace(&mut bytes, b"/c/slot-01", b"/c/slot-00");
        assert_eq!(&bytes, b"//c/slot-00/a /c/slot-0 /c/slot-00");
        let directory = tempfile::tempdir().unwrap();
        let source = |name: &str, more: &str| {
            let place = directory.path().join(name).join("data");
            let text = format!(
                "fn main() {{ print!(\"{{}}{{}}\", {place:?}, {more:?}); }}",
                place = place.display().to_string()
            );
            (compile(directory.path(), name, &text, &[]), directory.path().join(name))
        };
        let (a, b, c) = (source("a", "1"), source("b", "1"), source("c", "2"));
        fn of(side: &(PathBuf, PathBuf)) -> (&Path, &Path) {
            (&side.0, &side.1)
        }
        assert!(!same_code(&a.0, &b.0).unwrap());
        assert!(same_code_in(of(&a), of(&b)).unwrap());
        assert!(!same_code_in(of(&a), of(&c)).unwrap());
        assert!(!same_code_in(of(&a), (&b.0, directory.path())).unwrap());
    }

    fn compile(directory: &Path, name: &str, source: &str, flags: &[&str]) -> PathBuf {
        let place = directory.join(name);
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("main.rs"), source).unwrap();
        let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
            .args(["-O", "--edition=2021", "main.rs", "-o", "main"])
            .args(flags)
            .current_dir(&place)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        place.join("main")
    }

    #[test]
    fn compiled_sources_that_differ_in_one_way_each() {
        let directory = tempfile::tempdir().unwrap();
        let source = |table: &str, comment: &str| {
            format!(
                "static TABLE: [u32; 4] = [{table}];{comment}\n\
                 fn main() {{\n    let at = std::env::args().count() & 3;\n    \
                 std::process::exit(std::hint::black_box(&TABLE)[at] as i32);\n}}\n"
            )
        };
        let build =
            |name: &str, text: &str, flags: &[&str]| compile(directory.path(), name, text, flags);
        let plain = build("a", &source("1, 2, 3, 4", ""), &[]);
        let again = build("b", &source("1, 2, 3, 4", ""), &[]);
        assert!(same_code(&plain, &again).unwrap(), "the same source in two directories");
        let comment = build("c", &source("1, 2, 3, 4", " // a note"), &[]);
        assert!(same_code(&plain, &comment).unwrap(), "a comment that moves no line");
        let table = build("d", &source("1, 2, 3, 5", ""), &[]);
        assert!(!same_code(&plain, &table).unwrap(), "a constant in a table");
        #[cfg(target_os = "linux")]
        assert_eq!(section(&plain, ".text"), section(&table, ".text"), "the trap of .text alone");
        assert!(same_code(&plain, &directory.path().join("absent")).is_err());
        assert!(same_code(&plain, &directory.path().join("a/main.rs")).is_err());
    }

    #[cfg(target_os = "linux")]
    fn section(path: &Path, name: &str) -> Vec<u8> {
        use object::{Object as _, ObjectSection as _};
        let bytes = fs::read(path).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        file.section_by_name(name).unwrap().data().unwrap().to_vec()
    }
}
