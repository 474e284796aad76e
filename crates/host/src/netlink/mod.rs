//! Network devices, addresses and queueing disciplines, by rtnetlink
//! (netlink(7), rtnetlink(7)). All act in the network namespace in which the
//! [`Socket`] was opened; each request is acknowledged before it returns.

mod bridge;
mod link;
mod neighbour;
mod socket;
mod tbf;
mod wire;

pub use socket::Socket;
pub use tbf::{FRAMES_IN_BURST, Shape};
