//! Times that replace those of catalogued components: given on the command line, or measured. Measured times come
//! from a run's directory or from the output of `crosstalk probe --json`.

use std::collections::BTreeMap;
use std::path::Path;

use crosstalk_core::Fault;
use crosstalk_core::interconnect::{Component, Hop};
use crosstalk_core::parse_error::in_plain_words;
use crosstalk_core::record::{Better, Metric, Reading};
use crosstalk_core::units::Seconds;
use crosstalk_lab::rundir::RunDir;
use crosstalk_study::catalogue::Catalogues;
use crosstalk_study::count_in_words;
use crosstalk_study::measurements::{Measurements, Range};
use serde::Deserialize;

use crate::args::PathArgs;
use crate::catalogue;

/// The times of components that the command line gives or measurements show, in place of catalogued ones.
pub struct ComponentTimes {
    /// Components with a time from the command line.
    given: Vec<String>,
    measured: BTreeMap<String, MeasuredTime>,
}

impl ComponentTimes {
    /// Replaces times in the catalogues, as the command line says.
    ///
    /// # Errors
    /// Usage faults: a time or a file that cannot be read, an unknown component or metric.
    pub fn apply(catalogues: &mut Catalogues, args: &PathArgs) -> Result<Self, Fault> {
        let measured = apply_measured(catalogues, args)?;
        let given =
            args.with.iter().map(|text| apply_given(catalogues, text)).collect::<Result<Vec<_>, _>>()?;
        match given.iter().find(|name| measured.contains_key(*name)) {
            None => Ok(ComponentTimes { given, measured }),
            Some(twice) => Err(Fault::usage(format!("`{twice}` is measured, too"))
                .at("--with")
                .remedy("give it one time: leave out --with, or --measured")),
        }
    }

    /// The measured time of a component.
    pub fn measured_time(&self, component: &str) -> Option<&MeasuredTime> {
        self.measured.get(component)
    }

    /// Where a component's time comes from: `measured`, `given` or `catalogued`.
    pub fn origin_of(&self, component: &str) -> &'static str {
        match (self.measured.contains_key(component), self.given.iter().any(|name| name == component)) {
            (true, _) => "measured",
            (false, true) => "given",
            (false, false) => "catalogued",
        }
    }

    /// Notes on these hops: which times are measured, and whether the sum mixes them with others.
    pub fn notes(&self, hops: &[(&Hop, &Component)]) -> Vec<String> {
        let is_hop = |name: &String| hops.iter().any(|(hop, _)| hop.component == *name);
        let here: Vec<_> = self.measured.iter().filter(|(name, _)| is_hop(name)).collect();
        let mut notes: Vec<String> = here
            .iter()
            .map(|(name, measured)| {
                let MeasuredTime { metric, from, attempts } = measured;
                format!("{name} is measured: {metric} of {from} ({})", count_in_words(*attempts, "value"))
            })
            .collect();
        if !here.is_empty() && hops.iter().any(|(hop, _)| self.origin_of(&hop.component) != "measured") {
            notes.push("the sum mixes measured and other times".into());
        }
        notes
    }
}

/// The measured time of a component.
pub struct MeasuredTime {
    /// The metric, as requested.
    pub metric: String,
    /// The run or the file.
    pub from: String,
    /// The number of attempts.
    pub attempts: usize,
}

