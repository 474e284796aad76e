//! One cell's scene: what runs, where, under which conditions.

use super::place::{PLACE, PlaceRequest};
use super::{Cell, Place, Scene, Work};
use crate::catalogue::Catalogues;
use crate::file::{Experiment, Study};
use crate::substitute::substitute;
use crosstalk_core::Fault;
use crosstalk_core::cell::CellId;
use crosstalk_core::name::unknown;
use crosstalk_core::record::Metric;
use crosstalk_core::registry::Registry;
use crosstalk_core::scene::{Effort, Timing};
use crosstalk_core::value::{Levels, Params, Value};
use std::collections::BTreeMap;

/// Seconds that an attempt takes in virtual time whose work only waits in real time.
const EMULATED: f64 = 0.01;

/// Builds the cells of one experiment.
pub(super) struct CellBuilder<'a> {
    pub study: &'a Study,
    pub name: &'a str,
    pub experiment: &'a Experiment,
    pub catalogues: &'a Catalogues,
    pub registry: &'a Registry,
}

/// The demands of a cell's workloads.
struct Demands {
    work: BTreeMap<String, Work>,
    metrics: Vec<Metric>,
    nodes: usize,
    effort: Effort,
    timing: Timing,
}

impl CellBuilder<'_> {
    /// The cell at `levels`, and the metrics that its workloads report.
    pub fn cell(&self, levels: &Levels) -> Result<(Cell, Vec<Metric>), Fault> {
        let demands = self.work(levels)?;
        let mut conditions: BTreeMap<String, Value> = self
            .experiment
            .conditions
            .iter()
            .map(|(name, value)| (name.clone(), substitute(value, levels)))
            .collect();
        let kinds: Vec<&str> = demands.work.values().map(|work| work.kind.as_str()).collect();
        let at = |name: &str| self.at(&format!("conditions.{name}"));
        let request = PlaceRequest {
            conditions: &conditions,
            kinds: kinds.join(" and "),
            nodes: demands.nodes,
            at: &at,
        };
        let place = request.resolve(demands.timing, self.catalogues).map_err(|fault| match fault.place {
            Some(_) => fault,
            None => fault.at(self.at("conditions")),
        })?;
        conditions.retain(|name, _| !PLACE.contains(&name.as_str()));
        // Nobody waits in virtual time: a workload that measures for a while in real time is done at once.
        let effort = match place {
            Place::Virtual { .. } => {
                Effort { waiting: demands.effort.waiting.min(EMULATED), ..demands.effort }
            }
            Place::Real { .. } | Place::Outside { .. } => demands.effort,
        };
        let lasting = demands.work.values().any(|work| work.lasts);
        for (name, value) in &conditions {
            self.condition(name, value, lasting)?;
        }
        let scene = Scene { work: demands.work, place, conditions, observe: self.experiment.observe.clone() };
        Ok((
            Cell { id: CellId::new(self.name, levels.clone()), scene, effort, unmet_need: None },
            demands.metrics,
        ))
    }

    fn at(&self, key: &str) -> String {
        self.study.key_lines.location_of(&format!("experiment.{}.{key}", self.name))
    }

    /// Refuses an unknown condition, and a value that it does not take. With `lasting`, the scene has background work.
    fn condition(&self, name: &str, value: &Value, lasting: bool) -> Result<(), Fault> {
        let registered = &self.registry.conditions;
        let checked = match registered.iter().find(|condition| condition.name() == name) {
            Some(condition) => condition.check(value, lasting),
            None => {
                let names = registered.iter().map(|condition| condition.name()).chain(PLACE);
                Err(unknown("condition", name, names.collect::<Vec<_>>()))
            }
        };
        checked.map_err(|fault| fault.at(self.at(&format!("conditions.{name}"))))
    }

    fn work(&self, levels: &Levels) -> Result<Demands, Fault> {
        let mut demands: Option<Demands> = None;
        // The first metric is the deciding one: metrics of background work come last.
        let mut background_metrics = Vec::new();
        for (part, spec) in &self.experiment.work {
            let path = format!("work.{part}");
            let workload = self
                .registry
                .workload(&spec.kind)
                .map_err(|fault| fault.at(self.at(&format!("{path}.kind"))))?;
            let params = spec.params.0.iter().map(|(name, value)| (name.clone(), substitute(value, levels)));
            let params = Params(params.collect());
            let known = workload.parameters();
            if let Some(name) = params.0.keys().find(|name| !known.contains(name)) {
                let fault = unknown(&format!("parameter of `{}`:", spec.kind), name, known.names());
                return Err(fault.at(self.at(&format!("{path}.{name}"))));
            }
            let deployment = workload.deploy(&params).map_err(|fault| self.parameter(fault, &path))?;
            let demands = demands.get_or_insert_with(|| Demands {
                work: BTreeMap::new(),
                metrics: Vec::new(),
                nodes: 0,
                effort: Effort::default(),
                timing: Timing::Either,
            });
            demands.timing = match (demands.timing, deployment.timing) {
                (Timing::Either, timing) | (timing, Timing::Either) => timing,
                (one, other) if one == other => one,
                _ => {
                    return Err(Fault::usage(
                        "work in virtual time, in real time and on another cluster cannot share a scene",
                    )
                    .at(self.at(&path))
                    .remedy("put them in experiments of their own"));
                }
            };
            let lasts = self.lasts(part, spec.start.as_deref(), workload.runs_until_stopped())?;
            demands.nodes = demands.nodes.max(deployment.nodes);
            demands.effort = demands.effort.together_with(&deployment.effort);
            let metrics = if lasts { &mut background_metrics } else { &mut demands.metrics };
            metrics.extend(deployment.metrics);
            let work = Work { kind: spec.kind.clone(), params, nodes: deployment.nodes, lasts };
            demands.work.insert(part.clone(), work);
        }
        let mut demands =
            demands.ok_or_else(|| Fault::usage("an experiment needs work").at(self.at("work")))?;
        demands.metrics.extend(background_metrics);
        if demands.work.len() > 1 && demands.timing == Timing::Virtual {
            return Err(Fault::usage("work side by side is timed by the wall clock, not by virtual clocks")
                .at(self.at("work"))
                .remedy("put it in experiments of their own"));
        }
        Ok(demands)
    }

    /// Whether a part is background work: its `start` must agree with what its workload can do (`can`).
    fn lasts(&self, part: &str, start: Option<&str>, can: bool) -> Result<bool, Fault> {
        let at = self.at(&format!("work.{part}.start"));
        let ends =
            |kind: &str| self.registry.workload(kind).is_ok_and(|workload| !workload.runs_until_stopped());
        let others = || {
            let others =
                self.experiment.work.iter().filter(|(other, spec)| *other != part && ends(&spec.kind));
            others.map(|(other, _)| other.as_str())
        };
        match (start, can) {
            (None, false) => Ok(false),
            (None, true) if others().next().is_some() => Ok(true),
            (_, true) if others().next().is_none() => {
                Err(Fault::usage(format!("`{part}` runs until other work has ended, and there is none"))
                    .at(self.at(&format!("work.{part}")))
                    .remedy("add work that ends by itself"))
            }
            (Some(_), false) => {
                Err(Fault::usage(format!("`{part}` ends by itself: it starts with the others"))
                    .at(at)
                    .remedy("leave `start` out"))
            }
            (start, true) => {
                let start = start.unwrap_or_default();
                match start.strip_prefix("steady before ") {
                    Some(name) if others().any(|other| other == name) => Ok(true),
                    Some(name) => Err(unknown("work", name, others().collect::<Vec<_>>()).at(at)),
                    None => {
                        Err(Fault::usage(format!("expected \"steady before NAME\", found {start:?}")).at(at))
                    }
                }
            }
        }
    }

    /// A workload's fault about a parameter, with the parameter's line.
    fn parameter(&self, mut fault: Fault, path: &str) -> Fault {
        let line = self.at(&match &fault.parameter {
            Some(name) => format!("{path}.{name}"),
            None => path.to_string(),
        });
        fault.place = Some(match fault.place {
            Some(inner) => format!("{line}, {inner}"),
            None => line,
        });
        fault
    }
}
