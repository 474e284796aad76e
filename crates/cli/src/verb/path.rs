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
use crate::places::Places;

/// A path with what it takes.
struct Found<'a> {
    title: String,
    interconnect: Option<&'a Interconnect>,
    hops: Vec<(&'a Hop, &'a Component)>,
    latency: Latency,
    traffic: Option<Traffic>,
    published: Option<LatencyRange>,
}

pub fn main(args: &PathArgs, out: &Out) -> Result<ExitCode, Fault> {
    let mut catalogues = catalogue::catalogues(&args.catalogue)?;
    let places = Places::put(&mut catalogues, args)?;
    if args.path.is_empty() {
        return survey(&catalogues, args, &places, out);
    }
    let asked: Vec<Hop>;
    let found = match catalogues.interconnects().find(|known| args.path == [known.name.as_str()]) {
        Some(interconnect) => of_interconnect(interconnect, &catalogues, args)?,
        None => {
            asked = hops(&args.path, &catalogues)?;
            let hops = catalogues.along(&asked)?;
            add_up("the path".into(), None, hops, traffic(args, None)?, None)
        }
    };
    out.say(&lines(&found, &places).join("\n"));
    out.tell(&told(&found, &places));
    Ok(ExitCode::SUCCESS)
}

/// Every interconnect, a line each.
fn survey(catalogues: &Catalogues, args: &PathArgs, places: &Places, out: &Out) -> Result<ExitCode, Fault> {
    let all: Vec<Found> = catalogues
        .interconnects()
        .map(|known| of_interconnect(known, catalogues, args))
        .collect::<Result<_, _>>()?;
    let name = |found: &Found| found.interconnect.map_or(String::new(), |known| known.name.clone());
    let widest = all.iter().map(|found| name(found).chars().count()).max().unwrap_or(0);
    out.say(&format!("{:widest$}  {:<22} published", "", "from its components"));
    for found in &all {
        let published = found.published.map_or("–".into(), words);
        let notes = if places.notes(&found.hops).is_empty() { "" } else { "  (measured in part)" };
        let sum = words(found.latency.total());
        out.say(&format!("{:widest$}  {sum:<22} {published}{notes}", name(found)));
    }
    out.say("\ncrosstalk path NAME shows one with its components.");
    let paths: Vec<Value> = all.iter().map(|found| told(found, places)).collect();
    out.tell(&json!({ "result": "path", "paths": paths }));
    Ok(ExitCode::SUCCESS)
}

fn of_interconnect<'a>(
    interconnect: &'a Interconnect,
    catalogues: &'a Catalogues,
    args: &PathArgs,
) -> Result<Found<'a>, Fault> {
    let hops = catalogues
        .along(&interconnect.path)
        .map_err(|fault| fault.at(format!("interconnect `{}`", interconnect.name)))?;
    let published = interconnect.published.as_deref().and_then(|id| catalogues.published_span(id));
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
) -> Found<'a> {
    let latency = Latency::of(&hops, traffic.as_ref());
    Found { title, interconnect, hops, latency, traffic, published }
}

/// The words of the command line as hops; a word alone may be meant for an interconnect.
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

