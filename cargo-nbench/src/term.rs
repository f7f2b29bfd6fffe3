//! The only file that prints. It knows streams, colour and the progress bar, and nothing of what is
//! said through it.

use std::io::{IsTerminal, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What the results on standard output look like.
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

/// Where everything is printed.
pub struct Term {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    out_colour: bool,
    err_colour: bool,
    err_is_terminal: bool,
    format: Format,
    quiet: bool,
    bar: Option<ProgressBar>,
    /// What `CARGO_TERM_COLOR` says of colours of cargo and compilers, unless `--color` says it.
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
            bar: None,
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
            bar: None,
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

    /// Whether the words of cargo and compilers are shown in colour.
    pub fn compilers_colour(&self) -> bool {
        self.compilers.unwrap_or(self.err_colour)
    }

    /// What standard output looks like.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Text with the escape codes of `tone`, if the stream that results go to has colour.
    pub fn paint(&self, tone: Tone, text: &str) -> String {
        let colour = match self.format {
            Format::Human => self.out_colour,
            Format::Json => self.err_colour,
        };
        painted(colour, tone, text)
    }

    /// A line of a result for people: standard output, or standard error beside JSON.
    pub fn line(&mut self, text: &str) {
        self.suspended(|term| {
            let stream = if term.format == Format::Human { &mut term.out } else { &mut term.err };
            // A closed pipe must not end a measurement whose results are still to be stored.
            let _ = writeln!(stream, "{text}");
            let _ = stream.flush();
        });
    }

    /// A result for machines; nothing unless JSON was asked for.
    pub fn json(&mut self, value: &serde_json::Value) {
        if self.format == Format::Json {
            self.suspended(|term| {
                let _ = writeln!(term.out, "{value}");
                let _ = term.out.flush();
            });
        }
    }

    /// Text that is the result itself, such as a rendered comment: standard output, as it is.
    pub fn verbatim(&mut self, text: &str) {
        self.suspended(|term| {
            let _ = term.out.write_all(text.as_bytes());
            let _ = term.out.flush();
        });
    }

    /// What is being done; standard error, silent under `--quiet`.
    pub fn note(&mut self, text: &str) {
        if !self.quiet {
            self.suspended(|term| {
                let text = painted(term.err_colour, Tone::Faint, text);
                let _ = writeln!(term.err, "{text}");
            });
        }
    }

    /// Output of a program that runs on our behalf; standard error.
    pub fn pass(&mut self, text: &str) {
        self.suspended(|term| {
            let _ = writeln!(term.err, "{}", text.trim_end_matches('\n'));
        });
    }

    /// Something the user should know although the work goes on.
    pub fn warn(&mut self, text: &str) {
        self.suspended(|term| {
            let label = painted(term.err_colour, Tone::Doubt, "warning:");
            let _ = writeln!(term.err, "{label} {text}");
        });
    }

    /// An error with its hint.
    pub fn error(&mut self, error: &str, hint: Option<&str>) {
        self.suspended(|term| {
            let label = painted(term.err_colour, Tone::Bad, "error:");
            let _ = writeln!(term.err, "{label} {error}");
            if let Some(hint) = hint {
                let label = painted(term.err_colour, Tone::Strong, "hint:");
                let _ = writeln!(term.err, "{label} {hint}");
            }
        });
    }

    /// Shows a bar of `steps` steps on a terminal.
    pub fn start_progress(&mut self, steps: u64, what: &str) {
        self.end_progress();
        if self.quiet || !self.err_is_terminal {
            return;
        }
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr_with_hz(8));
        let style = ProgressStyle::with_template(
            "{prefix} [{bar:24}] {pos}/{len} launches, {elapsed} elapsed, about {eta} left  {msg}",
        );
        if let Ok(style) = style {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(what.to_owned());
        self.bar = Some(bar);
    }

    /// Shows that something of unknown length is going on.
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
        bar.set_prefix(what.to_owned());
        self.bar = Some(bar);
    }

    /// Moves the bar on.
    pub fn advance(&mut self, steps: u64, now: &str) {
        if let Some(bar) = &self.bar {
            bar.inc(steps);
            bar.set_message(now.to_owned());
        }
    }

    /// Corrects the number of steps that are expected.
    pub fn expect_steps(&mut self, steps: u64) {
        if let Some(bar) = &self.bar {
            bar.set_length(steps);
        }
    }

    /// Takes the bar away.
    pub fn end_progress(&mut self) {
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

fn painted(colour: bool, tone: Tone, text: &str) -> String {
    let code = match tone {
        Tone::Plain => return text.to_owned(),
        Tone::Strong => "1",
        Tone::Faint => "2",
        Tone::Good => "32",
        Tone::Bad => "31",
        Tone::Doubt => "33",
    };
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_only_where_it_was_allowed() {
        assert_eq!(painted(false, Tone::Bad, "x"), "x");
        assert_eq!(painted(true, Tone::Bad, "x"), "\x1b[31mx\x1b[0m");
        assert_eq!(painted(true, Tone::Plain, "x"), "x");
    }
}
