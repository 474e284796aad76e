//! What every workload uses: its declaration, the processes that it starts, and the connections between its
//! nodes.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod alone;
mod declared;
mod lasting;
pub mod peer;
mod portable;
pub mod program;
mod threads;

pub use alone::prepare_alone;
pub use declared::{Declared, Prepare};
pub use lasting::Lasting;
pub use portable::{Elsewhere, Portable};
pub use threads::threads;
