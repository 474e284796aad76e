//! `crosstalk path`: latencies added up from components.

use std::collections::BTreeSet;
use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_core::interconnect::{Component, Hop, Interconnect};
use crosstalk_core::name::unknown;
use crosstalk_core::units::{self, BitRate, Bytes, human};
use crosstalk_model::path::{Latency, LatencyRange, Traffic};
use crosstalk_study::catalogue::Catalogues;
use serde_json::{Value, json};

use crate::args::PathArgs;
use crate::catalogue;
use crate::out::Out;
use crate::replacements::ComponentTimes;

/// A path and its latency.
struct PathLatency<'a> {
    title: String,
    interconnect: Option<&'a Interconnect>,
    hops: Vec<(&'a Hop, &'a Component)>,
    latency: Latency,
    traffic: Option<Traffic>,
    published: Option<LatencyRange>,
}

/// Runs `crosstalk path`.
pub fn main(args: &PathArgs, out: &Out) -> Result<ExitCode, Fault> {
    let mut catalogues = catalogue::catalogues(&args.catalogue)?;
    let replacements = ComponentTimes::apply(&mut catalogues, args)?;
    if args.path.is_empty() {
        return survey(&catalogues, args, &replacements, out);
    }
    let parsed: Vec<Hop>;
    let path = match catalogues.interconnects().find(|known| args.path == [known.name.as_str()]) {
        Some(interconnect) => of_interconnect(interconnect, &catalogues, args)?,
        None => {
            parsed = hops(&args.path, &catalogues)?;
            let hops = catalogues.components_along(&parsed)?;
            add_up("the path".into(), None, hops, traffic(args, None)?, None)
        }
    };
    out.say(&lines(&path, &replacements).join("\n"));
    out.record(&to_json(&path, &replacements));
    Ok(ExitCode::SUCCESS)
}

/// A line for each interconnect.
fn survey(
    catalogues: &Catalogues,
    args: &PathArgs,
    replacements: &ComponentTimes,
    out: &Out,
) -> Result<ExitCode, Fault> {
    let all: Vec<PathLatency> = catalogues
        .interconnects()
        .map(|known| of_interconnect(known, catalogues, args))
        .collect::<Result<_, _>>()?;
    let name = |path: &PathLatency| path.interconnect.map_or(String::new(), |known| known.name.clone());
    let widest = all.iter().map(|path| name(path).chars().count()).max().unwrap_or(0);
    out.say(&format!("{:widest$}  {:<22} published", "", "from its components"));
    for path in &all {
        let published = path.published.map_or("–".into(), span_text);
        let notes = if replacements.notes(&path.hops).is_empty() { "" } else { "  (measured in part)" };
        let sum = span_text(path.latency.total());
        out.say(&format!("{:widest$}  {sum:<22} {published}{notes}", name(path)));
    }
    out.say("\ncrosstalk path NAME shows the components of one.");
    let paths: Vec<Value> = all.iter().map(|path| to_json(path, replacements)).collect();
    out.record(&json!({ "result": "path", "paths": paths }));
    Ok(ExitCode::SUCCESS)
}

fn of_interconnect<'a>(
    interconnect: &'a Interconnect,
    catalogues: &'a Catalogues,
    args: &PathArgs,
) -> Result<PathLatency<'a>, Fault> {
    let hops = catalogues
        .components_along(&interconnect.path)
        .map_err(|fault| fault.at(format!("interconnect `{}`", interconnect.name)))?;
    let published = interconnect.published.as_deref().and_then(|id| catalogues.published_range(id));
    let published = published.map(|(low, high)| LatencyRange { low, high });
    let traffic = traffic(args, interconnect.bandwidth)?;
    Ok(add_up(interconnect.title.clone(), Some(interconnect), hops, traffic, published))
}

