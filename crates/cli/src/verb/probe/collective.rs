//! `crosstalk probe collective`: an MPI function, in real time between virtual nodes, or in virtual time on a system.

use std::process::ExitCode;

use crosstalk_core::testbed::Testbed;
use crosstalk_core::value::{Params, Value};
use crosstalk_core::{Fault, quoted};
use crosstalk_probe::collective::{Function, Spec};
use crosstalk_study::emulated_place;
use crosstalk_study::plan::Place;
use crosstalk_testbed::{Launcher, LocalTestbed, VirtualTestbed};
use serde_json::Value as Json;

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
    let place = place(args, spec.nodes)?;
    let bed: Box<dyn Testbed> = match &place {
        // No link is shaped: processes of this machine suffice, without privileges.
        Place::Virtual { .. } => Box::new(LocalTestbed::new(Launcher::current())),
        _ => Box::new(VirtualTestbed::new(Launcher::current()).interrupted_by(&interrupted)),
    };
    let readings = run_scene(&measurement, place, bed.as_ref(), limit, &interrupted, &mut |_| ())?;
    out.say(&format!("{}\n{}", headline(args, &spec), table::of(&readings)));
    export(&measurement, &readings, &args.export, &units(&measurement)?, &Json::Null, out)?;
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
            let catalogues = catalogue::catalogues(&[])?;
            let SystemArgs { mpi, ranks } = &args.system_args;
            Ok(emulated_place(&catalogues, system, mpi.as_deref(), *ranks, nodes)?.0)
        }
    }
}

fn headline(args: &CollectiveArgs, spec: &Spec) -> String {
    let (name, nodes) = (spec.function.name(), spec.nodes);
    let Some(system) = &args.system else {
        return format!("{name}, {nodes} nodes of this machine over TCP, in real time");
    };
    let each = match args.system_args.ranks {
        1 => String::new(),
        ranks if matches!(spec.function, Function::PingPong | Function::PingPing) => {
            format!(" with {ranks} ranks each, between the first two of one node,")
        }
        ranks => format!(" with {ranks} ranks each"),
    };
    format!("{name}, {nodes} nodes{each} of {}, in virtual time", quoted(system))
}
