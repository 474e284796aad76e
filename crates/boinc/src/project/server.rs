//! The server: a thread for each request, a limited number at a time, each limited in time.

use serde_json::json;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::client::markup::escape;
use crate::client::md5_hex;
use crosstalk_core::Fault;
use crosstalk_host::process::wait_readable;

use super::directory::{Attachment, OpenProject, now};
use super::http::{Exchange, Head, Refusal};
use super::line::Line;
use super::reply::NAME;
use super::request::{self, SchedulerRequest};
use super::scheduler::Scheduler;
use super::state::Counts;
use super::upload;
use super::url::{ROOT, SCHEDULER, Url};

/// Files that a client of ours transfers at a time: a hundred tasks, and as many that wait, begin with 200.
pub const TRANSFERS: u32 = 200;
/// The most requests at a time: all of a client of ours, and a few of others. Further ones get an error, and
/// the client tries again seconds later.
const MOST_REQUESTS: usize = TRANSFERS as usize + 8;
/// The most connections at a time, with those that get that error; further ones are closed.
const MOST_CONNECTIONS: usize = 2 * MOST_REQUESTS;
/// The most programs that are sent at a time: hosts that read slowly must not block others.
const PROGRAMS: usize = 32;
/// The most bytes of bodies in memory; further requests get an error.
const IN_FLIGHT: u64 = 64 << 20;
/// How long a request's head may take.
const LIMIT_HEAD: Duration = Duration::from_secs(10);
/// How long a request may take from then on.
const LIMIT: Duration = Duration::from_secs(60);
/// How long a whole program may take; each [`CHUNK`] bytes of it must go within [`LIMIT`].
const LIMIT_PROGRAM: Duration = Duration::from_secs(1800);
/// Bytes of a program that are sent at a time.
const CHUNK: usize = 64 << 10;
/// How often an idle server checks whether it is stopped.
const STOP_POLL: Duration = Duration::from_millis(100);

/// The address at which a project listens, and the one at which hosts find it.
#[derive(Debug)]
pub struct Endpoint {
    listener: TcpListener,
    listen: SocketAddr,
    url: Url,
}

impl Endpoint {
    /// Listens. Hosts find the project at `url` [default: where it listens].
    ///
    /// # Errors
    /// Where it cannot listen there, or listens everywhere and has no `url`.
    pub fn new(listen: SocketAddr, url: Option<Url>) -> Result<Self, Fault> {
        if url.is_none() {
            // Also for port 0.
            Url::of(listen)?;
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
        let url = url.map_or_else(|| Url::of(listen), Ok)?;
        Ok(Endpoint { listener, listen, url })
    }
}

/// A project that listens.
pub struct Server {
    listener: TcpListener,
    scheduler: Arc<Scheduler>,
}

impl Server {
    /// Starts to serve a project, whose hosts run `program`.
    ///
    /// # Errors
    /// Where the program cannot be copied, or the journal not written.
    pub fn new(open: OpenProject, place: Endpoint, program: &Path) -> Result<Self, Fault> {
        let Endpoint { listener, listen, url } = place;
        let url = url.to_string();
        let scheduler = Scheduler::new(open, url.clone());
        let latest = scheduler.latest();
        if let Some(version) = scheduler.directory.add_program(program, latest.as_ref())? {
            scheduler.record(Line::Version(version))?;
        }
        scheduler.record(Line::Address { listen, url: url.clone() })?;
        scheduler.directory.write_attachment(&Attachment { url, key: scheduler.key.clone() })?;
        Ok(Server { listener, scheduler: Arc::new(scheduler) })
    }

