//! The clock server's thread.

use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::units::Seconds;
use crosstalk_model::network::{Answer, Network, Next, Operation, Progress, Site, Source};
use crosstalk_model::schedule::codec::{Item, Reader};
use crosstalk_model::schedule::{self, Schedule};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{FAITHFUL, answer};
use crate::deadline::CANCEL_POLL;
use crate::element::{ReduceOp, bytes, combine_bytes};
use crate::poll::{self, PolledSocket};

/// How long a rank may take, once it has finished, to say whether its part is faithful: it only reads counters.
const CONCLUDES: Duration = Duration::from_secs(3);

/// The thread; it ends when all ranks have finished, or one has gone, or when this is dropped.
pub(crate) struct ClockServer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Option<Recorded>>>,
}

/// The schedule of a run, and whether every rank's monitor has found its part of virtual time faithful.
pub(crate) struct Recorded {
    pub(crate) schedule: Schedule,
    pub(crate) faithful: bool,
}

impl ClockServer {
    /// What was recorded, once all ranks have finished and concluded ([`super::Client::conclude`]); `None` if nothing was.
    pub(crate) fn recorded(mut self) -> Option<Recorded> {
        self.thread.take().and_then(|thread| thread.join().ok()).flatten()
    }
}

impl Drop for ClockServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Begins to keep the time of the ranks at these connections, by number. `record`: what the schedule is of.
///
/// # Errors
/// A usage fault where the emulation does not fit the ranks. An environment fault where no thread can be made.
pub(crate) fn begin(
    emulation: &Emulation,
    streams: Vec<TcpStream>,
    record: Option<String>,
) -> Result<ClockServer, Fault> {
    let combine = schedule::as_recorded(combine_time());
    // Refused here rather than in the thread.
    Network::new(emulation, streams.len(), combine)?;
    let (emulation, stop) = (emulation.clone(), Arc::new(AtomicBool::new(false)));
    let stopped = Arc::clone(&stop);
    let environment = |e: std::io::Error| Fault::environment(format!("cannot keep virtual time: {e}"));
    for stream in &streams {
        stream.set_nodelay(true).and_then(|()| stream.set_nonblocking(true)).map_err(environment)?;
    }
    let run = move || {
        let mut programs = Programs::new(streams, record.is_some());
        let result = programs.run(&emulation, combine, &stopped);
        match result {
            Ok(clocks) => record.map(|title| Recorded {
                faithful: programs.conclusions(&stopped),
                schedule: Schedule {
                    title,
                    combine,
                    operations: programs.ranks.into_iter().map(|rank| rank.recorded).collect(),
                    clocks,
                },
            }),
            Err(fault) => {
                programs.end_all(&fault);
                None
            }
        }
    };
    let thread = std::thread::Builder::new().name("clock-server".into()).spawn(run).map_err(environment)?;
    Ok(ClockServer { stop, thread: Some(thread) })
}

/// Seconds of this host's CPU to combine a byte of numbers that are in its cache.
fn combine_time() -> Seconds {
    const NUMBERS: usize = 2048;
    let (mut mine, theirs) = (vec![1.0_f64; NUMBERS], vec![1e-9_f64; NUMBERS]);
    let mut once = || {
        let begin = Instant::now();
        combine_bytes::<f64>(ReduceOp::Sum, crate::element::bytes_mut(&mut mine), bytes(&theirs));
        begin.elapsed().as_secs_f64()
    };
    let mut times: Vec<f64> = (0..101).map(|_| once()).collect();
    times.sort_by(f64::total_cmp);
    Seconds(times[50] / (NUMBERS * size_of::<f64>()) as f64)
}

/// One rank, as the clock server knows it.
struct RankEnd {
    stream: TcpStream,
    /// What was reported: the bytes that are no whole operation yet.
    partial: Vec<u8>,
    operations: VecDeque<(Operation, Site)>,
    call_sites: Vec<String>,
    recorded: Vec<u8>,
    /// Answers that its socket has not taken yet.
    outgoing: Vec<u8>,
    has_finished: bool,
    /// Its connection has ended.
    has_ended: bool,
    /// Whether its part of virtual time is faithful, which it says after it has finished; false if it ends without.
    faithful: Option<bool>,
}

struct Programs {
    ranks: Vec<RankEnd>,
    records: bool,
}

impl Source for Programs {
    fn next(&mut self, rank: u32) -> Next {
        match self.ranks[rank as usize].operations.pop_front() {
            Some((operation, site)) => Next::Operation(operation, site),
            None => Next::NotYet,
        }
    }

    fn answer_rank(&mut self, rank: u32, answer: Answer) {
        let end = &mut self.ranks[rank as usize];
        answer::put_answer(&mut end.outgoing, &answer);
        end.write();
    }

