//! A kernel on one rank, in real time, printed once it has verified: `kernel_rank KERNEL CLASS` prints its seconds and its
//! Mop/s, `kernel_rank hpl NAME=VALUE…` its seconds and its Gflop/s.

use std::env;
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use crosstalk_comm::listen;
use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Origin, Reading};
use crosstalk_core::units::Seconds;
use crosstalk_core::value::{Params, Value};
use crosstalk_kernels::{Spec, hpl, run};

fn main() -> ExitCode {
    match measure() {
        Ok((seconds, mops)) => {
            println!("{seconds:e} {mops:e}");
            ExitCode::SUCCESS
        }
        Err(fault) => {
            eprintln!("kernel_rank: {fault}");
            ExitCode::from(fault.kind.exit_code())
        }
    }
}

fn measure() -> Result<(f64, f64), Fault> {
    let words: Vec<String> = env::args().skip(1).collect();
    let usage = || Fault::usage("expected KERNEL CLASS, or hpl NAME=VALUE…");
    let linpack = words.first().is_some_and(|word| word == "hpl");
    let mut params = Params::default();
    if linpack {
        for word in &words[1..] {
            let (name, value) = word.split_once('=').ok_or_else(usage)?;
            params = params.with(name, Value::from_word(value));
        }
    } else {
        let [kernel, class] = words.as_slice() else { return Err(usage()) };
        params = params.with("kernel", kernel.as_str()).with("class", class.as_str());
    }
    let listener = listen(Ipv4Addr::LOCALHOST.into())?;
    let part = Part {
        workload: "npb".into(),
        params: params.clone(),
        node: 0,
        nodes: 1,
        addresses: vec![Ipv4Addr::LOCALHOST.into()],
        emulation: None,
        deadline: Seconds(3600.0),
        shared: None,
        scratch: env::temp_dir(),
        artifacts: None,
        seed: 1,
    };
    let endpoints = [Some(listener.endpoint())];
    let never = AtomicBool::new(false);
    let rank = listener.connect(&part, &endpoints, &never)?;
    let mut readings: Vec<Reading> = Vec::new();
    match linpack {
        true => hpl::run(&hpl::Spec::from_params(&params)?, Origin::Measured, rank, &mut readings)?,
        false => run(&Spec::from_params(&params)?, Origin::Measured, rank, &mut readings)?,
    };
    let of = |metric: &str| {
        readings.iter().find(|reading| reading.metric == metric).and_then(Reading::number).unwrap_or_default()
    };
    Ok((of("completion_time"), of(if linpack { "gflops" } else { "mops" })))
}
