//! Reads the clock, CPU times and the state of the process through declarations of its own, and
//! owns all unsafe code of the crate. It must not know benchmarks or the wire.

pub mod alloc;
pub mod clock;
#[doc(hidden)]
pub mod exit;
pub(crate) mod rusage;
pub(crate) mod system;

/// Makes the compiler assume that all memory has been read and written.
#[inline(always)]
#[cfg_attr(
    any(target_arch = "x86", target_arch = "x86_64", target_arch = "arm", target_arch = "aarch64"),
    expect(
        unsafe_code,
        reason = "an empty assembly block is the only barrier that covers memory the compiler can see"
    )
)]
pub(crate) fn clobber() {
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    #[cfg(any(
        target_arch = "x86",
        target_arch = "x86_64",
        target_arch = "arm",
        target_arch = "aarch64"
    ))]
    // SAFETY: the block has no instruction, so it touches neither the stack nor the flags, and what
    // it claims about memory only constrains the compiler.
    unsafe {
        core::arch::asm!("", options(nostack, preserves_flags));
    }
}
