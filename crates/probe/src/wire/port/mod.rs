//! What an endpoint of the wire sends and receives frames by.

mod af_xdp;
mod memory;
mod namespace;
mod traits;
mod udp;

pub use af_xdp::AfXdp;
pub use memory::Memory;
pub use traits::Port;
