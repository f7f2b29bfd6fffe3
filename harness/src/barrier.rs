//! Keeps the optimiser away from measured work. It must not know how the work is timed.

/// Hides a value from the optimiser, so that what computed it is not deleted.
pub use std::hint::black_box;

/// Makes the compiler assume that all memory that it cannot prove private was read and written, so
/// that stores before the call happen and loads after it are repeated. It is no fence for other
/// CPUs.
///
/// ```
/// let mut table = vec![0_u8; 64];
/// nbench::black_box(table.as_mut_ptr());
/// table[3] = 1;
/// nbench::clobber_memory(); // The store above cannot be delayed beyond this line.
/// # assert_eq!(table[3], 1);
/// ```
#[inline(always)]
pub fn clobber_memory() {
    crate::probe::clobber();
}
