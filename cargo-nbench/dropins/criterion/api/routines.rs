//! The forms of criterion 0.3 that take a whole benchmark as a value. They must not do more than
//! the groups that they are run through.

use std::fmt::Debug;
use std::time::Duration;

use super::bencher::Bencher;
use super::config::{PlotConfiguration, SamplingMode, Throughput};
use super::criterion::Criterion;
use super::group::BenchmarkId;
use super::measurement::{Measurement, WallTime};

type Routine<T, M> = (String, Box<dyn FnMut(&mut Bencher<'_, M>, &T)>);

type ThroughputOf<T> = Box<dyn Fn(&T) -> Throughput>;

/// A named function for [`Criterion::bench_functions`].
pub struct Fun<I: Debug, M: Measurement + 'static = WallTime> {
    routine: Routine<I, M>,
}

impl<I: Debug + 'static, M: Measurement> Fun<I, M> {
    /// A function with its name.
    pub fn new<F>(name: &str, f: F) -> Fun<I, M>
    where
        F: FnMut(&mut Bencher<'_, M>, &I) + 'static,
    {
        Fun { routine: (name.to_owned(), Box::new(f)) }
    }
}

/// Argument of [`Criterion::bench`].
pub trait BenchmarkDefinition<M: Measurement = WallTime>: Sized {
    #[doc(hidden)]
    fn run(self, group_id: &str, c: &mut Criterion<M>);
}

/// Functions without a parameter.
pub struct Benchmark<M: Measurement = WallTime> {
    routines: Vec<Routine<(), M>>,
    throughput: Option<Throughput>,
}

/// Functions of a parameter, and the values it takes.
pub struct ParameterizedBenchmark<T: Debug, M: Measurement = WallTime> {
    values: Vec<T>,
    routines: Vec<Routine<T, M>>,
    throughput: Option<ThroughputOf<T>>,
}

macro_rules! ignored {
    ($($name:ident: $type:ty),+ $(,)?) => {
        $(
            /// Accepted and ignored.
            pub fn $name(self, _value: $type) -> Self {
                self
            }
        )+
    };
}

/// The settings that both kinds of benchmarks take.
macro_rules! settings {
    () => {
        ignored!(
            sample_size: usize,
            warm_up_time: Duration,
            measurement_time: Duration,
            nresamples: usize,
            noise_threshold: f64,
            confidence_level: f64,
            significance_level: f64,
            plot_config: PlotConfiguration,
            sampling_mode: SamplingMode,
        );
    };
}

impl<M: Measurement + 'static> Benchmark<M> {
    settings!();

    /// A first function.
    pub fn new<S, F>(id: S, f: F) -> Benchmark<M>
    where
        S: Into<String>,
        F: FnMut(&mut Bencher<'_, M>) + 'static,
    {
        Benchmark { routines: Vec::new(), throughput: None }.with_function(id, f)
    }

    /// One more function.
    pub fn with_function<S, F>(mut self, id: S, mut f: F) -> Benchmark<M>
    where
        S: Into<String>,
        F: FnMut(&mut Bencher<'_, M>) + 'static,
    {
        self.routines.push((id.into(), Box::new(move |bencher, ()| f(bencher))));
        self
    }

    /// How much one iteration processes.
    pub fn throughput(mut self, throughput: Throughput) -> Benchmark<M> {
        self.throughput = Some(throughput);
        self
    }
}

impl<T: Debug + 'static, M: Measurement + 'static> ParameterizedBenchmark<T, M> {
    settings!();

    /// A first function and the values.
    pub fn new<S, F, I>(id: S, f: F, parameters: I) -> ParameterizedBenchmark<T, M>
    where
        S: Into<String>,
        F: FnMut(&mut Bencher<'_, M>, &T) + 'static,
        I: IntoIterator<Item = T>,
    {
        let values = parameters.into_iter().collect();
        ParameterizedBenchmark { values, routines: Vec::new(), throughput: None }
            .with_function(id, f)
    }

    /// One more function.
    pub fn with_function<S, F>(mut self, id: S, f: F) -> ParameterizedBenchmark<T, M>
    where
        S: Into<String>,
        F: FnMut(&mut Bencher<'_, M>, &T) + 'static,
    {
        self.routines.push((id.into(), Box::new(f)));
        self
    }

    /// How much one iteration processes.
    pub fn throughput<F>(mut self, throughput: F) -> ParameterizedBenchmark<T, M>
    where
        F: Fn(&T) -> Throughput + 'static,
    {
        self.throughput = Some(Box::new(throughput));
        self
    }
}

impl<M: Measurement> BenchmarkDefinition<M> for Benchmark<M> {
    fn run(self, group_id: &str, c: &mut Criterion<M>) {
        let only = self.routines.len() == 1;
        let mut group = c.benchmark_group(group_id);
        if let Some(throughput) = self.throughput {
            group.throughput(throughput);
        }
        for (name, mut f) in self.routines {
            let name = (!only || name != group_id).then_some(name);
            group.bench_function(BenchmarkId::from_parts(name, None), |bencher| f(bencher, &()));
        }
    }
}

impl<T: Debug + 'static, M: Measurement + 'static> BenchmarkDefinition<M>
    for ParameterizedBenchmark<T, M>
{
    fn run(self, group_id: &str, c: &mut Criterion<M>) {
        let only = self.routines.len() == 1;
        let mut group = c.benchmark_group(group_id);
        for (name, mut f) in self.routines {
            let name = (!only || name != group_id).then_some(name);
            for value in &self.values {
                if let Some(throughput) = &self.throughput {
                    group.throughput(throughput(value));
                }
                let parameter = (self.values.len() > 1).then(|| format!("{value:?}"));
                let id = BenchmarkId::from_parts(name.clone(), parameter);
                group.bench_with_input(id, value, |bencher, value| f(bencher, value));
            }
        }
    }
}

impl<M: Measurement + 'static> Criterion<M> {
    /// Registers a function for each of several inputs.
    #[doc(hidden)]
    pub fn bench_function_over_inputs<I, F>(
        &mut self,
        id: &str,
        f: F,
        inputs: I,
    ) -> &mut Criterion<M>
    where
        I: IntoIterator,
        I::Item: Debug + 'static,
        F: FnMut(&mut Bencher<'_, M>, &I::Item) + 'static,
    {
        self.bench(id, ParameterizedBenchmark::new(id, f, inputs))
    }

    /// Registers several functions of one input.
    #[doc(hidden)]
    pub fn bench_functions<I>(
        &mut self,
        id: &str,
        funs: Vec<Fun<I, M>>,
        input: I,
    ) -> &mut Criterion<M>
    where
        I: Debug + 'static,
    {
        let routines = funs.into_iter().map(|fun| fun.routine).collect();
        self.bench(id, ParameterizedBenchmark { values: vec![input], routines, throughput: None })
    }

    /// Registers the functions of a benchmark as a group.
    #[doc(hidden)]
    pub fn bench<B: BenchmarkDefinition<M>>(
        &mut self,
        group_id: &str,
        benchmark: B,
    ) -> &mut Criterion<M> {
        benchmark.run(group_id, self);
        self
    }
}
