//! The order in which benchmarks are walked and what each is called. It owns the tree of modules,
//! functions, types and constants, and must not know how a benchmark is run.

use std::cmp::Ordering;

use crate::options::BenchOptions;
use crate::registry::{Benchmark, ConstValue, Group, Location, Meta, Runner};

/// A benchmark of the walk; its arguments and numbers of threads are not told apart yet.
pub(crate) struct Leaf {
    /// Modules below the crate joined by `::`, then function, type and constant joined by `/`.
    pub(crate) id: String,
    pub(crate) run: &'static Runner,
    /// Its own options over those of the groups that it is in.
    pub(crate) options: BenchOptions<'static>,
}

/// All benchmarks in the order of the walk: functions before the modules beside them, each by
/// natural order of their names and then by where they stand. It follows from the sources alone, so
/// that two builds of them agree.
pub(crate) fn leaves(
    benchmarks: &[&'static Benchmark],
    groups: &[&'static Group],
    defaults: &BenchOptions<'static>,
) -> Vec<Leaf> {
    let mut root = Vec::new();
    for benchmark in benchmarks {
        let leaf = Node::leaf(
            benchmark.meta.display_name.to_owned(),
            &benchmark.meta,
            &benchmark.run,
            None,
        );
        module(&mut root, &benchmark.meta).push(leaf);
    }
    for group in groups {
        for list in group.instances {
            for instance in list.iter().take(group.limit) {
                let mut nodes = module(&mut root, &group.meta);
                nodes = below(nodes, Kind::Function, group.meta.raw_name, Some(&group.meta));
                let of = instance.of.as_ref().map(|of| of.short());
                let name = match (&instance.value, of) {
                    (Some(value), Some(of)) => {
                        nodes = below(nodes, Kind::Function, of, None);
                        value.show()
                    }
                    (Some(value), None) => value.show(),
                    (None, of) => of.unwrap_or_default().to_owned(),
                };
                nodes.push(Node::leaf(name, &group.meta, &instance.run, instance.value.as_ref()));
            }
        }
    }
    for group in groups.iter().filter(|group| group.instances.is_empty()) {
        attach(&mut root, &group.meta);
    }
    sort(&mut root);
    let mut leaves = Vec::new();
    collect(&root, "", "", defaults, true, &mut leaves);
    leaves
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Leaf,
    /// A generic function, or a type of it.
    Function,
    Module,
}

struct Node {
    kind: Kind,
    raw_name: &'static str,
    name: String,
    meta: Option<&'static Meta>,
    run: Option<&'static Runner>,
    value: Option<&'static ConstValue>,
    children: Vec<Node>,
}

impl Node {
    fn leaf(
        name: String,
        meta: &'static Meta,
        run: &'static Runner,
        value: Option<&'static ConstValue>,
    ) -> Node {
        let children = Vec::new();
        Node {
            kind: Kind::Leaf,
            raw_name: "",
            name,
            meta: Some(meta),
            run: Some(run),
            value,
            children,
        }
    }

    /// Where it stands, or else the first of what is in it.
    fn location(&self) -> Option<Location> {
        match self.meta {
            Some(meta) => Some(meta.location),
            None => self.children.iter().filter_map(Node::location).min(),
        }
    }
}

/// Contents of the node of this name, which is made when there is none.
fn below<'n>(
    nodes: &'n mut Vec<Node>,
    kind: Kind,
    raw_name: &'static str,
    meta: Option<&'static Meta>,
) -> &'n mut Vec<Node> {
    let known = nodes.iter().position(|node| node.kind == kind && node.raw_name == raw_name);
    let at = known.unwrap_or_else(|| {
        let plain = raw_name.strip_prefix("r#").unwrap_or(raw_name);
        let name = meta.map_or(plain, |meta| meta.display_name).to_owned();
        let children = Vec::new();
        nodes.push(Node { kind, raw_name, name, meta, run: None, value: None, children });
        nodes.len() - 1
    });
    &mut nodes[at].children
}

