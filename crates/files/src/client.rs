//! A client: it finds out at the metadata server where a file's bytes are, and then asks the I/O servers directly. It
//! keeps nothing of a file's contents, and takes no locks.

use crosstalk_core::units::human;
use crosstalk_core::{Fault, FaultKind};

use crate::layout::{Layout, Share};
use crate::message::{Answer, Refusal, Request};

/// The metadata server.
const METADATA: usize = 0;

/// How a client reaches the servers.
pub trait Servers {
    /// How many there are.
    fn count(&self) -> usize;

    /// Sends requests to servers, by number, and waits for all answers.
    ///
    /// # Errors
    /// If a server is gone.
    fn exchange(&mut self, requests: &[(usize, Request)]) -> Result<Vec<Vec<u8>>, Fault>;
}

impl<S: Servers> Servers for &mut S {
    fn count(&self) -> usize {
        (**self).count()
    }

    fn exchange(&mut self, requests: &[(usize, Request)]) -> Result<Vec<Vec<u8>>, Fault> {
        (**self).exchange(requests)
    }
}

/// A file that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Where its bytes are.
    pub layout: Layout,
}

/// A client. Its faults name the file, and the server that refuses.
#[derive(Debug)]
pub struct Client<S>(pub S);

impl<S: Servers> Client<S> {
    /// Makes an empty file.
    ///
    /// # Errors
    /// If there is one of that name, or a server is gone; as of all that follow.
    pub fn create(&mut self, name: &str) -> Result<File, Fault> {
        self.layout(name, Request::Create(name))
    }

