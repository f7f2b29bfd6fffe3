//! Tells Rust's code from its texts and comments, without a parser: names, texts and single signs.
//! It takes any bytes; what is no Rust comes out as some list of tokens.

/// A piece of code that is no comment and no blank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A name, a keyword or a number.
    Word(String),
    /// The text within quotes, with the usual escapes replaced.
    Text(String),
    /// A character literal as it is written.
    Char(String),
    /// Any other sign; that before a lifetime too.
    Sign(char),
}

/// Tokens of a source, comments and blanks left out.
pub(crate) fn tokens(source: &str) -> Vec<Token> {
    let chars: Vec<char> = source.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let next = chars.get(at + 1).copied();
        match c {
            '/' if next == Some('/') => {
                at = position(&chars, at, '\n');
            }
            '/' if next == Some('*') => at = end_of_block(&chars, at),
            '"' => {
                let (text, end) = text(&chars, at + 1);
                found.push(Token::Text(text));
                at = end;
            }
            '\'' => {
                let (token, end) = quoted(&chars, at);
                found.push(token);
                at = end;
            }
            c if is_word(c) => {
                let end = at + chars[at..].iter().take_while(|c| is_word(**c)).count();
                let word: String = chars[at..end].iter().collect();
                if let Some((text, end)) = prefixed(&word, &chars, end) {
                    found.push(Token::Text(text));
                    at = end;
                } else {
                    found.push(Token::Word(word));
                    at = end;
                }
            }
            c => {
                if !c.is_whitespace() {
                    found.push(Token::Sign(c));
                }
                at += 1;
            }
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn position(chars: &[char], from: usize, wanted: char) -> usize {
    chars[from..].iter().position(|c| *c == wanted).map_or(chars.len(), |length| from + length)
}

fn end_of_block(chars: &[char], from: usize) -> usize {
    let (mut depth, mut at) = (0_usize, from);
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    at
}

/// The text that follows a word such as `b`, `r` or `br`, when it is a prefix of one.
fn prefixed(word: &str, chars: &[char], at: usize) -> Option<(String, usize)> {
    match word {
        "b" | "c" if chars.get(at) == Some(&'"') => Some(text(chars, at + 1)),
        "r" | "br" | "cr" => {
            let hashes = chars[at..].iter().take_while(|c| **c == '#').count();
            // `r#type` is a name.
            (chars.get(at + hashes) == Some(&'"')).then(|| raw(chars, at + hashes + 1, hashes))
        }
        _ => None,
    }
}

/// A text without escapes from behind its first quote, and where it ends.
fn raw(chars: &[char], from: usize, hashes: usize) -> (String, usize) {
    let mut at = from;
    while at < chars.len() {
        let closed = chars[at] == '"'
            && chars[at + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes;
        if closed {
            return (chars[from..at].iter().collect(), at + 1 + hashes);
        }
        at += 1;
    }
    (chars[from..].iter().collect(), chars.len())
}

/// A text from behind its first quote, and where it ends.
fn text(chars: &[char], from: usize) -> (String, usize) {
    let mut text = String::new();
    let mut at = from;
    while let Some(&c) = chars.get(at) {
        at += 1;
        match c {
            '"' => return (text, at),
            '\\' => at = escape(chars, at, &mut text),
            c => text.push(c),
        }
    }
    (text, at)
}

/// Adds what the escape behind a backslash stands for, and returns where it ends.
fn escape(chars: &[char], at: usize, text: &mut String) -> usize {
    let Some(&kind) = chars.get(at) else { return at };
    let code = |digits: &[char]| {
        let digits: String = digits.iter().filter(|c| **c != '_').collect();
        u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)
    };
    match kind {
        'n' => text.push('\n'),
        'r' => text.push('\r'),
        't' => text.push('\t'),
        '0' => text.push('\0'),
        'x' if chars.len() >= at + 3 => {
            text.extend(code(&chars[at + 1..at + 3]));
            return at + 3;
        }
        'u' if chars.get(at + 1) == Some(&'{') => {
            let end = position(chars, at, '}');
            text.extend(code(&chars[at + 2..end]));
            return (end + 1).min(chars.len());
        }
        '\n' | '\r' => {
            return at + chars[at..].iter().take_while(|c| c.is_whitespace()).count();
        }
        other => text.push(other),
    }
    at + 1
}

/// A character literal or the sign of a lifetime at a single quote, and where it ends.
fn quoted(chars: &[char], at: usize) -> (Token, usize) {
    let literal = |end: usize| (Token::Char(chars[at..end].iter().collect()), end);
    match (chars.get(at + 1), chars.get(at + 2)) {
        (Some('\\'), _) => {
            let end = escape(chars, at + 2, &mut String::new());
            literal((position(chars, end, '\'') + 1).min(chars.len()))
        }
        (Some(_), Some('\'')) => literal(at + 3),
        _ => (Token::Sign('\''), at + 1),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Token, tokens};

    fn texts(source: &str) -> Vec<String> {
        let text = |token| match token {
            Token::Text(text) => Some(text),
            _ => None,
        };
        tokens(source).into_iter().filter_map(text).collect()
    }

    #[test]
    fn texts_of_every_form() {
        for (source, expected) in [
            (r#"open("README.md")"#, &["README.md"][..]),
            (r###"r"a\b" r#"c"d"# br##"e"# f"## cr"g""###, &["a\\b", "c\"d", "e\"# f", "g"]),
            (r#"b"x.txt" c"y.txt""#, &["x.txt", "y.txt"]),
            (r#""a\"b\\c\x2e\u{6d}d""#, &["a\"b\\c.md"]),
            ("\"one \\\n     line\"", &["one line"]),
            ("// \"no\"\n/* \"no\" /* \"no\" */ \"no\" */ \"yes\"", &["yes"]),
            ("'\"' \"a\" '\\'' \"b\" b'\"' \"c\" '\\u{22}' \"d\"", &["a", "b", "c", "d"]),
            ("fn f<'a>(x: &'a str) { \"a\" }", &["a"]),
            ("let r#type = r\"raw\"; for r in 0..1 {} \"x\"", &["raw", "x"]),
            ("\"never ended", &["never ended"]),
        ] {
            assert_eq!(texts(source), expected, "{source}");
        }
    }

    #[test]
    fn comments_and_blanks_are_no_difference() {
        let one = "/// Doc.\nfn f() { // note\n    g(\"a\" , 1)\n}\n";
        assert_eq!(tokens(one), tokens("fn f(){g(\"a\",1)}"));
        assert_ne!(tokens(one), tokens("fn f(){g(\"a\",2)}"));
        assert_ne!(tokens(one), tokens("fn f(){g(\"b\",1)}"));
        assert_ne!(tokens("'a'"), tokens("'b'"));
        assert_ne!(tokens("\"\\n\""), tokens("\"\\t\""));
    }

    proptest! {
        #[test]
        fn any_text_ends(source in "[ \\\\\"'/*#rbcux{}0-9\nä]{0,40}") {
            let _ = tokens(&source);
        }
    }
}