fn add_up<'a>(
    title: String,
    interconnect: Option<&'a Interconnect>,
    hops: Vec<(&'a Hop, &'a Component)>,
    traffic: Option<Traffic>,
    published: Option<LatencyRange>,
) -> PathLatency<'a> {
    let latency = Latency::of_path(&hops, traffic.as_ref());
    PathLatency { title, interconnect, hops, latency, traffic, published }
}

/// The words of the command line as hops. A single unknown word may be meant as an interconnect.
fn hops(words: &[String], catalogues: &Catalogues) -> Result<Vec<Hop>, Fault> {
    let hops: Vec<Hop> = words.iter().map(|word| word.parse()).collect::<Result<_, Fault>>()?;
    let known = |name: &str| catalogues.all_components().any(|(known, _)| known == name);
    match &hops[..] {
        [only] if !known(&only.component) => {
            let components = catalogues.all_components().map(|(name, _)| name);
            let names = catalogues.interconnects().map(|known| known.name.as_str()).chain(components);
            let names: Vec<&str> = names.collect();
            Err(unknown("interconnect or component", &only.component, names))
        }
        _ => Ok(hops),
    }
}

/// The message of `--size`, at the rate of `--rate` or of the interconnect; `None` without a size.
fn traffic(args: &PathArgs, bandwidth: Option<BitRate>) -> Result<Option<Traffic>, Fault> {
    let utilisation =
        args.utilisation.as_deref().map_or(Ok(0.0), share).map_err(|fault| fault.at("--utilisation"))?;
    let Some(size) = &args.size else {
        return match args.utilisation {
            None => Ok(None),
            Some(_) => Err(Fault::usage("the waiting time depends on the messages' size, which is missing")
                .at("--utilisation")
                .remedy("add for example --size '1500 B'")),
        };
    };
    let size: Bytes = size.parse().map_err(|fault: Fault| fault.at("--size"))?;
    let rate = match &args.rate {
        Some(rate) => Some(rate.parse::<BitRate>().map_err(|fault| fault.at("--rate"))?),
        None => bandwidth,
    };
    match rate {
        Some(rate) if rate.0 > 0.0 => Ok(Some(Traffic { size, rate, utilisation })),
        Some(_) => Err(Fault::usage("expected a rate above zero")
            .at("--rate")
            .remedy("write for example --rate '10 Gbit/s'")),
        None => Err(Fault::usage("the time of a message depends on the links' rate, which is missing")
            .at("--size")
            .remedy("add for example --rate '10 Gbit/s'")),
    }
}

/// A share of a port's time below 1: `70 %`, `0.7`.
fn share(text: &str) -> Result<f64, Fault> {
    match units::share(text) {
        Ok(share) if share < 1.0 => Ok(share),
        _ => Err(Fault::usage(format!("expected a share below 100 %, found `{text}`"))
            .remedy("write for example '70 %'")),
    }
}

/// A span as text: `30.0 ns to 35.0 ns`, `190 ns and up`.
fn span_text(span: LatencyRange) -> String {
    let time = |seconds| human(seconds, "s");
    match span.high {
        None => format!("{} and up", time(span.low)),
        Some(high) if time(high) == time(span.low) => time(high),
        Some(high) => format!("{} to {}", time(span.low), time(high)),
    }
}

/// Length of the longest bar.
const BAR: f64 = 28.0;

