//! Names of metrics in claims, figures and tables against what is reported,
//! and ids of published values against the catalogue.

use super::PlannedExperiment;
use super::cells::combine;
use crate::catalogue::Catalogues;
use crate::file::{Claim, DrawAs, Published, Study};
use crate::part::TIME;
use crate::published::{placeholders, published_id};
use crate::query::MetricQuery;
use crosstalk_core::Fault;
use crosstalk_core::name::{nearest, unknown};
use crosstalk_core::record::{Better, Metric};
use std::collections::BTreeMap;

/// Every metric that the study names is reported by the experiment it is
/// looked for in. Experiments that are not planned are not checked.
pub(super) fn check(study: &Study, planned: &[PlannedExperiment]) -> Result<(), Fault> {
    for (name, claim) in &study.claim {
        for (place, (other, experiment)) in claim.experiments().enumerate() {
            for (key, metric) in named(claim) {
                let key = if place == 0 { key } else { other.as_str() };
                reported(study, planned, experiment, metric, &format!("claim.{name}.{key}"))?;
            }
        }
    }
    for (name, experiment) in &study.experiment {
        if let Some(metric) = experiment.compare.as_ref().and_then(|compare| compare.metric.as_ref()) {
            reported(study, planned, name, metric, &format!("experiment.{name}.compare.metric"))?;
        }
        for (factor, spec) in &experiment.factors {
            if let Some(from) = spec.detail().and_then(|spec| spec.from.as_ref()) {
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
        if figure.kind == DrawAs::Frontier {
            let across = format!("figure.{name}.x");
            reported(study, planned, &figure.experiment, &figure.x, &across)?;
            judged(study, planned, &figure.experiment, &figure.x, &across)?;
            judged(study, planned, &figure.experiment, &figure.metric, &path)?;
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
fn named(claim: &Claim) -> Vec<(&'static str, &str)> {
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

/// The metrics of an experiment, where it is planned and they are known.
fn metrics<'a>(planned: &'a [PlannedExperiment], experiment: &str) -> Option<&'a [Metric]> {
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
    if share && !metric.starts_with(TIME) {
        let parts: Vec<&str> =
            metrics.iter().map(|known| known.name.as_str()).filter(|name| name.starts_with(TIME)).collect();
        let fault = Fault::usage(format!("`share` takes a part of a node's time, found `{metric}`"))
            .at(study.written.at(path));
        return Err(match parts.as_slice() {
            [] => fault.remedy(format!("experiment `{experiment}` tells none: leave `share` out")),
            parts => fault.remedy(format!("one of: {}", parts.join(", "))),
        });
    }
    if metrics.iter().any(|known| known.name == metric) {
        return Ok(());
    }
    Err(unknown("metric", metric, metrics.iter().map(|known| known.name.as_str())).at(study.written.at(path)))
}

/// More of it is better, or less: else nothing beats anything.
fn judged(
    study: &Study,
    planned: &[PlannedExperiment],
    experiment: &str,
    metric: &str,
    path: &str,
) -> Result<(), Fault> {
    let Some(metrics) = metrics(planned, experiment) else { return Ok(()) };
    let asked = MetricQuery::new(metric);
    let known = metrics.iter().find(|known| known.name == asked.metric && !asked.share);
    match known.is_some_and(|known| known.better != Better::Neither) {
        true => Ok(()),
        false => Err(Fault::usage(format!("neither more nor less of `{metric}` is better"))
            .at(study.written.at(path))
            .remedy("a frontier takes metrics of which one or the other is")),
    }
}

/// At least one metric begins with the prefix of a split.
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
        .at(study.written.at(path))
        .remedy(format!("its metrics are {}", known.join(", "))))
}

/// Every id of a published value is in the catalogue, and every template
/// stands for at least one id that is.
pub(super) fn published(study: &Study, catalogues: &Catalogues) -> Result<(), Fault> {
    for (name, claim) in &study.claim {
        if let Some(Published::Id(id)) = &claim.published
            && catalogues.published(id).is_none()
        {
            return Err(unknown_id(catalogues, id).at(study.written.at(&format!("claim.{name}.published"))));
        }
    }
    let figures = study.figure.iter().map(|(name, figure)| {
        (format!("figure.{name}"), &figure.experiment, &figure.published, &figure.published_as)
    });
    let tables = study.table.iter().flat_map(|(name, table)| {
        let own = std::iter::once((format!("table.{name}"), &table.published));
        let listed = table.column.iter().enumerate();
        let listed =
            listed.map(move |(place, column)| (format!("table.{name}.column.{place}"), &column.published));
        own.chain(listed)
            .map(move |(path, template)| (path, &table.experiment, template, &table.published_as))
    });
    for (path, experiment, template, spelt) in figures.chain(tables) {
        let Some(template) = template else { continue };
        let Some(ids) = stands_for(study, experiment, template, spelt) else { continue };
        if !ids.iter().any(|id| catalogues.published(id).is_some()) {
            let first = ids.first().map_or(template.as_str(), String::as_str);
            let fault = unknown_id(catalogues, first);
            return Err(fault.at(study.written.at(&format!("{path}.published"))));
        }
    }
    Ok(())
}

/// Every id that `template` stands for; `None` where only the host or an
/// earlier result can tell the levels.
fn stands_for(
    study: &Study,
    experiment: &str,
    template: &str,
    spelt: &BTreeMap<String, String>,
) -> Option<Vec<String>> {
    let experiment = study.experiment.get(experiment)?;
    let mut levels = BTreeMap::new();
    for name in placeholders(template) {
        let factor = experiment.factors.get(name).filter(|factor| factor.listed())?;
        levels.insert(name.to_string(), factor.named().cloned().collect());
    }
    let cells = combine(&levels, experiment);
    Some(cells.iter().filter_map(|cell| published_id(template, cell, spelt)).collect())
}

fn unknown_id(catalogues: &Catalogues, id: &str) -> Fault {
    let fault = Fault::usage(format!("unknown published value `{id}`"));
    match nearest(id, catalogues.all_published().map(|value| value.id.as_str())) {
        Some(near) => fault.remedy(format!("did you mean `{near}`?")),
        None => fault.remedy("the ids are the first column of published/*.csv"),
    }
}