    fn call_site(&self, rank: u32, site: Site) -> String {
        self.ranks[rank as usize].call_sites.get(site as usize).cloned().unwrap_or_else(|| "its end".into())
    }
}

impl RankEnd {
    fn write(&mut self) {
        while !self.outgoing.is_empty() {
            match self.stream.write(&self.outgoing) {
                Ok(n) => _ = self.outgoing.drain(..n),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                // The rest is sent when its socket takes more; that a rank has gone shows when it is read.
                Err(_) => return,
            }
        }
    }

    /// Reads what has come. False: the connection has ended.
    fn read(&mut self, records: bool) -> Result<bool, Fault> {
        let mut buffer = [0; 16 << 10];
        let is_open = loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => break false,
                Ok(n) => self.partial.extend_from_slice(&buffer[..n]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => break true,
                Err(_) => break false,
            }
        };
        if self.has_finished {
            self.faithful = self.partial.first().map(|byte| *byte == FAITHFUL).or(self.faithful);
            return Ok(is_open);
        }
        let mut reader = Reader::new(&self.partial);
        while let Some(item) = reader.item()? {
            match item {
                Item::CallSite(place) => self.call_sites.push(place),
                Item::Operation(operation, site) => {
                    self.has_finished |= operation == Operation::Finish;
                    self.operations.push_back((operation, site));
                }
            }
        }
        let read = reader.position();
        if records {
            self.recorded.extend_from_slice(&self.partial[..read]);
        }
        self.partial.drain(..read);
        Ok(is_open)
    }
}

impl Programs {
    fn new(streams: Vec<TcpStream>, records: bool) -> Self {
        let end = |stream| RankEnd {
            stream,
            partial: Vec::new(),
            operations: VecDeque::new(),
            call_sites: Vec::new(),
            recorded: Vec::new(),
            outgoing: Vec::new(),
            has_finished: false,
            has_ended: false,
            faithful: None,
        };
        Programs { ranks: streams.into_iter().map(end).collect(), records }
    }

    /// Runs until all have finished.
    fn run(
        &mut self,
        emulation: &Emulation,
        combine: Seconds,
        stop: &AtomicBool,
    ) -> Result<Vec<crosstalk_model::network::TimeBreakdown>, Fault> {
        let mut network = Network::new(emulation, self.ranks.len(), combine)?;
        while network.advance(self)? == Progress::NeedsMore {
            if stop.load(Ordering::Relaxed) {
                return Err(Fault::gone("its rank has ended").on(0));
            }
            self.wait_and_read()?;
        }
        let clocks: Vec<_> = network.clocks().collect();
        for (rank, clock) in clocks.iter().enumerate() {
            self.answer_rank(rank as u32, Answer::Account(*clock));
        }
        Ok(clocks)
    }

    /// Waits until all have said whether their part of virtual time is faithful, or have ended. Whether all are.
    fn conclusions(&mut self, stop: &AtomicBool) -> bool {
        let until = Instant::now() + CONCLUDES;
        while self.ranks.iter().any(|end| end.faithful.is_none()) {
            if stop.load(Ordering::Relaxed) || Instant::now() > until || self.wait_and_read().is_err() {
                return false;
            }
        }
        self.ranks.iter().all(|end| end.faithful == Some(true))
    }

    fn wait_and_read(&mut self) -> Result<(), Fault> {
        // One that has ended is readable for ever: -1 is no socket, and is not looked at (poll(2)).
        let watch = |end: &RankEnd| match end.has_ended {
            true => PolledSocket::new(-1, false),
            false => PolledSocket::new(end.stream.as_raw_fd(), !end.outgoing.is_empty()),
        };
        let mut watched: Vec<PolledSocket> = self.ranks.iter().map(watch).collect();
        poll::wait(&mut watched, CANCEL_POLL)
            .map_err(|e| Fault::environment(format!("cannot wait for reports: {e}")))?;
        for (rank, end) in self.ranks.iter_mut().enumerate() {
            if !end.outgoing.is_empty() {
                end.write();
            }
            if watched[rank].readable() && !end.read(self.records).map_err(|fault| fault.on(rank))? {
                end.has_ended = true;
                if end.has_finished {
                    end.faithful = end.faithful.or(Some(false));
                    continue;
                }
                return Err(Fault::gone("the node is gone: its connection ended before it had finished")
                    .on(rank)
                    .remedy(format!("look at what node {rank} reported last")));
            }
        }
        Ok(())
    }

    fn end_all(&mut self, fault: &Fault) {
        for end in &mut self.ranks {
            answer::put_fault(&mut end.outgoing, fault);
            end.write();
        }
    }
}