fn module<'n>(root: &'n mut Vec<Node>, meta: &Meta) -> &'n mut Vec<Node> {
    meta.module_path.split("::").fold(root, |nodes, name| below(nodes, Kind::Module, name, None))
}

/// Gives a module the name and options of its group. A module without benchmarks has no node.
fn attach(mut nodes: &mut Vec<Node>, meta: &'static Meta) {
    let path = meta.module_path.split("::").chain([meta.raw_name]);
    let mut names = path.peekable();
    while let Some(name) = names.next() {
        let found =
            nodes.iter_mut().find(|node| node.kind == Kind::Module && node.raw_name == name);
        let Some(node) = found else { return };
        if names.peek().is_none() {
            node.meta = Some(meta);
            node.name = meta.display_name.to_owned();
            return;
        }
        nodes = &mut node.children;
    }
}

/// Stable, so that types and constants that compare equal stay as they are listed.
fn sort(nodes: &mut [Node]) {
    nodes.sort_by(|a, b| {
        let leaf = |node: &Node| node.kind == Kind::Leaf;
        leaf(b)
            .cmp(&leaf(a))
            .then_with(|| by_name(a, b))
            .then_with(|| a.location().cmp(&b.location()))
            .then_with(|| a.kind.cmp(&b.kind))
    });
    for node in nodes {
        sort(&mut node.children);
    }
}

fn by_name(a: &Node, b: &Node) -> Ordering {
    let values = a.value.zip(b.value).and_then(|(a, b)| a.compare(b));
    values.filter(|ordering| ordering.is_ne()).unwrap_or_else(|| natural(&a.name, &b.name))
}

fn collect(
    nodes: &[Node],
    prefix: &str,
    joint: &str,
    outer: &BenchOptions<'static>,
    crates: bool,
    leaves: &mut Vec<Leaf>,
) {
    for node in nodes {
        // Leaves have the options of their function, which are those of its node as well.
        let own = node.meta.and_then(|meta| meta.options.as_deref());
        let options = own.map_or_else(|| outer.clone(), |own| own.or(outer));
        let id = format!("{prefix}{joint}{}", node.name);
        match node.run {
            Some(run) => leaves.push(Leaf { id, run, options }),
            // The target is known already, and is a part of every identity.
            None if crates => collect(&node.children, "", "", &options, false, leaves),
            None => {
                let joint = if node.kind == Kind::Module { "::" } else { "/" };
                collect(&node.children, &id, joint, &options, false, leaves);
            }
        }
    }
}

/// The order of arguments: numbers that are whole stay as they are listed, others go by value, and
/// everything else by natural order.
pub(crate) fn arguments(names: &[String]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..names.len()).collect();
    if names.iter().all(|name| name.parse::<i128>().is_ok()) {
        return order;
    }
    let numbers: Option<Vec<f64>> = names.iter().map(|name| name.parse().ok()).collect();
    match numbers {
        Some(numbers) => order.sort_by(|a, b| numbers[*a].total_cmp(&numbers[*b])),
        None => order.sort_by(|a, b| natural(&names[*a], &names[*b])),
    }
    order
}

/// Compares texts with each run of digits in them as one number.
pub(crate) fn natural(a: &str, b: &str) -> Ordering {
    pieces(a).cmp(pieces(b))
}

#[derive(PartialEq, Eq)]
struct Piece<'t> {
    digits: bool,
    text: &'t str,
}

fn pieces(mut text: &str) -> impl Iterator<Item = Piece<'_>> {
    std::iter::from_fn(move || {
        let digits = text.chars().next()?.is_ascii_digit();
        let end = text.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(text.len());
        let (piece, rest) = text.split_at(end);
        text = rest;
        Some(Piece { digits, text: piece })
    })
}

impl Ord for Piece<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        if !(self.digits && other.digits) {
            return self.text.cmp(other.text);
        }
        let trim = |piece: &Self| piece.text.trim_start_matches('0').to_owned();
        let (own, other) = (trim(self), trim(other));
        own.len().cmp(&other.len()).then_with(|| own.cmp(&other))
    }
}

impl PartialOrd for Piece<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
