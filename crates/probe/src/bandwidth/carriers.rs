//! What carries the bytes of a session.

use std::net::UdpSocket;

use rustix::net::sockopt::tcp_congestion;

use crosstalk_core::Fault;

use super::congestion::set_congestion;
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

    /// Sets the congestion control of all TCP sockets, if there is a `name`. `side` is `sender` or `receiver`.
    ///
    /// # Errors
    /// As of [`set_congestion`].
    pub fn set_congestion_control(&self, name: Option<&str>, side: &str) -> Result<(), Fault> {
        let (Some(name), Carriers::Streams(media)) = (name, self) else { return Ok(()) };
        media.iter().filter_map(Medium::tcp_socket).try_for_each(|socket| set_congestion(socket, name, side))
    }

    /// The congestion control of the first stream; `None` if it is no TCP connection.
    pub fn congestion_control(&self) -> Option<String> {
        match self {
            Carriers::Streams(media) => tcp_congestion(media.first()?.tcp_socket()?).ok(),
            Carriers::Datagrams(_) => None,
        }
    }
}
