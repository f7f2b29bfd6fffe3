//! Turns the compiler's tokens into those that are parsed, and templates with holes into tokens. It
//! must not know what is generated.

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

use crate::parse::{Bracket, Fault, Kind, Token};

/// A token that came from the compiler.
pub type Source = Token<TokenTree>;

/// The tokens of a stream.
pub fn read(stream: TokenStream) -> Vec<Source> {
    stream.into_iter().map(|source| Token { kind: kind(&source), source }).collect()
}

fn kind(tree: &TokenTree) -> Kind<TokenTree> {
    match tree {
        TokenTree::Ident(word) => Kind::Word(word.to_string()),
        TokenTree::Punct(sign) => Kind::Sign(sign.as_char(), sign.spacing() == Spacing::Joint),
        TokenTree::Literal(_) => Kind::Literal,
        TokenTree::Group(group) => {
            let bracket = match group.delimiter() {
                Delimiter::Parenthesis => Bracket::Round,
                Delimiter::Bracket => Bracket::Square,
                Delimiter::Brace => Bracket::Curly,
                Delimiter::None => Bracket::Invisible,
            };
            Kind::Group(bracket, read(group.stream()))
        }
    }
}

/// The tokens as the compiler gave them, with the places they came from.
pub fn write<'t>(tokens: impl IntoIterator<Item = &'t Source>) -> TokenStream {
    tokens.into_iter().map(|token| token.source.clone()).collect()
}

/// Fills the holes of a template: identifiers that begin with `hole_`.
pub fn fill(template: &str, holes: &[(&str, &TokenStream)]) -> TokenStream {
    let parsed = template.parse().expect("templates are valid tokens");
    replace(parsed, holes)
}

fn replace(stream: TokenStream, holes: &[(&str, &TokenStream)]) -> TokenStream {
    let mut filled = TokenStream::new();
    for tree in stream {
        match tree {
            TokenTree::Group(group) => {
                let inside = replace(group.stream(), holes);
                filled.extend([TokenTree::Group(Group::new(group.delimiter(), inside))]);
            }
            TokenTree::Ident(word) => {
                let name = word.to_string();
                match name.strip_prefix("hole_") {
                    None => filled.extend([TokenTree::Ident(word)]),
                    Some(name) => {
                        let hole = holes.iter().find(|(known, _)| *known == name);
                        let (_, tokens) = hole.expect("every hole of a template is filled");
                        filled.extend((*tokens).clone());
                    }
                }
            }
            other => filled.extend([other]),
        }
    }
    filled
}

/// A string literal.
pub fn text(value: &str) -> TokenStream {
    TokenTree::Literal(Literal::string(value)).into()
}

/// An integer literal.
pub fn number(value: usize) -> TokenStream {
    TokenTree::Literal(Literal::usize_unsuffixed(value)).into()
}

/// A new identifier at the place of another one.
pub fn word(name: &str, like: &Source) -> TokenStream {
    TokenTree::Ident(Ident::new(name, like.source.span())).into()
}

/// A compile error at the place of a fault.
pub fn complain(fault: &Fault<'_, TokenTree>) -> TokenStream {
    error(&fault.message, fault.at.map_or_else(Span::call_site, |token| token.source.span()))
}

/// A compile error at a place.
pub fn error(message: &str, span: Span) -> TokenStream {
    let mut literal = Literal::string(message);
    literal.set_span(span);
    let argument = TokenStream::from(TokenTree::Literal(literal));
    let sign = |sign, spacing| TokenTree::Punct(Punct::new(sign, spacing));
    let group = Group::new(Delimiter::Brace, argument);
    let trees = [
        sign(':', Spacing::Joint),
        sign(':', Spacing::Alone),
        TokenTree::Ident(Ident::new("core", span)),
        sign(':', Spacing::Joint),
        sign(':', Spacing::Alone),
        TokenTree::Ident(Ident::new("compile_error", span)),
        sign('!', Spacing::Alone),
        TokenTree::Group(group),
    ];
    let place = |mut tree: TokenTree| {
        tree.set_span(span);
        tree
    };
    trees.into_iter().map(place).collect()
}
