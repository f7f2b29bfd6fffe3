//! Which changed files the code behind a benchmark may read when it runs, judged by what its
//! sources say. It knows no names of documents or folders; what it cannot exclude it names.
//!
//! A program reads a file by a name, and a name is a text in its sources, a text in its executable,
//! an entry of a folder that it lists, or something that it is told from outside. So a file counts
//! as read
//!
//! - when a text in a local source has its name as a word, or a small file that such a text names
//!   does;
//! - when it is no source and the loaded bytes have its name (C code, `env!`, what other crates
//!   bring);
//! - when the code starts other programs;
//! - and, where the code has any word of opening files: when a text has its stem or one of its
//!   folders as a word, is a format that its name fits (`page{n}.md`), or is its extension; when
//!   the code lists folders or reads arguments or the environment; for a source also when the code
//!   asks where it stands (`file!`).
//!
//! A name may also be put together from two texts, or spelled by its characters, so that texts
//! which begin or end it count as its stem does. And what a build script writes or sets may be
//! read: where the code names the folder or a file that a script names too, or asks the
//! environment, whatever the script is made of and may itself read counts
//! ([`Evidence::generated`]).
//!
//! Texts that only the compiler reads (`include_str!`, `#[doc]`, `#[path]`) are no evidence: what
//! they bring is in the executable, and would differ there. Neither are comments and `#[cfg(test)]`
//! modules.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::lexer::{Token, tokens};

/// Longest file that is searched for names of other files.
const LONGEST_LIST: usize = 1 << 20;

/// Longest text that is taken for a path.
const LONGEST_PATH: usize = 200;

/// Parts of names that tell that code may open files.
const OPENING: [&str; 18] = [
    "dir",
    "directory",
    "dirs",
    "fd",
    "file",
    "files",
    "fopen",
    "fs",
    "io",
    "libc",
    "load",
    "memmap",
    "memmap2",
    "mmap",
    "open",
    "path",
    "paths",
    "read",
];

/// Names that list folders.
const LISTING: [&str; 13] = [
    "Glob",
    "ReadDir",
    "Walk",
    "WalkBuilder",
    "WalkDir",
    "glob",
    "glob_with",
    "globwalk",
    "nftw",
    "opendir",
    "read_dir",
    "readdir",
    "walkdir",
];

/// Functions of `std::env` that bring texts from outside.
const OUTSIDE: [&str; 6] = ["args", "args_os", "var", "var_os", "vars", "vars_os"];

/// Those of them that bring the environment.
const ENVIRONMENT: [&str; 4] = ["var", "var_os", "vars", "vars_os"];

/// Variables that name a folder and no file in it.
const FOLDERS: [&str; 2] = ["CARGO_MANIFEST_DIR", "OUT_DIR"];

/// How sure it is that a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Its name stands there.
    Named,
    /// It cannot be excluded.
    Possible,
}

/// Evidence of the sources behind one benchmark about files.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    /// Texts in lower case, one a line.
    texts: String,
    /// Files that a text names, and files that are part of the executable, in lower case.
    lists: String,
    /// Names in the code in lower case, where it turns names into texts.
    words: String,
    /// Formats as the fixed parts of their last component.
    formats: BTreeSet<Vec<String>>,
    /// Short texts without a leading dot.
    endings: HashSet<String>,
    /// Texts that may be paths.
    paths: BTreeSet<String>,
    /// Texts that may begin or end a name, without folders.
    pieces: HashSet<String>,
    opens: bool,
    searches: bool,
    /// Whether the environment is asked for anything.
    asks: bool,
    /// Whether it may be asked for what cargo sets from a manifest.
    asks_cargo: bool,
    starts_programs: bool,
    locates_itself: bool,
    /// A source that is not there any more.
    unreadable: bool,
}

