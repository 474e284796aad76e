//! How the two ends of a session on one host meet: over a Unix socket, through
//! which the file descriptors of other media are handed.
//!
//! Nodes of a scene have networks of their own, where abstract names are not
//! shared: they meet in the folder that all of them see. Elsewhere the name is an
//! abstract one, which goes with the socket (unix(7)).

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crosstalk_core::Fault;

use super::control::comes;
use crosstalk_work::peer::socket::{passing, readable};
use crosstalk_work::peer::{Line, TICK, Until};

/// Where to meet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spot {
    /// A socket's file.
    File(PathBuf),
    /// A name in the network's namespace.
    Name(String),
}

impl Spot {
    fn address(&self) -> io::Result<SocketAddr> {
        match self {
            Spot::File(path) => SocketAddr::from_pathname(path),
            Spot::Name(name) => SocketAddr::from_abstract_name(name),
        }
    }
}

/// The serving end, waiting for the other one.
#[derive(Debug)]
pub struct Meeting {
    listener: UnixListener,
    /// Where it waits.
    pub spot: Spot,
}

impl Meeting {
    /// Waits in `folder`, or where there is none under an abstract name.
    pub fn open(folder: Option<&Path>, token: u64) -> Result<Self, Fault> {
        let name = format!("crosstalk-{token:016x}");
        let spot = match folder {
            Some(folder) => Spot::File(folder.join(name)),
            None => Spot::Name(name),
        };
        let listener = spot.address().and_then(|address| UnixListener::bind_addr(&address));
        let listener = listener.map_err(|e| {
            Fault::environment(format!("cannot open a Unix socket: {e}"))
                .remedy("set TMPDIR to a folder with a short name that can be written to")
        })?;
        Ok(Meeting { listener, spot })
    }

    /// The other end's connection, once it has shown the token.
    pub fn accept(&self, line: &Line, token: u64, until: &Until) -> Result<UnixStream, Fault> {
        self.listener.set_nonblocking(true).map_err(|e| broken(&e))?;
        loop {
            comes(&self.listener, line, until)?;
            match self.listener.accept() {
                Ok((mut stream, _)) => {
                    let mut shown = [0; 8];
                    let prepared =
                        stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(TICK)));
                    if prepared.and_then(|()| stream.read_exact(&mut shown)).is_ok()
                        && shown == token.to_le_bytes()
                    {
                        return Ok(stream);
                    }
                }
                Err(e) if passing(&e) || e.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(e) => return Err(broken(&e)),
            }
        }
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        if let Spot::File(path) = &self.spot {
            // Gone with the folder where it cannot be removed now.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The measuring end's connection.
pub fn meet(spot: &Spot, token: u64) -> Result<UnixStream, Fault> {
    let connect = || {
        let mut stream = UnixStream::connect_addr(&spot.address()?)?;
        stream.write_all(&token.to_le_bytes())?;
        Ok(stream)
    };
    connect().map_err(|e: io::Error| {
        Fault::attempt(format!("the other end is not on this host: {e}"))
            .remedy("this transport works between two ends on one host; take tcp or udp between two hosts")
    })
}

/// Hands two file descriptors to the other end.
pub fn give(stream: &UnixStream, ends: [BorrowedFd; 2]) -> Result<(), Fault> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&ends));
    sendmsg(stream, &[IoSlice::new(&[1])], &mut control, SendFlags::NOSIGNAL)
        .map(drop)
        .map_err(|e| broken(&e.into()))
}

/// Takes two file descriptors from the other end.
pub fn take(stream: &UnixStream, until: &Until) -> Result<[OwnedFd; 2], Fault> {
    readable(stream, until, "the other end's file descriptors")?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(stream, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)
        .map_err(|e| broken(&e.into()))?;
    let handed: Vec<OwnedFd> = control
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(ends) => Some(ends),
            _ => None,
        })
        .flatten()
        .collect();
    handed.try_into().map_err(|_| Fault::attempt("the other end handed over no file descriptors"))
}

fn broken(e: &io::Error) -> Fault {
    Fault::attempt(format!("the Unix socket failed: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::token;
    use crosstalk_core::units::Seconds;
    use crosstalk_work::peer::socket::{accept, connect, listen};
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    fn meeting(folder: Option<&Path>) {
        let never = AtomicBool::new(false);
        let until = Until::new(Seconds(10.0), &never);
        let secret = token();
        // A conversation in which nothing is said.
        let listener = listen(([127, 0, 0, 1], 0).into()).expect("listens");
        let _other = connect(listener.local_addr().expect("has one"), &until).expect("connects");
        let line = Line::new(accept(&listener, &until).expect("accepts").0).expect("opens");
        let meeting = Meeting::open(folder, secret).expect("opens");
        let spot = meeting.spot.clone();
        thread::scope(|scope| {
            scope.spawn(|| {
                let stream = meet(&spot, secret).expect("is there");
                let (file, other) =
                    (File::open("/dev/null").expect("opens"), File::open("/").expect("opens"));
                give(&stream, [file.as_fd(), other.as_fd()]).expect("gives");
            });
            // Somebody who does not know the token is turned away.
            drop(meet(&spot, secret ^ 1).expect("connects"));
            let stream = meeting.accept(&line, secret, &until).expect("comes");
            let [null, root] = take(&stream, &until).expect("takes");
            assert!(File::from(root).metadata().expect("is open").is_dir());
            assert!(!File::from(null).metadata().expect("is open").is_dir());
        });
        drop(meeting);
        assert!(meet(&spot, secret).expect_err("nobody waits").remedy.is_some());
        if let Spot::File(path) = spot {
            assert!(!path.exists());
        }
    }

    #[test]
    fn two_ends_meet_in_a_folder_or_under_a_name() {
        meeting(None);
        meeting(Some(tempfile::tempdir().expect("a folder").path()));
    }
}
