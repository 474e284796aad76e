//! sysbench, as own work: its CPU test, and transactions on a MariaDB server that is started for
//! it (`oltp_read_write`).
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `run_time` | s | of `sysbench`: until all events are done |
//! | `event_rate` | /s | of `sysbench` |
//! | `requests` | requests | of `oltp`: statements that read or wrote, in its whole time |
//! | `request_rate` | /s | the same a second |
//! | `transaction_rate` | /s | of `oltp` |
//! | `transaction_p99` | s | of `oltp`: 99 % of the transactions took no longer |
//! | `repeated` | – | of `oltp`: transactions that collided with others and were begun again |
//!
//! The server has a directory and a socket of its own, no port, its own defaults, and as much
//! memory for pages as is asked for. It stays for the attempts that follow with the same tables.

mod mariadb;
mod run;
mod told;

use std::sync::atomic::AtomicBool;

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::{Deployment, Effort, Prepared, Sink, Timing};
use crosstalk_core::units::{Bytes, Seconds};

use crate::primes;
use crosstalk_work::Declared;
use crosstalk_work::alone;
use crosstalk_work::peer::Until;
use crosstalk_work::threads;
use mariadb::{Server, Tables};
use run::{needs, sysbench};
use told::{Cpu, Oltp as Told};

pub use mariadb::close;

/// `sysbench cpu`.
pub const SYSBENCH: Declared<CpuTest> = Declared {
    name: "sysbench",
    title: "sysbench's CPU test",
    parameters: primes::PARAMETERS,
    read: CpuTest::read,
    deploy: |test| Deployment {
        nodes: 1,
        timing: Timing::Real,
        metrics: vec![
            Metric::new("run_time", "s", Better::Lower),
            Metric::new("event_rate", "/s", Better::Higher),
        ],
        effort: test.effort(),
    },
    needs: |_| needs(&["sysbench"]),
    prepare: |test, part: &Part| -> Result<Box<dyn Prepared>, Fault> {
        let ready = Ready { test, deadline: part.deadline };
        Ok(alone(|out, cancelled| ready.compute(out, cancelled)))
    },
};

/// What the CPU test is to do: the same that ours does.
type CpuTest = primes::Spec;

const OLTP_PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new("threads", "8", "that ask, one transaction after the other"),
    Parameter::new("duration", "10 s", "of asking"),
    Parameter::new("tables", "4", "tables"),
    Parameter::new("rows", "10000", "rows in each"),
    Parameter::new("memory", "64 MiB", "that the server keeps pages in (innodb_buffer_pool_size)"),
]]);

/// `sysbench oltp_read_write` on MariaDB.
pub const OLTP: Declared<OltpTest> = Declared {
    name: "oltp",
    title: "sysbench's transactions on a MariaDB server",
    parameters: OLTP_PARAMETERS,
    read: |params| {
        params.only(OLTP_PARAMETERS)?;
        let threads = match params.get("threads") {
            None => 8,
            Some(_) => threads(params, "threads", 1)?,
        };
        Ok(OltpTest {
            threads,
            duration: params.seconds("duration", Seconds(10.0))?,
            tables: Tables {
                count: params.bounded("tables", 4, 1, 1000)?,
                rows: params.bounded("rows", 10_000, 1, 1 << 30)?,
                memory: params.size("memory", Bytes(64 << 20))?.0,
            },
        })
    },
    deploy: |test| Deployment {
        nodes: 1,
        timing: Timing::Real,
        metrics: vec![
            Metric::new("requests", "requests", Better::Higher),
            Metric::new("request_rate", "/s", Better::Higher),
            Metric::new("transaction_rate", "/s", Better::Higher),
            Metric::new("transaction_p99", "s", Better::Lower),
            Metric::new("repeated", "", Better::Lower),
        ],
        effort: Effort {
            once: 6.0 + test.tables.rows as f64 * test.tables.count as f64 * 1e-5,
            ..Effort::waiting(test.duration.0)
        },
    },
    needs: |_| needs(&["sysbench", "mariadbd", "mariadb-install-db", "mariadb"]),
    prepare: |test, part: &Part| -> Result<Box<dyn Prepared>, Fault> {
        let ready = Ready { test, deadline: part.deadline }.on(Server::of(&test.tables, part)?);
        Ok(alone(|out, cancelled| ready.ask(out, cancelled)))
    },
};

/// What is to be asked of the server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OltpTest {
    threads: usize,
    duration: Seconds,
    tables: Tables,
}

/// A test that knows when to give up.
struct Ready<T> {
    test: T,
    deadline: Seconds,
}

impl<T> Ready<T> {
    fn on(self, server: Server) -> OnServer<T> {
        OnServer { ready: self, server }
    }
}

/// One that has its server.
struct OnServer<T> {
    ready: Ready<T>,
    server: Server,
}

fn value(metric: &str, value: f64) -> Reading {
    Reading::value(metric, value, Origin::Measured)
}

impl Ready<CpuTest> {
    fn compute(self, out: &mut dyn Sink, cancelled: &AtomicBool) -> Result<(), Fault> {
        let until = Until::new(self.deadline, cancelled);
        let CpuTest { threads, limit, events } = self.test;
        let words = [
            "cpu".to_string(),
            format!("--threads={threads}"),
            format!("--cpu-max-prime={limit}"),
            format!("--events={events}"),
            // Until all events are done.
            "--time=0".to_string(),
            "run".to_string(),
        ];
        let told = Cpu::parse(&until.blame(sysbench(&words, &until))?)?;
        out.take(value("run_time", told.seconds), 1)?;
        out.take(value("event_rate", told.events as f64 / told.seconds), told.events)
    }
}

impl OnServer<OltpTest> {
    fn ask(self, out: &mut dyn Sink, cancelled: &AtomicBool) -> Result<(), Fault> {
        let until = Until::new(self.ready.deadline, cancelled);
        let test = &self.ready.test;
        let mut words = self.server.words();
        words.extend([
            format!("--threads={}", test.threads),
            format!("--time={}", test.duration.0.ceil()),
            "--events=0".to_string(),
            "--percentile=99".to_string(),
            // Those that collide are begun again.
            "--mysql-ignore-errors=1213,1020,1205".to_string(),
            "run".to_string(),
        ]);
        let told = until.blame(sysbench(&words, &until));
        // A server that a test has failed on is not kept.
        let told = Told::parse(&told?)?;
        self.server.keep();
        out.take(value("requests", told.requests as f64), 1)?;
        out.take(value("request_rate", told.requests as f64 / told.seconds), told.requests)?;
        out.take(value("transaction_rate", told.transactions as f64 / told.seconds), told.transactions)?;
        out.take(value("transaction_p99", told.p99), told.transactions)?;
        out.take(value("repeated", told.repeated as f64), 1)
    }
}
