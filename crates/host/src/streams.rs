//! Whether standard output was closed when the program began (`>&-`). Rust's runtime opens `/dev/null` for a closed
//! stream before `main`, so that output would be lost without an error.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::sync::atomic::{AtomicBool, Ordering};

static OUTPUT_IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether standard output was closed when the program began.
pub fn output_is_closed() -> bool {
    OUTPUT_IS_CLOSED.load(Ordering::Relaxed)
}

// SAFETY: the loader calls what is in this section, with C's calling convention, before `main`; the function needs
// nothing of Rust's runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static CHECK: extern "C" fn() = check_output;

extern "C" fn check_output() {
    // SAFETY: this reads a descriptor's flags and changes nothing; a closed descriptor is an error.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    OUTPUT_IS_CLOSED.store(flags < 0, Ordering::Relaxed);
}

/// Lets writing to a pipe fail (`EAGAIN`) where it would wait for the reader.
///
/// # Errors
/// If the kernel refuses.
pub fn set_nonblocking(pipe: impl AsFd) -> io::Result<()> {
    fcntl_setfl(&pipe, fcntl_getfl(&pipe)? | OFlags::NONBLOCK)?;
    Ok(())
}
