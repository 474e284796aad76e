//! `crosstalk show NAME`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use crosstalk_core::interconnect::{Component, Components};
use crosstalk_core::name::unknown;
use crosstalk_core::parameter::Parameters;
use crosstalk_core::record::{Better, Metric};
use crosstalk_core::registry::Registry;
use crosstalk_core::value::Params;
use crosstalk_core::{Fault, quoted};
use crosstalk_study::catalogue::Catalogues;
use serde_json::{Value, json};

use crate::args::ShowArgs;
use crate::out::{Out, print_note};
use crate::{catalogue, parts};

/// The head of a fabric, so that a copy of it explains itself.
const FABRIC: &str = "\
# A fabric. In real time links are shaped to `rate`. In virtual time a message costs:
#   L  latency from the sender's to the receiver's processor
#   o  processor time for a message, on each side
#   g  least time between two messages of a network card
#   G  time of the network card for a byte
#   O  processor time for a byte, on each side
# For one of your own, save this as my/fabrics/NAME.toml, change it, and run with
# --catalogue my --vary fabric=NAME,ethernet-1g (or call NAME in a system's network).
";

/// The head of a system.
const SYSTEM: &str = "\
# A system: nodes on boards, and networks by name, each with its fabric within and across boards.
# `speed` is a core's relative to one of this machine, `within_node` the fabric between ranks of one node.
# A network's `uplink` is the rate of a board's link to the others, which the board's nodes share; without it, none delays.
# For one of your own, save this as my/systems/NAME.toml, change it, and run with --catalogue my.
";

/// The head of an MPI profile.
const MPI: &str = "\
# An MPI profile: what a message-passing library adds to a fabric's costs, in virtual time.
#   eager_limit  longest message for which a sender does not wait for its receiver
#   overhead     processor time for a message, on each side
#   eager_copy   processor time for a byte of a message up to that limit, on each side
#   rendezvous   time before the data of a longer message leave
#   collective   which algorithm carries out an operation; of the lines that fit, the first one counts
# For one of your own, save this as my/mpi/NAME.toml, change it, and run a study that has the condition
# mpi = \"NAME\" with --catalogue my.
";

/// The head of a component.
const COMPONENT: &str = "\
# A component of paths. For one of your own, save this as my/components/FILE.toml, change it, and
# run with --catalogue my.
";

/// The catalogues' folders.
pub const CATALOGUE_FOLDERS: [&str; 8] =
    ["studies", "fabrics", "systems", "mpi", "components", "interconnects", "workloads", "published"];

/// An entry of a catalogue.
struct Entry {
    kind: &'static str,
    /// Its catalogue, which distinguishes it from others of its name: `fabrics/srio`.
    folder: &'static str,
    text: String,
    value: Value,
}

/// Runs `crosstalk show`.
pub fn main(args: &ShowArgs, out: &Out) -> Result<ExitCode, Fault> {
    let mut found = find(&args.name)?.into_iter();
    let first = found.next().ok_or_else(|| Fault::usage(format!("nothing is called `{}`", args.name)))?;
    let others: Vec<String> = found.map(|other| format!("{}/{}", other.folder, args.name)).collect();
    out.say(&first.text);
    if !others.is_empty() && !out.json {
        // On stderr, because the text may go into a file.
        print_note(&format!("there is another of that name: crosstalk show {}", others.join(" or ")));
    }
    out.record(&json!({
        "result": "show",
        "kind": first.kind,
        "name": args.name,
        "entry": first.value,
        "others": others,
    }));
    Ok(ExitCode::SUCCESS)
}

/// All entries of a name. The name may begin with a catalogue.
fn find(requested: &str) -> Result<Vec<Entry>, Fault> {
    let catalogues = catalogue::catalogues(&[])?;
    let registry = parts::registry();
    if requested == "schema" {
        let value = crosstalk_study::study_schema();
        return Ok(vec![Entry { kind: "schema", folder: "", text: pretty(&value), value }]);
    }
    let within = requested.split_once('/').filter(|(folder, _)| CATALOGUE_FOLDERS.contains(folder));
    let name = within.map_or(requested, |(_, name)| name);
    let mut found = named(name, &catalogues, &registry)?;
    found.retain(|entry| within.is_none_or(|(folder, _)| entry.folder == folder));
    if found.is_empty() {
        let names = names(&catalogues, &registry);
        let known = |folder: &str| within.is_none_or(|(only, _)| only == folder);
        let names: BTreeSet<&str> = names.iter().filter(|(f, _)| known(f)).map(|(_, n)| n.as_str()).collect();
        let kind = match within {
            Some(("published", _)) => {
                return Err(Fault::usage(format!("unknown published figure `{}`", quoted(name)))
                    .remedy("`crosstalk list published` lists them"));
            }
            Some(("studies", _)) => "study",
            Some(("mpi", _)) => "MPI profile",
            Some((folder, _)) => folder.trim_end_matches('s'),
            None => "name",
        };
        return Err(unknown(kind, name, names));
    }
    Ok(found)
}

