//! `crosstalk doctor`: what this host can do, what is missing, what mends it.

use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_core::need::{Need, NeedState};
use crosstalk_core::testbed::Testbed;
use crosstalk_core::value::Params;
use crosstalk_diagnose::{Cost, Diagnosis, Snapshot, costs, diagnose};
use crosstalk_testbed::{Launcher, VirtualTestbed};
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

fn as_json(found: &Diagnosis, cost: Option<&Cost>) -> Value {
    json!({
        "what": found.what,
        "group": found.group,
        "competes": found.competing().is_some(),
        "measured": cost,
    })
}

/// The heading of a testbed's needs.
fn testbed_part(testbed: &dyn Testbed) -> String {
    format!("testbed {}", testbed.name())
}

/// Runs `crosstalk doctor`.
pub fn main(args: &DoctorArgs, out: &Out) -> Result<ExitCode, Fault> {
    let facts = parts::facts();
    out.say("this host:");
    for (name, value) in &facts.fixed {
        out.say(&format!("  {name}: {value}"));
    }
    let background = background(!args.no_load);
    let registry = parts::registry();
    let mut here: Vec<Need> = background.iter().map(|(found, cost)| found.need(cost.as_ref())).collect();
    if here.is_empty() {
        here.push(Need::found("background work", "none that competes"));
    }
    let virtual_nodes = VirtualTestbed::new(Launcher::current());
    let virtual_part = testbed_part(&virtual_nodes);
    let needs: Vec<(String, Vec<Need>)> = parts::testbeds()
        .iter()
        .map(|testbed| (testbed_part(testbed.as_ref()), testbed.needs()))
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
    let possible =
        needs.iter().any(|(part, needs)| *part == virtual_part && needs.iter().all(Need::is_found));
    let links = if possible && !args.no_load { Some(links::measure_links(&virtual_nodes)?) } else { None };
    if let Some(links) = &links {
        out.say("links between virtual nodes, in real time:");
        links.lines.iter().for_each(|line| out.say(&format!("  {line}")));
    }
    out.record(&json!({
        "result": "doctor",
        "links": links.map(|links| links.json),
        "facts": facts,
        "background": background.iter().map(|(found, cost)| as_json(found, cost.as_ref())).collect::<Vec<_>>(),
        "needs": needs.iter().map(|(part, needs)| json!({ "part": part, "needs": needs })).collect::<Vec<_>>(),
    }));
    Ok(ExitCode::SUCCESS)
}
