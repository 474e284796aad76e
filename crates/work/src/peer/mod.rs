//! What two processes on two nodes need to talk: sockets with deadlines,
//! conversations in lines, and a limit on every wait.

mod line;
pub(crate) mod socket;
mod until;

pub(crate) use line::Line;
pub use socket::listen;
pub(crate) use until::TICK;
pub use until::Until;
