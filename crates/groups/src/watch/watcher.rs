//! The watcher: a process of its own, which answers every start of a program on the mounts that it has marked.
//!
//! All others wait for it, so it waits for nobody: it starts no program, writes to pipes that do not block, reads no
//! file of a server, and lets programs continue that wait for their group for long. If it is stopped or hangs, a timer of
//! the kernel kills it ([`DeadMansSwitch`]). Then all that wait continue, and its supervisor starts it again.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_host::clock::process_cpu_ns;
use crosstalk_host::process::{
    DeadMansSwitch, cannot, keep_in_memory, leave_session, raise_file_limit, set_process_name, spawn_thread,
    wait_readable,
};
use crosstalk_host::starts::HeldStart;
use crosstalk_host::streams::set_nonblocking;
use crosstalk_host::undisturbed::run_first;

use super::failures::Failures;
use super::job::{Found, Job, Task};
use super::judge::{Judge, Verdict, program_of};
use super::message::{Answer, Message, Settings};
use super::mover::{Shared, run};
use super::openings::{Opening, Openings};
use super::outbox::Outbox;
use super::source::Source;
use super::tally::{Outcome, Tally};
use super::waiting::Waiting;

/// The watcher's name in `ps`.
pub const WATCHER: &str = "crosstalk-watch";
/// A watcher that has not looked for this time is killed.
const SILENCE: Duration = Duration::from_millis(400);
/// How often it looks if nothing happens.
const TICK: Duration = Duration::from_millis(150);
/// The same while a program waits for its group.
const SHORT_TICK: Duration = Duration::from_millis(20);
/// How often it renews its timer while it is busy.
const RENEWAL: Duration = Duration::from_millis(50);
/// The longest that a program waits for its group: with the silence of a watcher that is stopped then, a second.
const LONGEST_WAIT: Duration = Duration::from_millis(600);
/// How often it reports what it has done.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Runs a watcher, for the hidden verb `place`: settings and answers come over `input`, messages go to `output`. It ends
/// with its input.
///
/// # Errors
/// If its settings cannot be read, or this host has no mechanism.
pub fn watch(input: OwnedFd, output: OwnedFd) -> Result<(), Fault> {
    set_process_name(WATCHER);
    // Neither Ctrl-C nor Ctrl-Z reaches it there: its supervisor ends it.
    leave_session();
    let mut input = BufReader::new(File::from(input));
    let mut line = String::new();
    let failed = |why: String| Fault::environment(format!("cannot watch: {why}"));
    input.read_line(&mut line).map_err(|e| failed(e.to_string()))?;
    let settings: Settings = serde_json::from_str(&line).map_err(|e| failed(format!("no settings: {e}")))?;
    set_nonblocking(&output).map_err(|e| cannot("write without waiting", &e))?;
    let outbox = Arc::new(Outbox::new(File::from(output), settings.verbose));
    serve(settings, input, &outbox).inspect_err(|fault| outbox.send(&Message::Failed(fault.clone())))
}

fn serve(settings: Settings, mut input: BufReader<File>, outbox: &Arc<Outbox>) -> Result<(), Fault> {
    let (source, because) = Source::open(settings.mechanism)?;
    // Each start that waits is an open file, and the kernel refuses to execute what it cannot open here.
    raise_file_limit();
    keep_in_memory();
    // Without the privilege it waits its turn, as others do.
    let _ = run_first();
    let judge = Judge::new(settings.rules, settings.own);
    let switch = DeadMansSwitch::arm(SILENCE).map_err(|e| cannot("arm a timer", &e))?;
    let marked = source.mark();
    outbox.send(&Message::Ready { mechanism: source.mechanism(), mounts: marked.mounts, because });
    // An earlier watcher has said so.
    marked.unseen.into_iter().filter(|_| !settings.again).for_each(|line| outbox.note(line));
    let shared = Arc::new(Shared {
        judge,
        waiting: Waiting::default(),
        outbox: Arc::clone(outbox),
        tally: Mutex::default(),
        again: settings.again,
    });
    let (tasks, received) = channel();
    let mover = {
        let shared = Arc::clone(&shared);
        spawn_thread("mover", move || run(&shared, &received))?
    };
    let mut watcher = Watcher {
        shared,
        source,
        switch,
        tasks,
        openings: Openings::default(),
        failures: Failures::default(),
        began: Instant::now(),
        reported: 0,
    };
    let (mut renewed, mut reported) = (Instant::now(), Instant::now());
    loop {
        let tick = if watcher.shared.waiting.is_empty() { TICK } else { SHORT_TICK };
        let ready = wait_readable(&[&watcher.source, input.get_ref()], Some(tick))
            .map_err(|e| cannot("wait for programs", &e))?;
        if ready[0] {
            watcher.take()?;
        }
        if ready[1] && !watcher.read(&mut input) {
            break;
        }
        if renewed.elapsed() < RENEWAL {
            continue;
        }
        renewed = Instant::now();
        watcher.renew()?;
        if !watcher.tend() || mover.is_finished() {
            break;
        }
        if reported.elapsed() >= REPORT_INTERVAL {
            reported = Instant::now();
            if watcher.has_news() {
                watcher.report();
            }
        }
    }
    watcher.report();
    watcher.shared.waiting.release_after(Duration::ZERO);
    Ok(())
}

