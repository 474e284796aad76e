//! Workloads, conditions and observers, from the registry.

use crosstalk_core::record::{Better, Metric};
use crosstalk_core::registry::Registry;
use crosstalk_core::scene::{Observer, Workload};
use crosstalk_core::value::Params;

use super::markdown::{code, prose, table};
use super::page::Page;

/// A page for each workload, and one that lists them with the conditions and the observers.
pub fn pages(registry: &Registry) -> Vec<Page> {
    let mut all = vec![list(registry)];
    all.extend(registry.workloads.iter().map(|workload| page(workload.as_ref())));
    all
}

fn list(registry: &Registry) -> Page {
    let rows = registry.workloads.iter().map(|workload| {
        let name = workload.name();
        [format!("[{}]({name}.md)", code(name)), prose(workload.title())]
    });
    let workloads = table(["`kind`", "runs"], rows);
    let conditions: Vec<String> =
        registry.conditions.iter().map(|condition| code(condition.name())).collect();
    let observers: String =
        registry.observers.iter().map(|observer| observer_section(observer.as_ref())).collect();
    let text = format!(
        "# Workloads, conditions and observers\n\n`crosstalk show workloads/NAME` prints the same for one \
         workload. In a study file a workload is written as `work.NAME = {{ kind = \"KIND\", PARAMETER = VALUE }}`.\n\n\
         ## Workloads\n\n{workloads}\n## Conditions\n\nThe conditions of a place are `system`, `boards`, `uplink`, `fabric`, \
         `scale`, `rate`, `latency`, `memory`, `disk`, `mpi` and `ranks`. Other conditions: {}.\n\n## Observers\n{observers}",
        conditions.join(", ")
    );
    Page::new("workloads/README.md", text)
}

fn observer_section(observer: &dyn Observer) -> String {
    format!("\n`{}`:\n\n{}", observer.name(), metrics(&observer.metrics()))
}

fn page(workload: &dyn Workload) -> Page {
    let name = workload.name();
    let rows = workload
        .parameters()
        .iter()
        .map(|parameter| [code(parameter.name), prose(parameter.default), prose(parameter.meaning)]);
    let mut text = format!("# Workload {name}\n\n{}.\n", prose(workload.title().trim_end_matches('.')));
    let parameters = table(["parameter", "default", "meaning"], rows);
    if !parameters.is_empty() {
        text += &format!("\n## Parameters\n\n{parameters}");
    }
    // Some workloads cannot be deployed without parameters: their metrics are not known.
    match workload.deploy(&Params::default()) {
        Ok(deployed) => text += &format!("\n## Metrics\n\n{}", metrics(&deployed.metrics)),
        Err(_) => text += "\n## Metrics\n\nThey depend on the parameters.\n",
    }
    Page::new(format!("workloads/{name}.md"), text)
}

fn metrics(metrics: &[Metric]) -> String {
    let better = |metric: &Metric| match metric.better {
        Better::Lower => "lower",
        Better::Higher => "higher",
        Better::Neither => "",
    };
    let rows =
        metrics.iter().map(|metric| [code(&metric.name), metric.unit.clone(), better(metric).to_string()]);
    if metrics.iter().all(|metric| metric.meaning.is_empty()) {
        return table(["metric", "unit", "better"], rows);
    }
    let rows =
        rows.zip(metrics).map(|([name, unit, better], metric)| [name, unit, better, prose(metric.meaning)]);
    table(["metric", "unit", "better", "meaning"], rows)
}
