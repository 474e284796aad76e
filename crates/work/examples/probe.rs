//! The probes without the rest of Crosstalk, for the benches:
//!
//! ```text
//! probe latency   --listen ADDR
//! probe latency   [--to ADDR] [NAME=VALUE]…
//! probe bandwidth [--to ADDR] [NAME=VALUE]…
//! ```
//!
//! Prints one reading a line as JSON. Without `--to` both ends are on this host.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use crosstalk_core::Fault;
use crosstalk_core::record::Reading;
use crosstalk_core::units::Seconds;
use crosstalk_core::value::{Params, Value};
use crosstalk_work::probe::{Times, Until, bandwidth, here, latency, listen, serve};

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault}");
            fault.kind.exit_code().into()
        }
    }
}

fn run(mut words: Vec<String>) -> Result<(), Fault> {
    let never = AtomicBool::new(false);
    let until = Until::new(Seconds(3600.0), &never);
    let listen_at = option(&mut words, "--listen")?;
    let target = option(&mut words, "--to")?;
    if let Some(addr) = listen_at {
        return serve(&listen(addr)?, Times::Forever, &until, &mut |fault| eprintln!("{fault}"));
    }
    let mut words = words.into_iter();
    let kind = words.next().unwrap_or_default();
    let params = words.try_fold(Params::default(), |params, word| match word.split_once('=') {
        Some((name, value)) => Ok(params.with(name, Value::from_word(value))),
        None => Err(Fault::usage(format!("expected NAME=VALUE, found `{word}`"))),
    })?;
    let measure = |target| -> Result<Vec<(Reading, u64)>, Fault> {
        Ok(match kind.as_str() {
            "latency" => {
                let spec = latency::Spec::from_params(&params)?;
                latency::measure(target, &spec, &until)?.iter().flat_map(latency::Outcome::readings).collect()
            }
            "bandwidth" => {
                let spec = bandwidth::Spec::from_params(&params)?;
                bandwidth::measure(target, &spec, &until)?
                    .iter()
                    .flat_map(bandwidth::Outcome::readings)
                    .collect()
            }
            other => return Err(Fault::usage(format!("expected latency or bandwidth, found `{other}`"))),
        })
    };
    let readings = match target {
        Some(target) => measure(target)?,
        None => here(&until, measure)?,
    };
    for (reading, n) in readings {
        println!("{}", serde_json::json!({ "n": n, "reading": reading }));
    }
    Ok(())
}

/// Takes `name ADDR` out of `words`.
fn option(words: &mut Vec<String>, name: &str) -> Result<Option<SocketAddr>, Fault> {
    let Some(at) = words.iter().position(|w| w == name) else {
        return Ok(None);
    };
    words.remove(at);
    let text = if at < words.len() { words.remove(at) } else { String::new() };
    let addr = text.parse().map_err(|_| {
        Fault::usage(format!("expected an address, found `{text}`"))
            .at(name)
            .remedy("for example 10.0.0.1:7000")
    })?;
    Ok(Some(addr))
}
