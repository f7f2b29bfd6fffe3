//! Whether the machine is busy with something else before a measurement begins. It warns and
//! decides nothing.

use sysinfo::System;

/// Description of the load, if it is above what the machine has to give.
pub fn warning() -> Option<String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    describe(System::load_average().one, cores)
}

fn describe(load: f64, cores: usize) -> Option<String> {
    (load.is_finite() && load > cores as f64).then(|| {
        format!(
            "this machine is busy (load {load:.1} with {cores} {}): intervals will be wide, and \
             small changes are better judged when it is idle",
            if cores == 1 { "core" } else { "cores" }
        )
    })
}

#[cfg(test)]
mod tests {
    use super::describe;

    #[test]
    fn a_load_above_the_cores_is_told() {
        let table = [
            (0.0, 2, None),
            (2.0, 2, None),
            (2.1, 2, Some("load 2.1 with 2 cores")),
            (15.0, 2, Some("load 15.0")),
            (1.5, 1, Some("1 core)")),
            (15.0, 64, None),
            (f64::NAN, 2, None),
        ];
        for (load, cores, expected) in table {
            let got = describe(load, cores);
            assert_eq!(got.is_some(), expected.is_some(), "{load} {cores}: {got:?}");
            assert!(got.is_none_or(|got| got.contains(expected.unwrap())), "{load} {cores}");
        }
    }
}
