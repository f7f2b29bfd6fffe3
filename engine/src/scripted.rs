//! A subject whose costs are written down beforehand, so that the loop, the stop rule and the
//! statistics are tested without a clock.

use nbench::{Axes, Iters, Nanos, Sample, Subject, SubjectError};

/// Answers batches from a script of nanoseconds per operation, repeated when it ends.
#[derive(Debug, Clone)]
pub struct Scripted {
    script: Vec<f64>,
    position: usize,
    setup: f64,
    iterations: u64,
    fail: Option<(String, usize)>,
}

impl Scripted {
    /// A subject that takes `script[i]` nanoseconds per operation in its `i`-th sample.
    pub fn new(script: Vec<f64>) -> Scripted {
        Scripted { script, position: 0, setup: 0.0, iterations: 0, fail: None }
    }

    /// A subject that always takes `nanos` per operation.
    pub fn constant(nanos: f64) -> Scripted {
        Scripted::new(vec![nanos])
    }

    /// A subject of one nanosecond that fails with `message` after `good` samples.
    pub fn failing(message: &str, good: usize) -> Scripted {
        Scripted { fail: Some((message.to_owned(), good)), ..Scripted::constant(1.0) }
    }

    /// Adds untimed set-up of `nanos` per operation to what a batch spends.
    pub fn with_setup(self, nanos: f64) -> Scripted {
        Scripted { setup: nanos, ..self }
    }

    /// Samples taken so far.
    pub fn samples(&self) -> usize {
        self.position
    }

    /// Operations executed so far.
    pub fn iterations(&self) -> u64 {
        self.iterations
    }
}

impl Subject for Scripted {
    fn sample(&mut self, iters: Iters, count: usize) -> Result<Vec<Sample>, SubjectError> {
        let mut samples = Vec::with_capacity(count);
        for _ in 0..count {
            if let Some((message, good)) = &self.fail
                && self.position >= *good
            {
                return Err(SubjectError::failed(message.clone()));
            }
            let cost = self.script.get(self.position % self.script.len().max(1)).copied();
            self.position += 1;
            self.iterations += iters.0;
            let wall = cost.unwrap_or(0.0) * iters.0 as f64;
            samples.push(Sample {
                iters,
                wall: Nanos(wall.round() as u64),
                spent: Nanos((wall + self.setup * iters.0 as f64).round() as u64),
                axes: Axes::unavailable("scripted subject"),
            });
        }
        Ok(samples)
    }
}
