//! Reads the options of an attribute and the signature of the item below it out of tokens. It must
//! not know the compiler's token types: tokens carry an opaque `source`, so that tests can make
//! them from text, and every fault names the token it is about.

/// One token tree and what it was made from.
pub struct Token<S> {
    /// Kind and text.
    pub kind: Kind<S>,
    /// The compiler's token.
    pub source: S,
}

/// Kind of a token.
pub enum Kind<S> {
    /// A keyword or identifier, with `r#` where it is written.
    Word(String),
    /// One character of punctuation, and whether more of it follows at once.
    Sign(char, bool),
    /// A literal.
    Literal,
    /// A group and what is in it.
    Group(Bracket, Vec<Token<S>>),
}

/// Delimiter of a group.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Bracket {
    /// `( )`
    Round,
    /// `[ ]`
    Square,
    /// `{ }`
    Curly,
    /// Nothing visible, as around what a macro by example has substituted.
    Invisible,
}

/// Fault and its place; without a token it is about the whole.
pub struct Fault<'t, S> {
    /// The token to point at.
    pub at: Option<&'t Token<S>>,
    /// A lower-case fragment.
    pub message: String,
}

/// The attribute that is read.
#[derive(Clone, Copy)]
pub enum Attribute<'i, 't, S> {
    /// `bench`, above a function.
    Bench(&'i Function<'t, S>),
    /// `bench_group`, above a module.
    Group,
}

/// `name = value`; without `= value` it means true.
pub struct Setting<'t, S> {
    /// The name as it is written.
    pub name: &'t Token<S>,
    /// The tokens of the value.
    pub value: Option<&'t [Token<S>]>,
}

/// The options of an attribute.
pub struct Options<'t, S> {
    /// The path to the crate, when it is not the default.
    pub krate: Option<&'t [Token<S>]>,
    /// The name to show.
    pub name: Option<&'t [Token<S>]>,
    /// The run-time arguments.
    pub args: Option<&'t [Token<S>]>,
    /// The list of types.
    pub types: Option<Vec<&'t [Token<S>]>>,
    /// The list of constants, or an expression that is one.
    pub consts: Option<&'t [Token<S>]>,
    /// Expressions of counters, with the kind where the option names it.
    pub counters: Vec<(&'t [Token<S>], Option<&'static str>)>,
    /// Everything else: fields of the options of a benchmark.
    pub fields: Vec<Setting<'t, S>>,
}

/// Facts of a function.
pub struct Function<'t, S> {
    /// Its name.
    pub name: &'t Token<S>,
    /// Whether it has an ABI of its own.
    pub foreign: bool,
    /// The path of the `ignore` attribute.
    pub ignore: Option<&'t Token<S>>,
    /// Type and constant parameters, in order.
    pub generics: Vec<Generic<'t, S>>,
    /// The type of each parameter.
    pub inputs: Vec<&'t [Token<S>]>,
}

/// A generic parameter that is not a lifetime.
pub enum Generic<'t, S> {
    /// A type.
    Type,
    /// A constant of a type.
    Const(&'t [Token<S>]),
}

/// The name of an identifier without `r#`.
pub fn plain(word: &str) -> &str {
    word.strip_prefix("r#").unwrap_or(word)
}

impl<S> Token<S> {
    /// The identifier that this is, without `r#`.
    pub fn word(&self) -> Option<&str> {
        match &self.kind {
            Kind::Word(word) => Some(plain(word)),
            _ => None,
        }
    }

    fn is_word(&self, wanted: &str) -> bool {
        matches!(&self.kind, Kind::Word(word) if word == wanted)
    }

    fn is_sign(&self, wanted: char) -> bool {
        matches!(self.kind, Kind::Sign(sign, _) if sign == wanted)
    }

    fn group(&self, wanted: Bracket) -> Option<&[Token<S>]> {
        match &self.kind {
            Kind::Group(bracket, inside) if *bracket == wanted => Some(inside),
            _ => None,
        }
    }
}

fn fault<'t, S>(at: Option<&'t Token<S>>, message: impl Into<String>) -> Fault<'t, S> {
    Fault { at, message: message.into() }
}

