//! `crosstalk probe KIND`: one measurement with one instrument.

use std::net::SocketAddr;
use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_core::record::Reading;
use crosstalk_core::units::Seconds;
use crosstalk_core::value::{Params, Value};
use crosstalk_probe::{Conversations, Deadline, Readings, bandwidth, latency, load, serve, wire};
use crosstalk_testbed::{Launcher, VirtualTestbed};
use serde_json::{Value as Json, json};

use crate::args::{BandwidthArgs, ExportArgs, MachineArgs, Probe, ProbeArgs, WireArgs};
use crate::endpoint::{listener, resolve};
use crate::out::{Out, print_error};
use crate::{datapaths, readings, signal};

mod collective;
mod once;
mod ramp;
mod shaped;

use once::{Measurement, check_needs, export, limit, once_here, run_scene, units, with_sizes};

/// A server runs at most this long, so a forgotten one ends by itself.
const SERVER_TIME: Seconds = Seconds(24.0 * 3600.0);

/// Runs `crosstalk probe`.
pub fn main(args: &ProbeArgs, out: &Out) -> Result<ExitCode, Fault> {
    match &args.kind {
        Probe::Latency(latency) => {
            let mode = if latency.poll { "polling" } else { "blocking" };
            let params = wire_params(&latency.wire)?.with("mode", mode).with("stages", latency.stages);
            over_wire(&latency.wire, Measurement { kind: "latency", params }, out)
        }
        Probe::Load(load) => {
            let mode = if load.poll { "polling" } else { "blocking" };
            let mut params = wire_params(&load.wire)?.with("mode", mode);
            if !load.rate.is_empty() {
                params =
                    params.with("rate", Value::List(load.rate.iter().map(|r| Value::Float(*r)).collect()));
            }
            over_wire(&load.wire, Measurement { kind: "load", params }, out)
        }
        Probe::Bandwidth(bandwidth) => {
            let params = streams(bandwidth)?;
            over_wire(&bandwidth.wire, Measurement { kind: "bandwidth", params }, out)
        }
        Probe::Collective(collective) => collective::main(collective, out),
        Probe::Memory(machine) => on_this_machine("memory", machine, out),
        Probe::Cores(machine) => on_this_machine("cores", machine, out),
        Probe::Kernel(machine) => on_this_machine("kernel", machine, out),
        Probe::Speed(machine) => on_this_machine("speed", machine, out),
        Probe::Pcie(machine) => on_this_machine("pcie", machine, out),
        Probe::Wire(machine) => on_this_machine("wire", machine, out),
        Probe::Users(users) => ramp::main(users, out),
    }
}

/// An instrument with a client and a server: serves, or measures.
fn over_wire(wire: &WireArgs, measurement: Measurement, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    if let Some(address) = &wire.listen {
        let listener = listener(resolve(address, "--listen")?)?;
        let at = listener.local_addr().map_or_else(|_| address.clone(), |at| at.to_string());
        out.say(&format!("serving at {at} until interrupted"));
        let until = Deadline::new(SERVER_TIME, &interrupted);
        serve(&listener, Conversations::Forever, &until, &mut |fault| print_error(&fault.to_string()))?;
        return Ok(ExitCode::SUCCESS);
    }
    wire.export.check()?;
    let measurement = measurement.with(&wire.settings)?;
    let limit = limit(&measurement)?;
    let mut live = |reading: &Reading| {
        if let Some((line, event)) = readings::bandwidth_interval(reading) {
            out.say(&line);
            out.record(&event);
        }
    };
    let readings = match &wire.to {
        Some(address) => {
            let until = Deadline::new(Seconds(limit.as_secs_f64()), &interrupted);
            measure(&measurement, resolve(address, "--to")?, &until, &mut live)?
        }
        None => {
            check_needs(&measurement)?;
            let bed = VirtualTestbed::new(Launcher::current()).interrupted_by(&interrupted);
            run_scene(
                &measurement,
                shaped::place(&wire.fabric, wire.scale, 2)?,
                &bed,
                limit,
                &interrupted,
                &mut live,
            )?
        }
    };
    print_result(&measurement, &readings, &wire.export, out)
}

