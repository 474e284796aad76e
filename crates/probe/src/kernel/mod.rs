//! What the kernel takes for what every message needs: a system call, a timer, waking a thread, and
//! giving it a processor that another thread uses.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `system_call` | s | getppid(2), which does next to nothing: the median of batches |
//! | `timer` | s | distribution: how late clock_nanosleep(2) returns, with the least timer slack (PR_SET_TIMERSLACK(2const); the default is 50 µs, to save wake-ups) |
//! | `wake_up` | s | distribution: from writing to an eventfd(2) until the thread that sleeps on it runs, on another processor |
//! | `scheduling` | s | the same while a thread of the same priority computes on that processor |
//! | `own_overhead` | s | what timing one of these costs |
//!
//! Both threads read one clock: no round trip is halved.

mod measure;
mod system_call;
mod timer;
mod wake_up;
mod workload;

pub use measure::Spec;
pub use workload::KERNEL;
