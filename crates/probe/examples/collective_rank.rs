//! One rank of the workload `collective` in real time, without agents: a bench runs one on each end of its wire.
//!
//! `collective_rank ID ENDPOINT,ENDPOINT… NAME=VALUE…`: the rank's number, where every rank listens, and the workload's
//! parameters. It prints `listening`, waits for a line of input, which says that all ranks listen, and runs. Rank 0 prints
//! a line `SIZE SECONDS` for each size, and where each call has a time a line `p50 SIZE SECONDS` of its median.

use std::env;
use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use crosstalk_comm::listen_at;
use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Observation, Reading};
use crosstalk_core::units::Seconds;
use crosstalk_core::value::{Params, Value};
use crosstalk_probe::collective::{self, Spec};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("collective_rank: {fault}");
            ExitCode::from(fault.kind.exit_code())
        }
    }
}

fn run() -> Result<(), Fault> {
    let mut words = env::args().skip(1);
    let usage = || Fault::usage("expected ID ENDPOINT,ENDPOINT… NAME=VALUE…");
    let node: usize = words.next().and_then(|word| word.parse().ok()).ok_or_else(usage)?;
    let endpoints: Vec<SocketAddr> = words
        .next()
        .and_then(|word| word.split(',').map(|endpoint| endpoint.parse().ok()).collect())
        .ok_or_else(usage)?;
    let mut params = Params::default();
    for word in words {
        let (name, value) = word.split_once('=').ok_or_else(usage)?;
        let values: Vec<Value> = value.split(',').map(Value::from_word).collect();
        params = params.with(name, if values.len() == 1 { values[0].clone() } else { Value::List(values) });
    }
    let spec = Spec::from_params(&params)?;
    let own = *endpoints.get(node).ok_or_else(usage)?;
    let part = Part {
        workload: "collective".into(),
        params,
        node,
        nodes: endpoints.len(),
        addresses: endpoints.iter().map(SocketAddr::ip).collect(),
        emulation: None,
        deadline: Seconds(spec.seconds() * 4.0 + 30.0),
        shared: None,
        keep_schedule: false,
        scratch: env::temp_dir(),
        artifacts: None,
        seed: 1,
    };
    let never = AtomicBool::new(false);
    let endpoints: Vec<_> = endpoints.into_iter().map(Some).collect();
    let listener = listen_at(own)?;
    println!("listening");
    io::stdin().lines().next();
    let rank = listener.connect(&part, &endpoints, &never)?;
    let mut readings: Vec<Reading> = Vec::new();
    collective::run(&spec, false, rank, &mut readings)?;
    for reading in &readings {
        let size = reading.labels.get("size").map_or("0", String::as_str);
        match (reading.metric.as_str(), &reading.observation) {
            ("time", Observation::Value(seconds)) => println!("{size} {seconds:e}"),
            ("call_time", Observation::Histogram(calls)) => {
                println!("p50 {size} {:e}", calls.quantile(0.5).unwrap_or_default() * 1e-9);
            }
            _ => {}
        }
    }
    Ok(())
}