impl Evidence {
    /// Reads sources, and from `directories` the files that texts in them name.
    pub(crate) fn gather<'p>(
        sources: impl IntoIterator<Item = &'p PathBuf>,
        directories: &[&Path],
    ) -> Evidence {
        let mut evidence = Evidence::default();
        let mut included = Included::default();
        let mut others = Vec::new();
        for source in sources {
            match fs::read(source) {
                Ok(bytes) if is_rust(source) => {
                    let code = tokens(&String::from_utf8_lossy(&bytes));
                    included.add(&code);
                    evidence.add(&code);
                }
                Ok(bytes) => others.push((source, bytes)),
                Err(_) => evidence.unreadable = true,
            }
        }
        for (source, bytes) in others {
            if !included.is_documentation(source) {
                evidence.add_list(&String::from_utf8_lossy(&bytes));
            }
        }
        let named: BTreeSet<PathBuf> = directories
            .iter()
            .flat_map(|directory| evidence.paths.iter().map(move |path| directory.join(path)))
            .filter(|path| path.metadata().is_ok_and(|m| m.is_file()))
            .collect();
        for path in &named {
            // A link is read under the name of what it leads to.
            match (fs::read(path), path.canonicalize()) {
                (Ok(bytes), Ok(real)) => {
                    evidence.add_list(&real.to_string_lossy());
                    if bytes.len() <= LONGEST_LIST && !bytes.contains(&0) {
                        evidence.add_list(&String::from_utf8_lossy(&bytes));
                    }
                }
                _ => evidence.unreadable = true,
            }
        }
        evidence
    }

    fn add_list(&mut self, text: &str) {
        self.lists.push_str(&text.to_lowercase());
        self.lists.push('\n');
    }

    /// Takes what the code of one source says.
    fn add(&mut self, code: &[Token]) {
        let code = at_run_time(code);
        let names_are_texts = code.iter().any(|t| matches!(t, Token::Word(w) if w == "stringify"));
        for text in spelled(&code) {
            self.add_text(&text);
        }
        for (at, token) in code.iter().enumerate() {
            match token {
                Token::Text(text) => self.add_text(text),
                Token::Word(word) => {
                    if names_are_texts {
                        self.words.push_str(&word.to_lowercase());
                        self.words.push('\n');
                    }
                    let then = |sign: char| code.get(at + 1) == Some(&Token::Sign(sign));
                    let before = at.checked_sub(1).and_then(|at| code.get(at));
                    let is_method = before == Some(&Token::Sign('.'));
                    let names_folder = matches!(
                        code.get(at + 2), Some(Token::Text(text)) if FOLDERS.contains(&text.as_str())
                    );
                    let is_declared = matches!(before, Some(Token::Word(w)) if w == "fn");
                    self.opens |= parts(word).iter().any(|part| OPENING.contains(&part.as_str()));
                    let lists = LISTING.contains(&word.as_str());
                    self.opens |= lists;
                    self.searches |= lists;
                    if then('(') && !is_method && !is_declared && !names_folder {
                        self.searches |= OUTSIDE.contains(&word.as_str());
                        if ENVIRONMENT.contains(&word.as_str()) {
                            self.asks = true;
                            self.asks_cargo |= !matches!(
                                code.get(at + 2), Some(Token::Text(text)) if !text.starts_with("CARGO")
                            );
                        }
                    }
                    self.starts_programs |= word == "Command" || (word == "cmd" && then('!'));
                    self.locates_itself |= (word == "file" && then('!')) || word == "Location";
                }
                Token::Char(_) | Token::Sign(_) => {}
            }
        }
    }

    fn add_text(&mut self, text: &str) {
        let lower = text.to_lowercase();
        self.texts.push_str(&lower);
        self.texts.push('\n');
        self.formats.extend(format(&lower));
        let piece = lower.rsplit('/').next().unwrap_or_default();
        if (2..=LONGEST_PATH).contains(&piece.len()) {
            self.pieces.insert(piece.to_owned());
        }
        if lower.len() <= 12 {
            self.endings.insert(lower.trim_start_matches('.').to_owned());
        }
        // A text behind `env!("CARGO_MANIFEST_DIR")` begins with a separator.
        let path = text.trim_start_matches('/');
        if (1..=LONGEST_PATH).contains(&path.len()) && !path.contains(['\n', '\0', '{']) {
            self.paths.insert(path.to_owned());
        }
    }

    /// Whether the file at `path`, relative to the repository with `/` as separator, may be read.
    /// The text of the executable is `loaded`.
    pub(crate) fn reading(&self, path: &str, loaded: &str) -> Option<Reading> {
        let mut folders: Vec<String> = path.split('/').map(str::to_lowercase).collect();
        let name = folders.pop().unwrap_or_default();
        if self.unreadable || name.is_empty() {
            return Some(Reading::Possible);
        }
        if has_word(&self.texts, &name) || has_word(&self.lists, &name) {
            return Some(Reading::Named);
        }
        if !is_rust(Path::new(path)) && is_in_bytes(path, loaded) {
            return Some(Reading::Named);
        }
        let (stem, ending) = match name.rsplit_once('.') {
            Some((stem, ending)) if !stem.is_empty() => (stem, ending),
            _ => (name.as_str(), ""),
        };
        let possible = self.starts_programs
            || (self.asks_cargo && name == "cargo.toml")
            || self.opens
                && (self.searches
                    || (self.locates_itself && ending == "rs")
                    || has_word(&self.texts, stem)
                    || has_word(&self.words, stem)
                    || folders.iter().any(|folder| has_word(&self.texts, folder))
                    || (!ending.is_empty() && self.endings.contains(ending))
                    || self.pieces.iter().any(|piece| is_piece(piece, &name))
                    || self.formats.iter().any(|format| fits(format, &name)));
        possible.then_some(Reading::Possible)
    }

    /// Whether the file at `path` may decide what the code of `self` reads or is told, through
    /// build scripts whose sources say `scripts`. Their own files do, and all that they may
    /// read.
    pub(crate) fn generated(&self, path: &str, is_script: bool, scripts: &Evidence) -> bool {
        let both_name = |path: &String| {
            let name = path.rsplit('/').next().unwrap_or_default().to_lowercase();
            name.contains('.') && has_word(&scripts.texts, &name)
        };
        let takes = self.asks
            || self.unreadable
            || (self.opens
                && (has_word(&self.texts, "out_dir") || self.paths.iter().any(both_name)));
        takes && (is_script || scripts.reading(path, "").is_some())
    }

    /// Takes the texts of a procedural macro, which may be texts of the code that it writes.
    pub(crate) fn add_macro(&mut self, source: &Path) {
        match fs::read(source) {
            Ok(bytes) => {
                for token in at_run_time(&tokens(&String::from_utf8_lossy(&bytes))) {
                    if let Token::Text(text) = token {
                        self.add_list(&text);
                    }
                }
            }
            Err(_) => self.unreadable = true,
        }
    }
}

