//! `crosstalk list [CATALOGUE]`.

use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_core::units::human;
use serde::Serialize;

use crate::args::{Catalogue, ListArgs};
use crate::out::Out;
use crate::{catalogue, parts};

/// One line of a list.
#[derive(Serialize)]
struct Entry {
    name: String,
    title: String,
}

pub fn main(args: &ListArgs, out: &Out) -> Result<ExitCode, Fault> {
    let all = [
        (Catalogue::Studies, "studies"),
        (Catalogue::Fabrics, "fabrics"),
        (Catalogue::Systems, "systems"),
        (Catalogue::Workloads, "workloads"),
        (Catalogue::Published, "published"),
    ];
    // Published figures are many: shown when asked for.
    let wanted = all.iter().filter(|(which, _)| match args.what {
        Some(what) => what == *which,
        None => *which != Catalogue::Published,
    });
    let mut lists = serde_json::Map::new();
    for (which, name) in wanted {
        let entries = entries(*which)?;
        out.say(&format!("{name}:"));
        let widest = entries.iter().map(|e| e.name.chars().count()).max().unwrap_or(0);
        for entry in &entries {
            out.say(&format!("  {:widest$}  {}", entry.name, entry.title));
        }
        lists.insert((*name).into(), serde_json::to_value(entries).unwrap_or_default());
    }
    lists.insert("result".into(), "list".into());
    out.tell(&lists);
    Ok(ExitCode::SUCCESS)
}

fn entries(which: Catalogue) -> Result<Vec<Entry>, Fault> {
    let catalogues = catalogue::catalogues(&[])?;
    Ok(match which {
        Catalogue::Studies => crosstalk_study::bundled_studies()
            .iter()
            .map(|(name, text)| {
                let study = crosstalk_study::parse(text, &format!("studies/{name}.toml"))?;
                Ok(Entry { name: (*name).into(), title: study.title })
            })
            .collect::<Result<_, Fault>>()?,
        Catalogue::Fabrics => catalogues
            .fabrics()
            .map(|f| Entry {
                name: f.name.clone(),
                title: format!("{} ({})", f.title, human(f.rate.0, "bit/s")),
            })
            .collect(),
        Catalogue::Systems => catalogues
            .named_systems()
            .into_iter()
            .map(|(name, system, _)| Entry { name, title: system.title.clone() })
            .collect(),
        Catalogue::Workloads => parts::registry()
            .workloads
            .iter()
            .map(|w| Entry { name: w.name().into(), title: w.title().into() })
            .collect(),
        Catalogue::Published => catalogues
            .all_published()
            .map(|p| Entry { name: p.id.clone(), title: format!("{} {}", p.printed, p.unit) })
            .collect(),
    })
}