    /// Opens a file.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn open(&mut self, name: &str) -> Result<File, Fault> {
        self.layout(name, Request::Lookup(name))
    }

    /// A file's size: what the metadata server knows, then the size of each server's piece.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn stat(&mut self, name: &str) -> Result<u64, Fault> {
        let layout = self.open(name)?.layout;
        let sizes = self.of_all(name, Request::Size(layout.file), bytes)?;
        Ok(layout.size(sizes))
    }

    /// All names, in order.
    ///
    /// # Errors
    /// If a server is gone.
    pub fn list(&mut self) -> Result<Vec<String>, Fault> {
        let names = |answer: Answer| match answer {
            Answer::Names(names) => Some(names.into_iter().map(String::from).collect()),
            _ => None,
        };
        self.one("the directory", METADATA, Request::List, names)
    }

    /// Renames a file, and replaces the one that has the new name.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn rename(&mut self, old: &str, new: &str) -> Result<(), Fault> {
        let replaced = |answer: Answer| match answer {
            Answer::Renamed(replaced) => Some(replaced),
            _ => None,
        };
        match self.one(old, METADATA, Request::Rename(old, new), replaced)? {
            Some(file) => self.drop_pieces(new, file),
            None => Ok(()),
        }
    }

    /// Removes a file: its name, then its pieces.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn remove(&mut self, name: &str) -> Result<(), Fault> {
        let file = self.layout(name, Request::Remove(name))?.layout.file;
        self.drop_pieces(name, file)
    }

    /// Writes data from `offset` on.
    ///
    /// # Errors
    /// If a server is full. The others have written their stripes then.
    pub fn write(&mut self, file: &File, offset: u64, data: &[u8]) -> Result<(), Fault> {
        let write = |share: &Share| Request::Write {
            file: file.layout.file,
            at: share.at,
            data: share.parts.iter().map(|part| &data[part.clone()]).collect(),
        };
        let shares = file.layout.shares(offset, data.len());
        let requests: Vec<_> = shares.iter().map(|share| (share.server, write(share))).collect();
        self.many(&file.name, &requests, |_, answer| (answer == Answer::Done).then_some(())).map(drop)
    }

    /// Reads from `offset` on, until `into` is full. What was never written reads as zeros.
    ///
    /// # Errors
    /// If a server is gone.
    pub fn read(&mut self, file: &File, offset: u64, into: &mut [u8]) -> Result<(), Fault> {
        let shares = file.layout.shares(offset, into.len());
        let read = |share: &Share| {
            let (file, at, bytes) = (file.layout.file, share.at, share.bytes() as u64);
            (share.server, Request::Read { file, at, bytes })
        };
        let requests: Vec<_> = shares.iter().map(read).collect();
        self.many(&file.name, &requests, |index, answer| {
            let Answer::Data(mut data, _) = answer else { return None };
            for part in &shares[index].parts {
                let (bytes, rest) = data.split_at_checked(part.len())?;
                into[part.clone()].copy_from_slice(bytes);
                data = rest;
            }
            Some(())
        })
        .map(drop)
    }

    /// Bytes of files that all servers hold.
    ///
    /// # Errors
    /// If a server is gone.
    pub fn held(&mut self) -> Result<u64, Fault> {
        Ok(self.of_all("all files", Request::Held, bytes)?.iter().sum())
    }

    fn layout(&mut self, name: &str, request: Request) -> Result<File, Fault> {
        let layout = |answer: Answer| match answer {
            Answer::Layout(layout) => Some(layout),
            _ => None,
        };
        Ok(File { name: name.into(), layout: self.one(name, METADATA, request, layout)? })
    }

    fn drop_pieces(&mut self, name: &str, file: u64) -> Result<(), Fault> {
        self.of_all(name, Request::Drop(file), |answer| (answer == Answer::Done).then_some(())).map(drop)
    }

    fn of_all<T>(
        &mut self,
        name: &str,
        request: Request,
        take: fn(Answer) -> Option<T>,
    ) -> Result<Vec<T>, Fault> {
        let requests: Vec<_> = (0..self.0.count()).map(|server| (server, request.clone())).collect();
        self.many(name, &requests, |_, answer| take(answer))
    }

    fn one<T>(
        &mut self,
        name: &str,
        server: usize,
        request: Request,
        take: impl Fn(Answer) -> Option<T>,
    ) -> Result<T, Fault> {
        let mut all = self.many(name, &[(server, request)], |_, answer| take(answer))?;
        all.pop().ok_or_else(|| Fault::attempt("a server has not answered").on(server))
    }

    /// Asks servers about a file, and takes their answers, by the number of the request.
    fn many<T>(
        &mut self,
        name: &str,
        requests: &[(usize, Request)],
        mut take: impl FnMut(usize, Answer) -> Option<T>,
    ) -> Result<Vec<T>, Fault> {
        let place = format!("file `{name}`");
        let answers = self.0.exchange(requests).map_err(|fault| match fault.kind {
            // Which file is more than which line of this program waited.
            FaultKind::Gone => Fault { place: None, ..fault }.at(&place),
            _ => fault.at(&place),
        })?;
        let mut taken = Vec::with_capacity(answers.len());
        for (index, ((server, request), answer)) in requests.iter().zip(&answers).enumerate() {
            taken.push(match Answer::decode(answer, request)? {
                Answer::Refused(refusal) => return Err(refused(name, *server, refusal)),
                answer => take(index, answer).ok_or_else(|| {
                    Fault::attempt(format!("server {server} answered another request"))
                        .at(format!("file `{name}`"))
                })?,
            });
        }
        Ok(taken)
    }
}

fn bytes(answer: Answer) -> Option<u64> {
    match answer {
        Answer::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

fn refused(name: &str, server: usize, refusal: Refusal) -> Fault {
    let fault = match refusal {
        Refusal::NoFile => Fault::attempt("there is no such file").remedy("create it first"),
        Refusal::Exists => Fault::attempt("there is such a file").remedy("remove it first"),
        Refusal::Full { held, limit, more } => Fault::attempt(format!(
            "no space left on server {server}: it holds {} of at most {}, and the write needs {} more",
            human(held as f64, "B"),
            human(limit as f64, "B"),
            human(more as f64, "B")
        ))
        .remedy("write less (`block`), take more `servers`, or raise `capacity`"),
        Refusal::NotUnderstood => Fault::attempt(format!("server {server} cannot answer this request"))
            .remedy("run the same program on all nodes"),
    };
    fault.at(format!("file `{name}`"))
}