/// Texts that the code spells by their characters or bytes, as in `[b'a', b'b']`.
fn spelled(code: &[Token]) -> Vec<String> {
    let mut found = vec![String::new()];
    for token in code {
        let one = match token {
            Token::Sign(',') => continue,
            // The prefix of a byte literal.
            Token::Word(word) if word == "b" => continue,
            Token::Char(literal) => literal.trim_matches('\'').parse::<char>().ok(),
            Token::Word(word) => byte(word).map(char::from),
            Token::Text(_) | Token::Sign(_) => None,
        };
        match (one, found.last_mut()) {
            (Some(c), Some(text)) => text.push(c),
            (None, Some(text)) if !text.is_empty() => found.push(String::new()),
            _ => {}
        }
    }
    found.retain(|text| text.len() > 3);
    found
}

/// A number that is a letter, a digit or a sign.
fn byte(word: &str) -> Option<u8> {
    let digits = word.trim_end_matches("u8").trim_end_matches('_');
    let number = match digits.strip_prefix("0x") {
        Some(hex) => u8::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    number.ok().filter(u8::is_ascii_graphic)
}

/// Whether a text begins or ends a name in a way that chance does not explain.
fn is_piece(piece: &str, name: &str) -> bool {
    const LONG: usize = 4;
    let is_long = piece.chars().count() >= LONG;
    (name.starts_with(piece) && is_long)
        || (name.ends_with(piece) && (is_long || piece.contains('.')))
}

/// Names of files that sources include, apart for documentation and for everything else.
#[derive(Debug, Default)]
pub(crate) struct Included {
    documentation: HashSet<String>,
    code: HashSet<String>,
}

impl Included {
    /// Files that Rust sources among these include; one that cannot be read includes nothing.
    pub(crate) fn by<'p>(sources: impl IntoIterator<Item = &'p PathBuf>) -> Included {
        let mut included = Included::default();
        for source in sources.into_iter().filter(|source| is_rust(source)) {
            if let Ok(bytes) = fs::read(source) {
                included.add(&tokens(&String::from_utf8_lossy(&bytes)));
            }
        }
        included
    }

    fn add(&mut self, code: &[Token]) {
        for at in 0..code.len() {
            if !is_include(code, at) {
                continue;
            }
            let before = at.checked_sub(2).and_then(|from| code.get(from..at));
            let is_doc = matches!(before, Some([Token::Word(w), Token::Sign('=')]) if w == "doc");
            let names = if is_doc { &mut self.documentation } else { &mut self.code };
            for token in &code[at..end_of_group(code, at + 2)] {
                if let Token::Text(text) = token {
                    names.extend(text.rsplit('/').next().map(str::to_owned));
                }
            }
        }
    }

    /// Whether a source is included as documentation and as nothing else.
    pub(crate) fn is_documentation(&self, source: &Path) -> bool {
        let name = source.file_name().unwrap_or_default().to_string_lossy();
        self.documentation.contains(&*name) && !self.code.contains(&*name)
    }
}