fn named(name: &str, catalogues: &Catalogues, registry: &Registry) -> Result<Vec<Entry>, Fault> {
    let mut found = Vec::new();
    if let Some(text) = crosstalk_study::bundled_study(name) {
        let value = json!({ "toml": text });
        found.push(Entry { kind: "study", folder: "studies", text: text.into(), value });
    }
    if let Ok(fabric) = catalogues.find_fabric(name) {
        let text = FABRIC.to_string() + &file("fabrics", name, fabric)?;
        found.push(Entry { kind: "fabric", folder: "fabrics", text, value: json!(fabric) });
    }
    let of_network = catalogues.find_system(name).ok().map(|(system, _)| system);
    if let Some(system) = of_network.or_else(|| catalogues.systems().find(|s| s.name == name)) {
        let text = SYSTEM.to_string() + &file("systems", &system.name, system)?;
        found.push(Entry { kind: "system", folder: "systems", text, value: json!(system) });
    }
    if let Ok(mpi) = catalogues.find_mpi(name) {
        let text = MPI.to_string() + &file("mpi", name, mpi)?;
        found.push(Entry { kind: "mpi", folder: "mpi", text, value: json!(mpi) });
    }
    if let Ok(interconnect) = catalogues.find_interconnect(name) {
        let text = file("interconnects", name, interconnect)?;
        found.push(Entry { kind: "interconnect", folder: "interconnects", text, value: json!(interconnect) });
    }
    if let Some((_, component)) = catalogues.all_components().find(|(known, _)| *known == name) {
        let text = COMPONENT.to_string() + &component_text(name, component)?;
        found.push(Entry { kind: "component", folder: "components", text, value: json!(component) });
    }
    if let Ok(workload) = registry.workload(name) {
        let (title, parameters) = (workload.title(), workload.parameters());
        // Some workloads cannot be deployed without parameters: their metrics are not known.
        let metrics = workload.deploy(&Params::default()).ok().map(|deployed| deployed.metrics);
        let measured = metrics.as_deref().map(metric_table).unwrap_or_default();
        let text = format!("{name}: {title}\n\n{}{measured}", parameter_table(parameters));
        let rows: Vec<Value> = parameters
            .iter()
            .map(|p| json!({ "name": p.name, "default": p.default, "meaning": p.meaning }))
            .collect();
        let value = json!({ "title": title, "parameters": rows, "metrics": metrics });
        found.push(Entry { kind: "workload", folder: "workloads", text, value });
    }
    if let Some(published) = catalogues.published(name) {
        let text = format!("{}: {}\n{}", published.id, published.in_words(), published.note);
        let value = json!({
            "value": published.value,
            "printed": published.printed,
            "unit": published.unit,
            "relative_to": published.relative_to,
            "note": published.note,
        });
        found.push(Entry { kind: "published", folder: "published", text, value });
    }
    Ok(found)
}

/// A row for each parameter.
fn parameter_table(parameters: Parameters) -> String {
    let rows = parameters.iter().map(|p| [p.name, p.default, p.meaning]);
    table(std::iter::once(["parameter", "default", ""]).chain(rows).collect())
}

/// A row for each metric.
fn metric_table(metrics: &[Metric]) -> String {
    if metrics.is_empty() {
        return String::new();
    }
    let better = |metric: &Metric| match metric.better {
        Better::Lower => "lower",
        Better::Higher => "higher",
        Better::Neither => "",
    };
    let rows = metrics
        .iter()
        .map(|metric| [metric.name.as_str(), metric.unit.as_str(), better(metric), metric.meaning]);
    format!("\n{}", table(std::iter::once(["metric", "unit", "better", ""]).chain(rows).collect()))
}

/// Rows with aligned columns.
fn table<const N: usize>(rows: Vec<[&str; N]>) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[&str; N]| {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_string() + "\n"
    };
    rows.iter().map(line).collect()
}

/// All entries but published figures, which are many: folder and name.
pub fn names(catalogues: &Catalogues, registry: &Registry) -> Vec<(&'static str, String)> {
    let studies = crosstalk_study::bundled_studies().iter().map(|s| ("studies", s.0.to_string()));
    studies
        .chain(catalogues.fabrics().map(|f| ("fabrics", f.name.clone())))
        .chain(catalogues.systems().map(|s| ("systems", s.name.clone())))
        .chain(catalogues.named_systems().into_iter().map(|(name, _, _)| ("systems", name)))
        .chain(catalogues.mpi_profiles().map(|m| ("mpi", m.name.clone())))
        .chain(catalogues.interconnects().map(|i| ("interconnects", i.name.clone())))
        .chain(catalogues.all_components().map(|(name, _)| ("components", name.to_string())))
        .chain(registry.workloads.iter().map(|w| ("workloads", w.name().to_string())))
        .collect()
}

/// A component as TOML, with times in nanoseconds.
fn component_text(name: &str, component: &Component) -> Result<String, Fault> {
    let file = Components { component: BTreeMap::from([(name.to_string(), component.clone())]) };
    let text = toml::to_string(&file).map_err(|e| Fault::environment(format!("cannot write TOML: {e}")))?;
    // Rounding to femtoseconds hides that binary fractions represent nanoseconds inexactly.
    let nanoseconds = |line: &str| {
        let (key, value) = line.split_once(" = ").filter(|(key, _)| ["low", "high"].contains(key))?;
        let seconds: f64 = value.parse().ok()?;
        Some(format!("{key} = \"{} ns\"", (seconds * 1e15).round() / 1e6))
    };
    Ok(text.lines().map(|line| nanoseconds(line).unwrap_or_else(|| line.to_string()) + "\n").collect())
}

/// The file of a bundled entry, with its comments; else the entry as TOML.
fn file(folder: &str, name: &str, entry: &impl serde::Serialize) -> Result<String, Fault> {
    let path = format!("{folder}/{name}.toml");
    let bundled = crosstalk_study::bundled_catalogue_files().find(|(known, _)| *known == path);
    match bundled {
        Some((_, text)) => Ok(text.to_string()),
        None => toml::to_string(entry).map_err(|e| Fault::environment(format!("cannot write TOML: {e}"))),
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
