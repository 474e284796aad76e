//! A server: it answers one request after the other. The first one is the metadata server, too.

use crosstalk_comm::Access;

use crate::directory::Directory;
use crate::layout::Layout;
use crate::message::{Answer, Refusal, Request};
use crate::store::Store;

/// What a change of metadata writes to the disk: a page of a database.
pub const PAGE: u64 = 4096;

/// What is on a server's disk before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// Nothing: all is in its memory.
    None,
    /// Changes of metadata. Data are in its memory.
    Metadata,
    /// Data, too, which are also read from it.
    All,
}

/// What servers have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Site {
    /// How many servers there are.
    pub servers: usize,
    /// Bytes of a stripe.
    pub stripe: u64,
    /// The most bytes of files that a server holds.
    pub capacity: u64,
    /// What is on disk before a server answers.
    pub sync: Sync,
}

/// A server.
#[derive(Debug)]
pub struct Server {
    site: Site,
    directory: Option<Directory>,
    store: Store,
    /// Where the disk's last access ended: a file, and a place in its piece.
    head: Option<(u64, u64)>,
}

/// A server's answer.
#[derive(Debug)]
pub struct Reply {
    /// Its bytes.
    pub answer: Vec<u8>,
    /// What the disk moves before it is sent, and how many bytes.
    pub disk: Option<(Access, u64)>,
}

impl Server {
    /// The server of this number. The first one, 0, is the metadata server.
    pub fn new(number: usize, site: Site) -> Self {
        let directory = (number == 0).then(Directory::default);
        Server { site, directory, store: Store::new(site.capacity), head: None }
    }

    /// Carries out a request, and answers.
    pub fn answer(&mut self, request: &[u8]) -> Reply {
        let Some(request) = Request::decode(request) else {
            return Reply { answer: Answer::Refused(Refusal::NotUnderstood).encode(), disk: None };
        };
        let answer = self.carry_out(&request).unwrap_or_else(Answer::Refused);
        let refused = matches!(answer, Answer::Refused(_));
        let answer = answer.encode();
        let disk = if refused { None } else { self.access(&request) };
        Reply { answer, disk }
    }

    fn carry_out(&mut self, request: &Request) -> Result<Answer<'_>, Refusal> {
        let Site { servers, stripe, .. } = self.site;
        let layout = |file| Answer::Layout(Layout { file, stripe, servers: servers as u64 });
        let directory = self.directory.as_mut().ok_or(Refusal::NotUnderstood);
        Ok(match request {
            Request::Create(name) => layout(directory?.create(name)?),
            Request::Lookup(name) => layout(directory?.lookup(name)?),
            Request::Remove(name) => layout(directory?.remove(name)?),
            Request::Rename(old, new) => Answer::Renamed(directory?.rename(old, new)?),
            Request::List => Answer::Names(directory?.names()),
            Request::Size(file) => Answer::Bytes(self.store.size(*file)),
            Request::Write { file, at, data } => {
                self.store.write(*file, *at, data)?;
                Answer::Done
            }
            Request::Read { file, at, bytes } => {
                let data = self.store.read(*file, *at, *bytes);
                Answer::Data(data, (*bytes - data.len() as u64) as usize)
            }
            Request::Drop(file) => {
                self.store.drop(*file);
                Answer::Done
            }
            Request::Held => Answer::Bytes(self.store.held()),
            Request::Done => return Err(Refusal::NotUnderstood),
        })
    }

    /// What the disk does for a request that was carried out. Its head stays where an access has ended.
    fn access(&mut self, request: &Request) -> Option<(Access, u64)> {
        let (file, at, bytes) = match request {
            Request::Create(_) | Request::Remove(_) | Request::Rename(..) | Request::Drop(_) => {
                self.head = None;
                return (self.site.sync != Sync::None).then_some((Access::Seek, PAGE));
            }
            Request::Write { file, at, data } => {
                (*file, *at, data.iter().map(|part| part.len() as u64).sum())
            }
            Request::Read { file, at, bytes } => (*file, *at, *bytes),
            Request::Lookup(_) | Request::List | Request::Size(_) | Request::Held | Request::Done => {
                return None;
            }
        };
        if self.site.sync != Sync::All {
            return None;
        }
        let access = if self.head == Some((file, at)) { Access::Sequential } else { Access::Seek };
        self.head = Some((file, at + bytes));
        Some((access, bytes))
    }
}
