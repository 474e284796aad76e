//! Checks the metrics that claims, figures and tables name against those that are reported, and the ids of published
//! values against the catalogue.

use super::PlannedExperiment;
use super::cells::combine;
use crate::catalogue::Catalogues;
use crate::file::{Claim, DrawAs, Published, Study};
use crate::part::TIME_PREFIX;
use crate::published::{placeholders, published_id};
use crate::query::MetricQuery;
use crosstalk_core::Fault;
use crosstalk_core::name::{nearest, unknown};
use crosstalk_core::record::{Better, Metric};
use std::collections::BTreeMap;

/// Refuses a metric that its experiment does not report. Experiments that are not planned are not checked.
pub(super) fn check(study: &Study, planned: &[PlannedExperiment]) -> Result<(), Fault> {
    for (name, claim) in &study.claim {
        for (index, (other, experiment)) in claim.experiments().enumerate() {
            for (key, metric) in metrics_of(claim) {
                let key = if index == 0 { key } else { other.as_str() };
                reported(study, planned, experiment, metric, &format!("claim.{name}.{key}"))?;
            }
        }
    }
    for (name, experiment) in &study.experiment {
        if let Some(metric) = experiment.compare.as_ref().and_then(|compare| compare.metric.as_ref()) {
            reported(study, planned, name, metric, &format!("experiment.{name}.compare.metric"))?;
        }
        for (factor, spec) in &experiment.factors {
            if let Some(from) = spec.spec().and_then(|spec| spec.from.as_ref()) {
                let path = format!("experiment.{name}.factors.{factor}.from.metric");
                reported(study, planned, &from.experiment, &from.metric, &path)?;
            }
        }
    }
    for (name, figure) in &study.figure {
        let path = format!("figure.{name}.metric");
        if figure.kind.of_parts() {
            parts(study, planned, &figure.experiment, &figure.metric, &path)?;
            continue;
        }
        for metric in figure.metrics() {
            reported(study, planned, &figure.experiment, metric, &path)?;
        }
        let across = format!("figure.{name}.x");
        if figure.kind.is_of_two_metrics() {
            reported(study, planned, &figure.experiment, &figure.x, &across)?;
        }
        if figure.kind == DrawAs::Frontier {
            has_direction(study, planned, &figure.experiment, &figure.x, &across)?;
            has_direction(study, planned, &figure.experiment, &figure.metric, &path)?;
        }
    }
    for (name, table) in &study.table {
        let path = format!("table.{name}.metric");
        let listed = table.column.iter().filter_map(|column| column.metric.as_deref());
        for metric in listed.chain(Some(table.metric.as_str()).filter(|metric| !metric.is_empty())) {
            reported(study, planned, &table.experiment, metric, &path)?;
        }
    }
    Ok(())
}

/// The metrics that a claim names, with their keys.
fn metrics_of(claim: &Claim) -> Vec<(&'static str, &str)> {
    let mut names = Vec::new();
    names.extend(claim.ratio.as_ref().map(|ratio| ("ratio.metric", ratio.metric.as_str())));
    names.extend(claim.trend.as_ref().map(|trend| ("trend.metric", trend.metric.as_str())));
    names.extend(claim.order.as_ref().map(|order| ("order.metric", order.metric.as_str())));
    names.extend(claim.peak.as_ref().map(|peak| ("peak.metric", peak.metric.as_str())));
    names.extend(claim.threshold.as_ref().map(|threshold| ("threshold.metric", threshold.metric.as_str())));
    if let Some(correlation) = &claim.correlation {
        names.push(("correlation.x", &correlation.x));
        names.push(("correlation.y", &correlation.y));
    }
    names
}

/// The metrics of an experiment; `None` where it is not planned or they are not known.
pub(super) fn metrics<'a>(planned: &'a [PlannedExperiment], experiment: &str) -> Option<&'a [Metric]> {
    let found = planned.iter().find(|planned| planned.name == experiment)?;
    (!found.metrics.is_empty()).then_some(found.metrics.as_slice())
}

fn reported(
    study: &Study,
    planned: &[PlannedExperiment],
    experiment: &str,
    metric: &str,
    path: &str,
) -> Result<(), Fault> {
    let Some(metrics) = metrics(planned, experiment) else { return Ok(()) };
    let MetricQuery { metric, share, .. } = MetricQuery::new(metric);
    if share && !metric.starts_with(TIME_PREFIX) {
        let parts: Vec<&str> = metrics
            .iter()
            .map(|known| known.name.as_str())
            .filter(|name| name.starts_with(TIME_PREFIX))
            .collect();
        let fault = Fault::usage(format!("`share` takes a part of a node's time, found `{metric}`"))
            .at(study.key_lines.location_of(path));
        return Err(match parts.as_slice() {
            [] => fault.remedy(format!("experiment `{experiment}` reports none: leave `share` out")),
            parts => fault.remedy(format!("one of: {}", parts.join(", "))),
        });
    }
    if metrics.iter().any(|known| known.name == metric) {
        return Ok(());
    }
    Err(unknown("metric", metric, metrics.iter().map(|known| known.name.as_str()))
        .at(study.key_lines.location_of(path)))
}

