//! What becomes of hostile words.

use super::*;

/// What others can put into a name, with what is shown of it.
const CASES: [(&str, &str); 20] = [
    ("plain/id", "plain/id"),
    ("日本語/ключ/🦀", "日本語/ключ/🦀"),
    ("é e\u{301}", "é e\u{301}"),
    ("100% \"q\" 'q' \\n", "100% \"q\" 'q' \\n"),
    ("two\nlines", "two\\nlines"),
    ("over\rwritten", "over\\rwritten"),
    ("tab\there", "tab\\there"),
    ("\x1b[31mred", "\\u{1b}[31mred"),
    ("\x1b]0;title\x07", "\\u{1b}]0;title\\u{7}"),
    ("\x1b]8;;http://x\x1b\\link", "\\u{1b}]8;;http://x\\u{1b}\\link"),
    ("back\x08\x08space", "back\\u{8}\\u{8}space"),
    ("nul\0", "nul\\u{0}"),
    ("del\x7f", "del\\u{7f}"),
    ("\u{9b}2J", "\\u{9b}2J"),
    ("\u{202e}reversed\u{2066}x\u{2069}", "\\u{202e}reversed\\u{2066}x\\u{2069}"),
    ("a\u{200b}b\u{200d}c\u{feff}", "a\\u{200b}b\\u{200d}c\\u{feff}"),
    ("a\u{2028}b\u{85}c", "a\\u{2028}b\\u{85}c"),
    ("soft\u{ad}hyphen", "soft\\u{ad}hyphen"),
    ("tag\u{e0041}", "tag\\u{e0041}"),
    ("", ""),
];

#[test]
fn what_acts_on_a_terminal_is_shown_and_the_rest_stays() {
    for (words, expected) in CASES {
        assert_eq!(shown(words), expected, "{words:?}");
        assert_eq!(Text::from(words).painted(false), expected);
        assert!(!Text::toned(Tone::Bad, words).to_string().contains(is_hidden));
    }
}

#[test]
fn no_word_begins_a_line_or_a_colour() {
    let forged = "x\nfaster       demo/b  y  (@tree against HEAD)\x1b[32m";
    let mut text = Text::new();
    text.add(Tone::Strong, forged).line(2).push(forged).block(4, Tone::Faint, "| ", forged);
    let plain = text.painted(false);
    let lines: Vec<&str> = plain.lines().collect();
    assert_eq!(lines.len(), 4, "{plain}");
    assert!(lines.iter().skip(1).all(|line| line.starts_with("  ")), "{plain}");
    assert!(lines[3].starts_with("    | faster"), "{plain}");
    let painted = text.painted(true);
    assert_eq!(painted.matches('\x1b').count(), 6, "ours only: {painted:?}");
}

#[test]
fn a_paragraph_keeps_its_lines_apart_from_ours() {
    let text = Text::paragraph("cannot build\r\nerror: forged\n\nsummary\n");
    assert_eq!(text.to_string(), "cannot build\n  error: forged\n  \n  summary");
}

#[test]
fn output_of_programs_keeps_lines_and_colours_only() {
    let cases = [
        ("   Compiling x\n", "   Compiling x\n"),
        ("\x1b[1m\x1b[91merror\x1b[0m: x", "\x1b[1m\x1b[91merror\x1b[0m: x\x1b[0m"),
        ("\x1b[38;5;9mred", "\x1b[38;5;9mred\x1b[0m"),
        ("red\x1b[0m\n", "red\x1b[0m\n"),
        ("a\r\nb\tc", "a\nb\tc"),
        ("a\rb", "a\\rb"),
        ("\x1b[2J\x1b[1;1H", "\\u{1b}[2J\\u{1b}[1;1H"),
        ("\x1b]52;c;YQ==\x07", "\\u{1b}]52;c;YQ==\\u{7}"),
        ("\x1bP+q\x1b\\", "\\u{1b}P+q\\u{1b}\\"),
        ("\x1b[", "\\u{1b}["),
        ("let x = \"\u{202e}\";", "let x = \"\\u{202e}\";"),
    ];
    for (output, expected) in cases {
        assert_eq!(passed(output), expected, "{output:?}");
    }
}

#[test]
fn json_means_the_same_and_is_safe_to_look_at() {
    for (words, _) in CASES {
        let value = serde_json::json!({ words: [words, 1] });
        let line = value.to_string();
        let plain = plain_json(&line);
        assert!(!plain.contains(is_hidden), "{plain:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&plain).unwrap(), value);
    }
}

#[test]
fn a_message_of_any_size_leaves_the_rest_in_sight() {
    let short = "one\n  two\n\nthree";
    assert_eq!(super::beginning(short), short);
    let tall = super::beginning(&"line\n".repeat(100_000));
    assert_eq!(tall.lines().count(), 13);
    assert!(tall.ends_with("line\n.. (99988 more lines)"), "{tall}");
    let wide = super::beginning(&"\u{fc}".repeat(100_000));
    assert!(wide.ends_with("\u{fc} .. (198800 more bytes)"), "{}", wide.len());
    assert!(super::beginning(&format!("{}\n", "w ".repeat(90_000)).repeat(50)).len() < 9000);
}
