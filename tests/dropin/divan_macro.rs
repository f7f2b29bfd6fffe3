//! The parser of the macro, on tokens that are made from text. It must not know what is generated.

use crate::parse::{
    Attribute, Bracket, Fault, Generic, Kind, Options, Token, elements, function, is_literal_list,
    module, options, without_lifetime,
};

type Text = Token<String>;

/// Enough of a lexer for what is written below.
fn lex(text: &str) -> Vec<Text> {
    let mut chars: Vec<char> = text.chars().rev().collect();
    lex_until(&mut chars, None)
}

fn lex_until(chars: &mut Vec<char>, end: Option<char>) -> Vec<Text> {
    let mut tokens = Vec::new();
    while let Some(first) = chars.pop() {
        if Some(first) == end {
            return tokens;
        }
        if first.is_whitespace() {
            continue;
        }
        let mut source = first.to_string();
        let group = match first {
            '(' => Some((Bracket::Round, ')')),
            '[' => Some((Bracket::Square, ']')),
            '{' => Some((Bracket::Curly, '}')),
            // Stands for what a macro has substituted.
            '«' => Some((Bracket::Invisible, '»')),
            _ => None,
        };
        let kind = if let Some((bracket, end)) = group {
            Kind::Group(bracket, lex_until(chars, Some(end)))
        } else if first == '"' {
            while let Some(c) = chars.pop() {
                source.push(c);
                if c == '"' {
                    break;
                }
            }
            Kind::Literal
        } else if first.is_alphanumeric() || first == '_' {
            let raw = first == 'r' && chars.last() == Some(&'#');
            while let Some(c) = chars
                .last()
                .copied()
                .filter(|c| c.is_alphanumeric() || *c == '_' || (raw && *c == '#'))
            {
                source.push(c);
                chars.pop();
            }
            if first.is_ascii_digit() { Kind::Literal } else { Kind::Word(source.clone()) }
        } else {
            let follows = |c: &char| first == '\'' || "=<>:-&|.!".contains(*c);
            Kind::Sign(first, chars.last().is_some_and(follows))
        };
        tokens.push(Token { kind, source });
    }
    assert_eq!(end, None, "a group is not closed");
    tokens
}

/// The text of tokens, separated by spaces; a group is its first character.
fn text<'t>(tokens: impl IntoIterator<Item = &'t Text>) -> String {
    let sources: Vec<&str> = tokens.into_iter().map(|token| token.source.as_str()).collect();
    sources.join(" ")
}

fn message<T>(result: Result<T, Fault<'_, String>>) -> String {
    match result {
        Ok(_) => panic!("it is accepted"),
        Err(fault) => {
            format!("{}: {}", fault.at.map_or("", |token| token.source.as_str()), fault.message)
        }
    }
}

fn refusal(result: Result<Options<'_, String>, Fault<'_, String>>) -> String {
    message(result)
}

const FUNCTION: &str = "fn f<T, const N: usize>(bencher: Bencher, n: usize) {}";

fn with_options<R>(
    text: &str,
    check: impl FnOnce(Result<Options<'_, String>, Fault<'_, String>>) -> R,
) -> R {
    let (item, tokens) = (lex(FUNCTION), lex(text));
    // Both have to live as long as each other.
    let Ok(function) = function(&item) else { panic!("the function is not understood") };
    check(options(&tokens, Attribute::Bench(&function)))
}

#[test]
fn options_are_cut_at_their_own_commas() {
    with_options(
        "args = parse::<Vec<u8>, _>(a < b, c), name = <A as B<C, D>>::NAME, crate = ::x, ignore, sample_size = 1 < 2,",
        |options| {
            let options = options.ok().unwrap();
            let args = options.args.unwrap();
            assert_eq!(text(args), "parse : : < Vec < u8 > , _ > (");
            assert_eq!(text(options.name.unwrap()), "< A as B < C , D > > : : NAME");
            assert_eq!(text(options.krate.unwrap()), ": : x");
            let fields: Vec<String> = options
                .fields
                .iter()
                .map(|field| {
                    format!("{}={}", field.name.source, text(field.value.unwrap_or_default()))
                })
                .collect();
            assert_eq!(fields, ["ignore=", "sample_size=1 < 2"]);
            assert!(options.fields[0].value.is_none());
        },
    );
}

#[test]
fn lists_of_types_are_cut_at_the_commas_outside_of_their_parameters() {
    with_options(
        "types = [Vec<i32>, Map<K, fn(A) -> B>, fn() -> C, (D, E), &'static str,]",
        |options| {
            let types: Vec<String> =
                options.ok().unwrap().types.unwrap().into_iter().map(text).collect();
            let expected =
                ["Vec < i32 >", "Map < K , fn ( - > B >", "fn ( - > C", "(", "& ' static str"];
            assert_eq!(types, expected);
        },
    );
}

