//! `crosstalk list [CATALOGUE]`.

use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_core::system::Network;
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

/// Runs `crosstalk list`.
pub fn main(args: &ListArgs, out: &Out) -> Result<ExitCode, Fault> {
    let all = [
        (Catalogue::Studies, "studies"),
        (Catalogue::Fabrics, "fabrics"),
        (Catalogue::Systems, "systems"),
        (Catalogue::Mpi, "mpi"),
        (Catalogue::Interconnects, "interconnects"),
        (Catalogue::Components, "components"),
        (Catalogue::Workloads, "workloads"),
        (Catalogue::Published, "published"),
    ];
    // There are many published figures: they are listed only on request.
    let selected = all.iter().filter(|(which, _)| match args.what {
        Some(what) => what == *which,
        None => *which != Catalogue::Published,
    });
    let mut lists = serde_json::Map::new();
    for (which, name) in selected {
        let entries = entries(*which)?;
        out.say(&format!("{name}:"));
        out.say(&lines(&entries, out.width()).join("\n"));
        lists.insert((*name).into(), serde_json::to_value(entries).unwrap_or_default());
    }
    if args.what.is_none() {
        let many = catalogue::catalogues(&[])?.all_published().count();
        for line in crosstalk_report::wrap(
            &format!("published: {many} figures: crosstalk list published"),
            out.width(),
        ) {
            out.say(&line);
        }
    }
    lists.insert("result".into(), "list".into());
    out.record(&lists);
    Ok(ExitCode::SUCCESS)
}

/// Least width for titles beside names.
const LEAST_WIDTH: usize = 24;

/// Names with their titles: beside them if the width allows it, else below.
fn lines(entries: &[Entry], width: usize) -> Vec<String> {
    let widest = entries.iter().map(|e| e.name.chars().count()).max().unwrap_or(0);
    let beside = widest + 4 + LEAST_WIDTH <= width;
    let indent = if beside { widest + 4 } else { 4 };
    let mut lines = Vec::new();
    for entry in entries {
        let mut title = crosstalk_report::wrap(&entry.title, width.saturating_sub(indent)).into_iter();
        if beside {
            lines.push(format!("  {:widest$}  {}", entry.name, title.next().unwrap_or_default()));
        } else {
            lines.extend(crosstalk_report::wrap(&entry.name, width - 2).iter().map(|l| format!("  {l}")));
        }
        lines.extend(title.map(|line| format!("{:indent$}{line}", "")));
    }
    lines
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
            .map(|(name, system, network)| {
                let which = if system.network.len() > 1 {
                    format!(", over {}", fabrics_of(network))
                } else {
                    String::new()
                };
                Entry { name, title: format!("{}{which}", system.title) }
            })
            .collect(),
        Catalogue::Mpi => catalogues
            .mpi_profiles()
            .map(|m| Entry { name: m.name.clone(), title: m.title.clone() })
            .collect(),
        Catalogue::Interconnects => catalogues
            .interconnects()
            .map(|i| Entry { name: i.name.clone(), title: i.title.clone() })
            .collect(),
        Catalogue::Components => catalogues
            .all_components()
            .map(|(name, c)| Entry { name: name.into(), title: c.title.clone() })
            .collect(),
        Catalogue::Workloads => parts::registry()
            .workloads
            .iter()
            .map(|w| Entry { name: w.name().into(), title: w.title().into() })
            .collect(),
        Catalogue::Published => catalogues
            .all_published()
            .map(|p| Entry {
                name: p.id.clone(),
                title: format!("{}: {}", p.quantity.replace('-', " "), p.in_words()),
            })
            .collect(),
    })
}

/// The fabrics of a network.
fn fabrics_of(network: &Network) -> String {
    match network.within == network.across {
        true => network.across.clone(),
        false => format!("{} on a board and {} between boards", network.within, network.across),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_has_titles_below_their_names() {
        let entry =
            Entry { name: "ethernet-2.5g".into(), title: "Ethernet 2.5G, kernel TCP (2.50 Gbit/s)".into() };
        let shown = lines(&[entry], 30);
        assert_eq!(shown, ["  ethernet-2.5g", "    Ethernet 2.5G, kernel TCP", "    (2.50 Gbit/s)"]);
    }
}
