//! Words for people: what is shown of names and messages that others chose, and the one type that
//! the terminal prints. It knows no stream and nothing of what is said.
//!
//! A benchmark's id, a panic, a commit's subject or a line of cargo may hold anything: a line feed
//! and a result that nobody measured, codes that move the cursor, marks that turn the order of
//! letters around. So no text is printed as it is: [`Text`] can only be made of words whose control
//! characters are shown escaped, and its lines and tones are values beside them that no word can
//! forge.

use std::borrow::Cow;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
pub use nbench_templates::is_hidden;

/// How a piece of text is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    Plain,
    /// A name or a heading.
    Strong,
    /// Less important.
    Faint,
    /// A good change.
    Good,
    /// A bad change or an error.
    Bad,
    /// A doubt.
    Doubt,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Words(Tone, String),
    Break(usize),
}

/// Something to be printed: words with their tones, and where a line ends.
///
/// Words are escaped as they come in, line feeds included; only [`Text::line`] and [`Text::block`]
/// begin a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    parts: Vec<Part>,
}

impl Text {
    /// Nothing yet.
    pub fn new() -> Text {
        Text::default()
    }

    /// Words in a tone.
    pub fn toned(tone: Tone, words: &str) -> Text {
        let mut text = Text::new();
        text.add(tone, words);
        text
    }

    /// Words of several lines, such as an error with its details. Lines after the first are
    /// indented, so that none of them can pass for a line of ours.
    pub fn paragraph(words: &str) -> Text {
        let mut lines = words.lines();
        let mut text = Text::from(lines.next().unwrap_or_default());
        for line in lines {
            text.line(2).push(line);
        }
        text
    }

    /// Adds words in a tone.
    pub fn add(&mut self, tone: Tone, words: &str) -> &mut Text {
        if !words.is_empty() {
            self.parts.push(Part::Words(tone, shown(words).into_owned()));
        }
        self
    }

    /// Adds plain words.
    pub fn push(&mut self, words: &str) -> &mut Text {
        self.add(Tone::Plain, words)
    }

    /// Adds another text behind this one.
    pub fn join(&mut self, other: Text) -> &mut Text {
        self.parts.extend(other.parts);
        self
    }

    /// Ends the line; the next one begins `indent` columns from the left.
    pub fn line(&mut self, indent: usize) -> &mut Text {
        self.parts.push(Part::Break(indent));
        self
    }

    /// Adds each line of `words` on a line of its own, with `before` in front of it.
    pub fn block(&mut self, indent: usize, tone: Tone, before: &str, words: &str) -> &mut Text {
        for line in words.lines() {
            self.line(indent).add(tone, &format!("{before}{line}"));
        }
        self
    }

    /// Makes plain words less important.
    pub fn soften(&mut self) {
        for part in &mut self.parts {
            if let Part::Words(tone @ Tone::Plain, _) = part {
                *tone = Tone::Faint;
            }
        }
    }

    /// The text for a stream with or without colour.
    pub fn painted(&self, colour: bool) -> String {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Break(indent) => {
                    let _ = write!(out, "\n{:indent$}", "");
                }
                Part::Words(tone, words) if colour => {
                    let style = style(*tone);
                    let _ = write!(out, "{style}{words}{style:#}");
                }
                Part::Words(_, words) => out.push_str(words),
            }
        }
        out
    }
}

impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.painted(false))
    }
}

impl From<&str> for Text {
    fn from(words: &str) -> Text {
        Text::toned(Tone::Plain, words)
    }
}

impl From<&String> for Text {
    fn from(words: &String) -> Text {
        Text::from(words.as_str())
    }
}

fn style(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Strong => Style::new().bold(),
        Tone::Faint => Style::new().dimmed(),
        Tone::Good => AnsiColor::Green.on_default(),
        Tone::Bad => AnsiColor::Red.on_default(),
        Tone::Doubt => AnsiColor::Yellow.on_default(),
    }
}

/// Words as people get to see them, on one line: each hidden character as its escape in Rust.
pub fn shown(words: &str) -> Cow<'_, str> {
    if !words.contains(is_hidden) {
        return Cow::Borrowed(words);
    }
    let mut out = String::with_capacity(words.len() + 16);
    for character in words.chars() {
        push_shown(&mut out, character);
    }
    Cow::Owned(out)
}

fn push_shown(out: &mut String, character: char) {
    if is_hidden(character) {
        out.extend(character.escape_default());
    } else {
        out.push(character);
    }
}

/// Output of a program that runs for us, such as cargo: its lines, tabs and colours stay,
/// everything else that acts on a terminal is shown escaped. Colours end where the text ends.
pub fn passed(output: &str) -> Cow<'_, str> {
    if !output.contains(|c: char| is_hidden(c) && !matches!(c, '\n' | '\t')) {
        return Cow::Borrowed(output);
    }
    let mut out = String::with_capacity(output.len() + 16);
    let mut coloured = false;
    let mut rest = output;
    while let Some(character) = rest.chars().next() {
        if let Some(length) = colour_sequence(rest) {
            out.push_str(&rest[..length]);
            rest = &rest[length..];
            coloured = true;
            continue;
        }
        rest = &rest[character.len_utf8()..];
        match character {
            '\n' | '\t' => out.push(character),
            '\r' if rest.starts_with('\n') => {}
            _ => push_shown(&mut out, character),
        }
    }
    if coloured && !out.trim_end_matches('\n').ends_with("\x1b[0m") {
        out.push_str("\x1b[0m");
    }
    Cow::Owned(out)
}

/// The length of the sequence at the start of a text that does nothing but choose colours.
fn colour_sequence(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\x1b[")?;
    let end = parameters.find(|c: char| !matches!(c, '0'..='9' | ';' | ':'))?;
    parameters[end..].starts_with('m').then_some("\x1b[".len() + end + 1)
}

/// A line of JSON that means the same and holds no hidden character: these can only stand within
/// texts.
pub fn plain_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_hidden) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if is_hidden(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// Lines of a message of others that are shown, and characters of a line: a panic may be of any
/// size, and what else the run found must stay in sight.
const SHOWN: (usize, usize) = (12, 600);

/// The beginning of a message of others, and how much more there is.
pub fn beginning(words: &str) -> String {
    let (lines, characters) = SHOWN;
    let mut shown: Vec<String> = words
        .lines()
        .take(lines)
        .map(|line| match line.char_indices().nth(characters) {
            Some((end, _)) => {
                format!("{} .. ({} more bytes)", &line[..end], line.len() - end)
            }
            None => line.to_owned(),
        })
        .collect();
    let more = words.lines().count().saturating_sub(lines);
    if more > 0 {
        shown.push(format!(".. ({more} more lines)"));
    }
    shown.join("\n")
}

#[cfg(test)]
mod tests;
