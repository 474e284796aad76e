//! `crosstalk probe collective`: an MPI function, in real time between virtual nodes, or in virtual time on a system.

use std::process::ExitCode;

use crosstalk_core::testbed::Testbed;
use crosstalk_core::units::human;
use crosstalk_core::value::{Params, Value};
use crosstalk_core::{Fault, quoted};
use crosstalk_host::facts::available_memory;
use crosstalk_probe::collective::{Function, Spec, bytes_held};
use crosstalk_study::count_in_words;
use crosstalk_study::emulated_place;
use crosstalk_study::plan::Place;
use crosstalk_testbed::{Launcher, LocalTestbed, VirtualTestbed};
use serde_json::json;

use super::once::{Measurement, export, limit, run_scene, units, with_sizes};
use super::shaped;
use crate::args::{CollectiveArgs, SystemArgs};
use crate::out::Out;
use crate::{catalogue, signal};

mod table;

/// Measures the function.
pub fn main(args: &CollectiveArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    args.export.check()?;
    let measurement = Measurement { kind: "collective", params: params(args)? }.with(&args.settings)?;
    let limit = limit(&measurement)?;
    let spec = Spec::from_params(&measurement.params)?;
    refuse_without_effect(args, &measurement.params)?;
    let place = place(args, spec.nodes)?;
    check_memory(&spec, &place)?;
    let bed: Box<dyn Testbed> = match &place {
        // No link is shaped: processes of this machine suffice, without privileges.
        Place::Virtual { .. } => Box::new(LocalTestbed::new(Launcher::current())),
        _ => Box::new(VirtualTestbed::new(Launcher::current()).interrupted_by(&interrupted)),
    };
    let headline = headline(args, &spec, &place);
    let readings = run_scene(&measurement, place, bed.as_ref(), limit, &interrupted, &mut |_| ())?;
    out.say(&format!("{headline}\n{}", table::of(&readings)));
    export(&measurement, &readings, &args.export, &units(&measurement)?, &json!({ "of": headline }), out)?;
    Ok(ExitCode::SUCCESS)
}

fn params(args: &CollectiveArgs) -> Result<Params, Fault> {
    let params = Params::default()
        .with("function", Function::from_name(&args.function)?.name())
        .with("nodes", i64::try_from(args.nodes).unwrap_or(i64::MAX))
        .with("duration", Value::from_word(&args.time));
    Ok(with_sizes(params, &args.size))
}

fn place(args: &CollectiveArgs, nodes: usize) -> Result<Place, Fault> {
    match &args.system {
        None => shaped::place(&args.fabric, args.scale, nodes),
        Some(system) => {
            let catalogues = catalogue::catalogues(&args.catalogue)?;
            let SystemArgs { mpi, ranks } = &args.system_args;
            Ok(emulated_place(&catalogues, system, mpi.as_deref(), *ranks, nodes)?.0)
        }
    }
}

/// Refuses sizes whose data this machine has no memory for.
fn check_memory(spec: &Spec, place: &Place) -> Result<(), Fault> {
    let each = match place {
        Place::Virtual { ranks, .. } => *ranks as usize,
        _ => 1,
    };
    let largest = spec.sizes.iter().map(|size| size.0).max().unwrap_or(0);
    // What is sent and received is held once more on its path.
    let needed = bytes_held(spec.function, largest, spec.nodes * each).saturating_mul(2);
    match available_memory() {
        Some(available) if needed > available => {
            let (needed, available) = (human(needed as f64, "B"), human(available as f64, "B"));
            Err(Fault::usage(format!("all ranks need about {needed} together, and {available} are free"))
                .at("--size")
                .remedy("take smaller sizes, or fewer nodes"))
        }
        _ => Ok(()),
    }
}

/// Refuses settings that would change nothing.
fn refuse_without_effect(args: &CollectiveArgs, params: &Params) -> Result<(), Fault> {
    if params.flag("record", false)? {
        return Err(Fault::usage("a single measurement keeps no schedule")
            .at("--set record")
            .remedy("record a run of a study: record = true there"));
    }
    if args.system.is_some() && params.get("begin").is_some() {
        return Err(Fault::usage("calls begin at one time in virtual time")
            .at("--set begin")
            .remedy("leave it out with --system"));
    }
    Ok(())
}

/// What was measured, and where.
fn headline(args: &CollectiveArgs, spec: &Spec, place: &Place) -> String {
    let (name, nodes) = (spec.function.name(), count_in_words(spec.nodes, "node"));
    let Place::Virtual { system, mpi, ranks, .. } = place else {
        let links = match (args.fabric.as_str(), args.scale) {
            ("none", _) => String::new(),
            (fabric, None) => format!(", links as {}", quoted(fabric)),
            (fabric, Some(scale)) => format!(", links as {} over {scale}", quoted(fabric)),
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let crowded = match spec.nodes > cores {
            true => format!(
                "\n{} share {}, and times hold how they alternate: take -n {cores}, or --system",
                count_in_words(spec.nodes, "rank"),
                count_in_words(cores, "processor")
            ),
            false => String::new(),
        };
        return format!(
            "{name}, {nodes} of this machine, crosstalk's own message passing over TCP{links}, in real time{crowded}"
        );
    };
    let each = match ranks {
        1 => String::new(),
        ranks if matches!(spec.function, Function::PingPong | Function::PingPing) => {
            format!(" with {ranks} ranks each, between the first two of one node,")
        }
        ranks => format!(" with {ranks} ranks each"),
    };
    let library = mpi.as_ref().map_or("no MPI library's costs", String::as_str);
    format!("{name}, {nodes}{each} of {} with {}, in virtual time", quoted(system), quoted(library))
}
