//! `crosstalk probe KIND`: one instrument, now.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::need::{Need, Unmet};
use crosstalk_core::record::Reading;
use crosstalk_core::testbed::{Link, Testbed};
use crosstalk_core::units::{Seconds, digits};
use crosstalk_core::value::{Params, Value};
use crosstalk_probe::{Readings, Times, Until, bandwidth, latency, load, serve, wire};
use crosstalk_study::plan::{Place, Scene, Work};
use crosstalk_study::row::Row;
use crosstalk_study::scale::scaled_link;
use crosstalk_testbed::{Launcher, Local, Virtual};
use serde_json::{Value as Json, json};

use crate::args::{BandwidthArgs, ExportArgs, MachineArgs, Probe, ProbeArgs, SetArgs, WireArgs};
use crate::endpoint::{listener, resolve};
use crate::out::{Out, complain};
use crate::{catalogue, parts, readings, signal, ways};

/// A probe's other end serves this long at most: a forgotten one ends by itself.
const SERVE: Seconds = Seconds(24.0 * 3600.0);
/// What starting up and answering may take beside the measuring itself.
const SLACK: f64 = 30.0;

/// What is measured: a workload with its parameters.
struct Asked {
    kind: &'static str,
    params: Params,
}

impl Asked {
    /// With the parameters that are set by their names, over those that flags have set.
    fn with(mut self, settings: &SetArgs) -> Result<Self, Fault> {
        for text in &settings.set {
            let (name, value) = crosstalk_study::setting(text).map_err(|fault| {
                fault.remedy(format!(
                    "write for example --set pin=0; `crosstalk show workloads/{}` shows which there are",
                    self.kind
                ))
            })?;
            self.params = self.params.with(&name, value);
        }
        Ok(self)
    }
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
        Probe::Bandwidth(asked) => {
            between(&asked.wire, Asked { kind: "bandwidth", params: streams(asked)? }, out)
        }
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
        let listener = listener(resolve(address, "--listen")?)?;
        let at = listener.local_addr().map_or_else(|_| address.clone(), |at| at.to_string());
        out.say(&format!("serving at {at} until interrupted"));
        let until = Until::new(SERVE, &interrupted);
        serve(&listener, Times::Forever, &until, &mut |fault| complain(&fault.to_string()))?;
        return Ok(ExitCode::SUCCESS);
    }
    wire.export.check()?;
    let asked = asked.with(&wire.settings)?;
    let limit = limit(&asked)?;
    let mut live = |reading: &Reading| {
        if let Some((line, event)) = readings::lately(reading) {
            out.say(&line);
            out.tell(&event);
        }
    };
    let found = match &wire.to {
        Some(address) => {
            let until = Until::new(Seconds(limit.as_secs_f64()), &interrupted);
            measure(&asked, resolve(address, "--to")?, &until, &mut live)?
        }
        None => {
            needed(&asked)?;
            let bed = Virtual::new(Launcher::current()).interrupted_by(&interrupted);
            scene(&asked, place(wire)?, &bed, limit, &interrupted, &mut live)?
        }
    };
    tell(&asked, &found, &wire.export, out)
}

