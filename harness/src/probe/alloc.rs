//! Counts what each thread allocates, for programs that install its allocator. It must not know
//! which allocations are part of a benchmark.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::OnceLock;

/// A global allocator that counts and passes everything on to another one.
///
/// ```
/// #[global_allocator]
/// static ALLOC: nbench::probe::alloc::AllocProfiler = nbench::probe::alloc::AllocProfiler::system();
/// ```
#[derive(Debug, Default)]
pub struct AllocProfiler<A = System> {
    alloc: A,
}

impl AllocProfiler {
    /// On top of the allocator of the system.
    #[must_use]
    pub const fn system() -> AllocProfiler {
        AllocProfiler::new(System)
    }
}

impl<A> AllocProfiler<A> {
    /// On top of any allocator.
    #[must_use]
    pub const fn new(alloc: A) -> AllocProfiler<A> {
        AllocProfiler { alloc }
    }
}

/// Amounts that were allocated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allocations {
    /// Calls that allocate or reallocate.
    pub count: u64,
    /// Bytes asked for; for a reallocation, those by which the block grew.
    pub bytes: u64,
}

impl Allocations {
    /// Amounts that were allocated since `start`.
    #[must_use]
    pub fn since(self, start: Allocations) -> Allocations {
        Allocations {
            count: self.count.wrapping_sub(start.count),
            bytes: self.bytes.wrapping_sub(start.bytes),
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Allocations) -> Allocations {
        Allocations {
            count: self.count.saturating_add(other.count),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

thread_local! {
    /// Amounts that were allocated while something was timed, since this was last forgotten.
    static TIMED: Cell<Option<Allocations>> = const { Cell::new(None) };
    // Without a destructor and without lazy initialisation: it is used while a thread starts and
    // ends.
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<u64> = const { Cell::new(0) };
}

#[inline]
fn note(bytes: usize) {
    COUNT.with(|count| count.set(count.get().wrapping_add(1)));
    BYTES.with(|total| total.set(total.get().wrapping_add(bytes as u64)));
}

/// Amounts that this thread has allocated so far; nothing unless the allocator is installed.
#[inline]
#[must_use]
pub fn of_this_thread() -> Allocations {
    Allocations { count: COUNT.with(Cell::get), bytes: BYTES.with(Cell::get) }
}

/// Whether the program has installed the allocator, which is tried.
#[must_use]
pub fn installed() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    *INSTALLED.get_or_init(|| {
        let before = of_this_thread();
        drop(crate::black_box(Box::new(0_u8)));
        of_this_thread() != before
    })
}

/// Forgets what was allocated on this thread while something was timed.
pub(crate) fn forget_timed() {
    TIMED.with(|timed| timed.set(None));
}

/// Notes what was allocated while something was timed.
pub(crate) fn note_timed(allocations: Allocations) {
    TIMED.with(|timed| {
        let before = timed.get().unwrap_or_default();
        timed.set(Some(before.plus(allocations)));
    });
}

/// Amounts that were allocated on this thread while something was timed; nothing when nothing was.
pub(crate) fn timed() -> Option<Allocations> {
    TIMED.with(Cell::get)
}

// SAFETY: every method passes its arguments on unchanged to an allocator that keeps the contract,
// and returns what it returns; the counters are plain cells of the thread and never allocate or
// unwind.
#[expect(unsafe_code, reason = "a global allocator cannot be written without it")]
unsafe impl<A: GlobalAlloc> GlobalAlloc for AllocProfiler<A> {
    #[inline]
    // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the arguments are those of the caller.
        unsafe { self.alloc.alloc(layout) }
    }

    #[inline]
    // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc_zeroed`.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the arguments are those of the caller.
        unsafe { self.alloc.alloc_zeroed(layout) }
    }

    #[inline]
    // SAFETY: the caller keeps the contract of `GlobalAlloc::realloc`.
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note(new_size.saturating_sub(layout.size()));
        // SAFETY: the arguments are those of the caller.
        unsafe { self.alloc.realloc(block, layout, new_size) }
    }

    #[inline]
    // SAFETY: the caller keeps the contract of `GlobalAlloc::dealloc`.
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the arguments are those of the caller.
        unsafe { self.alloc.dealloc(block, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_bytes_are_those_of_this_thread() {
        let allocator = AllocProfiler::system();
        let layout = Layout::from_size_align(100, 8).unwrap();
        let start = of_this_thread();
        // SAFETY: the block is used within its size and freed with the layout it has by then.
        #[expect(unsafe_code, reason = "an allocator is called like one")]
        unsafe {
            let block = allocator.alloc(layout);
            let block = allocator.realloc(block, layout, 160);
            let grown = Layout::from_size_align(160, 8).unwrap();
            let block = allocator.realloc(block, grown, 40);
            allocator.dealloc(block, Layout::from_size_align(40, 8).unwrap());
            allocator.dealloc(allocator.alloc_zeroed(layout), layout);
        }
        assert_eq!(of_this_thread().since(start), Allocations { count: 4, bytes: 260 });
        let elsewhere = std::thread::spawn(of_this_thread).join().unwrap();
        assert_eq!(elsewhere, Allocations::default());
    }

    #[test]
    fn what_was_timed_is_summed_until_it_is_forgotten() {
        forget_timed();
        assert_eq!(timed(), None);
        note_timed(Allocations { count: 1, bytes: 5 });
        note_timed(Allocations { count: 2, bytes: 0 });
        assert_eq!(timed(), Some(Allocations { count: 3, bytes: 5 }));
        forget_timed();
        assert_eq!(timed(), None);
        // This program has another allocator.
        assert!(!installed());
    }
}
