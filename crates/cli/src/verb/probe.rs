//! `crosstalk probe KIND`: one instrument, now.

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::record::Reading;
use crosstalk_core::testbed::{Link, Testbed};
use crosstalk_core::units::{BitRate, Seconds};
use crosstalk_core::value::{Params, Value};
use crosstalk_study::plan::{Place, Scene, Work};
use crosstalk_testbed::{Launcher, Local, Virtual};
use crosstalk_work::probe::{Times, Until, bandwidth, latency, listen, load, serve};
use serde_json::json;

use crate::args::{MachineArgs, Probe, ProbeArgs, WireArgs};
use crate::out::{Out, complain};
use crate::{catalogue, parts, readings, signal};

/// A probe's other end serves this long at most: a forgotten one ends by itself.
const SERVE: Seconds = Seconds(24.0 * 3600.0);
/// What starting up and answering may take beside the measuring itself.
const SLACK: f64 = 30.0;

/// Readings, each with how many observations it stands for.
type Readings = Vec<(Reading, u64)>;

/// What is measured: a workload with its parameters.
struct Asked {
    kind: &'static str,
    params: Params,
}

pub fn main(args: &ProbeArgs, out: &Out) -> Result<ExitCode, Fault> {
    match &args.kind {
        Probe::Latency(latency) => {
            let mode = if latency.poll { "polling" } else { "blocking" };
            let params = wired(&latency.wire)?.with("mode", mode).with("stages", latency.stages);
            between(&latency.wire, Asked { kind: "latency", params }, out)
        }
        Probe::Load(load) => {
            let mode = if load.poll { "polling" } else { "blocking" };
            let mut params = wired(&load.wire)?.with("mode", mode);
            if !load.rate.is_empty() {
                params =
                    params.with("rate", Value::List(load.rate.iter().map(|r| Value::Float(*r)).collect()));
            }
            between(&load.wire, Asked { kind: "load", params }, out)
        }
        Probe::Bandwidth(wire) => between(wire, Asked { kind: "bandwidth", params: wired(wire)? }, out),
        Probe::Memory(machine) => own_machine("memory", machine, out),
        Probe::Cores(machine) => own_machine("cores", machine, out),
        Probe::Kernel(machine) => own_machine("kernel", machine, out),
        Probe::Pcie(machine) => own_machine("pcie", machine, out),
        Probe::Wire(machine) => own_machine("wire", machine, out),
    }
}

