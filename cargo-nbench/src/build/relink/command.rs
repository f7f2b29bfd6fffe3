//! Reads the link command that rustc prints and tells which linker it calls. It runs nothing.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::secrets;

/// A call of a linker, or of a compiler that calls one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    /// Variables that are set, or removed where there is no value.
    pub(super) env: Vec<(OsString, Option<OsString>)>,
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    /// Index of the argument that names the file to make.
    output: usize,
}

/// A linker that can shuffle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Linker {
    /// LLVM's, called by a compiler or directly.
    Lld { direct: bool },
    /// mold, called by a compiler or directly.
    Mold { direct: bool },
}

impl Linker {
    /// The argument that draws an order of functions.
    pub(super) fn shuffle(self, seed: u64) -> OsString {
        // lld takes 32 bits, 0 for "at random" and the largest for "reversed".
        let seed = 1 + seed % 0x7fff_ffff;
        match self {
            Linker::Lld { direct: true } => format!("--shuffle-sections=.text*={seed}"),
            Linker::Lld { direct: false } => format!("-Wl,--shuffle-sections=.text*={seed}"),
            Linker::Mold { direct: true } => format!("--shuffle-sections={seed}"),
            Linker::Mold { direct: false } => format!("-Wl,--shuffle-sections={seed}"),
        }
        .into()
    }
}

impl Call {
    /// The file that the call makes, relative to where it was made.
    pub(super) fn output(&self) -> PathBuf {
        PathBuf::from(&self.arguments[self.output])
    }

    /// The call with another file to make.
    pub(super) fn command(&self, output: &Path) -> Command {
        let mut command = Command::new(&self.program);
        secrets::withhold(&mut command);
        for (name, value) in &self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let (before, after) = self.arguments.split_at(self.output);
        command.args(before).arg(output).args(after.iter().skip(1));
        command
    }
}

/// Reads a command as rustc prints it: assignments of variables, then quoted words.
///
/// # Errors
/// A fragment when it is not such a command or does not say what it makes.
pub(super) fn parse(text: &[u8]) -> Result<Call, String> {
    let unknown = || "rustc printed its link command in an unknown form".to_owned();
    let mut env = Vec::new();
    let mut quoted = Vec::new();
    let mut words = words(text).ok_or_else(unknown)?.into_iter().peekable();
    if words.peek() == Some(&Word::Bare(b"env".to_vec())) {
        words.next();
        while words.peek() == Some(&Word::Bare(b"-u".to_vec())) {
            words.next();
            let Some(Word::Bare(name) | Word::Quoted(name)) = words.next() else {
                return Err(unknown());
            };
            env.push((os_string(name), None));
        }
    }
    for word in words {
        match word {
            Word::Assigned(name, value) if quoted.is_empty() => {
                env.push((os_string(name), Some(os_string(value))));
            }
            Word::Quoted(word) => quoted.push(os_string(word)),
            Word::Assigned(..) | Word::Bare(_) => return Err(unknown()),
        }
    }
    let mut quoted = quoted.into_iter();
    let program = quoted.next().ok_or_else(unknown)?;
    let arguments: Vec<OsString> = quoted.collect();
    let output = arguments.iter().position(|argument| argument == "-o").map(|at| at + 1);
    let output = output.filter(|at| *at < arguments.len()).ok_or_else(unknown)?;
    Ok(Call { env, program, arguments, output })
}

#[derive(Debug, PartialEq, Eq)]
enum Word {
    Bare(Vec<u8>),
    Assigned(Vec<u8>, Vec<u8>),
    Quoted(Vec<u8>),
}

/// `None` when a quotation does not end or holds an unknown escape.
fn words(text: &[u8]) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut at = 0;
    while at < text.len() {
        if text[at].is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let start = at;
        while at < text.len() && text[at] != b'"' && !text[at].is_ascii_whitespace() {
            at += 1;
        }
        let bare = text[start..at].to_vec();
        if text.get(at) != Some(&b'"') {
            words.push(Word::Bare(bare));
            continue;
        }
        let (value, after) = quotation(text, at + 1)?;
        at = after;
        words.push(match bare.split_last() {
            None => Word::Quoted(value),
            Some((b'=', name)) => Word::Assigned(name.to_vec(), value),
            Some(_) => return None,
        });
    }
    Some(words)
}

