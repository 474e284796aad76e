//! What two processes on two nodes need to talk: sockets with deadlines,
//! conversations in lines, and a limit on every wait.

mod line;
pub mod socket;
mod until;

pub use line::Line;
pub use socket::listen;
pub use until::{TICK, Until};