#[test]
fn counters_are_named_or_listed() {
    with_options("counters = [a(1, 2), b], bytes_count = n, items_count = 3", |options| {
        let options = options.ok().unwrap();
        let counters: Vec<(String, Option<&str>)> =
            options.counters.iter().map(|(counter, kind)| (text(*counter), *kind)).collect();
        let expected = [
            ("a (".to_owned(), None),
            ("b".to_owned(), None),
            ("n".to_owned(), Some("BytesCount")),
            ("3".to_owned(), Some("ItemsCount")),
        ];
        assert_eq!(counters, expected);
    });
}

#[test]
fn faults_name_the_token() {
    for (given, expected) in [
        ("name = \"a\", r#name = \"b\"", "r#name: repeated 'bench' option 'name'"),
        ("counter = a, counters = [b]", "counters: repeated 'bench' option 'counters'"),
        ("name", "name: expected a value for 'bench' option 'name'"),
        ("name =", "=: expected an expression after `=`"),
        ("a::b = 1", "a: unsupported 'bench' option"),
        ("3", "3: unsupported 'bench' option"),
        ("types = u8", "types: expected a list of types for 'bench' option 'types'"),
        ("counters = c", "counters: expected a list of counters for 'bench' option 'counters'"),
    ] {
        assert_eq!(with_options(given, refusal), expected, "{given}");
    }
    let (item, tokens) = (lex("fn f() {}"), lex("args = [1]"));
    let plain = function(&item).ok().unwrap();
    let told = message(options(&tokens, Attribute::Bench(&plain)));
    assert_eq!(told, "args: function argument required for 'bench' option 'args'");
    let tokens = lex("consts = [1]");
    let told = message(options(&tokens, Attribute::Bench(&plain)));
    assert_eq!(told, "consts: generic const required for 'bench' option 'consts'");
    let told = message(options(&tokens, Attribute::Group));
    assert_eq!(told, "consts: unsupported 'bench_group' option 'consts'");
}

#[test]
fn a_signature_is_found_behind_everything_that_may_stand_before_it() {
    let item = lex(
        "#[doc = \"fn\"] #[ignore = \"slow\"] «pub(crate)» unsafe extern \"C\" fn r#try<'a, T: Fn(u8) -> A<B>, \
         const N: [u8; 2] = X>(#[x] Pair { a, b }: Pair<A, B>, c: &'a mut std::C) -> R where T: Y {}",
    );
    let found = function(&item).ok().unwrap();
    assert_eq!((found.name.source.as_str(), found.name.word()), ("r#try", Some("try")));
    assert!(found.foreign);
    assert_eq!(found.ignore.map(|token| token.source.as_str()), Some("ignore"));
    assert!(matches!(found.generics.as_slice(), [Generic::Type, Generic::Const(_)]));
    assert!(found.type_before_const());
    assert_eq!(text(found.const_type().unwrap()), "[");
    let inputs: Vec<String> = found.inputs.iter().map(|input| text(*input)).collect();
    assert_eq!(inputs, ["Pair < A , B >", "& ' a mut std : : C"]);
    assert_eq!(text(without_lifetime(found.inputs[1])), "& mut std : : C");
    assert_eq!(text(without_lifetime(found.inputs[0])), "Pair < A , B >");
}

#[test]
fn an_attribute_that_only_contains_the_word_does_not_ignore() {
    for (item, ignored) in [
        ("#[ignore] fn f() {}", true),
        ("#[«ignore»] fn f() {}", true),
        ("#[cfg_attr(x, ignore)] fn f() {}", false),
        ("#[ignore::me] fn f() {}", false),
        ("fn ignore() {}", false),
    ] {
        let item = lex(item);
        assert_eq!(function(&item).ok().unwrap().ignore.is_some(), ignored);
    }
}

#[test]
fn what_is_no_function_or_module_is_a_fault() {
    assert_eq!(message(function(&lex("struct S;"))), "struct: expected `fn`");
    assert_eq!(message(function(&lex("fn"))), "fn: expected a name");
    assert_eq!(message(function(&lex("fn f<T(a: u8)"))), "<: expected a `>` for this");
    assert_eq!(message(function(&lex("fn f {}"))), "f: expected parameters after the name");
    assert_eq!(message(function::<String>(&[])), ": expected `fn`");
    let item = lex("#[ignore] pub mod sizes { fn f() {} }");
    let (name, ignore) = module(&item).ok().unwrap();
    assert_eq!((name.word(), ignore.is_some()), (Some("sizes"), true));
    assert_eq!(message(module(&lex("fn f() {}"))), "fn: expected `mod`");
}

#[test]
fn only_lists_in_brackets_have_elements() {
    let count = |value: &str| elements(&lex(value)).map(|elements| elements.len());
    assert_eq!(count("[1, a::<B, C>(), d < e, -2,]"), Some(4));
    assert_eq!(count("«[1, 2]»"), Some(2));
    assert_eq!(count("[]"), Some(0));
    assert_eq!(count("[0; 3]"), None);
    assert_eq!(count("&[1, 2]"), None);
    assert_eq!(count("VALUES"), None);
    assert!(is_literal_list(&lex("[0, 1, 16]")));
    assert!(!is_literal_list(&lex("[0, N]")));
    assert!(!is_literal_list(&lex("THREADS")));
}
