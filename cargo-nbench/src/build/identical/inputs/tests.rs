//! Tables of what sources say and which files they may read.

use std::fs;
use std::path::Path;

use super::{Evidence, Included, Reading, fits, format, parts, tokens};

fn reading(source: &str, path: &str) -> Option<Reading> {
    let mut evidence = Evidence::default();
    evidence.add(&tokens(source));
    evidence.reading(path, "")
}

#[test]
fn files_that_a_text_names() {
    for (source, path) in [
        ("read(\"README.md\")", "README.md"),
        ("read(\"README.md\")", "crates/a/readme.md"),
        ("std::fs::read(\"src/lib.rs\")", "src/lib.rs"),
        ("#[divan::bench(args = [\"README.md\"])] fn f(name: &str) {}", "README.md"),
        ("open(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/benches/news.txt\"))", "benches/news.txt"),
        ("const FILES: &[&str] = &[r\"docs/guide.md\"];", "docs/guide.md"),
        ("fopen(c\"LICENSE\".as_ptr())", "LICENSE"),
        ("fopen(b\"COPYING.txt\\0\".as_ptr())", "COPYING.txt"),
        ("parse(\"Cargo.lock\")", "Cargo.lock"),
        ("parse(\"see \\\"CHANGES.md\\\".\")", "CHANGES.md"),
    ] {
        assert_eq!(reading(source, path), Some(Reading::Named), "{source} {path}");
    }
}

#[test]
fn files_that_cannot_be_excluded() {
    for (source, path) in [
        ("for entry in std::fs::read_dir(\".\") {}", "README.md"),
        ("WalkDir::new(root)", "src/lib.rs"),
        ("glob(\"*\")", "LICENSE"),
        ("fs::read(std::env::args().nth(1))", "README.md"),
        ("use std::env::var; File::open(var(\"INPUT\"))", "README.md"),
        ("std::process::Command::new(\"wc\")", "README.md"),
        ("cmd!(sh, \"wc\")", "README.md"),
        ("fs::read(file!())", "benches/b.rs"),
        ("fs::read(format!(\"{name}.md\"))", "README.md"),
        ("fs::read(format!(\"texts/page-{n:03}.txt\"))", "docs/page-007.txt"),
        ("fs::read(root.join(\"README\").with_extension(kind))", "README.md"),
        ("fs::read(name.to_owned() + \".md\")", "README.md"),
        ("path.set_extension(\"md\")", "README.md"),
        ("File::open(Path::new(\"docs\").join(name))", "docs/guide.md"),
        ("fs::read([\"rea\", \"dme.md\"].concat())", "README.md"),
        ("fs::read(concat(\"benches/new\", \"s.txt\"))", "benches/news.txt"),
        ("fs::read(OsStr::from_bytes(&[b'n', b'e', b'w', b's']))", "news.txt"),
        ("fs::read(text(&[110, 0x65, 119u8, 115]))", "news.txt"),
        ("fs::read(['n', 'e', 'w', 's'].iter().collect::<String>())", "news.txt"),
        ("println!(\"{}\", env::var(\"CARGO_PKG_DESCRIPTION\"))", "Cargo.toml"),
        (
            "macro_rules! open { ($n:ident) => { File::open(stringify!($n)) } } open!(news)",
            "news.txt",
        ),
    ] {
        assert_eq!(reading(source, path), Some(Reading::Possible), "{source} {path}");
    }
}

#[test]
fn files_that_nothing_can_read() {
    for (source, path) in [
        ("fn f() { suite.bench(\"words/count\", || count(TEXT)); }", "README.md"),
        ("fs::read(\"data/words.csv\")", "README.md"),
        ("fs::read(\"data/words.csv\")", ".github/workflows/ci.yml"),
        ("#![doc = include_str!(\"../README.md\")]", "README.md"),
        ("#![cfg_attr(docsrs, doc = include_str!(\"../README.md\"))] fs::read(x)", "README.md"),
        ("const TEXT: &str = include_str!(\"../README.md\"); File::open(x)", "README.md"),
        ("#[path = \"other.rs\"] mod other; File::open(x)", "benches/other.rs"),
        ("// fs::read(\"README.md\")\n/* read_dir */ fn f() {}", "README.md"),
        ("/// Reads `README.md`.\nfn f() { fs::read(x) }", "README.md"),
        (
            "#[cfg(test)] mod tests { fn f() { fs::read_dir(\"README.md\") } } File::open(x)",
            "README.md",
        ),
        ("fs::read(format!(\"{name}/{size}\"))", "README.md"),
        ("fs::read(join(std::env::var(\"CARGO_MANIFEST_DIR\"), \"data/words.csv\"))", "README.md"),
        ("fs::read(\"xREADME.txt\"); fs::read(\"readmes\")", "README.md"),
        ("command.args(x).var(y); fn args(a: u8) {} File::open(z)", "README.md"),
        // Without a word of opening files a stem is no evidence.
        ("suite.bench(\"lib\", || 1); suite.bench(format!(\"{}.md\", 1), || 2)", "src/lib.rs"),
    ] {
        assert_eq!(reading(source, path), None, "{source} {path}");
    }
}

