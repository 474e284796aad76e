//! One cell's scene: what runs, where, under which conditions.

use super::{Cell, Place, Scene, Work};
use crate::catalogue::{Catalogues, NO_FABRIC};
use crate::emulate::emulation;
use crate::file::{Experiment, Study};
use crate::substitute::substitute;
use crosstalk_core::Fault;
use crosstalk_core::emulation::Placement;
use crosstalk_core::fabric::Links;
use crosstalk_core::name::unknown;
use crosstalk_core::record::Metric;
use crosstalk_core::registry::Registry;
use crosstalk_core::scene::Timing;
use crosstalk_core::testbed::Link;
use crosstalk_core::units::{BitRate, Bytes, Seconds};
use crosstalk_core::value::{Levels, Params, Value};
use std::collections::BTreeMap;
use std::str::FromStr;

/// Conditions that say where a scene happens.
const PLACE: [&str; 7] = ["system", "boards", "rate", "latency", "memory", "fabric", "scale"];

/// Everything cells are made from.
pub(super) struct Maker<'a> {
    pub study: &'a Study,
    pub name: &'a str,
    pub experiment: &'a Experiment,
    pub catalogues: &'a Catalogues,
    pub registry: &'a Registry,
}

/// What the workloads of a cell ask for.
struct Asked {
    work: BTreeMap<String, Work>,
    metrics: Vec<Metric>,
    nodes: usize,
    seconds: f64,
    timing: Timing,
}

