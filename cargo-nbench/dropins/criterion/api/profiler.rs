//! Hooks for profilers, which are accepted and never called.

use std::path::Path;

/// A profiler within the process.
pub trait Profiler {
    /// The benchmark begins.
    fn start_profiling(&mut self, benchmark_id: &str, benchmark_dir: &Path);

    /// The benchmark has ended.
    fn stop_profiling(&mut self, benchmark_id: &str, benchmark_dir: &Path);
}

/// A profiler outside the process, which needs no hook.
pub struct ExternalProfiler;

impl Profiler for ExternalProfiler {
    fn start_profiling(&mut self, _benchmark_id: &str, _benchmark_dir: &Path) {}
    fn stop_profiling(&mut self, _benchmark_id: &str, _benchmark_dir: &Path) {}
}