/// Refuses a metric of which neither more nor less is better: without a direction no point dominates another.
fn has_direction(
    study: &Study,
    planned: &[PlannedExperiment],
    experiment: &str,
    metric: &str,
    path: &str,
) -> Result<(), Fault> {
    let Some(metrics) = metrics(planned, experiment) else { return Ok(()) };
    let query = MetricQuery::new(metric);
    let known = metrics.iter().find(|known| known.name == query.metric && !query.share);
    match known.is_some_and(|known| known.better != Better::Neither) {
        true => Ok(()),
        false => Err(Fault::usage(format!("neither more nor less of `{metric}` is better"))
            .at(study.key_lines.location_of(path))
            .remedy("a frontier takes metrics of which one or the other is")),
    }
}

/// Refuses a split of which the experiment reports no part.
fn parts(
    study: &Study,
    planned: &[PlannedExperiment],
    experiment: &str,
    prefix: &str,
    path: &str,
) -> Result<(), Fault> {
    let Some(metrics) = metrics(planned, experiment) else { return Ok(()) };
    if metrics.iter().any(|known| known.name.starts_with(&format!("{prefix}_"))) {
        return Ok(());
    }
    let known: Vec<&str> = metrics.iter().map(|known| known.name.as_str()).collect();
    Err(Fault::usage(format!("no metric of experiment `{experiment}` is a part of `{prefix}`"))
        .at(study.key_lines.location_of(path))
        .remedy(format!("its metrics are {}", known.join(", "))))
}

/// Refuses an id that is not in the catalogue, and a template that makes no id that is.
pub(super) fn published(study: &Study, catalogues: &Catalogues) -> Result<(), Fault> {
    for (name, claim) in &study.claim {
        if let Some(Published::Id(id)) = &claim.published
            && catalogues.published(id).is_none()
        {
            return Err(unknown_id(catalogues, id)
                .at(study.key_lines.location_of(&format!("claim.{name}.published"))));
        }
    }
    let figures = study.figure.iter().map(|(name, figure)| {
        (format!("figure.{name}"), &figure.experiment, &figure.published, &figure.published_as)
    });
    let tables = study.table.iter().flat_map(|(name, table)| {
        let own = std::iter::once((format!("table.{name}"), &table.published));
        let listed = table.column.iter().enumerate();
        let listed =
            listed.map(move |(index, column)| (format!("table.{name}.column.{index}"), &column.published));
        own.chain(listed)
            .map(move |(path, template)| (path, &table.experiment, template, &table.published_as))
    });
    for (path, experiment, template, spellings) in figures.chain(tables) {
        let Some(template) = template else { continue };
        let Some(ids) = ids_of(study, experiment, template, spellings) else { continue };
        if !ids.iter().any(|id| catalogues.published(id).is_some()) {
            let first = ids.first().map_or(template.as_str(), String::as_str);
            let fault = unknown_id(catalogues, first);
            return Err(fault.at(study.key_lines.location_of(&format!("{path}.published"))));
        }
    }
    Ok(())
}

/// Every id that `template` makes; `None` where the levels come from the host or an earlier result.
fn ids_of(
    study: &Study,
    experiment: &str,
    template: &str,
    spellings: &BTreeMap<String, String>,
) -> Option<Vec<String>> {
    let experiment = study.experiment.get(experiment)?;
    let mut levels = BTreeMap::new();
    for name in placeholders(template) {
        let factor = experiment.factors.get(name).filter(|factor| factor.has_listed_levels())?;
        levels.insert(name.to_string(), factor.nameable_levels().cloned().collect());
    }
    let cells = combine(&levels, experiment);
    Some(cells.iter().filter_map(|cell| published_id(template, cell, spellings)).collect())
}

fn unknown_id(catalogues: &Catalogues, id: &str) -> Fault {
    let fault = Fault::usage(format!("unknown published value `{id}`"));
    match nearest(id, catalogues.all_published().map(|value| value.id.as_str())) {
        Some(near) => fault.remedy(format!("did you mean `{near}`?")),
        None => fault.remedy("the ids are the first column of published/*.csv"),
    }
}
