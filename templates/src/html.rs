//! Turns an HTML template and its values into a page on which foreign text is only ever text.
//! It must not know what the page is about.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, Error, escape_formatter};
use serde::Serialize;

use crate::markdown::is_hidden;

/// Renders `template`; its name must end in `.html`, which switches escaping on. It can include
/// `page.css`, the look that all pages share.
///
/// # Errors
/// Only when the template itself is at fault.
pub(crate) fn render(name: &str, template: &str, values: impl Serialize) -> Result<String, Error> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.set_formatter(|out, state, value| match value.as_str() {
        // Markup made by the template is marked safe; all else is foreign text.
        Some(text) if !value.is_safe() && text.contains(is_deceptive) => {
            let plain = text.replace(is_deceptive, "\u{fffd}");
            escape_formatter(out, state, &Value::from(plain))
        }
        _ => escape_formatter(out, state, value),
    });
    environment.add_template("page.css", include_str!("page.css"))?;
    environment.add_template(name, template)?;
    environment.get_template(name)?.render(Serde(values))
}

/// Tooltips have line breaks of their own.
fn is_deceptive(character: char) -> bool {
    character != '\n' && is_hidden(character)
}
