//! Network devices, addresses and queueing disciplines, through rtnetlink
//! (netlink(7), rtnetlink(7)). Requests act in the network namespace in which the
//! [`Netlink`] was opened, and are acknowledged before they return.

mod bridge;
mod link;
mod neighbour;
mod socket;
mod tbf;
mod wire;

pub use socket::Netlink;
pub use tbf::{FRAMES_IN_BURST, Shape};
