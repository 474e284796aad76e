//! A mock server that delays each message on purpose, and times the delay by its own clock.

use std::fs;
use std::io::{ErrorKind, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::value::Params;
use crosstalk_host::cpu;
use crosstalk_probe::latency::{Outcome, Stages};
use rustix::time::{ClockId, clock_gettime};

use super::mock_server::{self, read_line, with_server_of};

/// Where the server delays a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Delay {
    /// Nowhere. It sleeps until a message is there.
    #[default]
    Nowhere,
    /// It polls until a message is in its socket, and then sleeps before it reads.
    BeforeRead(Duration),
    /// It sleeps between reading and replying.
    BeforeReply(Duration),
}

/// A server over UDP, and what it timed, in seconds.
#[derive(Default)]
pub struct SlowServer {
    pub delay: Delay,
    /// The processor that it is pinned to.
    pub cpu: Option<usize>,
    /// How long each delay was.
    pub delays: Mutex<Vec<f64>>,
    /// How long it waited for its processor from a reply until it had the next message, by the scheduler.
    pub queued: Mutex<Vec<f64>>,
}

impl SlowServer {
    /// Sends every datagram back until the client has finished.
    fn serve(&self, socket: &UdpSocket, over: &AtomicBool) {
        let _pinned = self.cpu.map(|cpu| cpu::PinnedThread::begin(cpu).expect("pins"));
        socket.set_read_timeout(Some(Duration::from_millis(200))).expect("sets");
        let (mut message, mut waited) = ([0; 1400], 0.0);
        while !over.load(Ordering::Relaxed) {
            if let Delay::BeforeRead(delay) = self.delay {
                if !await_datagram(socket, over) {
                    return;
                }
                self.delays.lock().expect("one thread").push(nap(delay));
            }
            let Ok((n, from)) = socket.recv_from(&mut message) else { continue };
            let (arrived, queued) = (now(), run_delay() - waited);
            if n == 8 {
                // The token of the session: its sender is the client.
                socket.connect(from).expect("connects");
            } else {
                self.queued.lock().expect("one thread").push(queued);
                if let Delay::BeforeReply(delay) = self.delay {
                    self.delays.lock().expect("one thread").push(nap(delay));
                }
                message[8..16].copy_from_slice(&arrived.to_le_bytes());
                message[16..24].copy_from_slice(&now().to_le_bytes());
            }
            waited = run_delay();
            // The client may have gone, which the control connection shows.
            let _ = socket.send(&message[..n]);
        }
    }

    /// The result of measuring with this server.
    pub fn measure(&self, params: &Params) -> (Outcome, Stages) {
        let clock = format!(
            "\"{} {}\"",
            fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("has one").trim(),
            fs::read_link("/proc/self/ns/time").expect("Linux 5.6").display()
        );
        let over = AtomicBool::new(false);
        let serve = |_: &TcpListener, control: &mut TcpStream| {
            read_line(control);
            let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
            let port = socket.local_addr().expect("has one").port();
            writeln!(control, "{{\"answer\":\"ready\",\"token\":7,\"udp\":[{port}]}}").expect("is ready");
            thread::scope(|scope| {
                scope.spawn(|| self.serve(&socket, &over));
                read_line(control);
                over.store(true, Ordering::Relaxed);
            });
        };
        let outcomes = with_server_of(mock_server::VERSION, &clock, params, serve);
        let mut outcome = outcomes.expect("measures").remove(0);
        let stages = outcome.stages.take().expect("are set");
        (outcome, stages)
    }

    /// The median delay, in seconds; not a number if there was none.
    pub fn median_delay(&self) -> f64 {
        let mut sorted = self.delays.lock().expect("no panic").clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

/// Polls until a datagram is there; `false` if the session is over.
fn await_datagram(socket: &UdpSocket, over: &AtomicBool) -> bool {
    socket.set_nonblocking(true).expect("sets");
    loop {
        match socket.peek(&mut [0; 1]) {
            Err(e) if e.kind() == ErrorKind::WouldBlock => {}
            _ => return true,
        }
        if over.load(Ordering::Relaxed) {
            return false;
        }
    }
}

/// Sleeps, and returns for how many seconds.
fn nap(time: Duration) -> f64 {
    let begin = Instant::now();
    thread::sleep(time);
    begin.elapsed().as_secs_f64()
}

fn now() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Seconds that this thread has waited for a processor (Documentation/scheduler/sched-stats.rst).
fn run_delay() -> f64 {
    let counts = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    counts.split_whitespace().nth(1).and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) * 1e-9
}
