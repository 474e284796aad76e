//! What a server serves a session with.

use std::net::TcpListener;
use std::path::Path;

use super::acceptor::Acceptor;

/// The socket at which a server's clients connect.
#[derive(Debug, Clone, Copy)]
pub struct ListenSocket<'a> {
    /// The socket.
    pub listener: &'a TcpListener,
    /// A folder for Unix sockets that clients on this host see, too. Without one the sockets have
    /// abstract names, which only clients in the same network namespace reach.
    pub scratch: Option<&'a Path>,
}

impl<'a> From<&'a TcpListener> for ListenSocket<'a> {
    fn from(listener: &'a TcpListener) -> Self {
        ListenSocket { listener, scratch: None }
    }
}

/// What a server uses to serve a session: its sockets and its processors.
#[derive(Clone, Copy)]
pub struct ServerContext<'a> {
    /// Where the client connected.
    pub socket: ListenSocket<'a>,
    /// Accepts the session's data connections.
    pub acceptor: &'a Acceptor,
}
