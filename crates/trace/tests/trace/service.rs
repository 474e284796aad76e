//! A service of the tests' own, and its client.

use std::hint::spin_loop;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::LONG;

/// Bytes of a request, and of an answer.
pub const SIZE: usize = 64;

/// What the service does between a request and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Nothing.
    None,
    /// It sleeps.
    Sleep(Duration),
    /// It computes.
    Compute(Duration),
}

impl Work {
    fn run(self) {
        match self {
            Work::None => {}
            Work::Sleep(time) => thread::sleep(time),
            Work::Compute(time) => {
                let began = Instant::now();
                while began.elapsed() < time {
                    spin_loop();
                }
            }
        }
    }
}

/// Connections that the service has closed.
pub type Closed = Arc<AtomicUsize>;

/// Serves on a free port of the loopback.
pub fn serve(work: Work) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    let address = listener.local_addr().expect("has one");
    serve_all(vec![listener], work);
    address
}

/// Serves every connection to these listeners.
pub fn serve_all(listeners: Vec<TcpListener>, work: Work) -> Closed {
    let closed = Closed::default();
    for listener in listeners {
        let closed = Arc::clone(&closed);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let closed = Arc::clone(&closed);
                thread::spawn(move || {
                    answer(stream, work);
                    closed.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
    }
    closed
}

fn answer(mut stream: TcpStream, work: Work) {
    let _ = stream.set_nodelay(true);
    let mut request = [0; SIZE];
    while stream.read_exact(&mut request).is_ok() {
        work.run();
        if stream.write_all(&request).is_err() {
            return;
        }
    }
}

/// A connection to a service.
pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("listens");
    stream.set_nodelay(true).expect("is TCP");
    stream.set_read_timeout(Some(LONG)).expect("is TCP");
    stream
}

/// Sends a request, and returns how long its answer took.
pub fn request(stream: &mut TcpStream) -> Duration {
    let mut answer = [0; SIZE];
    let began = Instant::now();
    stream.write_all(&[7; SIZE]).expect("is served");
    stream.read_exact(&mut answer).expect("is answered");
    began.elapsed()
}

/// Sends `times` requests on each of `connections` connections, in turn.
pub fn requests(address: SocketAddr, connections: usize, times: usize) {
    let mut streams: Vec<TcpStream> = (0..connections).map(|_| connect(address)).collect();
    for _ in 0..times {
        for stream in &mut streams {
            request(stream);
        }
    }
}