#[test]
fn loaded_bytes_count_for_what_is_no_source() {
    let evidence = Evidence::default();
    let loaded = "xxREADME.mdyy src/lib.rs runx ci/run";
    for (path, expected) in [
        ("README.md", Some(Reading::Named)),
        ("docs/README.md", Some(Reading::Named)),
        ("src/lib.rs", None),
        (".ci/run", None),
        ("ci/run", Some(Reading::Named)),
        ("CHANGELOG.md", None),
        ("", Some(Reading::Possible)),
    ] {
        assert_eq!(evidence.reading(path, loaded), expected, "{path}");
    }
}

#[test]
fn what_build_scripts_leave_may_be_read() {
    let say = |source: &str| {
        let mut evidence = Evidence::default();
        evidence.add(&tokens(source));
        evidence
    };
    let script = say("fs::copy(\"../data.csv\", out.join(\"made.bin\"))");
    let takes =
        |code: &str, path: &str, is_script: bool| say(code).generated(path, is_script, &script);
    for code in [
        "fs::read(concat!(env!(\"OUT_DIR\"), \"/x\"))",
        "fs::read(dir.join(\"made.bin\"))",
        "env::var(\"MADE\")",
    ] {
        assert!(takes(code, "data.csv", false), "{code}: what the script reads");
        assert!(takes(code, "build.rs", true), "{code}: the script itself");
        assert!(!takes(code, "CHANGES.md", false), "{code}: what the script does not know");
    }
    for code in ["fn f() {}", "fs::read(\"other.txt\")", "concat!(env!(\"OUT_DIR\"))"] {
        assert!(!takes(code, "data.csv", false), "{code}");
        assert!(!takes(code, "build.rs", true), "{code}");
    }
}

#[test]
fn a_macro_may_write_what_its_texts_say() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("macro.rs");
    fs::write(&source, "\"fs::read(\\\"NEWS.md\\\")\".parse().unwrap()").unwrap();
    let mut evidence = Evidence::default();
    evidence.add(&tokens("make!();"));
    assert_eq!(evidence.reading("NEWS.md", ""), None);
    evidence.add_macro(&source);
    assert_eq!(evidence.reading("NEWS.md", ""), Some(Reading::Named));
    let mut lost = Evidence::default();
    lost.add_macro(&directory.path().join("gone.rs"));
    assert_eq!(lost.reading("NEWS.md", ""), Some(Reading::Possible));
}

#[test]
fn files_name_files_once_removed() {
    let directory = tempfile::tempdir().unwrap();
    let at = |path: &str| directory.path().join(path);
    fs::create_dir_all(at("benches")).unwrap();
    fs::write(at("benches/b.rs"), "read(\"benches/list.txt\"); read(\"link\"); read(\"raw.bin\")")
        .unwrap();
    fs::write(at("benches/list.txt"), "docs/GUIDE.md\n").unwrap();
    fs::write(at("raw.bin"), b"\0NEWS.md").unwrap();
    fs::write(at("included.csv"), "HISTORY.md").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("CHANGES.md", at("link")).unwrap();
    fs::write(at("CHANGES.md"), "").unwrap();
    fs::write(at("doc.rs"), "#![doc = include_str!(\"README.md\")]").unwrap();
    fs::write(at("README.md"), "See AUTHORS.").unwrap();
    let sources = ["benches/b.rs", "included.csv", "doc.rs", "README.md"].map(at);
    let evidence = Evidence::gather(&sources, &[directory.path()]);
    assert_eq!(evidence.reading("docs/guide.md", ""), Some(Reading::Named));
    assert_eq!(evidence.reading("HISTORY.md", ""), Some(Reading::Named), "an included list");
    #[cfg(unix)]
    assert_eq!(evidence.reading("CHANGES.md", ""), Some(Reading::Named), "behind a link");
    assert_eq!(evidence.reading("NEWS.md", ""), None, "no text");
    assert_eq!(evidence.reading("AUTHORS", ""), None);
    let lost = Evidence::gather(&[at("gone.rs")], &[]);
    assert_eq!(lost.reading("AUTHORS", ""), Some(Reading::Possible), "a source that is not there");
}

#[test]
fn names_and_formats_in_parts() {
    assert_eq!(parts("read_to_string"), ["read", "to", "string"]);
    assert_eq!(parts("PathBuf"), ["path", "buf"]);
    assert_eq!(parts("spread"), ["spread"]);
    let fixed = |text: &str| format(text).map(|pieces| pieces.join("|"));
    assert_eq!(fixed("a/page{n}.md").as_deref(), Some("page|.md"));
    assert_eq!(fixed("{}-{:?}").as_deref(), Some("|-|"));
    for text in ["plain.md", "{a}/{b}", "{{}}", "{never", ""] {
        assert_eq!(fixed(text), None, "{text}");
    }
    let fits = |text: &str, name: &str| fits(&format(text).unwrap(), name);
    assert!(fits("page{n}.md", "page12.md") && fits("{}-{}", "a-b-c"));
    assert!(!fits("page{n}.md", "page12.txt") && !fits("a{}a", "a"));
}

#[test]
fn what_is_included_as_documentation_only() {
    let mut included = Included::default();
    included.add(&tokens(
        "#![doc = include_str!(\"../README.md\")] #![cfg_attr(x, doc = include_str!(\"NEWS.md\"))]\n\
         const A: &str = include_str!(concat!(env!(\"D\"), \"/a/NEWS.md\")); include!(\"x.in\");",
    ));
    for (path, expected) in
        [("a/README.md", true), ("NEWS.md", false), ("x.in", false), ("y", false)]
    {
        assert_eq!(included.is_documentation(Path::new(path)), expected, "{path}");
    }
}
