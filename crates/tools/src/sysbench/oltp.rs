//! `sysbench oltp_read_write` on MariaDB as a workload.

use std::sync::atomic::AtomicBool;

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::{Deployment, Effort, Prepared, Sink, Timing};
use crosstalk_core::units::{Bytes, Seconds};

use super::mariadb::{Server, Tables};
use super::output::OltpOutput;
use super::run::sysbench;
use crate::external::program_needs;
use crosstalk_work::peer::Deadline;
use crosstalk_work::{Declared, prepare_alone, threads};

const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new("threads", "8", "clients, each with one transaction after the other"),
    Parameter::new("duration", "10 s", "how long they run"),
    Parameter::new("tables", "4", "tables"),
    Parameter::new("rows", "10000", "rows in each"),
    Parameter::new("memory", "64 MiB", "the server's memory for pages (innodb_buffer_pool_size)"),
]]);

/// The workload `oltp`: `sysbench oltp_read_write` on MariaDB.
pub const OLTP: Declared<Spec> = Declared {
    name: "oltp",
    title: "Foreground work: sysbench's transactions on a MariaDB server",
    parameters: PARAMETERS,
    read: |params| {
        params.refuse_unknown(PARAMETERS)?;
        let threads = match params.get("threads") {
            None => 8,
            Some(_) => threads(params, "threads", 1)?,
        };
        Ok(Spec {
            threads,
            duration: params.seconds("duration", Seconds(10.0))?,
            tables: Tables {
                count: params.bounded("tables", 4, 1, 1000)?,
                rows: params.bounded("rows", 10_000, 1, 1 << 30)?,
                memory: params.size("memory", Bytes(64 << 20))?.0,
            },
        })
    },
    deploy: |spec| Deployment {
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
            startup: 6.0 + spec.tables.rows as f64 * spec.tables.count as f64 * 1e-5,
            ..Effort::waiting(spec.duration.0)
        },
    },
    needs: |_| program_needs(&["sysbench", "mariadbd", "mariadb-install-db", "mariadb"]),
    prepare: |spec, part: &Part| -> Result<Box<dyn Prepared>, Fault> {
        let (deadline, server) = (part.deadline, Server::with_tables(&spec.tables, part)?);
        Ok(prepare_alone(move |out, cancelled| spec.run(server, deadline, out, cancelled)))
    },
};

/// The load of the workload `oltp`, and the tables that it is put on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spec {
    threads: usize,
    duration: Seconds,
    tables: Tables,
}

impl Spec {
    fn run(
        self,
        server: Server,
        deadline: Seconds,
        out: &mut dyn Sink,
        cancelled: &AtomicBool,
    ) -> Result<(), Fault> {
        let until = Deadline::new(deadline, cancelled);
        let mut arguments = server.sysbench_arguments();
        arguments.extend([
            format!("--threads={}", self.threads),
            format!("--time={}", self.duration.0.ceil()),
            "--events=0".to_string(),
            "--percentile=99".to_string(),
            // Transactions that collide are retried.
            "--mysql-ignore-errors=1213,1020,1205".to_string(),
            "run".to_string(),
        ]);
        let printed = until.interruption_or(sysbench(&arguments, &until))?;
        // A server on which a test has failed is not kept.
        let output = OltpOutput::parse(&printed)?;
        server.keep_for_next();
        let mut report =
            |metric: &str, value: f64, n: u64| out.take(Reading::value(metric, value, Origin::Measured), n);
        report("requests", output.requests as f64, 1)?;
        report("request_rate", output.requests as f64 / output.seconds, output.requests)?;
        report("transaction_rate", output.transactions as f64 / output.seconds, output.transactions)?;
        report("transaction_p99", output.p99, output.transactions)?;
        report("repeated", output.repeated as f64, 1)
    }
}
