//! `crosstalk doctor`: what this host can do, what is missing, what mends it.

use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_core::need::{Need, NeedState};
use crosstalk_core::testbed::Testbed;
use crosstalk_core::value::Params;
use crosstalk_diagnose::{Cost, Diagnosis, Snapshot, costs, diagnose};
use crosstalk_testbed::{Launcher, Local, Virtual};
use serde_json::{Value, json};

use crate::args::DoctorArgs;
use crate::out::Out;
use crate::{links, parts};

/// Work that is meant to disturb nobody, whether it does, and what that costs where it may be measured.
fn background(measure: bool) -> Vec<(Diagnosis, Option<Cost>)> {
    let found = diagnose(&Snapshot::take());
    let competing: Vec<Vec<u32>> =
        found.iter().filter_map(Diagnosis::competing).map(<[u32]>::to_vec).collect();
    let mut costs = if measure { costs(&competing) } else { Vec::new() }.into_iter();
    let cost = |found: &Diagnosis| found.competing().and_then(|_| costs.next());
    let costs: Vec<Option<Cost>> = found.iter().map(cost).collect();
    found.into_iter().zip(costs).collect()
}

fn record(found: &Diagnosis, cost: Option<&Cost>) -> Value {
    json!({
        "what": found.what,
        "group": found.group,
        "competes": found.competing().is_some(),
        "measured": cost,
    })
}

pub fn main(args: &DoctorArgs, out: &Out) -> Result<ExitCode, Fault> {
    let facts = parts::facts();
    out.say("this host:");
    for (name, value) in &facts.fixed {
        out.say(&format!("  {name}: {value}"));
    }
    let background = background(!args.no_load);
    let nodes = Virtual::new(Launcher::current());
    let beds: [Box<dyn Testbed>; 2] = [Box::new(nodes.clone()), Box::new(Local::new(Launcher::current()))];
    let registry = parts::registry();
    let mut here: Vec<Need> = background.iter().map(|(found, cost)| found.need(cost.as_ref())).collect();
    if here.is_empty() {
        here.push(Need::found("background work", "none that competes"));
    }
    let needs: Vec<(String, Vec<Need>)> = beds
        .iter()
        .map(|bed| (format!("testbed {}", bed.name()), bed.needs()))
        .chain(
            registry
                .workloads
                .iter()
                .map(|w| (format!("workload {}", w.name()), w.needs(&Params::default()))),
        )
        .chain([
            ("transports".to_string(), crosstalk_probe::transport_needs()),
            ("engine spark".to_string(), crosstalk_apps::engine::spark::needs()),
            ("trace".to_string(), crosstalk_trace::needs()),
            ("exec and guard".to_string(), crosstalk_cgroup::exec::needs()),
            ("background work here".to_string(), here),
        ])
        .collect();
    for (part, needs) in &needs {
        out.say(&format!("{part}:"));
        if needs.is_empty() {
            out.say("  ok   needs nothing");
        }
        for need in needs {
            match &need.state {
                NeedState::Found { detail } => out.say(&format!("  ok   {}: {detail}", need.what)),
                NeedState::Missing { consequence, remedy } => {
                    out.say(&format!("  miss {}: {consequence}", need.what));
                    if let Some(remedy) = remedy {
                        out.say(&format!("       try: {remedy}"));
                    }
                }
            }
        }
    }
    let possible = needs.first().is_some_and(|(_, needs)| needs.iter().all(Need::is_found));
    let links = if possible && !args.no_load { Some(links::measured(&nodes)?) } else { None };
    if let Some(links) = &links {
        out.say("links between virtual nodes, in real time:");
        links.lines.iter().for_each(|line| out.say(&format!("  {line}")));
    }
    out.record(&json!({
        "result": "doctor",
        "links": links.map(|links| links.json),
        "facts": facts,
        "background": background.iter().map(|(found, cost)| record(found, cost.as_ref())).collect::<Vec<_>>(),
        "needs": needs.iter().map(|(part, needs)| json!({ "part": part, "needs": needs })).collect::<Vec<_>>(),
    }));
    Ok(ExitCode::SUCCESS)
}