    /// How to attach to it.
    pub fn attach(&self) -> Attachment {
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
    pub fn run(&self, stop: &AtomicBool, mut observe: impl FnMut(Counts, bool) -> bool) -> Result<(), Fault> {
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

/// The present load.
#[derive(Default)]
struct Load {
    requests: AtomicUsize,
    /// Programs that are being sent.
    programs: AtomicUsize,
    /// Bytes of the bodies in memory.
    bytes: AtomicU64,
}

/// A request or program that is counted until this is dropped.
struct Admission {
    load: Arc<Load>,
    number: fn(&Load) -> &AtomicUsize,
    /// How many there were before it.
    others: usize,
}

impl Admission {
    /// Counts it; `None` where there are `most` already.
    fn new(load: &Arc<Load>, number: fn(&Load) -> &AtomicUsize, most: usize) -> Option<Self> {
        let others = number(load).fetch_add(1, Ordering::SeqCst);
        let counted = Admission { load: Arc::clone(load), number, others };
        (others < most).then_some(counted)
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        (self.number)(&self.load).fetch_sub(1, Ordering::SeqCst);
    }
}

/// The memory of a body, which is counted until this is dropped.
struct BodyReservation<'a>(&'a AtomicU64, u64);

impl<'a> BodyReservation<'a> {
    fn new(all: &'a AtomicU64, bytes: u64) -> Result<Self, Refusal> {
        let held = BodyReservation(all, bytes);
        if all.fetch_add(bytes, Ordering::SeqCst) + bytes > IN_FLIGHT {
            return Err(Refusal(503, "too much is under way".into()));
        }
        Ok(held)
    }
}

impl Drop for BodyReservation<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Ordering::SeqCst);
    }
}

/// A reply: a status, a content type, and a text.
type Response = (u16, &'static str, String);

const XML: &str = "text/xml";
const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

fn serve(scheduler: &Scheduler, stream: &TcpStream, load: &Arc<Load>) {
    let (head, mut exchange) = match Exchange::begin(stream, LIMIT_HEAD) {
        Ok(begun) => begun,
        Err(Some(Refusal(status, why))) => return Exchange::refuse(stream, status, &why),
        Err(None) => return,
    };
    exchange.extend(LIMIT);
    // A host that has closed needs no reply.
    let _ = match respond(scheduler, &head, &mut exchange, load) {
        Ok(Some((status, kind, text))) => exchange.reply(status, kind, &text),
        Ok(None) => Ok(()),
        Err(Refusal(status, why)) => {
            // It may have failed because its time was up.
            exchange.extend(LIMIT_HEAD);
            exchange.reply(status, TEXT, &(why + "\n"))
        }
    };
    exchange.end();
}

/// The reply; `None` where it was sent already.
fn respond(
    scheduler: &Scheduler,
    head: &Head,
    exchange: &mut Exchange<'_>,
    load: &Arc<Load>,
) -> Result<Option<Response>, Refusal> {
    let path = head.path.strip_prefix(ROOT.trim_end_matches('/')).unwrap_or(&head.path);
    let down = |fault: Fault| Refusal(503, fault.message);
    let gone = |_| Refusal(400, "the host has closed the connection".into());
    match (head.method.as_str(), path) {
        ("GET", "/" | "") => Ok(Some((200, "text/html; charset=utf-8", master(scheduler)))),
        ("GET", "/get_project_config.php") => Ok(Some((200, XML, config(scheduler)))),
        ("GET", "/lookup_account.php") => Ok(Some((200, XML, account(scheduler, head)))),
        ("GET", "/create_account.php") => Ok(Some((200, XML, error(-208, "there is one account only")))),
        ("GET", "/status") => Ok(Some((200, JSON, status(scheduler)))),
        ("GET", "/answers") => Ok(Some((200, TEXT, scheduler.answers()))),
        ("GET", file) if file.starts_with("/download/") => {
            download(scheduler, &file[10..], head, exchange, load)
        }
        ("POST", page) if page.strip_prefix('/') == Some(SCHEDULER) => {
            let _held = BodyReservation::new(&load.bytes, head.length.min(request::LONGEST))?;
            exchange.send_continue(head).map_err(gone)?;
            let body = exchange.body(request::LONGEST)?;
            let asked = SchedulerRequest::parse(&body)
                .ok_or_else(|| Refusal(400, "this is no scheduler request".into()))?;
            Ok(Some((200, XML, scheduler.schedule(&asked, now()).map_err(down)?)))
        }
        ("POST", "/file_upload_handler") => {
            let _held = BodyReservation::new(&load.bytes, head.length.min(upload::LONGEST))?;
            exchange.send_continue(head).map_err(gone)?;
            let body = exchange.body(upload::LONGEST)?;
            Ok(Some((200, TEXT, upload::reply(&scheduler.upload(&body)))))
        }
        ("GET" | "POST", _) => Err(Refusal(404, "there is no such page".into())),
        _ => Err(Refusal(405, "only GET and POST are answered".into())),
    }
}

/// The page that a client loads first: one of its lines has the scheduler's address.
fn master(scheduler: &Scheduler) -> String {
    let (counts, done) = scheduler.counts();
    let done = if done { "done" } else { "at work" };
    let url = &scheduler.url;
    format!(
        "<!DOCTYPE html>\n<html><head><title>{NAME}</title>\n<link rel=\"boinc_scheduler\" href=\"{url}{SCHEDULER}\">\n\
         <!--\n<scheduler>{url}{SCHEDULER}</scheduler>\n-->\n</head>\n\
         <body><h1>{NAME}</h1><p>A BOINC project at {url} ({done}): {} work units answered, {} results out.</p>\
         </body></html>\n",
        counts.answered, counts.out
    )
}

fn config(scheduler: &Scheduler) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"ISO-8859-1\" ?>\n<project_config>\n<name>{NAME}</name>\n\
         <master_url>{0}</master_url>\n<web_rpc_url_base>{0}</web_rpc_url_base>\n<min_passwd_length>6</min_passwd_length>\n\
         <account_creation_disabled/>\n<platforms>\n<platform>\n<platform_name>{1}-pc-linux-gnu</platform_name>\n\
         </platform>\n</platforms>\n</project_config>\n",
        escape(&scheduler.url),
        std::env::consts::ARCH
    )
}