/// An instrument that measures the machine it runs on.
fn own_machine(kind: &'static str, machine: &MachineArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    machine.export.check()?;
    let asked = Asked { kind, params: Params::default() }.with(&machine.settings)?;
    limit(&asked)?;
    let once = |params: &Params| {
        let asked = &Asked { kind, params: params.clone() };
        needed(asked)?;
        let here = Place::Real { fabric: "none".into(), link: Link::Unshaped, scale: 1.0, nodes: 1 };
        scene(asked, here, &Local::new(Launcher::current()), limit(asked)?, &interrupted, &mut |_| ())
    };
    if kind == "wire" && wire::is_comparison(&asked.params) {
        let begins = |way: &str, round| out.tell(&json!({ "event": "way", "way": way, "round": round }));
        let comparison = wire::compare(&asked.params, once, begins)?;
        let units = units(&asked)?;
        out.say(&ways::table(&comparison));
        tell_programs(&asked, &comparison.readings, &machine.export, &units, &comparison.json(), out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let found = once(&asked.params)?;
    tell(&asked, &found, &machine.export, out)
}

/// Refuses what this machine has not got, before anything runs.
fn needed(asked: &Asked) -> Result<(), Fault> {
    let needs = parts::registry().workload(asked.kind)?.needs(&asked.params);
    match needs.into_iter().find_map(Need::unmet) {
        None => Ok(()),
        Some(Unmet { consequence, remedy, .. }) => {
            let fault = Fault::environment(consequence);
            Err(remedy.into_iter().fold(fault, |fault, remedy| fault.remedy(remedy)))
        }
    }
}

fn tell(asked: &Asked, found: &Readings, export: &ExportArgs, out: &Out) -> Result<ExitCode, Fault> {
    let units = units(asked)?;
    out.say(&readings::text(found, &units));
    tell_programs(asked, found, export, &units, &Json::Null, out)?;
    Ok(ExitCode::SUCCESS)
}

/// The files that were asked for, and the last JSON line, with what `more` has.
fn tell_programs(
    asked: &Asked,
    found: &Readings,
    export: &ExportArgs,
    units: &BTreeMap<String, String>,
    more: &Json,
    out: &Out,
) -> Result<(), Fault> {
    let name = format!("probe {}", asked.kind);
    let unit = |reading: &Reading| units.get(&reading.metric);
    let row = |reading: &Reading| Row::of_reading(&name, reading, unit(reading).map_or("", String::as_str));
    let rows: Vec<Row> = found.iter().filter_map(|(reading, _)| row(reading)).collect();
    let told: Vec<Json> =
        found.iter().map(|(reading, n)| readings::told(reading, *n, unit(reading))).collect();
    let mut last = json!({ "result": "probe", "readings": told });
    if let (Json::Object(last), Json::Object(more)) = (&mut last, more) {
        last.extend(more.clone());
    }
    let written = export.write(&rows);
    out.tell(&last);
    written
}

/// A stream's parameters.
fn streams(asked: &BandwidthArgs) -> Result<Params, Fault> {
    let mut params = wired(&asked.wire)?.with("reverse", asked.reverse);
    params = params.with("streams", i64::try_from(asked.parallel).unwrap_or(i64::MAX));
    if let Some(rate) = &asked.rate {
        params = params.with("rate", Value::from_word(&bit_rate(rate)));
    }
    if let Some(time) = &asked.interval {
        params = params.with("report", Value::from_word(time));
    }
    if let Some(name) = &asked.congestion {
        params = params.with("congestion", name.as_str());
    }
    Ok(params)
}

/// `100M`, as iperf3 takes it, in this program's words; other texts as they are.
fn bit_rate(text: &str) -> String {
    let number = text.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
    let unit = match &text[number.len()..] {
        "k" | "K" => "kbit/s",
        "m" | "M" => "Mbit/s",
        "g" | "G" => "Gbit/s",
        _ => return text.to_string(),
    };
    format!("{number} {unit}")
}

fn wired(wire: &WireArgs) -> Result<Params, Fault> {
    let mut params = Params::default()
        .with("transport", wire.transport.as_str())
        .with("duration", Value::from_word(&wire.time));
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

fn measure(
    asked: &Asked,
    target: SocketAddr,
    until: &Until,
    live: &mut dyn FnMut(&Reading),
) -> Result<Readings, Fault> {
    let params = &asked.params;
    Ok(match asked.kind {
        "latency" => {
            let spec = latency::Spec::from_params(params)?;
            latency::measure(target, &spec, until)?.iter().flat_map(latency::Outcome::readings).collect()
        }
        "load" => load::measure(target, &load::Spec::from_params(params)?, until)?,
        _ => {
            let spec = bandwidth::Spec::from_params(params)?;
            let mut readings = Vec::new();
            let mut told = |spec: &bandwidth::Spec, size, interval| {
                let (reading, n) = bandwidth::interval_reading(spec, size, interval);
                live(&reading);
                readings.push((reading, n));
                Ok(())
            };
            let outcomes = bandwidth::measure_live(target, &spec, until, &mut told)?;
            readings.extend(outcomes.iter().flat_map(bandwidth::Outcome::readings));
            readings
        }
    })
}

/// Two virtual nodes on a link of the fabric that is asked for.
fn place(wire: &WireArgs) -> Result<Place, Fault> {
    let scale = scale(wire)?;
    let link = match wire.fabric.as_str() {
        "none" => Link::Unshaped,
        name => scaled_link(catalogue::catalogues(&[])?.find_fabric(name)?.rate, scale)
            .map_err(|fault| fault.at("--scale"))?,
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
    live: &mut dyn FnMut(&Reading),
) -> Result<Readings, Fault> {
    let work =
        Work { kind: asked.kind.into(), params: asked.params.clone(), nodes: place.nodes(), lasts: false };
    let scene = Scene {
        work: BTreeMap::from([("probe".into(), work)]),
        place,
        conditions: BTreeMap::new(),
        observe: Vec::new(),
    };
    crosstalk_lab::run_once(&parts::registry(), bed, &scene, limit, interrupted, live)
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
            Err(Fault::usage(format!("expected a number of at least 1, found {}", digits(scale)))
                .at("--scale"))
        }
    }
}

/// Metric → unit, as the workload declares them.
fn units(asked: &Asked) -> Result<BTreeMap<String, String>, Fault> {
    let deployment = parts::registry().workload(asked.kind)?.deploy(&asked.params)?;
    Ok(deployment.metrics.into_iter().map(|m| (m.name, m.unit)).collect())
}
