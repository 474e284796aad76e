//! The watcher: a process of its own, which answers every start of a program on the mounts that it has marked.
//!
//! All others wait for it, so it waits for nobody: it starts no program, writes to pipes that do not block, reads no
//! file of a server, and lets programs continue that wait for their group for long. If it is stopped or hangs, a timer of
//! the kernel kills it ([`Heartbeat`]). Then all that wait continue, and its supervisor starts it again.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_host::clock::process_cpu_ns;
use crosstalk_host::process::{
    cannot, keep_in_memory, leave_session, raise_file_limit, set_process_name, spawn_thread, wait_readable,
};
use crosstalk_host::starts::PendingStart;
use crosstalk_host::streams::set_nonblocking;
use crosstalk_host::undisturbed::run_first;

use super::bounds::{LONGEST_WAIT, RENEWAL, SHORT_TICK, TICK};
use super::failures::Failures;
use super::file_roles::{FileRole, FileRoles};
use super::heartbeat::Heartbeat;
use super::job::{Discovery, Job, Task};
use super::judge::{Judge, Verdict, program_of};
use super::message::{Answer, Message, Settings};
use super::mover::{Shared, run};
use super::outbox::Outbox;
use super::source::Source;
use super::tally::{Outcome, Tally};
use super::waiting::Waiting;

/// The watcher's name in `ps`.
pub const WATCHER: &str = "crosstalk-watch";
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
    // Each start that waits is an open file, and the kernel refuses to execute what it cannot open here.
    raise_file_limit();
    keep_in_memory();
    // Without the privilege it waits its turn, as others do.
    let _ = run_first();
    let judge = Judge::new(settings.rules, settings.own);
    // From the first mark on somebody may wait.
    let heartbeat = Heartbeat::begin()?;
    let (source, because) = Source::open(settings.mechanism)?;
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
    let now = Instant::now();
    let mut watcher = Watcher {
        shared,
        source,
        heartbeat,
        tended: now,
        tasks,
        batch: Vec::new(),
        file_roles: FileRoles::default(),
        failures: Failures::default(),
        began: now,
        reported: (now, 0),
    };
    while watcher.look(&mut input)? {
        if watcher.tended.elapsed() >= RENEWAL && (mover.is_finished() || !watcher.tend(&mut input)?) {
            break;
        }
    }
    watcher.report();
    watcher.shared.waiting.release_after(Duration::ZERO);
    Ok(())
}

struct Watcher {
    shared: Arc<Shared>,
    source: Source,
    heartbeat: Heartbeat,
    /// When it did last what is to be done from time to time.
    tended: Instant,
    tasks: Sender<Task>,
    /// Room for starts that are read at once.
    batch: Vec<PendingStart>,
    file_roles: FileRoles,
    /// How many starts in a row could not be read.
    failures: Failures,
    began: Instant,
    /// When it reported last, and how many programs it had seen then.
    reported: (Instant, u64),
}

impl Watcher {
    /// Waits for starts, and takes them. Returns false if its supervisor has ended.
    fn look(&mut self, input: &mut BufReader<File>) -> Result<bool, Fault> {
        let is_waited_for = !self.shared.waiting.is_empty();
        // A start costs one system call less if nothing else is waited for.
        if self.source.waits() && !is_waited_for {
            self.take()?;
            return Ok(true);
        }
        let tick = if is_waited_for { SHORT_TICK } else { TICK };
        let ready = wait_readable(&[&self.source, input.get_ref()], Some(tick))
            .map_err(|e| cannot("wait for programs", &e))?;
        if ready[0] {
            self.take()?;
        }
        Ok(!ready[1] || self.read(input))
    }

    /// Takes the starts that there are.
    fn take(&mut self) -> Result<(), Fault> {
        match &self.source {
            Source::Fanotify(starts, _) => {
                let mut batch = std::mem::take(&mut self.batch);
                if let Err(e) = starts.read(&mut batch) {
                    self.batch = batch;
                    return self.fail(&e);
                }
                let now = Instant::now();
                for start in batch.drain(..) {
                    self.failures.clear();
                    self.answer(start, now);
                    self.heartbeat.renew()?;
                }
                self.batch = batch;
            }
            Source::ProcessEvents(events) => {
                let pids = events.read().map_err(|e| cannot("read starts of programs", &e))?;
                let now = Instant::now();
                for pid in pids {
                    self.follow(pid, now);
                    self.heartbeat.renew()?;
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

    /// Lets a start continue, or wait for its group.
    fn answer(&mut self, start: PendingStart, since: Instant) {
        let role = self.file_roles.note(&start);
        match role {
            FileRole::Program | FileRole::Interpreter => {}
            FileRole::Loader => {
                // It would be held for each program once more.
                if let Source::Fanotify(starts, _) = &self.source {
                    let _ = starts.ignore(&start);
                }
                return;
            }
            // It does not wait twice. The script is still to be moved.
            FileRole::LateInterpreter => return,
        }
        let pid = start.pid();
        let counted = |outcome| {
            if role == FileRole::Program {
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
                if role == FileRole::Interpreter {
                    // Its script was counted as left.
                    self.shared.change(|tally| tally.left = tally.left.saturating_sub(1));
                }
                let program = start.path().map(|path| path.display().to_string()).unwrap_or_default();
                self.shared.waiting.add(start, since);
                self.put(Job { pid, goal, program, discovery: Discovery::WaitingStart });
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
                self.put(Job { pid, goal, program, discovery: Discovery::ProcessEvent });
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
                    if let Ok(answer) = serde_json::from_str::<Answer>(&line) {
                        // Without the thread the loop ends.
                        let _ = self.tasks.send(Task::Answered(answer));
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

    /// Does what is to be done from time to time. Returns false if its supervisor has ended.
    fn tend(&mut self, input: &mut BufReader<File>) -> Result<bool, Fault> {
        self.tended = Instant::now();
        self.heartbeat.renew()?;
        for pid in self.shared.waiting.release_after(LONGEST_WAIT) {
            self.file_roles.give_up(pid);
            self.shared.count(Outcome::Missed, Duration::ZERO);
        }
        self.source.mark_new().into_iter().for_each(|line| self.shared.outbox.note(line));
        if self.reported.0.elapsed() >= REPORT_INTERVAL && self.has_news() {
            self.report();
        }
        let ready = wait_readable(&[input.get_ref()], Some(Duration::ZERO))
            .map_err(|e| cannot("wait for the supervisor", &e))?;
        Ok((!ready[0] || self.read(input)) && self.shared.outbox.flush())
    }

    fn has_news(&self) -> bool {
        self.shared.tally.lock().unwrap_or_else(PoisonError::into_inner).seen() > self.reported.1
    }

    /// Reports what was done so far.
    fn report(&mut self) {
        let cpu = Duration::from_nanos(process_cpu_ns());
        let tally: Tally = {
            let mut tally = self.shared.tally.lock().unwrap_or_else(PoisonError::into_inner);
            (tally.cpu, tally.ran) = (cpu, self.began.elapsed());
            tally.clone()
        };
        self.reported = (Instant::now(), tally.seen());
        self.shared.outbox.send(&Message::Tally(Box::new(tally)));
    }
}
