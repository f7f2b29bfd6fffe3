//! The only file that prints. It knows streams, colour and the progress bar, and nothing of what is
//! said through it. Nothing leaves it that acts on a terminal but what it puts there itself: words
//! come as [`Text`], and what is passed on is cleared by `text`.

#[cfg(test)]
pub(crate) mod kept;
mod progress;
pub(crate) mod text;

use std::io::{IsTerminal, Write};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use progress::{Progress, time};

pub use crate::term::text::{Text, Tone};
use crate::term::text::{passed, plain_json, shown};

/// Format of the results on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// Text for people.
    #[default]
    Human,
    /// One JSON object a line; text for people goes to standard error.
    Json,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Where everything is printed.
pub struct Term {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    out_colour: bool,
    err_colour: bool,
    err_is_terminal: bool,
    format: Format,
    quiet: bool,
    verbose: bool,
    bar: Option<ProgressBar>,
    /// Work that is going on and since when.
    progress: Option<(Progress, Instant)>,
    /// When the build began that is told of in a log.
    building: Option<Instant>,
    /// Which of how many builds is next, where there are several.
    next_build: Option<(usize, usize)>,
    /// Colours of cargo and compilers by `CARGO_TERM_COLOR`, unless `--color` decides.
    compilers: Option<bool>,
}

impl std::fmt::Debug for Term {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Term").field("format", &self.format).finish_non_exhaustive()
    }
}

impl Term {
    /// The process's own streams.
    pub fn system() -> Term {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let colour = |terminal: bool| terminal && !plain;
        Term {
            out_colour: colour(std::io::stdout().is_terminal()),
            err_colour: colour(std::io::stderr().is_terminal()),
            err_is_terminal: std::io::stderr().is_terminal(),
            out: Box::new(std::io::stdout()),
            err: Box::new(std::io::stderr()),
            format: Format::Human,
            quiet: false,
            verbose: false,
            bar: None,
            progress: None,
            building: None,
            next_build: None,
            compilers: match std::env::var("CARGO_TERM_COLOR").as_deref() {
                Ok("always") => Some(true),
                Ok("never") => Some(false),
                _ => None,
            },
        }
    }

    /// Other streams, without colour and progress; for tests.
    pub fn captured(out: Box<dyn Write>, err: Box<dyn Write>) -> Term {
        Term {
            out,
            err,
            out_colour: false,
            err_colour: false,
            err_is_terminal: false,
            format: Format::Human,
            quiet: false,
            verbose: false,
            bar: None,
            progress: None,
            building: None,
            next_build: None,
            compilers: None,
        }
    }

    /// Applies the user's choices.
    pub fn configure(&mut self, format: Format, colour: Colour, quiet: bool) {
        self.format = format;
        self.quiet = quiet;
        if colour != Colour::Auto {
            self.compilers = None;
        }
        match colour {
            Colour::Auto => {}
            Colour::Always => (self.out_colour, self.err_colour) = (true, true),
            Colour::Never => (self.out_colour, self.err_colour) = (false, false),
        }
    }

    /// Whether all that is known of a result is printed.
    pub fn set_verbose(&mut self, verbose: bool) {
        self.verbose = verbose;
    }

    /// Whether all that is known of a result is printed.
    pub fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Whether the words of cargo and compilers are shown in colour.
    pub fn compilers_colour(&self) -> bool {
        self.compilers.unwrap_or(self.err_colour)
    }

    /// Format of standard output.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether the stream that results go to has colour.
    pub fn has_colour(&self) -> bool {
        match self.format {
            Format::Human => self.out_colour,
            Format::Json => self.err_colour,
        }
    }

    /// A line of a result for people: standard output, or standard error beside JSON.
    pub fn line(&mut self, text: impl Into<Text>) {
        let text = text.into().painted(self.has_colour());
        self.suspended(|term| {
            let stream = if term.format == Format::Human { &mut term.out } else { &mut term.err };
            // A closed pipe must not end a measurement whose results are still to be stored.
            let _ = writeln!(stream, "{text}");
            let _ = stream.flush();
        });
    }

    /// A line of results for machines; nothing unless JSON was asked for.
    pub fn for_machines(&mut self, line: &impl serde::Serialize) {
        match serde_json::to_value(line) {
            Ok(value) => self.json(&value),
            Err(error) => self.warn(&format!("a result cannot be written as JSON: {error}")),
        }
    }

    /// A result for machines; nothing unless JSON was asked for.
    pub fn json(&mut self, value: &serde_json::Value) {
        if self.format == Format::Json {
            self.suspended(|term| {
                let _ = writeln!(term.out, "{}", plain_json(&value.to_string()));
                let _ = term.out.flush();
            });
        }
    }

    /// Text that is the result itself, such as a rendered comment: standard output, with its lines.
    pub fn verbatim(&mut self, text: &str) {
        self.suspended(|term| {
            let _ = term.out.write_all(passed(text).as_bytes());
            let _ = term.out.flush();
        });
    }

    /// Note on what is being done; standard error, silent under `--quiet`.
    pub fn note(&mut self, text: impl Into<Text>) {
        if !self.quiet {
            let mut text = text.into();
            text.soften();
            self.suspended(|term| {
                let _ = writeln!(term.err, "{}", text.painted(term.err_colour));
            });
        }
    }

    /// Output of a program that runs on our behalf; standard error.
    pub fn pass(&mut self, text: &str) {
        self.suspended(|term| {
            let _ = writeln!(term.err, "{}", passed(text.trim_end_matches('\n')));
        });
    }

    /// Something the user should know although the work goes on.
    pub fn warn(&mut self, text: &str) {
        self.labelled(Tone::Doubt, "warning:", text);
    }

