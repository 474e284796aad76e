//! Which of the three standard streams were there when the program began. Rust's runtime opens `/dev/null` for one
//! that was closed (`>&-`), before `main`: then what is written is lost, and nobody is told.

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
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: this asks for a descriptor's flags and changes nothing; one that is closed is an error.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    OUTPUT_IS_CLOSED.store(flags < 0, Ordering::Relaxed);
}
