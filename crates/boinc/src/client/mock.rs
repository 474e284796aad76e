//! A client for tests: it speaks the protocol, and checks a password.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::Client;
use crate::digest::md5_hex;
use crate::markup::first;

/// An operation's beginning → a reply.
type Answers = &'static [(&'static str, &'static str)];

/// It listens, and records the operations that it gets.
pub(super) struct MockClient {
    pub(super) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl MockClient {
    /// Starts one that closes a connection after so many answers.
    pub(super) fn start(password: &'static str, answers: Answers, each: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
        let address = listener.local_addr().expect("has one");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve(stream, password, answers, each, &recorded);
            }
        });
        MockClient { address, requests }
    }

    pub(super) fn client(&self, password: Option<&str>) -> Client {
        Client::new(self.address, password.map(str::to_string)).within(Duration::from_secs(5))
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("nobody panicked").clone()
    }
}

fn serve(
    mut stream: TcpStream,
    password: &str,
    answers: Answers,
    each: usize,
    recorded: &Mutex<Vec<String>>,
) {
    let mut authorized = password.is_empty();
    for _ in 0..each {
        let mut request = Vec::new();
        let mut byte = [0];
        while request.last() != Some(&3) {
            if stream.read_exact(&mut byte).is_err() {
                return;
            }
            request.push(byte[0]);
        }
        let request = String::from_utf8_lossy(&request).into_owned();
        let operation = first(&request, "boinc_gui_rpc_request").expect("is one").body.trim().to_string();
        let reply = if operation == "<auth1/>" {
            "<nonce>1784.5</nonce>"
        } else if let Some(auth) = first(&operation, "auth2") {
            let hash = first(auth.body, "nonce_hash").expect("is there").text();
            authorized = hash == md5_hex(format!("1784.5{password}").as_bytes());
            if authorized { "<authorized/>" } else { "<unauthorized/>" }
        } else if !authorized {
            "<unauthorized/>"
        } else {
            recorded.lock().expect("nobody panicked").push(operation.clone());
            answers
                .iter()
                .find(|(begin, _)| operation.starts_with(begin))
                .map_or("<success/>", |(_, reply)| *reply)
        };
        let reply = format!("<boinc_gui_rpc_reply>\n{reply}\n</boinc_gui_rpc_reply>\n\u{3}");
        if stream.write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}