/// Looks through invisible groups that are all there is.
pub fn visible<S>(mut tokens: &[Token<S>]) -> &[Token<S>] {
    while let [only] = tokens {
        let Some(inside) = only.group(Bracket::Invisible) else { break };
        tokens = inside;
    }
    tokens
}

/// Meaning of a `<`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Angles {
    /// It always opens a list, as in types.
    Always,
    /// It is a comparison, unless it follows `::` or begins an expression.
    InPaths,
}

/// Says at which commas a list is to be cut.
struct Depth {
    angles: Angles,
    open: u32,
}

impl Depth {
    fn outside(&self) -> bool {
        self.open == 0
    }

    fn pass<S>(&mut self, tokens: &[Token<S>], at: usize) {
        let before = |sign: char| {
            at.checked_sub(1)
                .is_some_and(|at| matches!(tokens[at].kind, Kind::Sign(s, true) if s == sign))
        };
        let first = at == 0 || tokens[at - 1].is_sign(',') || tokens[at - 1].is_sign('=');
        if tokens[at].is_sign('<') {
            let path = at > 0 && tokens[at - 1].is_sign(':');
            if self.angles == Angles::Always || self.open > 0 || first || path {
                self.open += 1;
            }
        } else if tokens[at].is_sign('>') && self.open > 0 && !before('-') && !before('=') {
            self.open -= 1;
        }
    }
}

/// Cuts at the commas of the list itself; a comma at the end begins no further part.
fn split<S>(tokens: &[Token<S>], angles: Angles) -> Vec<&[Token<S>]> {
    let mut parts = Vec::new();
    let mut depth = Depth { angles, open: 0 };
    let mut start = 0;
    for at in 0..tokens.len() {
        if tokens[at].is_sign(',') && depth.outside() {
            parts.push(&tokens[start..at]);
            start = at + 1;
        } else {
            depth.pass(tokens, at);
        }
    }
    if start < tokens.len() {
        parts.push(&tokens[start..]);
    }
    parts
}

/// The elements, when the expression is a list in square brackets and not `[value; length]`.
pub fn elements<S>(value: &[Token<S>]) -> Option<Vec<&[Token<S>]>> {
    let [only] = visible(value) else { return None };
    let inside = only.group(Bracket::Square)?;
    let repeats = inside.iter().any(|token| token.is_sign(';'));
    (!repeats).then(|| split(inside, Angles::InPaths))
}

/// Whether the expression is a list of literals.
pub fn is_literal_list<S>(value: &[Token<S>]) -> bool {
    let literal =
        |element: &&[Token<S>]| matches!(visible(element), [Token { kind: Kind::Literal, .. }]);
    elements(value).is_some_and(|elements| elements.iter().all(literal))
}

