//! A measurement with a workload, run once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::need::{Need, UnmetNeed};
use crosstalk_core::record::Reading;
use crosstalk_core::testbed::{Link, Testbed};
use crosstalk_core::value::{Params, Value};
use crosstalk_probe::Readings;
use crosstalk_study::plan::{Place, Scene, Work};
use crosstalk_study::row::Row;
use crosstalk_testbed::{Launcher, LocalTestbed};
use serde_json::{Value as Json, json};

use crate::args::{ExportArgs, SetArgs};
use crate::out::Out;
use crate::{catalogue, parts, readings};

/// Seconds for starting and answering, in addition to the measurement.
const SLACK: f64 = 30.0;

/// A measurement: a workload with its parameters.
pub struct Measurement {
    /// The workload.
    pub kind: &'static str,
    /// Its parameters.
    pub params: Params,
}

impl Measurement {
    /// Adds the parameters of `--set`, which override those of other flags.
    pub fn with(mut self, settings: &SetArgs) -> Result<Self, Fault> {
        for text in &settings.set {
            let (name, value) = crosstalk_study::parse_setting(text).map_err(|fault| {
                fault.remedy(format!(
                    "write for example --set pin=0; `crosstalk show workloads/{}` lists them",
                    self.kind
                ))
            })?;
            self.params = self.params.with(&name, value);
        }
        Ok(self)
    }
}

/// Parameters with the sizes of `--size`: one, a list, or the instrument's own.
pub fn with_sizes(params: Params, sizes: &[String]) -> Params {
    match sizes {
        [] => params,
        [one] => params.with("size", Value::from_word(one)),
        many => params.with("size", Value::List(many.iter().map(|size| Value::from_word(size)).collect())),
    }
}

/// Measures this machine once.
pub fn once_here(measurement: &Measurement, interrupted: &Arc<AtomicBool>) -> Result<Readings, Fault> {
    check_needs(measurement)?;
    let here = Place::Real { fabric: "none".into(), link: Link::Unshaped, scale: 1.0, nodes: 1 };
    let bed = LocalTestbed::new(Launcher::current());
    run_scene(measurement, here, &bed, limit(measurement)?, interrupted, &mut |_| ())
}

/// Refuses a measurement whose needs this machine does not meet, before anything runs.
pub fn check_needs(measurement: &Measurement) -> Result<(), Fault> {
    let needs = parts::registry().workload(measurement.kind)?.needs(&measurement.params);
    match needs.into_iter().find_map(Need::unmet) {
        None => Ok(()),
        Some(UnmetNeed { consequence, remedy, .. }) => {
            let fault = Fault::environment(consequence);
            Err(remedy.into_iter().fold(fault, |fault, remedy| fault.remedy(remedy)))
        }
    }
}

/// How long a measurement may take in all. Checks its parameters too.
pub fn limit(measurement: &Measurement) -> Result<Duration, Fault> {
    let effort = parts::registry().workload(measurement.kind)?.deploy(&measurement.params)?.effort;
    Ok(Duration::from_secs_f64(effort.seconds(1, 1.0) * 4.0 + SLACK))
}

/// Runs a measurement once, on nodes of a testbed.
pub fn run_scene(
    measurement: &Measurement,
    place: Place,
    bed: &dyn Testbed,
    limit: Duration,
    interrupted: &Arc<AtomicBool>,
    live: &mut dyn FnMut(&Reading),
) -> Result<Readings, Fault> {
    let (kind, params) = (measurement.kind.into(), measurement.params.clone());
    let work = Work { kind, params, nodes: place.nodes(), lasts: false };
    let scene = Scene {
        work: BTreeMap::from([("probe".into(), work)]),
        place,
        conditions: BTreeMap::new(),
        observe: Vec::new(),
    };
    let emulation = crosstalk_study::emulation(&catalogue::catalogues(&[])?, &scene.place)?;
    crosstalk_lab::run_once(&parts::registry(), bed, &scene, emulation, limit, interrupted, live)
}

/// Writes the requested files, and prints the last line of JSON, with the fields of `more`.
pub fn export(
    measurement: &Measurement,
    readings: &Readings,
    files: &ExportArgs,
    units: &BTreeMap<String, String>,
    more: &Json,
    out: &Out,
) -> Result<(), Fault> {
    let name = match more["of"].as_str() {
        Some(of) => format!("probe {}: {of}", measurement.kind),
        None => format!("probe {}", measurement.kind),
    };
    let unit = |reading: &Reading| units.get(&reading.metric);
    let row = |reading: &Reading| Row::of_reading(&name, reading, unit(reading).map_or("", String::as_str));
    let rows: Vec<Row> = readings.iter().filter_map(|(reading, _)| row(reading)).collect();
    let fields: Vec<Json> =
        readings.iter().map(|(reading, n)| readings::reading_to_json(reading, *n, unit(reading))).collect();
    let mut last = json!({ "result": "probe", "readings": fields });
    if let (Json::Object(last), Json::Object(more)) = (&mut last, more) {
        last.extend(more.clone());
    }
    let written = files.write(&rows);
    out.record(&last);
    written
}

/// The unit of each metric, as the workload declares it.
pub fn units(measurement: &Measurement) -> Result<BTreeMap<String, String>, Fault> {
    let deployment = parts::registry().workload(measurement.kind)?.deploy(&measurement.params)?;
    Ok(deployment.metrics.into_iter().map(|m| (m.name, m.unit)).collect())
}
