//! `crosstalk probe KIND`: one instrument, now.

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::record::Reading;
use crosstalk_core::testbed::Link;
use crosstalk_core::units::Seconds;
use crosstalk_core::value::{Params, Value};
use crosstalk_study::plan::{Place, Scene, Work};
use crosstalk_testbed::{Launcher, Virtual};
use crosstalk_work::probe::{Times, Until, bandwidth, latency, listen, serve};
use serde_json::json;

use crate::args::{Probe, ProbeArgs};
use crate::out::Out;
use crate::{catalogue, parts, signal};

/// A probe's other end serves this long at most: a forgotten one ends by itself.
const SERVE: Seconds = Seconds(24.0 * 3600.0);
/// What starting up and answering may take beside the measuring itself.
const SLACK: f64 = 30.0;

pub fn main(args: ProbeArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    if let Some(address) = &args.listen {
        let listener = listen(resolve(address, "--listen")?)?;
        out.say(&format!("serving at {address} until interrupted"));
        let until = Until::new(SERVE, &interrupted);
        serve(&listener, Times::Forever, &until, &mut |fault| eprintln!("crosstalk: {fault}"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let params = params(&args)?;
    let seconds = seconds(&args, &params)? * 4.0 + SLACK;
    let readings = match &args.to {
        Some(address) => {
            let until = Until::new(Seconds(seconds), &interrupted);
            measure(args.kind, resolve(address, "--to")?, &params, &until)?
        }
        None => between_virtual_nodes(&args, &params, Duration::from_secs_f64(seconds), &interrupted)?,
    };
    out.say(&crate::readings::text(&readings, &units(&args, &params)?));
    let readings: Vec<_> = readings.iter().map(|(r, n)| json!({ "reading": r, "n": n })).collect();
    out.tell(&json!({ "result": "probe", "readings": readings }));
    Ok(ExitCode::SUCCESS)
}

fn resolve(address: &str, flag: &str) -> Result<SocketAddr, Fault> {
    address.to_socket_addrs().ok().and_then(|mut found| found.next()).ok_or_else(|| {
        Fault::usage(format!("expected HOST:PORT, found `{address}`"))
            .at(flag)
            .remedy("write for example 10.0.0.2:7700")
    })
}

fn params(args: &ProbeArgs) -> Result<Params, Fault> {
    let mut params =
        Params::default().with("transport", args.transport.as_str()).with("duration", args.time.as_str());
    if !args.size.is_empty() {
        params = params.with("size", Value::List(args.size.iter().map(|s| Value::from_word(s)).collect()));
    }
    if !args.pin.is_empty() {
        params = params.with("pin", Value::List(args.pin.iter().map(|c| Value::Int(*c as i64)).collect()));
    }
    if args.kind == Probe::Latency {
        params = params.with("mode", if args.poll { "polling" } else { "blocking" });
    } else if args.poll {
        return Err(Fault::usage("a stream is not polled").at("--poll"));
    }
    Ok(params)
}

/// How long the measuring itself takes.
fn seconds(args: &ProbeArgs, params: &Params) -> Result<f64, Fault> {
    Ok(match args.kind {
        Probe::Latency => latency::Spec::from_params(params)?.seconds(),
        Probe::Bandwidth => bandwidth::Spec::from_params(params)?.seconds(),
    })
}

fn measure(
    kind: Probe,
    target: SocketAddr,
    params: &Params,
    until: &Until,
) -> Result<Vec<(Reading, u64)>, Fault> {
    Ok(match kind {
        Probe::Latency => {
            let spec = latency::Spec::from_params(params)?;
            latency::measure(target, &spec, until)?.iter().flat_map(latency::Outcome::readings).collect()
        }
        Probe::Bandwidth => {
            let spec = bandwidth::Spec::from_params(params)?;
            bandwidth::measure(target, &spec, until)?.iter().flat_map(bandwidth::Outcome::readings).collect()
        }
    })
}

fn between_virtual_nodes(
    args: &ProbeArgs,
    params: &Params,
    deadline: Duration,
    interrupted: &Arc<AtomicBool>,
) -> Result<Vec<(Reading, u64)>, Fault> {
    let link = match args.fabric.as_str() {
        "none" => Link::Unshaped,
        name => Link::Rate(catalogue::catalogues(&[])?.find_fabric(name)?.rate),
    };
    let scene = Scene {
        work: BTreeMap::from([(
            "probe".into(),
            Work { kind: args.kind.workload().into(), params: params.clone() },
        )]),
        place: Place::Real { fabric: args.fabric.clone(), link, scale: 1.0, nodes: 2 },
        conditions: BTreeMap::new(),
        observe: Vec::new(),
    };
    let bed = Virtual::new(Launcher::current()).until(interrupted);
    crosstalk_lab::once(&parts::registry(), &bed, &scene, deadline, interrupted)
}

/// Metric → unit, as the workload declares them.
fn units(args: &ProbeArgs, params: &Params) -> Result<BTreeMap<String, String>, Fault> {
    let deployment = parts::registry().workload(args.kind.workload())?.deploy(params)?;
    Ok(deployment.metrics.into_iter().map(|m| (m.name, m.unit)).collect())
}
