//! What two processes on two nodes need to talk: sockets with deadlines,
//! conversations in lines, and a limit on every wait; or a rank over `comm`.

pub mod gathering;
mod line;
pub mod rank;
pub mod socket;
mod until;

pub use line::Line;
pub use socket::listen;
pub use until::{TICK, Until};
