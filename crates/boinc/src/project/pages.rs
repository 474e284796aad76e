//! The project's pages: what each address answers.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use serde_json::json;

use crate::digest::md5_hex;
use crate::markup::escape;

use super::directory::unix_time;
use super::http::{Exchange, Head, Refusal};
use super::load::{Admission, BodyReservation, Load};
use super::reply::PROJECT_NAME;
use super::request::{self, SchedulerRequest};
use super::scheduler::Scheduler;
use super::upload;
use super::url::{ROOT, SCHEDULER};

/// How long a request may take, from its complete head on.
pub const LIMIT: Duration = Duration::from_secs(60);
/// The most programs that are sent at a time: hosts that read slowly must not block others.
pub const PROGRAMS: usize = 32;
/// How long a whole program may take; each [`CHUNK`] bytes of it must go within [`LIMIT`].
const LIMIT_PROGRAM: Duration = Duration::from_secs(1800);
/// Bytes of a program that are sent at a time.
const CHUNK: usize = 64 << 10;

/// A reply: a status, a content type, and a text.
pub type Response = (u16, &'static str, String);

const XML: &str = "text/xml";
const JSON: &str = "application/json";
/// The content type of plain text.
pub const PLAIN_TEXT: &str = "text/plain; charset=utf-8";

/// The reply; `None` where it was sent already.
pub fn respond_to(
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
        ("GET", "/answers") => Ok(Some((200, PLAIN_TEXT, scheduler.answers()))),
        ("GET", file) if file.starts_with("/download/") => {
            download(scheduler, &file[10..], head, exchange, load)
        }
        ("POST", page) if page.strip_prefix('/') == Some(SCHEDULER) => {
            let _held = BodyReservation::new(&load.bytes, head.length.min(request::LONGEST))?;
            exchange.send_continue(head).map_err(gone)?;
            let body = exchange.read_body(request::LONGEST)?;
            let request = SchedulerRequest::parse(&body)
                .ok_or_else(|| Refusal(400, "this is no scheduler request".into()))?;
            Ok(Some((200, XML, scheduler.answer_request(&request, unix_time()).map_err(down)?)))
        }
        ("POST", "/file_upload_handler") => {
            let _held = BodyReservation::new(&load.bytes, head.length.min(upload::LONGEST))?;
            exchange.send_continue(head).map_err(gone)?;
            let body = exchange.read_body(upload::LONGEST)?;
            Ok(Some((200, PLAIN_TEXT, upload::upload_reply(&scheduler.accept_upload(&body)))))
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
        "<!DOCTYPE html>\n<html><head><title>{PROJECT_NAME}</title>\n<link rel=\"boinc_scheduler\" href=\"{url}{SCHEDULER}\">\n\
         <!--\n<scheduler>{url}{SCHEDULER}</scheduler>\n-->\n</head>\n\
         <body><h1>{PROJECT_NAME}</h1><p>A BOINC project at {url} ({done}): {} work units answered, {} results out.</p>\
         </body></html>\n",
        counts.answered, counts.out
    )
}

fn config(scheduler: &Scheduler) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"ISO-8859-1\" ?>\n<project_config>\n<name>{PROJECT_NAME}</name>\n\
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
    if let Some(input) = scheduler.input_file(name) {
        return Ok(Some((200, PLAIN_TEXT, input)));
    }
    let none = || Refusal(404, "there is no such file".into());
    let version = scheduler.program_called(name).ok_or_else(none)?;
    let mut file = File::open(scheduler.directory.program_path(&version)).map_err(|_| none())?;
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
    exchange.send_head(code, "application/octet-stream", version.bytes - from, part).map_err(gone)?;
    let mut chunk = vec![0; CHUNK];
    let mut left = version.bytes - from;
    while left > 0 {
        match file.read(&mut chunk) {
            Ok(read @ 1..) => {
                let read = read.min(usize::try_from(left).unwrap_or(usize::MAX));
                exchange.extend_limit(LIMIT.min(over.saturating_duration_since(Instant::now())));
                if exchange.send_bytes(&chunk[..read]).is_err() {
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
