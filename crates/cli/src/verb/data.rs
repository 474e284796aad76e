//! `crosstalk data list` and `crosstalk data get NAME`.

use std::path::PathBuf;
use std::process::ExitCode;

use crosstalk_apps::dataset::{self, Catalogue, DataSet, Supply, VARIABLE};
use crosstalk_core::Fault;
use crosstalk_core::units::human;
use serde_json::{Value, json};

use crate::args::{Data, DataArgs, DataPlaceArgs};
use crate::catalogue;
use crate::out::Out;

/// Runs `crosstalk data`.
pub fn main(args: &DataArgs, out: &Out) -> Result<ExitCode, Fault> {
    match &args.what {
        Data::List(place) => list(place, out)?,
        Data::Get { name, place } => get(name, place, out)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The bundled catalogue, or the one of `--catalogue`.
fn sets(place: &DataPlaceArgs) -> Result<Catalogue, Fault> {
    match &place.catalogue {
        Some(path) => Catalogue::parse(&catalogue::read_text_file(path)?, &path.display().to_string()),
        None => Catalogue::bundled(),
    }
}

fn dir(place: &DataPlaceArgs) -> PathBuf {
    let named = place.dir.clone().filter(|dir| !dir.as_os_str().is_empty());
    named.unwrap_or_else(dataset::directory)
}

fn list(place: &DataPlaceArgs, out: &Out) -> Result<(), Fault> {
    let (sets, dir) = (sets(place)?, dir(place));
    for set in sets.all() {
        let state = match &set.supply {
            _ if set.is_complete_in(&dir) => {
                let checked = if set.file_sha256.is_some() { "its checksum is right" } else { "not checked" };
                format!("in {}, {checked}", dir.display())
            }
            Supply::Download { .. } => format!("crosstalk data get {}", set.name),
            Supply::ByHand(_) => format!("by hand: crosstalk data get {} prints the steps", set.name),
        };
        out.say(&format!("{}\n{}  {state}", set.name, about(set, out.width())));
    }
    let sets: Vec<Value> = sets
        .all()
        .map(|set| {
            let is_by_hand = matches!(set.supply, Supply::ByHand(_));
            let mut value = to_json(set);
            value["there"] = set.is_complete_in(&dir).into();
            value["by_hand"] = is_by_hand.into();
            value
        })
        .collect();
    out.record(&json!({ "result": "data", "dir": dir, "sets": sets }));
    Ok(())
}

fn get(name: &str, place: &DataPlaceArgs, out: &Out) -> Result<(), Fault> {
    let (sets, dir) = (sets(place)?, dir(place));
    let set = sets.find(name)?;
    // The licence is printed before anything is fetched: who does not agree can interrupt.
    out.say(about(set, out.width()).trim_end());
    dataset::install(set, &dir)?;
    let paths: Vec<PathBuf> = set.files.paths().map(|path| dir.join(path)).collect();
    paths.iter().for_each(|path| out.say(&format!("  wrote {}", path.display())));
    if std::env::var_os(VARIABLE).is_none() {
        out.say(&format!("  tests find it with {VARIABLE}={}", dir.display()));
    }
    let mut value = to_json(set);
    value["result"] = "data".into();
    value["wrote"] = json!(paths);
    out.record(&value);
    Ok(())
}

/// A data set as lines of text.
fn about(set: &DataSet, width: usize) -> String {
    let size = human(set.size.0 as f64, "B");
    let lines = [
        set.title.clone(),
        format!("size: {size}"),
        format!("source: {}", set.source),
        format!("licence: {}", set.licence),
    ];
    let wrapped = lines.iter().flat_map(|line| crosstalk_report::wrap(line, width.saturating_sub(2)));
    wrapped.map(|line| format!("  {line}\n")).collect()
}

/// A data set as JSON.
fn to_json(set: &DataSet) -> Value {
    let DataSet { name, title, licence, source, size, .. } = set;
    json!({ "name": name, "title": title, "licence": licence, "source": source, "bytes": size.0 })
}