/// An instrument that measures the machine it runs on.
fn on_this_machine(kind: &'static str, machine: &MachineArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    machine.export.check()?;
    let measurement = Measurement { kind, params: Params::default() }.with(&machine.settings)?;
    limit(&measurement)?;
    let once = |params: &Params| once_here(&Measurement { kind, params: params.clone() }, &interrupted);
    if kind == "wire" && wire::is_comparison(&measurement.params) {
        let begins =
            |datapath: &str, round| out.record(&json!({ "event": "way", "way": datapath, "round": round }));
        let comparison = wire::compare(&measurement.params, once, begins)?;
        let units = units(&measurement)?;
        out.say(&datapaths::table(&comparison));
        export(&measurement, &comparison.readings, &machine.export, &units, &comparison.json(), out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let readings = once(&measurement.params)?;
    print_result(&measurement, &readings, &machine.export, out)
}

fn print_result(
    measurement: &Measurement,
    readings: &Readings,
    files: &ExportArgs,
    out: &Out,
) -> Result<ExitCode, Fault> {
    let units = units(measurement)?;
    out.say(&readings::readings_as_text(readings, &units));
    export(measurement, readings, files, &units, &Json::Null, out)?;
    Ok(ExitCode::SUCCESS)
}

/// The parameters of `bandwidth`.
fn streams(args: &BandwidthArgs) -> Result<Params, Fault> {
    let mut params = wire_params(&args.wire)?.with("reverse", args.reverse);
    params = params.with("streams", i64::try_from(args.parallel).unwrap_or(i64::MAX));
    if let Some(rate) = &args.rate {
        params = params.with("rate", Value::from_word(&bit_rate(rate)));
    }
    if let Some(time) = &args.interval {
        params = params.with("report", Value::from_word(time));
    }
    if args.no_delay {
        params = params.with("no_delay", true);
    }
    if let Some(name) = &args.congestion {
        params = params.with("congestion", name.as_str());
    }
    Ok(params)
}

/// A rate in iperf3's notation, `100M`, with a unit. Other texts stay as they are.
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

/// The parameters that all instruments over a wire have.
fn wire_params(wire: &WireArgs) -> Result<Params, Fault> {
    let params = Params::default()
        .with("transport", wire.transport.as_str())
        .with("duration", Value::from_word(&wire.time));
    let mut params = with_sizes(params, &wire.size);
    if !wire.pin.is_empty() {
        params = params.with("pin", Value::List(wire.pin.iter().map(|c| Value::Int(*c as i64)).collect()));
    }
    Ok(params)
}

/// Measures against a server.
fn measure(
    measurement: &Measurement,
    target: SocketAddr,
    until: &Deadline,
    live: &mut dyn FnMut(&Reading),
) -> Result<Readings, Fault> {
    let params = &measurement.params;
    Ok(match measurement.kind {
        "latency" => {
            let spec = latency::Spec::from_params(params)?;
            latency::measure(target, &spec, until)?.iter().flat_map(latency::Outcome::readings).collect()
        }
        "load" => load::measure(target, &load::Spec::from_params(params)?, until)?,
        _ => {
            let spec = bandwidth::Spec::from_params(params)?;
            let mut readings = Vec::new();
            let mut on_interval = |spec: &bandwidth::Spec, size, interval| {
                let (reading, n) = bandwidth::interval_reading(spec, size, interval);
                live(&reading);
                readings.push((reading, n));
                Ok(())
            };
            let outcomes = bandwidth::measure_live(target, &spec, until, &mut on_interval)?;
            readings.extend(outcomes.iter().flat_map(bandwidth::Outcome::readings));
            readings
        }
    })
}