struct Watcher {
    shared: Arc<Shared>,
    source: Source,
    switch: DeadMansSwitch,
    tasks: Sender<Task>,
    openings: Openings,
    /// How many starts in a row could not be read.
    failures: Failures,
    began: Instant,
    /// How many programs it had seen when it reported last.
    reported: u64,
}

impl Watcher {
    /// Takes the starts that there are.
    fn take(&mut self) -> Result<(), Fault> {
        match &self.source {
            Source::Held(starts, _) => {
                let starts = match starts.read() {
                    Ok(starts) => starts,
                    Err(e) => return self.fail(&e),
                };
                let now = Instant::now();
                for start in starts {
                    self.failures.clear();
                    self.answer(start, now);
                    self.renew()?;
                }
            }
            Source::Events(events) => {
                let pids = events.read().map_err(|e| cannot("read starts of programs", &e))?;
                let now = Instant::now();
                for pid in pids {
                    self.follow(pid, now);
                    self.renew()?;
                }
            }
        }
        Ok(())
    }

    /// Counts a start that could not be read: the kernel reports so a file that it cannot open for this process, and
    /// refuses to execute it.
    fn fail(&mut self, error: &std::io::Error) -> Result<(), Fault> {
        if self.failures.is_end() {
            return Err(cannot("read starts of programs", error));
        }
        self.shared.count(Outcome::Missed, Duration::ZERO);
        self.shared.outbox.note(format!(
            "a program was not started, as its file cannot be opened by root ({error}): see the file system that it is on"
        ));
        Ok(())
    }

    /// Starts the time anew after which this process is killed.
    fn renew(&self) -> Result<(), Fault> {
        self.switch.renew().map_err(|e| cannot("renew a timer", &e))
    }

    /// Lets a start continue, or wait for its group.
    fn answer(&mut self, start: HeldStart, since: Instant) {
        let opening = self.openings.note(&start);
        if opening == Opening::Loader {
            // It would be held for each program once more.
            if let Source::Held(starts, _) = &self.source {
                let _ = starts.ignore(&start);
            }
            return;
        }
        let pid = start.pid();
        let counted = |outcome| {
            if opening == Opening::First {
                self.shared.count(outcome, since.elapsed());
            }
        };
        match self.shared.judge.judge(pid, || start.path()) {
            Verdict::Grouped => {
                drop(start);
                counted(Outcome::Inherited);
            }
            Verdict::Stays => {
                drop(start);
                counted(Outcome::Left);
            }
            Verdict::Goes(goal) => {
                if opening == Opening::Interpreter {
                    // Its script was counted as left.
                    self.shared.change(|tally| tally.left = tally.left.saturating_sub(1));
                }
                let program = start.path().map(|path| path.display().to_string()).unwrap_or_default();
                self.shared.waiting.add(start, since);
                self.put(Job { pid, goal, program, found: Found::Starting });
            }
        }
    }

    /// Has a process moved that runs already.
    fn follow(&mut self, pid: u32, since: Instant) {
        match self.shared.judge.judge(pid, || program_of(pid)) {
            Verdict::Grouped => self.shared.count(Outcome::Inherited, since.elapsed()),
            Verdict::Stays => self.shared.count(Outcome::Left, since.elapsed()),
            Verdict::Goes(goal) => {
                let program = program_of(pid).map(|path| path.display().to_string()).unwrap_or_default();
                self.put(Job { pid, goal, program, found: Found::Started });
            }
        }
    }

    fn put(&self, job: Job) {
        let pid = job.pid;
        if self.tasks.send(Task::Put(job)).is_err() {
            self.shared.waiting.release(pid);
        }
    }

    /// Reads an answer of the supervisor. Returns false if that has ended.
    fn read(&mut self, input: &mut BufReader<File>) -> bool {
        loop {
            let mut line = String::new();
            match input.read_line(&mut line) {
                Ok(0) => return false,
                Ok(_) => {
                    if let Ok(Answer { group }) = serde_json::from_str(&line) {
                        // Without the thread the loop ends.
                        let _ = self.tasks.send(Task::Answered(group));
                    }
                }
                Err(e) => return e.kind() == ErrorKind::Interrupted,
            }
            // A line is written at once.
            if input.buffer().is_empty() {
                return true;
            }
        }
    }

    /// Does what is to be done from time to time. Returns false if nobody reads its messages any more.
    fn tend(&mut self) -> bool {
        for _ in 0..self.shared.waiting.release_after(LONGEST_WAIT) {
            self.shared.count(Outcome::Missed, Duration::ZERO);
        }
        self.source.mark_new().into_iter().for_each(|line| self.shared.outbox.note(line));
        self.shared.outbox.flush()
    }

    fn has_news(&self) -> bool {
        self.shared.tally.lock().unwrap_or_else(PoisonError::into_inner).seen() > self.reported
    }

    /// Reports what was done so far.
    fn report(&mut self) {
        let cpu = Duration::from_nanos(process_cpu_ns());
        let tally: Tally = {
            let mut tally = self.shared.tally.lock().unwrap_or_else(PoisonError::into_inner);
            (tally.cpu, tally.ran) = (cpu, self.began.elapsed());
            tally.clone()
        };
        self.reported = tally.seen();
        self.shared.outbox.send(&Message::Tally(Box::new(tally)));
    }
}
