//! Writes the statics that register a benchmark or a group. It must not know how they are run: it
//! names items of the private module of the crate it belongs to, and nothing else.

use proc_macro::{TokenStream, TokenTree};

use crate::parse::{self, Attribute, Fault, Function, Kind, Options};
use crate::token::{complain, error, fill, number, read, text, word, write, Source};

type Tree = TokenTree;

/// An expression of constants is not known here, so that the function is instantiated for this
/// many.
const MOST_CONSTS: usize = 20;

/// Code that registers the function.
pub fn bench(options: TokenStream, item: TokenStream) -> TokenStream {
    let (options, item) = (read(options), read(item));
    let made = parse::function(&item).and_then(|function| {
        let options = parse::options(&options, Attribute::Bench(&function))?;
        benchmark(&function, &options)
    });
    made.unwrap_or_else(|fault| complain(&fault))
}

/// Code that registers the module.
pub fn bench_group(options: TokenStream, item: TokenStream) -> TokenStream {
    let (options, item) = (read(options), read(item));
    let made = parse::module(&item).and_then(|(name, ignore)| {
        let options = parse::options(&options, Attribute::Group)?;
        let private = private(&options);
        let meta = meta(name, &options, ignore, &private);
        let body = fill(
            "hole_private::Group { meta: hole_meta, instances: &[], limit: 0 }",
            &[("private", &private), ("meta", &meta)],
        );
        Ok(registered("GROUP", name, &private, "Group", body))
    });
    made.unwrap_or_else(|fault| complain(&fault))
}

/// The private module of the crate.
fn private(options: &Options<'_, Tree>) -> TokenStream {
    let krate = options.krate.map_or_else(|| fill("::divan", &[]), write);
    fill("hole_krate::__private", &[("krate", &krate)])
}

/// A static of type `kind` beside the item, which is put into its list before `main`. Two of them
/// on one item are an error of the compiler.
fn registered(
    prefix: &str,
    name: &Source,
    private: &TokenStream,
    kind: &str,
    body: TokenStream,
) -> TokenStream {
    let upper = name.word().unwrap_or_default().to_uppercase();
    let own = word(&format!("__DIVAN_{prefix}_{upper}"), name);
    let list = fill(if kind == "Group" { "GROUPS" } else { "BENCHMARKS" }, &[]);
    let kind = fill(kind, &[]);
    fill(
        r#"
        static hole_own: hole_private::hole_kind = {
            {
                #[used]
                #[cfg_attr(windows, link_section = ".CRT$XCU")]
                #[cfg_attr(
                    any(target_os = "macos", target_os = "ios", target_os = "tvos", target_os = "watchos"),
                    link_section = "__DATA,__mod_init_func,mod_init_funcs"
                )]
                #[cfg_attr(
                    not(any(
                        windows,
                        target_os = "macos",
                        target_os = "ios",
                        target_os = "tvos",
                        target_os = "watchos",
                    )),
                    link_section = ".init_array"
                )]
                static PUSH: extern "C" fn() = push;

                extern "C" fn push() {
                    static NODE: hole_private::Node<hole_private::hole_kind> =
                        hole_private::Node::new(&hole_own);
                    hole_private::hole_list.push(&NODE);
                }
            }
            hole_body
        };
        "#,
        &[("own", &own), ("private", private), ("kind", &kind), ("list", &list), ("body", &body)],
    )
}

/// Name, place and options.
fn meta(
    name: &Source,
    options: &Options<'_, Tree>,
    ignore: Option<&Source>,
    private: &TokenStream,
) -> TokenStream {
    let raw = match &name.kind {
        Kind::Word(name) => name.as_str(),
        _ => "",
    };
    let shown = options.name.map_or_else(|| text(parse::plain(raw)), write);
    fill(
        "hole_private::Meta {
            raw_name: hole_raw,
            display_name: hole_shown,
            module_path: ::core::module_path!(),
            location: hole_private::Location {
                file: ::core::file!(),
                line: ::core::line!(),
                column: ::core::column!(),
            },
            options: hole_options,
        }",
        &[
            ("private", private),
            ("raw", &text(raw)),
            ("shown", &shown),
            ("options", &bench_options(options, ignore, private)),
        ],
    )
}