fn is_include(code: &[Token], at: usize) -> bool {
    const INCLUDES: [&str; 3] = ["include", "include_bytes", "include_str"];
    matches!(&code[at..], [Token::Word(w), Token::Sign('!'), ..] if INCLUDES.contains(&w.as_str()))
}

/// Whether a path is that of a Rust source.
pub(crate) fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// Whether the bytes have the name of a file; of a short name without a dot also its folder,
/// because such a name stands within many words.
fn is_in_bytes(path: &str, loaded: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let long = name.contains('.') || name.len() >= 6;
    let folder = folders.rsplit('/').next().unwrap_or_default();
    if long || folder.is_empty() {
        loaded.contains(name)
    } else {
        loaded.contains(&format!("{folder}/{name}"))
    }
}

/// Whether `word` stands in `text` with no letter, digit or underscore beside it.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    !word.is_empty()
        && text.match_indices(word).any(|(at, _)| {
            !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part)
        })
}

/// Lower-case parts of a name in either of Rust's two styles.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if c == '_' || (c.is_uppercase() && was_lower) {
            parts.push(String::new());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
        if c != '_' {
            parts.last_mut().into_iter().for_each(|part| part.extend(c.to_lowercase()));
        }
    }
    parts
}

/// Fixed parts around the holes of a format's last component; nothing where it has no hole or is
/// one.
fn format(text: &str) -> Option<Vec<String>> {
    let mut pieces = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '{' if chars.next_if_eq(&'{').is_none() => {
                chars.by_ref().find(|c| *c == '}')?;
                pieces.push(String::new());
            }
            '}' => {
                chars.next_if_eq(&'}');
                pieces.last_mut()?.push('}');
            }
            '/' => pieces = vec![String::new()],
            c => pieces.last_mut()?.push(c),
        }
    }
    (pieces.len() > 1 && pieces.iter().any(|piece| !piece.is_empty())).then_some(pieces)
}

/// Whether a name may come from a format of these fixed parts.
fn fits(format: &[String], name: &str) -> bool {
    let [first, middle @ .., last] = format else { return false };
    let Some(rest) = name.strip_prefix(first.as_str()) else { return false };
    let Some(mut rest) = rest.strip_suffix(last.as_str()) else { return false };
    middle.iter().all(|piece| match rest.split_once(piece.as_str()) {
        Some((_, behind)) => {
            rest = behind;
            true
        }
        None => false,
    })
}

/// Tokens without what only the compiler reads, and without modules of tests.
fn at_run_time(code: &[Token]) -> Vec<Token> {
    const ATTRIBUTES: [&str; 10] = [
        "allow",
        "cfg",
        "deny",
        "deprecated",
        "doc",
        "expect",
        "forbid",
        "must_use",
        "path",
        "warn",
    ];
    let is = |at: usize, sign: char| code.get(at) == Some(&Token::Sign(sign));
    let word = |at: usize| match code.get(at) {
        Some(Token::Word(word)) => word.as_str(),
        _ => "",
    };
    let mut kept = Vec::new();
    let mut at = 0;
    while at < code.len() {
        let bracket = at + 1 + usize::from(is(at + 1, '!'));
        if is(at, '#') && is(bracket, '[') {
            let tests =
                word(bracket + 1) == "cfg" && word(bracket + 3) == "test" && is(bracket + 4, ')');
            let end = end_of_group(code, bracket);
            if tests && word(end) == "mod" && is(end + 2, '{') {
                at = end_of_group(code, end + 2);
                continue;
            }
            if ATTRIBUTES.contains(&word(bracket + 1)) {
                at = end;
                continue;
            }
        }
        if is_include(code, at) {
            at = end_of_group(code, at + 2);
            continue;
        }
        kept.extend(code.get(at).cloned());
        at += 1;
    }
    kept
}

/// The place behind the bracket that closes the one at `at`.
fn end_of_group(code: &[Token], at: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, token) in code.iter().enumerate().skip(at) {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return offset + 1;
        }
    }
    code.len()
}

#[cfg(test)]
mod tests;
