//! A closure of this process as a subject. It must not know other processes or statistics.

use crate::axis::{Axes, Reading};
use crate::batch;
use crate::subject::{Iters, Nanos, Sample, Subject, SubjectError};

/// A closure in this process as a [`Subject`], timed by the same loop as every benchmark.
///
/// ```
/// use nbench::{Iters, Local, Subject};
///
/// let mut subject = Local::new(|| (1..=20_u64).product::<u64>());
/// let samples = subject.sample(Iters(1000), 3)?;
/// assert_eq!(samples.len(), 3);
/// # Ok::<(), nbench::SubjectError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Local<F> {
    body: F,
}

impl<F> Local<F> {
    /// Wraps the body of a benchmark; its result is consumed, so that the work cannot be optimised
    /// away, and dropped within the timed region.
    pub fn new<T>(body: F) -> Local<F>
    where
        F: FnMut() -> T,
    {
        Local { body }
    }
}

impl<T, F: FnMut() -> T> Subject for Local<F> {
    fn sample(&mut self, iters: Iters, count: usize) -> Result<Vec<Sample>, SubjectError> {
        let reply = batch::run("closure", iters.0, count, &mut |b| b.iter(&mut self.body));
        let reply = reply.map_err(SubjectError::failed)?;
        let mut samples: Vec<Sample> = reply
            .wall
            .iter()
            .zip(&reply.spent)
            .map(|(wall, spent)| Sample {
                iters,
                wall: Nanos(*wall),
                spent: Nanos(*spent),
                axes: Axes::unavailable("measured per reply"),
            })
            .collect();
        if let Some(last) = samples.last_mut() {
            last.axes = Axes {
                cpu: Reading::from(reply.cpu),
                thread_cpu: Reading::from(reply.thread_cpu),
                own: reply.own,
            };
        }
        Ok(samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::SubjectErrorKind;

    #[test]
    fn axes_stand_on_the_last_sample_only() {
        let mut runs = 0_u32;
        let samples = Local::new(|| runs += 1).sample(Iters(4), 2).unwrap();
        assert_eq!(runs, 8);
        assert_eq!(samples[0].axes.cpu, Reading::unavailable("measured per reply"));
        assert_ne!(samples[1].axes.cpu, Reading::unavailable("measured per reply"));
    }

    #[test]
    fn a_panic_is_a_failure_of_the_subject() {
        let error = Local::new(|| -> u8 { panic!("no luck") }).sample(Iters(1), 1).unwrap_err();
        assert_eq!(error.kind, SubjectErrorKind::Failed);
        assert!(error.message.starts_with("no luck"));
    }
}