/// The options as fields of a struct, so that the compiler finds unknown and repeated ones.
fn bench_options(
    options: &Options<'_, Tree>,
    ignore: Option<&Source>,
    private: &TokenStream,
) -> TokenStream {
    if options.fields.is_empty() && options.counters.is_empty() && ignore.is_none() {
        return fill("::core::option::Option::None", &[]);
    }
    let mut fields = TokenStream::new();
    for setting in &options.fields {
        let given = setting.value.map_or_else(|| fill("true", &[]), write);
        let template = match (setting.name.word(), setting.value) {
            (Some("threads"), Some(value)) if parse::is_literal_list(value) => {
                "::std::borrow::Cow::Borrowed(&hole_given)"
            }
            (Some("threads"), _) => "hole_private::IntoThreads::into_threads(hole_given)",
            (Some("min_time" | "max_time"), _) => {
                "hole_private::IntoDuration::into_duration(hole_given)"
            }
            _ => "hole_given",
        };
        let value = fill(template, &[("private", private), ("given", &given)]);
        fields.extend(field(setting.name, &value));
    }
    if let Some(ignore) = ignore {
        fields.extend(field(ignore, &fill("true", &[])));
    }
    if !options.counters.is_empty() {
        let mut set = fill("hole_private::counters()", &[("private", private)]);
        for (counter, kind) in &options.counters {
            let mut counter = write(*counter);
            if let Some(kind) = kind {
                let kind = fill(kind, &[]);
                counter = fill(
                    "<hole_private::hole_kind as ::core::convert::From<_>>::from(hole_counter)",
                    &[("private", private), ("kind", &kind), ("counter", &counter)],
                );
            }
            set = fill("hole_set.with(hole_counter)", &[("set", &set), ("counter", &counter)]);
        }
        fields.extend(fill("counters: hole_set,", &[("set", &set)]));
    }
    fill(
        "::core::option::Option::Some(::std::sync::LazyLock::new(|| {
            #[allow(clippy::needless_update)]
            hole_private::BenchOptions { hole_fields ..::core::default::Default::default() }
        }))",
        &[("private", private), ("fields", &fields)],
    )
}

fn field(name: &Source, value: &TokenStream) -> TokenStream {
    let name = write([name]);
    fill(
        "hole_name: ::core::option::Option::Some(hole_value),",
        &[("name", &name), ("value", value)],
    )
}

fn benchmark<'t>(
    function: &Function<'t, Tree>,
    options: &Options<'t, Tree>,
) -> Result<TokenStream, Fault<'t, Tree>> {
    let private = private(options);
    let meta = meta(function.name, options, function.ignore, &private);
    let make = Make { function, options, private: &private };
    let arguments = match options.args {
        Some(_) => fill(
            "static __DIVAN_ARGS: hole_private::Arguments = hole_private::Arguments::new();",
            &[("private", &private)],
        ),
        None => TokenStream::new(),
    };
    if options.types.is_none() && options.consts.is_none() {
        let run = make.runner(&[]);
        let body = fill(
            "hole_arguments hole_private::Benchmark { meta: hole_meta, run: hole_run }",
            &[("arguments", &arguments), ("private", &private), ("meta", &meta), ("run", &run)],
        );
        return Ok(registered("BENCH", function.name, &private, "Benchmark", body));
    }
    let consts = Consts::new(function, options);
    let only = match (&options.types, &consts) {
        (Some(types), None) => Some(types.len()),
        (None, Some(consts)) => Some(consts.indices.len()),
        _ => None,
    };
    if only == Some(0) {
        return Ok(TokenStream::new());
    }
    let instances = make.instances(consts.as_ref());
    let (declared, limit) = match consts {
        Some(consts) => (consts.declared, consts.limit),
        None => (TokenStream::new(), fill("::core::primitive::usize::MAX", &[])),
    };
    let body = fill(
        "hole_arguments
        hole_declared
        static __DIVAN_LISTS: &[&[hole_private::Instance]] = &[hole_instances];
        hole_private::Group { meta: hole_meta, instances: __DIVAN_LISTS, limit: hole_limit }",
        &[
            ("arguments", &arguments),
            ("declared", &declared),
            ("private", &private),
            ("instances", &instances),
            ("meta", &meta),
            ("limit", &limit),
        ],
    );
    Ok(registered("BENCH", function.name, &private, "Group", body))
}

/// The constants of a generic function.
struct Consts {
    /// The list of them.
    declared: TokenStream,
    /// An expression for the number of each in the list.
    indices: Vec<TokenStream>,
    /// An expression for how many there are.
    limit: TokenStream,
}

impl Consts {
    fn new(function: &Function<'_, Tree>, options: &Options<'_, Tree>) -> Option<Consts> {
        let values = options.consts?;
        let of = write(function.const_type().unwrap_or_default());
        let list = [("of", &of), ("values", &write(values))];
        if let Some(elements) = parse::elements(values) {
            return Some(Consts {
                declared: fill("const __DIVAN_CONSTS: &[hole_of] = &hole_values;", &list),
                indices: (0..elements.len()).map(number).collect(),
                limit: number(elements.len()),
            });
        }
        // The first stands in for those that do not exist; they are never run.
        let index = |at| {
            let template = "if hole_at < __DIVAN_CONSTS.len() { hole_at } else { 0 }";
            fill(template, &[("at", &number(at))])
        };
        let most = number(MOST_CONSTS);
        Some(Consts {
            declared: fill(
                "const __DIVAN_CONSTS: &[hole_of] = &hole_values;
                const _: () = ::core::assert!(
                    __DIVAN_CONSTS.len() <= hole_most,
                    \"external 'consts' cannot contain more than 20 values\"
                );",
                &[list[0], list[1], ("most", &most)],
            ),
            indices: (0..MOST_CONSTS).map(index).collect(),
            limit: fill("__DIVAN_CONSTS.len()", &[]),
        })
    }
}

/// Makes instances of one function.
struct Make<'m, 't> {
    function: &'m Function<'t, Tree>,
    options: &'m Options<'t, Tree>,
    private: &'m TokenStream,
}