/// The text for one path: a row for each hop.
fn lines(path: &PathLatency, replacements: &ComponentTimes) -> Vec<String> {
    let total = path.latency.total();
    // If all times are catalogued, no row says so.
    let all_catalogued =
        path.hops.iter().all(|(hop, _)| replacements.origin_of(&hop.component) == "catalogued");
    let origin = |hop: &Hop| if all_catalogued { "" } else { replacements.origin_of(&hop.component) };
    let mut rows: Vec<(String, LatencyRange, &str)> = path
        .hops
        .iter()
        .zip(&path.latency.hops)
        .map(|((hop, component), span)| (hop.describe(component), *span, origin(hop)))
        .collect();
    if let Some(traffic) = &path.traffic {
        let size = human(traffic.size.0 as f64, "B");
        let rate = human(traffic.rate.0, "bit/s");
        rows.push((format!("{size} at {rate}"), LatencyRange::exactly(path.latency.serialising), ""));
        if traffic.utilisation > 0.0 {
            let busy = format!("waiting, ports {} busy (M/D/1: a model)", human(traffic.utilisation, "%"));
            rows.push((busy, LatencyRange::exactly(path.latency.queueing), ""));
        }
    }
    let widest = rows.iter().map(|(title, ..)| title.chars().count()).max().unwrap_or(0);
    let longest = rows.iter().map(|(_, span, _)| span.low).fold(0.0, f64::max);
    let mut lines = vec![format!("{}: {}", path.title, span_text(total))];
    for (title, span, origin) in rows {
        let length = if longest > 0.0 { (span.low / longest * BAR).round() as usize } else { 0 };
        let note = if origin.is_empty() { String::new() } else { format!("  ({origin})") };
        lines.push(
            format!("  {title:widest$}  {:<20} {}{note}", span_text(span), "█".repeat(length))
                .trim_end()
                .to_string(),
        );
    }
    lines.extend(path.published.map(|published| unexplained(path.latency.head(), published)));
    lines.extend(replacements.notes(&path.hops));
    lines
}

/// The part of a published latency that the components leave unexplained.
fn unexplained(total: LatencyRange, published: LatencyRange) -> String {
    let gap = |computed: f64, published: f64, end: &str| match published - computed {
        gap if gap.abs() < 0.005 * published => format!("the components explain {end}"),
        gap if gap > 0.0 => {
            let (gap, share) = (human(gap, "s"), human(gap / published, "%"));
            format!("the components leave {gap} ({share}) of {end} unexplained")
        }
        gap => format!("the components come to {} more than {end}", human(-gap, "s")),
    };
    let exact = published.high == Some(published.low);
    let mut parts = vec![gap(total.low, published.low, if exact { "it" } else { "its lower end" })];
    if let (Some(computed), Some(high), false) = (total.high, published.high, exact) {
        parts.push(gap(computed, high, "its upper end"));
    }
    format!("published: {}; {}", span_text(published), parts.join("; "))
}

/// One path as JSON.
fn to_json(path: &PathLatency, replacements: &ComponentTimes) -> Value {
    let span = |span: LatencyRange| json!({ "low": span.low, "high": span.high });
    let hops: Vec<Value> = path
        .hops
        .iter()
        .zip(&path.latency.hops)
        .map(|((hop, component), time)| {
            json!({
                "component": hop.component,
                "title": component.title,
                "metres": hop.length,
                "seconds": span(*time),
                "origin": replacements.origin_of(&hop.component),
                "source": component.source.text,
                "measured": replacements.measured_time(&hop.component).map(|measured| json!({
                    "metric": measured.metric,
                    "from": measured.from,
                    "values": measured.attempts,
                })),
            })
        })
        .collect();
    let parts: BTreeSet<&str> =
        path.hops.iter().map(|(hop, _)| replacements.origin_of(&hop.component)).collect();
    let total = path.latency.total();
    json!({
        "result": "path",
        "interconnect": path.interconnect.map(|known| &known.name),
        "title": path.title,
        "origin": if path.latency.queueing > 0.0 { "predicted" } else { "computed" },
        "parts": parts,
        "hops": hops,
        "serialising": path.latency.serialising,
        "queueing": path.latency.queueing,
        "utilisation": path.traffic.map(|traffic| traffic.utilisation),
        "seconds": span(total),
        "published": path.published.map(span),
        "unexplained": path.published.map(|published| json!({
            "low": published.low - path.latency.head().low,
            "high": published.high.zip(path.latency.head().high).map(|(published, computed)| published - computed),
        })),
    })
}
