//! How a client and a server on one host meet: over a Unix socket, through which the file
//! descriptors of other media are handed.
//!
//! Nodes of a scene have network namespaces of their own, where abstract names are not shared.
//! They meet at a path in a folder that all of them see. Elsewhere the socket has an abstract name.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use crosstalk_core::Fault;

use super::arrival::await_data_connection;
use super::descriptors::broken_socket_fault;
use super::token;
use super::unix_address::UnixAddress;
use crosstalk_work::peer::socket::is_temporary;
use crosstalk_work::peer::{Deadline, Line, TICK};

/// The server's Unix socket for one session.
#[derive(Debug)]
pub struct UnixSocket {
    listener: UnixListener,
    /// Where it listens.
    pub address: UnixAddress,
}

impl UnixSocket {
    /// Listens in `folder`, or without one under an abstract name.
    ///
    /// # Errors
    /// An environment fault where the socket cannot be opened.
    pub fn open(folder: Option<&Path>, token: u64) -> Result<Self, Fault> {
        let name = format!("crosstalk-{token:016x}");
        let address = match folder {
            Some(folder) => UnixAddress::File(folder.join(name)),
            None => UnixAddress::Name(name),
        };
        let listener = address.to_socket_address().and_then(|address| UnixListener::bind_addr(&address));
        let listener = listener.map_err(|e| {
            Fault::environment(format!("cannot open a Unix socket: {e}"))
                .remedy("set TMPDIR to a folder with a short name that can be written to")
        })?;
        Ok(UnixSocket { listener, address })
    }

    /// The client's connection, once it has shown the token.
    ///
    /// # Errors
    /// Where the client of `line` does not connect.
    pub fn accept(&self, line: &Line, token: u64, until: &Deadline) -> Result<UnixStream, Fault> {
        self.listener.set_nonblocking(true).map_err(|e| broken_socket_fault(&e))?;
        loop {
            await_data_connection(&self.listener, line, until)?;
            match self.listener.accept() {
                Ok((mut stream, _)) => {
                    let mut shown = [0; token::SIZE];
                    let prepared =
                        stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(TICK)));
                    if prepared.and_then(|()| stream.read_exact(&mut shown)).is_ok()
                        && shown == token.to_le_bytes()
                    {
                        return Ok(stream);
                    }
                }
                Err(e) if is_temporary(&e) || e.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(e) => return Err(broken_socket_fault(&e)),
            }
        }
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        if let UnixAddress::File(path) = &self.address {
            // If it cannot be removed now, it goes with its folder.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The client's connection to the server's Unix socket.
///
/// # Errors
/// Where nobody listens at `address` on this host.
pub fn connect_unix(address: &UnixAddress, token: u64) -> Result<UnixStream, Fault> {
    let connect = || {
        let mut stream = UnixStream::connect_addr(&address.to_socket_address()?)?;
        stream.write_all(&token.to_le_bytes())?;
        Ok(stream)
    };
    connect().map_err(|e: io::Error| {
        Fault::attempt(format!("the server is not on this host: {e}"))
            .remedy("this transport works on one host; take tcp or udp between two hosts")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::descriptors::{receive_descriptors, send_descriptors};
    use crate::session::token::token;
    use crosstalk_core::units::Seconds;
    use crosstalk_work::peer::socket::{accept, connect, listen};
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    fn meet(folder: Option<&Path>) {
        let never = AtomicBool::new(false);
        let until = Deadline::new(Seconds(10.0), &never);
        let secret = token();
        // A control connection on which nobody speaks.
        let listener = listen(([127, 0, 0, 1], 0).into()).expect("listens");
        let _other = connect(listener.local_addr().expect("has one"), &until).expect("connects");
        let line = Line::new(accept(&listener, &until).expect("accepts").0).expect("opens");
        let socket = UnixSocket::open(folder, secret).expect("opens");
        let address = socket.address.clone();
        thread::scope(|scope| {
            scope.spawn(|| {
                let stream = connect_unix(&address, secret).expect("connects");
                let (file, other) =
                    (File::open("/dev/null").expect("opens"), File::open("/").expect("opens"));
                send_descriptors(&stream, [file.as_fd(), other.as_fd()]).expect("gives");
            });
            // A caller with another token is turned away.
            drop(connect_unix(&address, secret ^ 1).expect("connects"));
            let stream = socket.accept(&line, secret, &until).expect("comes");
            let [null, root] = receive_descriptors(&stream, &until).expect("takes");
            assert!(File::from(root).metadata().expect("is open").is_dir());
            assert!(!File::from(null).metadata().expect("is open").is_dir());
        });
        drop(socket);
        assert!(connect_unix(&address, secret).expect_err("nobody listens").remedy.is_some());
        if let UnixAddress::File(path) = address {
            assert!(!path.exists());
        }
    }

    #[test]
    fn client_and_server_meet_at_a_path_or_under_a_name() {
        meet(None);
        meet(Some(tempfile::tempdir().expect("a folder").path()));
    }
}