/// What is sent, where the command line says a size: at the rate that it says, or the interconnect's.
fn traffic(args: &PathArgs, bandwidth: Option<BitRate>) -> Result<Option<Traffic>, Fault> {
    let utilisation =
        args.utilisation.as_deref().map_or(Ok(0.0), share).map_err(|fault| fault.at("--utilisation"))?;
    let Some(size) = &args.size else {
        return match args.utilisation {
            None => Ok(None),
            Some(_) => Err(Fault::usage("how long messages wait depends on their size")
                .at("--utilisation")
                .remedy("give it, such as --size '1500 B'")),
        };
    };
    let size: Bytes = size.parse().map_err(|fault: Fault| fault.at("--size"))?;
    let rate = match &args.rate {
        Some(rate) => Some(rate.parse::<BitRate>().map_err(|fault| fault.at("--rate"))?),
        None => bandwidth,
    };
    match rate {
        Some(rate) if rate.0 > 0.0 => Ok(Some(Traffic { size, rate, utilisation })),
        Some(_) => Err(Fault::usage("expected a rate above zero").at("--rate")),
        None => Err(Fault::usage("how long a message takes depends on the links' rate")
            .at("--size")
            .remedy("give it, such as --rate '10 Gbit/s'")),
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

/// As people read it: `30.0 ns to 35.0 ns`, `190 ns and up`.
fn words(span: LatencyRange) -> String {
    let time = |seconds| human(seconds, "s");
    match span.high {
        None => format!("{} and up", time(span.low)),
        Some(high) if time(high) == time(span.low) => time(high),
        Some(high) => format!("{} to {}", time(span.low), time(high)),
    }
}

/// The longest bar.
const BAR: f64 = 28.0;

fn lines(found: &Found, places: &Places) -> Vec<String> {
    let total = found.latency.total();
    // Where all are catalogued it need not be said of each.
    let all_catalogued = found.hops.iter().all(|(hop, _)| places.origin(&hop.component) == "catalogued");
    let origin = |hop: &Hop| if all_catalogued { "" } else { places.origin(&hop.component) };
    let mut rows: Vec<(String, LatencyRange, &str)> = found
        .hops
        .iter()
        .zip(&found.latency.hops)
        .map(|((hop, component), span)| (hop.titled(component), *span, origin(hop)))
        .collect();
    if let Some(traffic) = &found.traffic {
        let size = human(traffic.size.0 as f64, "B");
        let rate = human(traffic.rate.0, "bit/s");
        rows.push((format!("{size} at {rate}"), LatencyRange::exactly(found.latency.serialising), ""));
        if traffic.utilisation > 0.0 {
            let busy = format!("waiting, ports {} busy (M/D/1: a model)", human(traffic.utilisation, "%"));
            rows.push((busy, LatencyRange::exactly(found.latency.queueing), ""));
        }
    }
    let widest = rows.iter().map(|(title, ..)| title.chars().count()).max().unwrap_or(0);
    let longest = rows.iter().map(|(_, span, _)| span.low).fold(0.0, f64::max);
    let mut lines = vec![format!("{}: {}", found.title, words(total))];
    for (title, span, origin) in rows {
        let length = if longest > 0.0 { (span.low / longest * BAR).round() as usize } else { 0 };
        let note = if origin.is_empty() { String::new() } else { format!("  ({origin})") };
        lines.push(
            format!("  {title:widest$}  {:<20} {}{note}", words(span), "█".repeat(length))
                .trim_end()
                .to_string(),
        );
    }
    lines.extend(found.published.map(|published| beside(found.latency.head(), published)));
    lines.extend(places.notes(&found.hops));
    lines
}

/// What the components leave unexplained of what is published.
fn beside(total: LatencyRange, published: LatencyRange) -> String {
    let gap = |own: f64, published: f64, end: &str| match published - own {
        gap if gap.abs() < 0.005 * published => format!("the components explain {end}"),
        gap if gap > 0.0 => {
            let (gap, share) = (human(gap, "s"), human(gap / published, "%"));
            format!("the components leave {gap} ({share}) of {end} unexplained")
        }
        gap => format!("the components come to {} more than {end}", human(-gap, "s")),
    };
    let exact = published.high == Some(published.low);
    let mut said = vec![gap(total.low, published.low, if exact { "it" } else { "its lower end" })];
    if let (Some(own), Some(high), false) = (total.high, published.high, exact) {
        said.push(gap(own, high, "its upper end"));
    }
    format!("published: {}; {}", words(published), said.join("; "))
}

fn told(found: &Found, places: &Places) -> Value {
    let span = |span: LatencyRange| json!({ "low": span.low, "high": span.high });
    let hops: Vec<Value> = found
        .hops
        .iter()
        .zip(&found.latency.hops)
        .map(|((hop, component), time)| {
            json!({
                "component": hop.component,
                "title": component.title,
                "metres": hop.length,
                "seconds": span(*time),
                "origin": places.origin(&hop.component),
                "source": component.source.text,
                "measured": places.measured(&hop.component).map(|stand| json!({
                    "metric": stand.metric,
                    "from": stand.from,
                    "values": stand.attempts,
                })),
            })
        })
        .collect();
    let parts: BTreeSet<&str> = found.hops.iter().map(|(hop, _)| places.origin(&hop.component)).collect();
    let total = found.latency.total();
    json!({
        "result": "path",
        "interconnect": found.interconnect.map(|known| &known.name),
        "title": found.title,
        "origin": if found.latency.queueing > 0.0 { "predicted" } else { "computed" },
        "parts": parts,
        "hops": hops,
        "serialising": found.latency.serialising,
        "queueing": found.latency.queueing,
        "utilisation": found.traffic.map(|traffic| traffic.utilisation),
        "seconds": span(total),
        "published": found.published.map(span),
        "unexplained": found.published.map(|published| json!({
            "low": published.low - found.latency.head().low,
            "high": published.high.zip(found.latency.head().high).map(|(published, own)| published - own),
        })),
    })
}
