//! Network devices, addresses and queueing disciplines, through rtnetlink
//! (netlink(7), rtnetlink(7)). Requests act in the network namespace in which the
//! [`Socket`] was opened, and are acknowledged before they return.

mod bridge;
mod link;
mod neighbour;
mod socket;
mod tbf;
mod wire;

pub use socket::Socket;
pub use tbf::{FRAMES_IN_BURST, Shape};
