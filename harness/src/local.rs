//! A closure of this process as a subject. It must not know other processes or statistics.

use crate::subject::{Iters, Sample, Subject, SubjectError};

/// A closure in this process as a [`Subject`].
pub struct Local<F> {
    body: F,
}

impl<F> Local<F> {
    /// Wraps the body of a benchmark; its result is consumed, so that the work cannot be optimised
    /// away, and dropped within the timed region.
    pub fn new(body: F) -> Local<F> {
        Local { body }
    }
}

impl<T, F: FnMut() -> T> Subject for Local<F> {
    fn sample(&mut self, _iters: Iters, _count: usize) -> Result<Vec<Sample>, SubjectError> {
        let _ = &mut self.body;
        Err(SubjectError::failed("local subjects are not measured yet"))
    }
}
