//! `crosstalk show NAME`.

use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_core::name::unknown;
use serde_json::{Value, json};

use crate::args::ShowArgs;
use crate::out::Out;
use crate::{catalogue, parts};

pub fn main(args: &ShowArgs, out: &Out) -> Result<ExitCode, Fault> {
    let (kind, text, value) = find(&args.name)?;
    out.say(&text);
    out.tell(&json!({ "result": "show", "kind": kind, "name": args.name, "entry": value }));
    Ok(ExitCode::SUCCESS)
}

fn find(name: &str) -> Result<(&'static str, String, Value), Fault> {
    let catalogues = catalogue::catalogues(&[])?;
    if name == "schema" {
        let schema = crosstalk_study::study_schema();
        return Ok(("schema", pretty(&schema), schema));
    }
    if let Some(text) = crosstalk_study::bundled_study(name) {
        return Ok(("study", text.into(), json!({ "toml": text })));
    }
    if let Ok(fabric) = catalogues.find_fabric(name) {
        return Ok(("fabric", toml(fabric)?, json!(fabric)));
    }
    if let Ok((system, _)) = catalogues.find_system(name) {
        return Ok(("system", toml(system)?, json!(system)));
    }
    if let Some(system) = catalogues.systems().find(|s| s.name == name) {
        return Ok(("system", toml(system)?, json!(system)));
    }
    let registry = parts::registry();
    if let Ok(workload) = registry.workload(name) {
        let parameters = workload.parameters();
        let text = format!("{name}: {}\nparameters: {}", workload.title(), parameters.join(", "));
        return Ok(("workload", text, json!({ "title": workload.title(), "parameters": parameters })));
    }
    if let Some(value) = catalogues.published(name) {
        let text = format!("{}: {} {}\n{}", value.id, value.printed, value.unit, value.note);
        return Ok((
            "published",
            text,
            json!({ "value": value.value, "printed": value.printed, "unit": value.unit, "note": value.note }),
        ));
    }
    let names: Vec<String> = crosstalk_study::bundled_studies()
        .iter()
        .map(|s| s.0.to_string())
        .chain(catalogues.fabrics().map(|f| f.name.clone()))
        .chain(catalogues.systems().map(|s| s.name.clone()))
        .chain(registry.workloads.iter().map(|w| w.name().to_string()))
        .collect();
    Err(unknown("name", name, names.iter().map(String::as_str)))
}

fn toml(entry: &impl serde::Serialize) -> Result<String, Fault> {
    toml::to_string(entry).map_err(|e| Fault::environment(format!("cannot write TOML: {e}")))
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