/// Replaces times by measured ones: for components that name their metric, and for those of `--put`. Returns the
/// replacements by component.
fn apply_measured(
    catalogues: &mut Catalogues,
    args: &PathArgs,
) -> Result<BTreeMap<String, MeasuredTime>, Fault> {
    let sources: Vec<Measurements> = args.measured.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    let components = catalogues.all_components();
    let declared =
        components.filter_map(|(name, component)| Some((name.to_string(), component.measured.clone()?)));
    let mut metrics: BTreeMap<String, (String, bool)> =
        declared.map(|(name, metric)| (name, (metric, false))).collect();
    for text in &args.put {
        let (name, metric) = text.split_once('=').ok_or_else(|| {
            Fault::usage(format!("expected NAME=METRIC, found `{text}`"))
                .at("--put")
                .remedy("write for example --put cpu-to-memory='load_time[size=65536]'")
        })?;
        metrics.insert(name.to_string(), (metric.to_string(), true));
    }
    let mut replacements = BTreeMap::new();
    for (name, (metric, is_requested)) in metrics {
        match (find(&sources, &metric)?, is_requested) {
            (Some((source, range)), _) => {
                let (low, high) = (Seconds(range.low), Seconds(range.high));
                catalogues.replace_component(&name, low, high).map_err(|fault| fault.at("--put"))?;
                let Range { attempts, .. } = range;
                replacements.insert(name, MeasuredTime { metric, from: source.from.clone(), attempts });
            }
            (None, true) => return Err(not_measured(&sources, &metric)),
            (None, false) => {}
        }
    }
    if replacements.is_empty() && !sources.is_empty() {
        return Err(Fault::usage("no component names one of its metrics")
            .at("--measured")
            .remedy("name component and metric: --put memory-to-nic='one_way[size=64]'"));
    }
    Ok(replacements)
}

/// Replaces a component's time: `NAME=TIME` or `NAME=LOW..HIGH`. Returns the name.
fn apply_given(catalogues: &mut Catalogues, text: &str) -> Result<String, Fault> {
    let wrong = || {
        Fault::usage(format!("expected NAME=TIME or NAME=LOW..HIGH, found `{text}`"))
            .at("--with")
            .remedy("write for example --with cpu-to-memory='92 ns'")
    };
    let (name, time) = text.split_once('=').ok_or_else(wrong)?;
    let read = |text: &str| text.parse::<Seconds>().map_err(|fault| fault.at("--with"));
    let (low, high) = match time.split_once("..") {
        Some((low, high)) => (read(low)?, read(high)?),
        None => (read(time)?, read(time)?),
    };
    if high < low {
        return Err(wrong());
    }
    catalogues.replace_component(name, low, high).map_err(|fault| fault.at("--with"))?;
    Ok(name.to_string())
}

/// The only source with the metric.
///
/// # Errors
/// If two have it.
fn find<'a>(sources: &'a [Measurements], metric: &str) -> Result<Option<(&'a Measurements, Range)>, Fault> {
    let mut found = None;
    for source in sources {
        let Some(range) = source.range(metric).map_err(|fault| fault.at("--put"))? else { continue };
        if let Some((first, _)) = found.replace((source, range)) {
            let first: &Measurements = first;
            return Err(Fault::usage(format!("both {} and {} have `{metric}`", first.from, source.from))
                .at("--measured")
                .remedy("name only one of them"));
        }
    }
    Ok(found)
}

fn not_measured(sources: &[Measurements], metric: &str) -> Fault {
    match sources {
        [] => Fault::usage("there is no measurement to take the metric from")
            .at("--put")
            .remedy("name a run: --measured runs/latency-001"),
        [first, ..] => first.missing(metric),
    }
}

/// Reads a run's directory, or the last line of a probe's output.
fn read(path: &Path) -> Result<Measurements, Fault> {
    let place = path.display().to_string();
    if path.is_dir() {
        return Ok(Measurements::from_run(&place, &RunDir::open(path)?.read_run()?));
    }
    let text = catalogue::read_text_file(path)?;
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let result: ProbeResult = serde_json::from_str(last).map_err(|e| {
        Fault::usage(format!(
            "neither a run's directory nor a probe's result: {}",
            in_plain_words(&e.to_string())
        ))
        .at(place.clone())
        .remedy("crosstalk probe memory --json > memory.json")
    })?;
    let metrics = result.readings.iter().map(|ProbeReading { reading, unit }| {
        Metric::new(&reading.metric, unit.as_deref().unwrap_or_default(), Better::Neither)
    });
    let metrics = metrics.collect();
    let readings = result.readings.into_iter().map(|ProbeReading { reading, .. }| reading);
    Ok(Measurements::from_readings(&place, metrics, readings.collect()))
}

/// The last line of `crosstalk probe --json`.
#[derive(Deserialize)]
struct ProbeResult {
    readings: Vec<ProbeReading>,
}

#[derive(Deserialize)]
struct ProbeReading {
    reading: Reading,
    unit: Option<String>,
}