impl Make<'_, '_> {
    /// A list of instances for each type, and one for all types where there are no constants.
    fn instances(&self, consts: Option<&Consts>) -> TokenStream {
        let types = self.options.types.as_ref();
        let types = types.map(|types| types.iter().map(|of| write(*of)).collect::<Vec<_>>());
        let lists: Vec<Vec<TokenStream>> = match (&types, consts) {
            (Some(types), None) => {
                vec![types.iter().map(|of| self.instance(Some(of), None)).collect()]
            }
            (Some(types), Some(consts)) => {
                types.iter().map(|of| self.of_consts(Some(of), consts)).collect()
            }
            (None, consts) => consts.iter().map(|consts| self.of_consts(None, consts)).collect(),
        };
        let mut instances = TokenStream::new();
        for list in lists {
            let length = number(list.len());
            let list: TokenStream = list.into_iter().collect();
            instances.extend(fill(
                "{
                    static __DIVAN_INSTANCES: [hole_private::Instance; hole_length] = [hole_list];
                    &__DIVAN_INSTANCES
                },",
                &[("private", self.private), ("length", &length), ("list", &list)],
            ));
        }
        instances
    }

    fn of_consts(&self, of: Option<&TokenStream>, consts: &Consts) -> Vec<TokenStream> {
        consts.indices.iter().map(|index| self.instance(of, Some(index))).collect()
    }

    fn instance(&self, of: Option<&TokenStream>, index: Option<&TokenStream>) -> TokenStream {
        let some = |template: &str, hole: Option<&TokenStream>| match hole {
            Some(hole) => fill(template, &[("private", self.private), ("hole", hole)]),
            None => fill("::core::option::Option::None", &[]),
        };
        let value = index.map(|index| fill("{ __DIVAN_CONSTS[hole_index] }", &[("index", index)]));
        let mut generics: Vec<TokenStream> = value.into_iter().chain(of.cloned()).collect();
        if self.function.type_before_const() {
            generics.reverse();
        }
        fill(
            "hole_private::Instance { run: hole_run, of: hole_of, value: hole_value },",
            &[
                ("private", self.private),
                ("run", &self.runner(&generics)),
                (
                    "of",
                    &some(
                        "::core::option::Option::Some(hole_private::TypeName::new::<hole_hole>())",
                        of,
                    ),
                ),
                (
                    "value",
                    &some(
                        "::core::option::Option::Some(hole_private::ConstValue::new(
                            &__DIVAN_CONSTS[hole_hole]
                        ))",
                        index,
                    ),
                ),
            ],
        )
    }

    /// How the function is called, with its generic parameters.
    fn runner(&self, generics: &[TokenStream]) -> TokenStream {
        let name = write([self.function.name]);
        let mut call = name;
        if !generics.is_empty() {
            let mut list = TokenStream::new();
            for generic in generics {
                list.extend(fill("hole_generic,", &[("generic", generic)]));
            }
            call = fill("hole_call::<hole_list>", &[("call", &call), ("list", &list)]);
        }
        let last = self.function.inputs.last().copied().unwrap_or_default();
        let last = write(parse::without_lifetime(last));
        let args = self.options.args.map(write);
        let returns = match self.options.args.and_then(parse::elements) {
            Some(list) if list.is_empty() => fill("-> [hole_last; 0]", &[("last", &last)]),
            _ => TokenStream::new(),
        };
        let template = match (self.function.inputs.len(), &args) {
            (0, None) if self.function.foreign => {
                "hole_private::Runner::Plain(|__divan| __divan.bench(|| hole_call()))"
            }
            (0, None) => "hole_private::Runner::Plain(|__divan| __divan.bench(hole_call))",
            (1, None) if self.function.foreign => {
                "hole_private::Runner::Plain(|__divan| hole_call(__divan))"
            }
            (1, None) => "hole_private::Runner::Plain(hole_call)",
            (1, Some(_)) => {
                "hole_private::Runner::Args(|| __DIVAN_ARGS.cases(
                    || hole_returns { hole_args },
                    |arg| hole_private::Shown(arg).to_string(),
                    |__divan, __divan_arg| __divan.bench(|| hole_call(
                        hole_private::Arg::<hole_last>::get(__divan_arg)
                    )),
                ))"
            }
            (_, Some(_)) => {
                "hole_private::Runner::Args(|| __DIVAN_ARGS.cases(
                    || hole_returns { hole_args },
                    |arg| hole_private::Shown(arg).to_string(),
                    |__divan, __divan_arg| hole_call(
                        __divan,
                        hole_private::Arg::<hole_last>::get(__divan_arg)
                    ),
                ))"
            }
            (_, None) => {
                let message = format!("expected 'args' option containing '{last}'");
                return error(&message, self.function.name.source.span());
            }
        };
        let nothing = TokenStream::new();
        fill(
            template,
            &[
                ("private", self.private),
                ("call", &call),
                ("returns", &returns),
                ("args", args.as_ref().unwrap_or(&nothing)),
                ("last", &last),
            ],
        )
    }
}
