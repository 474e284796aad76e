//! How fast a core of this machine computes, relative to the machine on which the recorded studies ran.
//!
//! Three kernels stand for three kinds of computing. `integer` is in the manner of CoreMark (EEMBC, 2009): a linked list,
//! a matrix, a state machine and a CRC-16, in a core's own cache. It is written for this program, so its numbers are no
//! CoreMark scores. `triad` is that of STREAM (McCalpin, 1995): `a = b + s·c` over arrays of at least four times the
//! last-level cache, as far as caches are at most 64 MiB and memory suffices. `gather` is a plain loop of sums of values at random
//! places of 8 MiB, as graphs have them.
//!
//! All count the thread's CPU time, as virtual time does.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `passes` | /s | passes a second, the median; label `kernel` |
//! | `relative_speed` | ratio | that, over the recorded machine's; label `kernel`, and `all`: the geometric mean |
//! | `relative_speed_lower`, `relative_speed_upper` | ratio | the ends of its interval at 95 %; of `all`, the outermost ones |

mod gather;
mod integer;
mod measure;
mod triad;
mod workload;

pub use measure::{HostSpeed, KernelSpeed, RECORDED_OVER_REFERENCE, host_speed};
pub use workload::SPEED;