/// An instrument with two ends.
fn between(wire: &WireArgs, asked: Asked, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    if let Some(address) = &wire.listen {
        let listener = listen(resolve(address, "--listen")?)?;
        out.say(&format!("serving at {address} until interrupted"));
        let until = Until::new(SERVE, &interrupted);
        serve(&listener, Times::Forever, &until, &mut |fault| complain(&fault.to_string()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let limit = limit(&asked)?;
    let found = match &wire.to {
        Some(address) => {
            let until = Until::new(Seconds(limit.as_secs_f64()), &interrupted);
            measure(&asked, resolve(address, "--to")?, &until)?
        }
        None => {
            let bed = Virtual::new(Launcher::current()).until(&interrupted);
            scene(&asked, place(wire)?, &bed, limit, &interrupted)?
        }
    };
    tell(&asked, &found, out)
}

/// An instrument that measures the machine it runs on.
fn own_machine(kind: &'static str, machine: &MachineArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    let mut params = Params::default();
    for text in &machine.set {
        let (name, value) = crosstalk_study::setting(text).map_err(|fault| {
            fault.remedy(format!(
                "write for example --set pin=0; `crosstalk show workloads/{kind}` tells which there are"
            ))
        })?;
        params = params.with(&name, value);
    }
    let asked = Asked { kind, params };
    let limit = limit(&asked)?;
    let here = Place::Real { fabric: "none".into(), link: Link::Unshaped, scale: 1.0, nodes: 1 };
    let found = scene(&asked, here, &Local::new(Launcher::current()), limit, &interrupted)?;
    tell(&asked, &found, out)
}

fn tell(asked: &Asked, found: &Readings, out: &Out) -> Result<ExitCode, Fault> {
    let units = units(asked)?;
    out.say(&readings::text(found, &units));
    let found: Vec<_> = found
        .iter()
        .map(|(reading, n)| json!({ "reading": reading, "n": n, "unit": units.get(&reading.metric) }))
        .collect();
    out.tell(&json!({ "result": "probe", "readings": found }));
    Ok(ExitCode::SUCCESS)
}

fn resolve(address: &str, flag: &str) -> Result<SocketAddr, Fault> {
    let wrong = |why: String, remedy: &str| Fault::usage(why).at(flag).remedy(remedy);
    let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
    if host.is_empty() || port.parse::<u16>().is_err() {
        let why = format!("expected HOST:PORT, found `{address}`");
        return Err(wrong(why, "write for example 10.0.0.2:7700"));
    }
    address.to_socket_addrs().ok().and_then(|mut found| found.next()).ok_or_else(|| {
        wrong(format!("no address is known for the host `{host}`"), "give its address, or see /etc/hosts")
    })
}

fn wired(wire: &WireArgs) -> Result<Params, Fault> {
    let mut params =
        Params::default().with("transport", wire.transport.as_str()).with("duration", wire.time.as_str());
    match &wire.size[..] {
        [] => {}
        [one] => params = params.with("size", Value::from_word(one)),
        many => {
            params = params.with("size", Value::List(many.iter().map(|s| Value::from_word(s)).collect()));
        }
    }
    if !wire.pin.is_empty() {
        params = params.with("pin", Value::List(wire.pin.iter().map(|c| Value::Int(*c as i64)).collect()));
    }
    Ok(params)
}

/// How long it may take in all: what is asked for is checked on the way.
fn limit(asked: &Asked) -> Result<Duration, Fault> {
    let effort = parts::registry().workload(asked.kind)?.deploy(&asked.params)?.effort;
    Ok(Duration::from_secs_f64(effort.seconds(1, 1.0) * 4.0 + SLACK))
}

fn measure(asked: &Asked, target: SocketAddr, until: &Until) -> Result<Readings, Fault> {
    let params = &asked.params;
    Ok(match asked.kind {
        "latency" => {
            let spec = latency::Spec::from_params(params)?;
            latency::measure(target, &spec, until)?.iter().flat_map(latency::Outcome::readings).collect()
        }
        "load" => load::measure(target, &load::Spec::from_params(params)?, until)?,
        _ => {
            let spec = bandwidth::Spec::from_params(params)?;
            bandwidth::measure(target, &spec, until)?.iter().flat_map(bandwidth::Outcome::readings).collect()
        }
    })
}

/// Two virtual nodes on a link of the fabric that is asked for.
fn place(wire: &WireArgs) -> Result<Place, Fault> {
    let scale = scale(wire)?;
    let link = match wire.fabric.as_str() {
        "none" => Link::Unshaped,
        name => Link::Rate(BitRate(catalogue::catalogues(&[])?.find_fabric(name)?.rate.0 / scale)),
    };
    Ok(Place::Real { fabric: wire.fabric.clone(), link, scale, nodes: 2 })
}

/// What is asked for, performed once.
fn scene(
    asked: &Asked,
    place: Place,
    bed: &dyn Testbed,
    limit: Duration,
    interrupted: &Arc<AtomicBool>,
) -> Result<Readings, Fault> {
    let work =
        Work { kind: asked.kind.into(), params: asked.params.clone(), nodes: place.nodes(), lasts: false };
    let scene = Scene {
        work: BTreeMap::from([("probe".into(), work)]),
        place,
        conditions: BTreeMap::new(),
        observe: Vec::new(),
    };
    crosstalk_lab::once(&parts::registry(), bed, &scene, limit, interrupted)
}

/// What the fabric's rate is divided by.
fn scale(wire: &WireArgs) -> Result<f64, Fault> {
    match wire.scale {
        None => Ok(1.0),
        Some(_) if wire.fabric == "none" => Err(Fault::usage("there is no rate to scale down")
            .at("--scale")
            .remedy("name a --fabric as well")),
        Some(scale) if scale.is_finite() && scale >= 1.0 => Ok(scale),
        Some(scale) => {
            Err(Fault::usage(format!("expected a number of at least 1, found {scale}")).at("--scale"))
        }
    }
}

/// Metric → unit, as the workload declares them.
fn units(asked: &Asked) -> Result<BTreeMap<String, String>, Fault> {
    let deployment = parts::registry().workload(asked.kind)?.deploy(&asked.params)?;
    Ok(deployment.metrics.into_iter().map(|m| (m.name, m.unit)).collect())
}
