//! Which source of a setting wins: the one place that decides it, for layers of a run and for
//! single benchmarks alike. It knows no setting.

/// Source of a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A flag on the command line.
    Flag,
    /// An entry of `[[benchmark]]` that fits the benchmark.
    Rule,
    /// A setting that the benchmark's code carries.
    Benchmark,
    /// A variable of the environment.
    Environment,
    /// The file of settings.
    File,
    /// The preset, and below it the default one.
    Preset,
}

/// Sources in words, the one that wins first.
pub const PRECEDENCE: [(Source, &str); 6] = [
    (Source::Flag, "flags"),
    (Source::Rule, "`[[benchmark]]`"),
    (Source::Benchmark, "the benchmark's own settings"),
    (Source::Environment, "`NBENCH_*` variables"),
    (Source::File, "`nbench.toml` in the workspace root"),
    (Source::Preset, "the preset"),
];

/// Orders what several sources say so that, applied one after the other, the one that wins comes
/// last. What one source says keeps its order.
pub fn weakest_first<T>(said: impl IntoIterator<Item = (Source, T)>) -> Vec<T> {
    let rank = |source: Source| PRECEDENCE.iter().position(|(known, _)| *known == source);
    let mut said: Vec<(Source, T)> = said.into_iter().collect();
    said.sort_by_key(|(source, _)| std::cmp::Reverse(rank(*source)));
    said.into_iter().map(|(_, value)| value).collect()
}

/// The order as a sentence of help and README.
pub fn precedence_in_words() -> String {
    let names: Vec<&str> = PRECEDENCE.iter().map(|(_, name)| *name).collect();
    format!("Of several sources of a setting the first of these wins: {}.", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_wins_whatever_the_order_they_come_in() {
        let said = [
            (Source::File, 4),
            (Source::Flag, 1),
            (Source::Rule, 21),
            (Source::Preset, 5),
            (Source::Rule, 22),
            (Source::Environment, 3),
            (Source::Benchmark, 23),
        ];
        assert_eq!(weakest_first(said), [5, 4, 3, 23, 21, 22, 1]);
    }
}
