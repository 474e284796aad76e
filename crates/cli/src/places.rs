//! Other times in the places of catalogued components: given on the command line, or measured and
//! read from a run's directory or from what `crosstalk probe --json` printed.

use std::collections::BTreeMap;
use std::path::Path;

use crosstalk_core::Fault;
use crosstalk_core::interconnect::{Component, Hop};
use crosstalk_core::parse_error::in_plain_words;
use crosstalk_core::record::{Better, Metric, Reading};
use crosstalk_core::units::Seconds;
use crosstalk_lab::rundir::RunDir;
use crosstalk_study::catalogue::Catalogues;
use crosstalk_study::counted;
use crosstalk_study::measurements::{Measurements, Range};
use serde::Deserialize;

use crate::args::PathArgs;
use crate::catalogue;

/// What stands in components' places.
pub struct Places {
    /// Of the command line.
    given: Vec<String>,
    measured: BTreeMap<String, Stand>,
}

impl Places {
    /// Puts what the command line says into the places of components.
    ///
    /// # Errors
    /// Usage faults: a time or a file that does not read, a component or a metric that is not known.
    pub fn put(catalogues: &mut Catalogues, args: &PathArgs) -> Result<Self, Fault> {
        let measured = put(catalogues, args)?;
        let given = args.with.iter().map(|text| replace(catalogues, text)).collect::<Result<Vec<_>, _>>()?;
        match given.iter().find(|name| measured.contains_key(*name)) {
            None => Ok(Places { given, measured }),
            Some(twice) => Err(Fault::usage(format!("`{twice}` is measured, too"))
                .at("--with")
                .remedy("give it one time: leave out --with, or --measured")),
        }
    }

    /// What was measured of a component.
    pub fn measured(&self, component: &str) -> Option<&Stand> {
        self.measured.get(component)
    }

    /// Where a component's time comes from, in a word.
    pub fn origin(&self, component: &str) -> &'static str {
        match (self.measured.contains_key(component), self.given.iter().any(|name| name == component)) {
            (true, _) => "measured",
            (false, true) => "given",
            (false, false) => "catalogued",
        }
    }

    /// What stands on these hops for what was measured, and that the sum is of both.
    pub fn notes(&self, hops: &[(&Hop, &Component)]) -> Vec<String> {
        let on_the_way = |name: &String| hops.iter().any(|(hop, _)| hop.component == *name);
        let here: Vec<_> = self.measured.iter().filter(|(name, _)| on_the_way(name)).collect();
        let mut notes: Vec<String> = here
            .iter()
            .map(|(name, stand)| {
                let Stand { metric, from, attempts } = stand;
                format!("{name} is measured: {metric} of {from} ({})", counted(*attempts, "value"))
            })
            .collect();
        if !here.is_empty() && hops.iter().any(|(hop, _)| self.origin(&hop.component) != "measured") {
            notes.push("the sum is mixed: of times that were measured and of others".into());
        }
        notes
    }
}

/// What stands in a component's place.
pub struct Stand {
    /// The metric, as it was asked for.
    pub metric: String,
    /// The run or the file.
    pub from: String,
    /// How many attempts stand behind it.
    pub attempts: usize,
}

/// Puts what was measured into components' places: those that name their metric, and those of `--put`.
/// Returns what stands where.
fn put(catalogues: &mut Catalogues, args: &PathArgs) -> Result<BTreeMap<String, Stand>, Fault> {
    let sources: Vec<Measurements> = args.measured.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    let own = catalogues.all_components();
    let declared = own.filter_map(|(name, component)| Some((name.to_string(), component.measured.clone()?)));
    let mut wanted: BTreeMap<String, (String, bool)> =
        declared.map(|(name, metric)| (name, (metric, false))).collect();
    for text in &args.put {
        let (name, metric) = text.split_once('=').ok_or_else(|| {
            Fault::usage(format!("expected NAME=METRIC, found `{text}`"))
                .at("--put")
                .remedy("write for example --put cpu-to-memory='load_time[size=65536]'")
        })?;
        wanted.insert(name.to_string(), (metric.to_string(), true));
    }
    let mut stands = BTreeMap::new();
    for (name, (metric, asked)) in wanted {
        match (find(&sources, &metric)?, asked) {
            (Some((source, range)), _) => {
                let (low, high) = (Seconds(range.low), Seconds(range.high));
                catalogues.replace_component(&name, low, high).map_err(|fault| fault.at("--put"))?;
                let Range { attempts, .. } = range;
                stands.insert(name, Stand { metric, from: source.from.clone(), attempts });
            }
            (None, true) => return Err(not_measured(&sources, &metric)),
            (None, false) => {}
        }
    }
    if stands.is_empty() && !sources.is_empty() {
        return Err(Fault::usage("nothing in it stands for a component by itself")
            .at("--measured")
            .remedy("say what stands where: --put memory-to-nic='one_way[size=64]'"));
    }
    Ok(stands)
}

/// Puts a time into the place of a component's own: `NAME=TIME` or `NAME=LOW..HIGH`. Returns the name.
fn replace(catalogues: &mut Catalogues, text: &str) -> Result<String, Fault> {
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

/// The one source that has the metric.
fn find<'a>(sources: &'a [Measurements], metric: &str) -> Result<Option<(&'a Measurements, Range)>, Fault> {
    let mut found = None;
    for source in sources {
        let Some(range) = source.range(metric).map_err(|fault| fault.at("--put"))? else { continue };
        if let Some((first, _)) = found.replace((source, range)) {
            let first: &Measurements = first;
            return Err(Fault::usage(format!("both {} and {} have `{metric}`", first.from, source.from))
                .at("--measured")
                .remedy("give one of them"));
        }
    }
    Ok(found)
}

fn not_measured(sources: &[Measurements], metric: &str) -> Fault {
    match sources {
        [] => Fault::usage("nothing measured to put there")
            .at("--put")
            .remedy("name a run: --measured runs/latency-001"),
        [first, ..] => first.missing(metric),
    }
}

/// A run's directory, or the last line of a probe's result.
fn read(path: &Path) -> Result<Measurements, Fault> {
    let place = path.display().to_string();
    if path.is_dir() {
        return Ok(Measurements::from_run(&place, &RunDir::open(path)?.read()?));
    }
    let text = catalogue::read(path)?;
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let result: Probed = serde_json::from_str(last).map_err(|e| {
        Fault::usage(format!(
            "neither a run's directory nor a probe's result: {}",
            in_plain_words(&e.to_string())
        ))
        .at(place.clone())
        .remedy("crosstalk probe memory --json > memory.json")
    })?;
    let metrics = result.readings.iter().map(|told| {
        Metric::new(&told.reading.metric, told.unit.as_deref().unwrap_or_default(), Better::Neither)
    });
    let (metrics, readings) = (metrics.collect(), result.readings.iter().map(|told| told.reading.clone()));
    Ok(Measurements::from_readings(&place, metrics, readings.collect()))
}

/// What `crosstalk probe --json` prints last.
#[derive(Deserialize)]
struct Probed {
    readings: Vec<Told>,
}

#[derive(Deserialize)]
struct Told {
    reading: Reading,
    unit: Option<String>,
}