/// The account's key, for those who give it as password, with any e-mail address.
fn account(scheduler: &Scheduler, head: &Head) -> String {
    let Some(mail) = head.parameter("email_addr") else {
        return error(-136, "there is no such account");
    };
    match head.parameter("passwd_hash").filter(|hash| !hash.is_empty()) {
        None => "<account_out>\n<success/>\n</account_out>\n".into(),
        Some(hash) if hash == md5_hex(format!("{}{}", scheduler.key, mail.to_lowercase()).as_bytes()) => {
            format!("<account_out>\n<authenticator>{}</authenticator>\n</account_out>\n", scheduler.key)
        }
        Some(_) => error(-206, "the password is the account key that the project prints"),
    }
}

fn error(number: i32, message: &str) -> String {
    format!(
        "<error>\n<error_num>{number}</error_num>\n<error_msg>{}</error_msg>\n</error>\n",
        escape(message)
    )
}

fn status(scheduler: &Scheduler) -> String {
    let (counts, done) = scheduler.counts();
    json!({ "done": done, "counts": counts, "settings": scheduler.settings() }).to_string() + "\n"
}

/// An input file, which is generated, or a program, of which a part may be requested.
fn download(
    scheduler: &Scheduler,
    name: &str,
    head: &Head,
    exchange: &mut Exchange<'_>,
    load: &Arc<Load>,
) -> Result<Option<Response>, Refusal> {
    if let Some(input) = scheduler.input(name) {
        return Ok(Some((200, TEXT, input)));
    }
    let none = || Refusal(404, "there is no such file".into());
    let version = scheduler.version(name).ok_or_else(none)?;
    let mut file = File::open(scheduler.directory.program(&version)).map_err(|_| none())?;
    let from = head.from.unwrap_or(0);
    if from > 0 && from >= version.bytes {
        return Err(Refusal(416, "the file ends before".into()));
    }
    let gone = |_| Refusal(400, "the host has closed the connection".into());
    let _sent = Admission::new(load, |load| &load.programs, PROGRAMS)
        .ok_or_else(|| Refusal(503, "too many programs are being sent".into()))?;
    let over = Instant::now() + LIMIT_PROGRAM;
    file.seek(SeekFrom::Start(from)).map_err(gone)?;
    let code = if from > 0 { 206 } else { 200 };
    let part = (from > 0).then_some((from, version.bytes));
    exchange.head(code, "application/octet-stream", version.bytes - from, part).map_err(gone)?;
    let mut chunk = vec![0; CHUNK];
    let mut left = version.bytes - from;
    while left > 0 {
        match file.read(&mut chunk) {
            Ok(read @ 1..) => {
                let read = read.min(usize::try_from(left).unwrap_or(usize::MAX));
                exchange.extend(LIMIT.min(over.saturating_duration_since(Instant::now())));
                if exchange.send(&chunk[..read]).is_err() {
                    break;
                }
                left -= read as u64;
            }
            // The head is sent: the missing bytes show the failure.
            _ => break,
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