/// Reads the options of an attribute.
pub fn options<'t, S>(
    tokens: &'t [Token<S>],
    attribute: Attribute<'_, 't, S>,
) -> Result<Options<'t, S>, Fault<'t, S>> {
    let macro_name = match attribute {
        Attribute::Bench(_) => "bench",
        Attribute::Group => "bench_group",
    };
    let mut options = Options {
        krate: None,
        name: None,
        args: None,
        types: None,
        consts: None,
        counters: Vec::new(),
        fields: Vec::new(),
    };
    let mut seen: Vec<&str> = Vec::new();
    for part in split(visible(tokens), Angles::InPaths) {
        let setting = setting(part, macro_name)?;
        let name = setting.name.word().unwrap_or_default();
        let about = |text: &str| {
            fault(Some(setting.name), format!("{text} '{macro_name}' option '{name}'"))
        };
        let value = || setting.value.ok_or_else(|| about("expected a value for"));
        // The compiler finds repeated fields itself.
        let key = if name == "counter" { "counters" } else { name };
        let own = matches!(key, "crate" | "name" | "types" | "consts" | "args" | "counters")
            || key.ends_with("_count") && key != "sample_count";
        if own && seen.contains(&key) {
            return Err(about("repeated"));
        }
        seen.push(key);
        if matches!(name, "types" | "consts" | "args") {
            let Attribute::Bench(function) = attribute else { return Err(about("unsupported")) };
            let missing = match name {
                "types" if function.position(|g| matches!(g, Generic::Type)).is_none() => {
                    "generic type"
                }
                "consts" if function.position(|g| matches!(g, Generic::Const(_))).is_none() => {
                    "generic const"
                }
                "args" if !matches!(function.inputs.len(), 1 | 2) => "function argument",
                _ => "",
            };
            if !missing.is_empty() {
                return Err(about(&format!("{missing} required for")));
            }
        }
        match name {
            "crate" => options.krate = Some(value()?),
            "name" => options.name = Some(value()?),
            "args" => options.args = Some(value()?),
            "consts" => options.consts = Some(value()?),
            "types" => {
                let [list] = visible(value()?) else {
                    return Err(about("expected a list of types for"));
                };
                let list = list.group(Bracket::Square);
                let list = list.ok_or_else(|| about("expected a list of types for"))?;
                options.types = Some(split(list, Angles::Always));
            }
            "counter" => options.counters.push((value()?, None)),
            "counters" => {
                let list = elements(value()?);
                let list = list.ok_or_else(|| about("expected a list of counters for"))?;
                options.counters.extend(list.into_iter().map(|counter| (counter, None)));
            }
            "bytes_count" => options.counters.push((value()?, Some("BytesCount"))),
            "chars_count" => options.counters.push((value()?, Some("CharsCount"))),
            "cycles_count" => options.counters.push((value()?, Some("CyclesCount"))),
            "items_count" => options.counters.push((value()?, Some("ItemsCount"))),
            _ => options.fields.push(setting),
        }
    }
    Ok(options)
}

fn setting<'t, S>(part: &'t [Token<S>], macro_name: &str) -> Result<Setting<'t, S>, Fault<'t, S>> {
    match part {
        [name] if name.word().is_some() => Ok(Setting { name, value: None }),
        [name, equals, value @ ..] if name.word().is_some() && equals.is_sign('=') => {
            if value.is_empty() {
                return Err(fault(Some(equals), "expected an expression after `=`"));
            }
            Ok(Setting { name, value: Some(value) })
        }
        _ => Err(fault(part.first(), format!("unsupported '{macro_name}' option"))),
    }
}

/// The attributes and other words before `keyword`, and what follows it.
struct Head<'t, S> {
    foreign: bool,
    ignore: Option<&'t Token<S>>,
    rest: &'t [Token<S>],
}

fn head<'t, S>(tokens: &'t [Token<S>], keyword: &str) -> Result<Head<'t, S>, Fault<'t, S>> {
    let (mut foreign, mut ignore) = (false, None);
    for (at, token) in tokens.iter().enumerate() {
        if token.is_word(keyword) {
            return Ok(Head { foreign, ignore, rest: &tokens[at + 1..] });
        }
        foreign |= token.is_word("extern");
        if at > 0 && tokens[at - 1].is_sign('#') {
            let inside = token.group(Bracket::Square).map(visible).unwrap_or_default();
            let path = inside.first().filter(|first| first.is_word("ignore"));
            let goes_on = inside.get(1).is_some_and(|next| !next.is_sign('='));
            ignore = ignore.or(path.filter(|_| !goes_on));
        }
    }
    Err(fault(tokens.first(), format!("expected `{keyword}`")))
}

/// A name, and the path of the `ignore` attribute.
pub type Named<'t, S> = (&'t Token<S>, Option<&'t Token<S>>);

/// Reads the name of a module, and its `ignore` attribute.
pub fn module<S>(tokens: &[Token<S>]) -> Result<Named<'_, S>, Fault<'_, S>> {
    let tokens = visible(tokens);
    let head = head(tokens, "mod")?;
    match head.rest.first() {
        Some(name) if name.word().is_some() => Ok((name, head.ignore)),
        other => Err(fault(other, "expected the name of a module")),
    }
}

