//! How processes on different nodes exchange messages: sockets with deadlines, connections that carry lines,
//! and a limit on every wait; or a rank over `comm`.

pub mod barrier;
mod line;
pub mod rank;
pub mod record;
pub mod replay;
pub mod socket;
mod until;

pub use line::Line;
pub use socket::listen;
pub use until::{Deadline, TICK};