    /// An error with its hint.
    pub fn error(&mut self, error: &str, hint: Option<&str>) {
        self.labelled(Tone::Bad, "error:", error);
        if let Some(hint) = hint {
            self.hint(hint);
        }
    }

    /// Hint on a warning.
    pub fn hint(&mut self, hint: &str) {
        self.labelled(Tone::Strong, "hint:", hint);
    }

    fn labelled(&mut self, tone: Tone, label: &str, words: &str) {
        let mut text = Text::toned(tone, label);
        text.push(" ").join(Text::paragraph(words));
        self.suspended(|term| {
            let _ = writeln!(term.err, "{}", text.painted(term.err_colour));
        });
    }

    /// Shows how far something is: on a terminal all the time, in a log now and then.
    pub fn start_progress(&mut self, what: &str) {
        self.end_progress();
        if self.quiet {
            return;
        }
        self.progress = Some((Progress::new(what), Instant::now()));
        self.bar = self.err_is_terminal.then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
                bar.set_style(style);
            }
            bar
        });
        self.show_progress();
    }

    /// Shows that something of unknown length is going on, on a terminal.
    pub fn start_waiting(&mut self, what: &str) {
        self.end_progress();
        if self.quiet || !self.err_is_terminal {
            return;
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
        if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix}, {elapsed}  {wide_msg}")
        {
            bar.set_style(style);
        }
        bar.set_prefix(shown(what).into_owned());
        self.bar = Some(bar);
    }

    /// Says which of how many builds comes next.
    pub fn number_build(&mut self, number: usize, of: usize) {
        self.next_build = Some((number, of)).filter(|(_, of)| *of > 1);
    }

    /// Shows that something is built, in a log too: it may take minutes.
    pub fn start_building(&mut self, what: &str) {
        let number = self.next_build.take();
        let number = number.map_or(String::new(), |(number, of)| format!(" ({number} of {of})"));
        let what = format!("{what}{number}");
        self.start_waiting(&what);
        if !self.err_is_terminal {
            self.note(&what);
            self.building = Some(Instant::now());
        }
    }

    /// Ends what [`Term::start_building`] began, and says in a log how long it took.
    pub fn end_building(&mut self, built: bool) {
        self.end_progress();
        if let Some(began) = self.building.take().filter(|_| built) {
            self.note(&format!("built in {}", time(began.elapsed())));
        }
    }

    /// Moves the display on.
    pub fn advance(&mut self, steps: u64, now: &str) {
        if let Some((progress, _)) = &mut self.progress {
            progress.advance(steps, now);
            self.show_progress();
        } else if let Some(bar) = &self.bar {
            bar.inc(steps);
            bar.set_message(shown(now).into_owned());
        }
    }

    /// Corrects the number of steps that are expected.
    pub fn expect_steps(&mut self, steps: u64) {
        if let Some((progress, began)) = &mut self.progress {
            progress.expect(steps, began.elapsed());
            self.show_progress();
        }
    }

    /// Says beside the steps what came of them so far.
    pub fn show_findings(&mut self, word: &str) {
        if let Some((progress, _)) = &mut self.progress {
            progress.show_findings(word);
        }
    }

    fn show_progress(&mut self) {
        let Some((progress, began)) = &mut self.progress else { return };
        let elapsed = began.elapsed();
        if let Some(bar) = &self.bar {
            bar.set_message(shown(&progress.line(elapsed)).into_owned());
            bar.tick();
        } else if let Some(line) = progress.beat(elapsed) {
            self.note(&line);
        }
    }

    /// Takes the display away.
    pub fn end_progress(&mut self) {
        self.progress = None;
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn suspended(&mut self, print: impl FnOnce(&mut Term)) {
        match self.bar.clone() {
            Some(bar) => bar.suspend(|| print(self)),
            None => print(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::kept::Kept;
    use super::*;

    fn said(format: Format, colour: Colour, say: impl Fn(&mut Term)) -> (String, String) {
        let (out, err) = (Kept::default(), Kept::default());
        let mut term = Term::captured(Box::new(out.clone()), Box::new(err.clone()));
        term.configure(format, colour, false);
        say(&mut term);
        (out.text(), err.text())
    }

    #[test]
    fn colour_only_where_it_was_allowed() {
        let say = |term: &mut Term| term.line(Text::toned(Tone::Bad, "x"));
        assert_eq!(said(Format::Human, Colour::Never, say).0, "x\n");
        assert_eq!(said(Format::Human, Colour::Always, say).0, "\x1b[31mx\x1b[0m\n");
        assert_eq!(said(Format::Human, Colour::Always, |term| term.line("x")).0, "x\n");
    }

    #[test]
    fn no_way_of_printing_lets_a_hidden_character_through() {
        let hostile = "a\x1b]0;t\x07\u{9b}2J\u{202e}\rz";
        let (out, err) = said(Format::Json, Colour::Never, |term| {
            term.line(hostile);
            term.json(&serde_json::json!({ "id": hostile }));
            term.verbatim(hostile);
            term.note(hostile);
            term.pass(hostile);
            term.warn(hostile);
            term.error(hostile, Some(hostile));
        });
        for text in [out, err] {
            assert!(text.lines().count() > 1);
            assert!(!text.contains(|c| c != '\n' && crate::term::text::is_hidden(c)), "{text:?}");
        }
    }

    #[test]
    fn a_forged_line_is_not_one_of_ours() {
        let forged = "x\nfaster       demo/b  y\nerror: z";
        let (out, err) = said(Format::Human, Colour::Never, |term| {
            term.line(forged);
            term.note(forged);
            term.warn(forged);
            term.error(forged, Some(forged));
        });
        let ours = |line: &str| line.starts_with("faster") || line == "error: z";
        assert!(!format!("{out}{err}").lines().any(ours), "{out}{err}");
    }
}
