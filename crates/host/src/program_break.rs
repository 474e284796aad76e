//! Moving the program break (brk(2)): memory that the kernel gives and takes back at the end of the heap.
//!
//! The heap's end belongs to the C library's allocator. So the break is moved within one function, in which
//! nothing is allocated, and is where it was when the function returns.

use std::io;
use std::ptr;

use crosstalk_core::Fault;

use crate::process::{cannot, refuse_threads};

/// Bytes of a page, and of the smallest step of the break.
const PAGE: usize = 4096;

/// How the break is moved.
#[derive(Debug, Clone, Copy)]
pub struct Moves {
    /// Bytes that the break is first moved up by, once.
    pub above: usize,
    /// Times that it goes down by `pages` pages and up again, page by page.
    pub rounds: usize,
    /// Pages of a round; `above` must be as large.
    pub pages: usize,
    /// Bytes between writes to a new page; `None` writes nothing, and so takes no page of memory.
    pub stride: Option<usize>,
}

/// Moves the break as `moves` says, and back to where it was. Returns how many new pages that `stride` wrote to held
/// a zero elsewhere, as pages do that the kernel has just given.
///
/// # Errors
/// An environment fault if this process has more than one thread (another could allocate meanwhile), or the kernel
/// refuses: for lack of memory, or for a limit (`RLIMIT_DATA`).
///
/// # Panics
/// If `above` is less than `pages` pages, or a stride is zero.
pub fn move_break(moves: Moves) -> Result<usize, Fault> {
    assert!(moves.above >= moves.pages * PAGE, "a round goes no further down than the break went up");
    assert!(moves.stride != Some(0), "a stride is above zero");
    refuse_threads().map_err(|e| cannot("move the program break", &e))?;
    let start = set(0);
    // New pages are whole pages.
    let top = (start + moves.above).next_multiple_of(PAGE);
    let clean = up_and_down(moves, top);
    set(start);
    clean.map_err(|e| cannot("move the program break", &e))
}

/// Does the rounds, with the break at `top` in between. Allocates nothing. The caller moves the break back.
fn up_and_down(moves: Moves, top: usize) -> io::Result<usize> {
    reach(top)?;
    let bottom = top - moves.pages * PAGE;
    let mut clean = 0;
    for _ in 0..moves.rounds {
        reach(bottom)?;
        for page in (bottom..top).step_by(PAGE) {
            reach(page + PAGE)?;
            let Some(stride) = moves.stride else { continue };
            let first: *mut u8 = ptr::with_exposed_provenance_mut(page);
            // SAFETY: the kernel has just mapped this page below the break. Nobody else uses it: the allocator
            // knows only what is below `start`, and no other thread or call can move the break meanwhile.
            unsafe {
                first.write_volatile(b' ');
                // A read before the first write would be a page fault of its own.
                clean += usize::from(first.add(1).read_volatile() == 0);
                for offset in (stride..PAGE).step_by(stride) {
                    first.add(offset).write_volatile(b' ');
                }
            }
        }
    }
    Ok(clean)
}

/// Moves the break to an address.
fn reach(address: usize) -> io::Result<()> {
    if set(address) == address { Ok(()) } else { Err(io::ErrorKind::OutOfMemory.into()) }
}

/// Moves the break if the kernel can. Returns where it then is; zero moves nothing.
fn set(address: usize) -> usize {
    // SAFETY: the system call takes an integer and returns one. Only `move_break` calls this, and what lies
    // between `start` and the break is its own.
    unsafe { libc::syscall(libc::SYS_brk, address) as usize }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_threads_does_not_move_it() {
        let (quit, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || wait.recv().is_ok());
        let moves = Moves { above: 1 << 20, rounds: 1, pages: 16, stride: None };
        assert!(move_break(moves).is_err());
        drop(quit);
        thread.join().expect("ends");
    }
}
