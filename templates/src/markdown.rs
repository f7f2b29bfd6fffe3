//! Makes foreign text harmless inside Markdown, table cells included.
//! It must not know what the text names.

use std::fmt::Write as _;

/// Escapes `text` so that a forge shows it as it is: no markup, HTML, table delimiter, link,
/// mention or reference.
///
/// Line breaks become spaces. Control characters and those that reorder text become U+FFFD, because
/// they could make a row read as something else. The result is one line of Markdown that also holds
/// inside an HTML element.
pub fn escape_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut previous = [' '; 3];
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' if characters.peek() == Some(&'\n') => {}
            '\n' | '\r' | '\t' => out.push(' '),
            character if is_hidden(character) => out.push('\u{fffd}'),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // Mentions, references and mail addresses are looked for in the rendered text, where a
            // character reference is a plain character again. Only a zero-width space
            // in between ends them.
            '@' | '#' => _ = write!(out, "&#{};&#8203;", u32::from(character)),
            '-' if matches!(previous, [_, 'G' | 'g', 'H' | 'h']) => out.push_str("-&#8203;"),
            // A bare address is a link as soon as it begins with `www.`, without any scheme.
            '.' if previous.iter().all(|letter| matches!(letter, 'w' | 'W')) => {
                out.push_str("&#46;");
            }
            '|' | '`' | '*' | '_' | '~' | '[' | ']' | '(' | ')' | '!' | '\\' | ':' | '$' | '{'
            | '}' | '^' | '"' | '\'' => _ = write!(out, "&#{};", u32::from(character)),
            character => out.push(character),
        }
        previous = [previous[1], previous[2], character];
    }
    out
}

/// Cuts `text` to at most `limit` characters and marks the cut.
pub(crate) fn clip(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some(_) => text.chars().take(limit.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Whether a reader would not see a character as it is: control characters of both sets, line and
/// paragraph separators, marks that change the direction of writing, and what has no width or is
/// ignored, by which two names could look the same.
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_markup_is_defused() {
        let cases = [
            ("plain name/1k", "plain name/1k"),
            ("a|b", "a&#124;b"),
            ("`code`", "&#96;code&#96;"),
            ("<b>&amp;</b>", "&lt;b&gt;&amp;amp;&lt;/b&gt;"),
            ("</details>", "&lt;/details&gt;"),
            ("@octocat", "&#64;&#8203;octocat"),
            ("a@b.com", "a&#64;&#8203;b.com"),
            ("#123", "&#35;&#8203;123"),
            ("GH-123", "GH-&#8203;123"),
            ("http://x.y", "http&#58;//x.y"),
            ("WWW.x.y", "WWW&#46;x.y"),
            ("www.x.y", "www&#46;x.y"),
            ("a.b", "a.b"),
            ("a\nb\r\nc\td", "a b c d"),
            ("*_~[x](y)!", "&#42;&#95;&#126;&#91;x&#93;&#40;y&#41;&#33;"),
            ("\\|", "&#92;&#124;"),
            ("$x^{2}$", "&#36;x&#94;&#123;2&#125;&#36;"),
            ("\u{202e}abc\u{0}", "\u{fffd}abc\u{fffd}"),
            ("größe ☃", "größe ☃"),
            ("a::b", "a&#58;&#58;b"),
        ];
        for (text, expected) in cases {
            assert_eq!(escape_markdown(text), expected, "{text:?}");
        }
    }

    /// The rule behind the table: whatever is outside a character reference cannot begin any
    /// markup.
    #[test]
    fn no_string_of_specials_survives() {
        let specials: Vec<char> = "|`<>@#*_~[]()!\\:$\n\r&;{}\"'w.aG1".chars().collect();
        let mut state = 1_u64;
        for _ in 0..2_000 {
            let text: String = (0..12)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    specials[(state >> 33) as usize % specials.len()]
                })
                .collect();
            let mut rest = escape_markdown(&text);
            for reference in ["&amp;", "&lt;", "&gt;"] {
                rest = rest.replace(reference, "");
            }
            while let Some(start) = rest.find("&#") {
                let end = rest[start..].find(';').unwrap() + start;
                assert!(rest[start + 2..end].bytes().all(|byte| byte.is_ascii_digit()), "{text:?}");
                rest.replace_range(start..=end, "\u{1}");
            }
            assert!(
                !rest.contains([
                    '|', '`', '<', '>', '@', '#', '*', '_', '~', '[', ']', ':', '\n', '&'
                ]),
                "{text:?}"
            );
            assert!(!rest.contains("www."), "{text:?}");
        }
    }

    #[test]
    fn a_clip_counts_characters() {
        assert_eq!(clip("äöü", 3), "äöü");
        assert_eq!(clip("äöüß", 3), "äö…");
        assert_eq!(clip("", 0), "");
    }
}
