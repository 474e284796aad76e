//! The processes that have the ends: this program again, or one in C that it carries.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_comm::carried::Program;
use crosstalk_comm::dpdk;
use crosstalk_core::Fault;
use crosstalk_host::Launcher;
use crosstalk_host::cpu::Pinned;
use crosstalk_host::ticks::Ticks;

use super::end::{Found, hear};
use super::ground::DEVICE;
use super::spec::{Order, Role, Transport};
use crosstalk_work::peer::Until;
use crosstalk_work::peer::socket::readable;

/// How long an end may take until it is ready: DPDK takes about a second.
const START: Duration = Duration::from_secs(30);

/// How long an end that has told what it found may take to give its devices back.
const END: Duration = Duration::from_secs(2);

/// And one that has closed what it tells with, until its end is known.
const DYING: Duration = Duration::from_millis(500);

/// The verb under which this program has an end.
pub const VERB: &str = "end";

/// An end's process, ended with the drop.
pub struct Process<'a> {
    child: Child,
    /// While it is open, an end in C that has told what it found stays: the other one may not be
    /// able to go on without it.
    orders: Option<ChildStdin>,
    /// Whether it has told what it found, and so ends by itself.
    done: bool,
    told: BufReader<Told<'a>>,
    most: usize,
}

/// What a process writes, waited for as long as one may.
struct Told<'a> {
    stdout: ChildStdout,
    until: Until<'a>,
}

impl Read for Told<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        readable(&self.stdout, &self.until, "an end of the wire").map_err(io::Error::other)?;
        self.stdout.read(into)
    }
}

impl<'a> Process<'a> {
    /// Starts an end, on processor `cpu` only, and waits until it is ready.
    ///
    /// # Errors
    /// What the end says is refused.
    pub fn start(order: &Order, cpu: usize, until: &Until<'a>) -> Result<Self, Fault> {
        // In memory for as long as it takes to start it.
        let carried = order.transport.program();
        let program = carried.map(|carried| {
            carried.load().map_err(|e| Fault::environment(format!("cannot use {}: {e}", carried.what)))
        });
        let program = program.transpose()?;
        let (mut command, orders) = match &program {
            Some(program) => (words(program, order), String::new()),
            None => {
                let order = serde_json::to_string(order).map_err(|e| Fault::environment(e.to_string()))?;
                (Launcher::current().command(VERB), order)
            }
        };
        // What a thread starts runs where the thread may.
        let pinned = Pinned::begin(cpu)?;
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        drop(pinned);
        let mut child =
            child.map_err(|e| Fault::environment(format!("an end of the wire does not start: {e}")))?;
        let mut stdin = child.stdin.take();
        if let Some(stdin) = &mut stdin {
            // One that has gone already says why below.
            let _ = writeln!(stdin, "{orders}");
        }
        let stdout = child.stdout.take().ok_or_else(|| Fault::environment("a process without output"))?;
        let told = BufReader::new(Told { stdout, until: until.within(START) });
        let mut process = Process { child, orders: stdin, done: false, told, most: order.most };
        let mut ready = String::new();
        let read = process.told.read_line(&mut ready);
        if read.is_err() || ready.trim() != "ready" {
            return Err(process.complaint());
        }
        process.told.get_mut().until = *until;
        Ok(process)
    }

    /// What it found. It goes with the drop.
    pub fn result(&mut self) -> Result<Found, Fault> {
        let found = hear(&mut self.told, self.most).map_err(|_| self.complaint())?;
        self.done = true;
        Ok(found)
    }

    /// A fault if it has ended: one that answers does not, until it is told to.
    pub fn still_runs(mut self) -> Result<(), Fault> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            _ => Err(self.complaint()),
        }
    }

    /// Why it ended, or that it was waited for in vain.
    fn complaint(&mut self) -> Fault {
        if let (Ok(None), Err(fault)) =
            (self.child.try_wait(), self.told.get_ref().until.check("an end of the wire"))
        {
            return fault;
        }
        let signal = self.ended_within(DYING).and_then(|status| status.signal());
        let _ = self.child.kill();
        let mut said = String::new();
        if let Some(stderr) = self.child.stderr.take() {
            // It has ended, and what it wrote is there.
            let _ = stderr.take(1 << 16).read_to_string(&mut said);
        }
        Fault::attempt(match (why(&said), signal) {
            (_, Some(signal)) => format!("an end of the wire ended early, by signal {signal}"),
            (Some(why), None) => format!("an end of the wire ended early: {why}"),
            (None, None) => "an end of the wire ended early, and does not say why".to_string(),
        })
    }

    /// How it ended, if it does within the time.
    fn ended_within(&mut self, time: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + time;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(2)),
                ended => return ended.ok().flatten(),
            }
        }
    }
}

impl Drop for Process<'_> {
    fn drop(&mut self) {
        self.orders = None;
        if self.done {
            self.ended_within(END);
        }
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What an end said last: of this program a fault with its remedy, of one in C a line.
fn why(said: &str) -> Option<String> {
    // DPDK complains of what it can do without, too.
    let noise = |line: &str| line.is_empty() || line.starts_with("EAL: ");
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !noise(line)).collect();
    let own = lines.iter().rposition(|line| line.starts_with("crosstalk: "));
    let last = &lines[own.unwrap_or(lines.len().saturating_sub(1))..];
    let said = last.join("; ");
    (!said.is_empty()).then(|| said.trim_start_matches("crosstalk: ").to_string())
}

/// The program in C, with its words (`ends/end.h` in `comm`).
fn words(program: &Program, order: &Order) -> Command {
    let place = |end: usize| {
        let path = order.ends[end].display();
        match order.transport {
            Transport::DpdkMemif => format!("{},{path}", if end == 0 { "client" } else { "server" }),
            Transport::DpdkPci | Transport::Rdma => path.to_string(),
            _ => format!("{DEVICE},{path}"),
        }
    };
    let mut command = program.command();
    match order.huge {
        true => command.env(dpdk::HUGE, "1"),
        false => command.env_remove(dpdk::HUGE),
    };
    let hertz = Ticks::find().counter().unwrap_or(0.0);
    let numbers =
        [order.size.to_string(), order.duration.to_string(), order.most.to_string(), hertz.to_string()];
    let how = order.transport.driver().unwrap_or(order.mode.name());
    command.arg(order.role.name()).args(numbers).arg(how);
    match order.role {
        Role::Alone | Role::Stages => command.args([place(0), place(1)]),
        Role::Asks | Role::Floods => command.arg(place(0)),
        Role::Answers | Role::Counts => command.arg(place(1)),
    };
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_told_with_its_remedy_and_a_line_as_it_is() {
        let fault = "crosstalk: cannot enter it: not permitted\n  try: run as root\n";
        assert_eq!(why(fault).as_deref(), Some("cannot enter it: not permitted; try: run as root"));
        assert_eq!(why("port 0 has no link\nEAL: noise\n\n").as_deref(), Some("port 0 has no link"));
        assert_eq!(why("EAL: noise\n"), None);
    }
}