impl Maker<'_> {
    /// The cell at `levels`, and the metrics that its workloads report.
    pub fn cell(&self, levels: &Levels) -> Result<(Cell, Vec<Metric>), Fault> {
        let asked = self.work(levels)?;
        let mut conditions: BTreeMap<String, Value> = self
            .experiment
            .conditions
            .iter()
            .map(|(name, value)| (name.clone(), substitute(value, levels)))
            .collect();
        let place = self.place(&conditions, &asked).map_err(|fault| match fault.place {
            Some(_) => fault,
            None => fault.at(self.at("conditions")),
        })?;
        conditions.retain(|name, _| !PLACE.contains(&name.as_str()));
        for name in conditions.keys() {
            self.known_condition(name)?;
        }
        let scene = Scene { work: asked.work, place, conditions, observe: self.experiment.observe.clone() };
        Ok((Cell { levels: levels.clone(), scene, seconds: asked.seconds }, asked.metrics))
    }

    fn at(&self, key: &str) -> String {
        self.study.written.at(&format!("experiment.{}.{key}", self.name))
    }

    fn known_condition(&self, name: &str) -> Result<(), Fault> {
        let registered = &self.registry.conditions;
        if registered.iter().any(|condition| condition.name() == name) {
            return Ok(());
        }
        let names = registered.iter().map(|condition| condition.name()).chain(PLACE);
        Err(unknown("condition", name, names.collect::<Vec<_>>()).at(self.at(&format!("conditions.{name}"))))
    }

    fn work(&self, levels: &Levels) -> Result<Asked, Fault> {
        let mut asked: Option<Asked> = None;
        for (part, spec) in &self.experiment.work {
            let path = format!("work.{part}");
            let workload = self
                .registry
                .workload(&spec.kind)
                .map_err(|fault| fault.at(self.at(&format!("{path}.kind"))))?;
            let params = spec.params.0.iter().map(|(name, value)| (name.clone(), substitute(value, levels)));
            let params = Params(params.collect());
            let known = workload.parameters();
            if let Some(name) = params.0.keys().find(|name| !known.contains(&name.as_str())) {
                let fault = unknown(&format!("parameter of `{}`:", spec.kind), name, known.iter().copied());
                return Err(fault.at(self.at(&format!("{path}.{name}"))));
            }
            let deployment = workload.deploy(&params).map_err(|fault| self.parameter(fault, &path))?;
            let asked = asked.get_or_insert_with(|| Asked {
                work: BTreeMap::new(),
                metrics: Vec::new(),
                nodes: 0,
                seconds: 0.0,
                timing: workload.timing(),
            });
            if asked.timing != workload.timing() {
                return Err(Fault::usage("work in virtual time and work in real time cannot share a scene")
                    .at(self.at(&path))
                    .remedy("put them in experiments of their own"));
            }
            asked.nodes = asked.nodes.max(deployment.nodes);
            asked.seconds = asked.seconds.max(deployment.seconds);
            asked.metrics.extend(deployment.metrics);
            asked.work.insert(part.clone(), Work { kind: spec.kind.clone(), params });
        }
        asked.ok_or_else(|| Fault::usage("an experiment needs work").at(self.at("work")))
    }

    /// A workload's fault about a parameter, with the line of that parameter.
    fn parameter(&self, mut fault: Fault, path: &str) -> Fault {
        let Some(inner) = fault.place.take() else { return fault.at(self.at(path)) };
        let name = inner.strip_prefix("parameter `").and_then(|rest| rest.strip_suffix('`'));
        let line = self.at(&name.map_or(path.to_string(), |name| format!("{path}.{name}")));
        fault.at(format!("{line}, {inner}"))
    }

    fn place(&self, conditions: &BTreeMap<String, Value>, asked: &Asked) -> Result<Place, Fault> {
        let kinds: Vec<&str> = asked.work.values().map(|work| work.kind.as_str()).collect();
        let kinds = kinds.join(" and ");
        let given =
            |name: &str| conditions.get(name).map(|value| (value, self.at(&format!("conditions.{name}"))));
        match asked.timing {
            Timing::Virtual => {
                if let Some((_, at)) = given("fabric") {
                    return Err(Fault::usage(format!(
                        "`{kinds}` runs in virtual time, where a system's network gives the fabric"
                    ))
                    .at(at)
                    .remedy("replace `fabric` by system = \"…\" (crosstalk list shows them)"));
                }
                let (system, at) = given("system").ok_or_else(|| {
                    Fault::usage(format!("`{kinds}` runs in virtual time and needs a system"))
                        .remedy("add conditions.system = \"…\" (crosstalk list shows them)")
                })?;
                if let Some((_, at)) = given("scale") {
                    return Err(Fault::usage(
                        "`scale` is for links in real time; virtual time holds every rate",
                    )
                    .at(at)
                    .remedy("leave it out"));
                }
                let boards = given("boards");
                let placement = placement(boards.as_ref().map(|(value, _)| *value))
                    .map_err(|fault| fault.at(boards.map_or(String::new(), |(_, at)| at)))?;
                let links = Links {
                    rate: given("rate")
                        .map(|(value, at)| above_zero(value, |rate: &BitRate| rate.0, at))
                        .transpose()?,
                    latency: given("latency")
                        .map(|(value, at)| above_zero(value, |time: &Seconds| time.0, at))
                        .transpose()?,
                };
                let memory = given("memory")
                    .map(|(value, at)| above_zero(value, |size: &Bytes| size.0 as f64, at))
                    .transpose()?;
                let (system, nodes) = (system.to_string(), asked.nodes);
                let place = Place::Virtual { system, links, memory, placement, nodes };
                // Made here for its faults: unknown names, and boards that are too small.
                emulation(self.catalogues, &place).map_err(|fault| fault.at(at))?;
                Ok(place)
            }
            Timing::Real => {
                for name in ["system", "boards", "rate", "latency", "memory"] {
                    if let Some((_, at)) = given(name) {
                        let remedy = match name {
                            "memory" => "leave it out: a program has what its node really has",
                            _ => "replace it by fabric = \"…\" (crosstalk list shows them)",
                        };
                        return Err(Fault::usage(format!(
                            "`{kinds}` runs in real time, where `{name}` means nothing"
                        ))
                        .at(at)
                        .remedy(remedy));
                    }
                }
                let scale = match given("scale") {
                    None => 1.0,
                    Some((value, at)) => scale(value).map_err(|fault| fault.at(at))?,
                };
                let (fabric, link) = match given("fabric") {
                    None => (NO_FABRIC.to_string(), Link::Unshaped),
                    Some((value, at)) => {
                        self.link(&value.to_string(), scale).map_err(|fault| fault.at(at))?
                    }
                };
                Ok(Place::Real { fabric, link, scale, nodes: asked.nodes })
            }
        }
    }

    fn link(&self, fabric: &str, scale: f64) -> Result<(String, Link), Fault> {
        if fabric == NO_FABRIC {
            return Ok((fabric.to_string(), Link::Unshaped));
        }
        let found = self.catalogues.find_fabric(fabric)?;
        Ok((fabric.to_string(), Link::Rate(BitRate(found.rate.0 / scale))))
    }
}

/// A quantity with its unit that is above zero.
fn above_zero<T: FromStr<Err = Fault>>(
    value: &Value,
    number: impl Fn(&T) -> f64,
    at: String,
) -> Result<T, Fault> {
    let quantity: T = value.to_string().parse().map_err(|fault: Fault| fault.at(at.clone()))?;
    if number(&quantity) > 0.0 {
        return Ok(quantity);
    }
    Err(Fault::usage(format!("expected more than zero, found `{value}`")).at(at))
}

/// What every rate is divided by.
pub fn scale(value: &Value) -> Result<f64, Fault> {
    value.number().filter(|scale| scale.is_finite() && *scale >= 1.0).ok_or_else(|| {
        Fault::usage(format!("expected a number of at least 1, found `{value}`"))
            .remedy("scale = 10 runs every link at a tenth of its fabric's rate")
    })
}

fn placement(boards: Option<&Value>) -> Result<Placement, Fault> {
    match boards.map(ToString::to_string).as_deref() {
        None | Some("many") => Ok(Placement::Many),
        Some("one") => Ok(Placement::One),
        Some(other) => Err(unknown("placement on boards", other, ["one", "many"])),
    }
}