/// The content of a quotation that starts at `at`, and where the text goes on behind it.
fn quotation(text: &[u8], mut at: usize) -> Option<(Vec<u8>, usize)> {
    let mut value = Vec::new();
    loop {
        match *text.get(at)? {
            b'"' => return Some((value, at + 1)),
            b'\\' => {
                at += 1;
                match *text.get(at)? {
                    b'n' => value.push(b'\n'),
                    b'r' => value.push(b'\r'),
                    b't' => value.push(b'\t'),
                    b'0' => value.push(0),
                    plain @ (b'"' | b'\\' | b'\'') => value.push(plain),
                    b'x' => {
                        let digits = std::str::from_utf8(text.get(at + 1..at + 3)?).ok()?;
                        value.push(u8::from_str_radix(digits, 16).ok()?);
                        at += 2;
                    }
                    b'u' => {
                        let end = at + text[at..].iter().position(|byte| *byte == b'}')?;
                        let digits = std::str::from_utf8(text.get(at + 2..end)?).ok()?;
                        let code = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
                        value.extend(code.to_string().as_bytes());
                        at = end;
                    }
                    _ => return None,
                }
                at += 1;
            }
            byte => {
                value.push(byte);
                at += 1;
            }
        }
    }
}

/// Bytes as the system names files with them.
pub(super) fn os_string(bytes: Vec<u8>) -> OsString {
    #[cfg(unix)]
    return std::os::unix::ffi::OsStringExt::from_vec(bytes);
    #[cfg(not(unix))]
    return String::from_utf8_lossy(&bytes).into_owned().into();
}

/// The linker that a call ends at.
///
/// # Errors
/// Why it cannot shuffle, as a fragment with what would help.
pub(super) fn linker(call: &Call) -> Result<Linker, String> {
    let stem = |path: &OsStr| {
        let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.strip_suffix(".exe").map_or(name.clone(), str::to_owned)
    };
    let program = stem(&call.program);
    let text: Vec<_> = call.arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    let has = |wanted: &str| text.iter().any(|argument| argument.starts_with(wanted));
    if has("-Wl,-dead_strip") || program == "ld64" || has("-platform_version") {
        return Err(cannot("the linker of macOS"));
    }
    // Called without a compiler in between.
    if program.ends_with("lld") {
        return Ok(Linker::Lld { direct: true });
    }
    if program.ends_with("mold") {
        return Ok(Linker::Mold { direct: true });
    }
    if program == "ld" || program.starts_with("ld.") || program == "link" {
        return Err(cannot(&format!("`{program}`")));
    }
    // The last choice wins, as it does for the compiler.
    let chosen = text.iter().rev().find_map(|argument| {
        let name = argument.strip_prefix("-fuse-ld=").or(argument.strip_prefix("--ld-path="))?;
        Some(stem(OsStr::new(name)))
    });
    let folder =
        |name: &str| text.iter().any(|a| a.starts_with("-B") && stem(OsStr::new(&a[2..])) == name);
    match chosen.as_deref() {
        Some(name) if name.ends_with("lld") => Ok(Linker::Lld { direct: false }),
        Some(name) if name.ends_with("mold") => Ok(Linker::Mold { direct: false }),
        Some(name) => Err(cannot(&format!("`{name}`"))),
        None if folder("mold") => Ok(Linker::Mold { direct: false }),
        None => Err(cannot(&format!("the linker that `{program}` calls by default"))),
    }
}

fn cannot(linker: &str) -> String {
    format!(
        "{linker} cannot shuffle functions; lld and mold can: `rustflags = [\"-Clink-arg=-fuse-ld=lld\"]`"
    )
}
