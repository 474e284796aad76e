//! What carries the bytes of a session.

use std::net::{TcpStream, UdpSocket};

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

    /// Sets whether the rest of each write leaves at once, or waits for more bytes while others are on their way
    /// (Nagle's algorithm, RFC 896), on all TCP sockets.
    ///
    /// # Errors
    /// Where a socket has failed.
    pub fn set_no_delay(&self, no_delay: bool) -> Result<(), Fault> {
        let Carriers::Streams(media) = self else { return Ok(()) };
        let set = |socket: &TcpStream| socket.set_nodelay(no_delay);
        media
            .iter()
            .filter_map(Medium::tcp_socket)
            .try_for_each(set)
            .map_err(|e| Fault::attempt(format!("cannot set TCP_NODELAY: {e}")))
    }

    /// The congestion control of the first stream; `None` if it is no TCP connection.
    pub fn congestion_control(&self) -> Option<String> {
        match self {
            Carriers::Streams(media) => tcp_congestion(media.first()?.tcp_socket()?).ok(),
            Carriers::Datagrams(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_stream_waits_for_whole_segments_unless_it_is_not_to() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("binds");
        let socket = TcpStream::connect(listener.local_addr().expect("has one")).expect("connects");
        let carriers = Carriers::Streams(vec![Medium::Tcp(socket)]);
        for no_delay in [true, false] {
            carriers.set_no_delay(no_delay).expect("sets");
            let Carriers::Streams(media) = &carriers else { panic!("are streams") };
            assert_eq!(media[0].tcp_socket().expect("is TCP").nodelay().expect("is known"), no_delay);
        }
    }
}