/// Reads the signature of a function.
pub fn function<S>(tokens: &[Token<S>]) -> Result<Function<'_, S>, Fault<'_, S>> {
    let tokens = visible(tokens);
    let head = head(tokens, "fn")?;
    let [name, rest @ ..] = head.rest else { return Err(fault(tokens.last(), "expected a name")) };
    if name.word().is_none() {
        return Err(fault(Some(name), "expected the name of a function"));
    }
    let (generics, rest) = if rest.first().is_some_and(|token| token.is_sign('<')) {
        let end = closing(rest).ok_or_else(|| fault(rest.first(), "expected a `>` for this"))?;
        let parameters = split(&rest[1..end], Angles::Always);
        (parameters.into_iter().filter_map(generic).collect(), &rest[end + 1..])
    } else {
        (Vec::new(), rest)
    };
    let inputs = rest.first().and_then(|token| token.group(Bracket::Round));
    let inputs = inputs.ok_or_else(|| fault(Some(name), "expected parameters after the name"))?;
    Ok(Function {
        name,
        foreign: head.foreign,
        ignore: head.ignore,
        generics,
        inputs: split(inputs, Angles::Always).into_iter().map(input_type).collect(),
    })
}

impl<'t, S> Function<'t, S> {
    /// Where the first generic parameter of a kind stands.
    pub fn position(&self, wanted: impl Fn(&Generic<'t, S>) -> bool) -> Option<usize> {
        self.generics.iter().position(wanted)
    }

    /// The type of the first constant parameter.
    pub fn const_type(&self) -> Option<&'t [Token<S>]> {
        self.generics.iter().find_map(|generic| match generic {
            Generic::Const(of) => Some(*of),
            Generic::Type => None,
        })
    }

    /// Whether the first type parameter stands before the first constant.
    pub fn type_before_const(&self) -> bool {
        let of_type = self.position(|generic| matches!(generic, Generic::Type));
        let of_const = self.position(|generic| matches!(generic, Generic::Const(_)));
        matches!((of_type, of_const), (Some(first), Some(second)) if first < second)
    }
}

/// Where the list that opens with the first token closes.
fn closing<S>(tokens: &[Token<S>]) -> Option<usize> {
    let mut depth = Depth { angles: Angles::Always, open: 0 };
    (0..tokens.len()).find(|at| {
        depth.pass(tokens, *at);
        depth.outside()
    })
}

fn without_attributes<S>(mut tokens: &[Token<S>]) -> &[Token<S>] {
    while let [hash, group, rest @ ..] = tokens {
        if !hash.is_sign('#') || group.group(Bracket::Square).is_none() {
            break;
        }
        tokens = rest;
    }
    tokens
}

/// Lifetimes are left out: they are never named when the function is called.
fn generic<S>(parameter: &[Token<S>]) -> Option<Generic<'_, S>> {
    match without_attributes(parameter) {
        [first, ..] if first.is_sign('\'') => None,
        [first, _, colon, of @ ..] if first.is_word("const") && colon.is_sign(':') => {
            let end = of.iter().position(|token| token.is_sign('=')).unwrap_or(of.len());
            Some(Generic::Const(&of[..end]))
        }
        [_, ..] => Some(Generic::Type),
        [] => None,
    }
}

/// Type behind the single colon.
fn input_type<S>(input: &[Token<S>]) -> &[Token<S>] {
    let input = without_attributes(input);
    let mut at = 0;
    while at < input.len() {
        match (&input[at].kind, input.get(at + 1)) {
            (Kind::Sign(':', true), Some(next)) if next.is_sign(':') => at += 2,
            (Kind::Sign(':', _), _) => return &input[at + 1..],
            _ => at += 1,
        }
    }
    input
}

/// A type without the lifetime of the reference that it is: the lifetime means nothing where the
/// function is called.
pub fn without_lifetime<S>(of: &[Token<S>]) -> Vec<&Token<S>> {
    match of {
        [and, quote, _, rest @ ..] if and.is_sign('&') && quote.is_sign('\'') => {
            std::iter::once(and).chain(rest).collect()
        }
        _ => of.iter().collect(),
    }
}
