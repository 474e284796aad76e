//! What carries the bytes of a session.

use rustix::net::sockopt::set_tcp_congestion;
use std::fs;
use std::net::UdpSocket;

use crosstalk_core::Fault;

use crate::session::medium::Medium;

/// The connections that carry the data: streams or UDP sockets.
pub enum Carriers {
    /// Streams of bytes.
    Streams(Vec<Medium>),
    /// Connected UDP sockets.
    Datagrams(Vec<UdpSocket>),
}

impl Carriers {
    /// The number of streams or sockets.
    pub fn len(&self) -> usize {
        match self {
            Carriers::Streams(media) => media.len(),
            Carriers::Datagrams(sockets) => sockets.len(),
        }
    }

    /// Sets the congestion control of all TCP sockets, if there is a `name`.
    ///
    /// # Errors
    /// A usage fault with those that the kernel allows.
    pub fn set_congestion_control(&self, name: Option<&str>) -> Result<(), Fault> {
        let (Some(name), Carriers::Streams(media)) = (name, self) else { return Ok(()) };
        let set = |socket| {
            set_tcp_congestion(socket, name).map_err(|e| {
                let known = fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
                Fault::usage(format!("the sender cannot use the congestion control {name:?}: {e}"))
                    .of_parameter("congestion")
                    .remedy(format!("one of: {}", known.unwrap_or_default().trim().replace(' ', ", ")))
            })
        };
        media.iter().filter_map(Medium::tcp_socket).try_for_each(set)
    }
}
