//! The server: a thread for each request, a limited number at a time, each limited in time.

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_host::process::wait_readable;

use super::directory::{Attachment, OpenProject};
use super::http::{Exchange, Refusal};
use super::line::Line;
use super::load::{Admission, Load};
use super::pages::{LIMIT, PLAIN_TEXT, respond_to};
use super::scheduler::Scheduler;
use super::state::Counts;
use super::url::Url;

/// Files that a client of ours transfers at a time: a hundred tasks, and as many that wait, begin with 200.
pub const TRANSFERS: u32 = 200;
/// The most requests at a time: all of a client of ours, and a few of others. Further ones get an error, and
/// the client tries again seconds later.
const MOST_REQUESTS: usize = TRANSFERS as usize + 8;
/// The most connections at a time, with those that get that error; further ones are closed.
const MOST_CONNECTIONS: usize = 2 * MOST_REQUESTS;
/// How long a request's head may take.
const LIMIT_HEAD: Duration = Duration::from_secs(10);
/// How often an idle server checks whether it is stopped.
const STOP_POLL: Duration = Duration::from_millis(100);

/// The address at which a project listens, and the one at which hosts find it.
#[derive(Debug)]
pub struct ServerAddress {
    listener: TcpListener,
    listen: SocketAddr,
    url: Url,
}

impl ServerAddress {
    /// Listens. Hosts find the project at `url` [default: where it listens].
    ///
    /// # Errors
    /// Where it cannot listen there, or listens everywhere and has no `url`.
    pub fn new(listen: SocketAddr, url: Option<Url>) -> Result<Self, Fault> {
        if url.is_none() {
            // Also for port 0.
            Url::of_listener(listen)?;
        }
        let listener = TcpListener::bind(listen).map_err(|e| {
            Fault::environment(format!("cannot listen: {e}"))
                .at(listen.to_string())
                .remedy("take another address by --listen; port 0 takes a free one")
        })?;
        let io = |e: io::Error| Fault::environment(format!("cannot listen: {e}")).at(listen.to_string());
        listener.set_nonblocking(true).map_err(io)?;
        // The standard library lets 128 connections wait; further ones would wait another second.
        rustix::net::listen(&listener, MOST_CONNECTIONS as i32).map_err(|e| io(e.into()))?;
        let listen = listener.local_addr().map_err(io)?;
        let url = url.map_or_else(|| Url::of_listener(listen), Ok)?;
        Ok(ServerAddress { listener, listen, url })
    }
}

/// A project that listens for hosts.
pub struct Server {
    listener: TcpListener,
    scheduler: Arc<Scheduler>,
}

impl Server {
    /// Starts to serve a project, whose hosts run `program`.
    ///
    /// # Errors
    /// Where the program cannot be copied, or the journal not written.
    pub fn new(open: OpenProject, place: ServerAddress, program: &File) -> Result<Self, Fault> {
        let ServerAddress { listener, listen, url } = place;
        let url = url.to_string();
        let scheduler = Scheduler::new(open, url.clone());
        let latest = scheduler.latest_program();
        if let Some(version) = scheduler.directory.add_program(program, latest.as_ref())? {
            scheduler.record_event(Line::Version(version))?;
        }
        scheduler.record_event(Line::Address { listen, url: url.clone() })?;
        scheduler.directory.write_attachment(&Attachment { url, key: scheduler.key.clone() })?;
        Ok(Server { listener, scheduler: Arc::new(scheduler) })
    }

    /// What a client needs to attach to the project.
    pub fn attachment(&self) -> Attachment {
        Attachment { url: self.scheduler.url.clone(), key: self.scheduler.key.clone() }
    }

    /// The counts, and whether all work is done.
    pub fn counts(&self) -> (Counts, bool) {
        self.scheduler.counts()
    }

    /// Serves until `stop` is set, or `observe` returns `false`; it is called about ten times a second.
    ///
    /// # Errors
    /// Where the journal cannot be written any more.
    pub fn serve(
        &self,
        stop: &AtomicBool,
        mut observe: impl FnMut(Counts, bool) -> bool,
    ) -> Result<(), Fault> {
        let load = Arc::new(Load::default());
        loop {
            if let Some(fault) = self.scheduler.failure() {
                return Err(fault);
            }
            let (counts, done) = self.scheduler.counts();
            if stop.load(Ordering::SeqCst) || !observe(counts, done) {
                return Ok(());
            }
            match self.listener.accept() {
                Ok((stream, _)) => self.receive(stream, &load),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    // An interruption is a short wait: it checks again.
                    let _ = wait_readable(&[&self.listener], Some(STOP_POLL));
                }
                // No file descriptor is free now.
                Err(_) => thread::sleep(STOP_POLL),
            }
        }
    }

    fn receive(&self, stream: TcpStream, load: &Arc<Load>) {
        let Some(request) = Admission::new(load, |load| &load.requests, MOST_CONNECTIONS) else { return };
        // On some systems, sockets accepted by a non-blocking listener do not block either.
        if stream.set_nonblocking(false).is_err() {
            return;
        }
        let (scheduler, load) = (Arc::clone(&self.scheduler), Arc::clone(load));
        // Without a thread the connection is closed: it goes with the closure.
        let _ = thread::Builder::new().spawn(move || {
            // Moves it whole: a closure captures only the fields that it uses.
            let request = request;
            if request.others >= MOST_REQUESTS {
                return Exchange::refuse(&stream, 503, "too many requests are under way");
            }
            serve(&scheduler, &stream, &load);
        });
    }
}

fn serve(scheduler: &Scheduler, stream: &TcpStream, load: &Arc<Load>) {
    let (head, mut exchange) = match Exchange::begin(stream, LIMIT_HEAD) {
        Ok(begun) => begun,
        Err(Some(Refusal(status, why))) => return Exchange::refuse(stream, status, &why),
        Err(None) => return,
    };
    exchange.extend_limit(LIMIT);
    // A host that has closed needs no reply.
    let _ = match respond_to(scheduler, &head, &mut exchange, load) {
        Ok(Some((status, kind, text))) => exchange.reply(status, kind, &text),
        Ok(None) => Ok(()),
        Err(Refusal(status, why)) => {
            // It may have failed because its time was up.
            exchange.extend_limit(LIMIT_HEAD);
            exchange.reply(status, PLAIN_TEXT, &(why + "\n"))
        }
    };
    exchange.close();
}

#[cfg(test)]
mod tests;
