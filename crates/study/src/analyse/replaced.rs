//! Which numbers of clusters a run had in the place of the bundled catalogue's.

use std::collections::BTreeMap;

use crate::catalogue::Catalogues;
use crate::plan::Plan;
use crate::words::join_in_words;

/// The remark on entries that have the name of a bundled one and other numbers: a user's with `--catalogue`, or those of an
/// earlier version. `None` where all numbers are the bundled ones'.
pub fn remark(plan: &Plan, catalogues: &Catalogues) -> Option<String> {
    let bundled: BTreeMap<_, _> = Catalogues::bundled().files_used_by(plan).into_iter().collect();
    let files = catalogues.files_used_by(plan);
    let replaced: Vec<String> = files
        .iter()
        .filter_map(|(file, used)| Some((file, used, bundled.get(file)?)))
        .flat_map(|(file, used, own)| differences(file, &numbers(used), &numbers(own)))
        .collect();
    (!replaced.is_empty()).then(|| {
        format!(
            "this run's catalogue differs from the bundled one of this program: {}; it is kept in the run's directory, in \
             `catalogue`",
            join_in_words(&replaced)
        )
    })
}

/// Path of a value → the value, without what only describes.
fn numbers(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let table: toml::Table = toml::from_str(text).expect("catalogue entries are written as TOML");
    flatten("", &table, &mut found);
    found
}

fn flatten(within: &str, table: &toml::Table, found: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        match value {
            toml::Value::Table(inner) => flatten(&format!("{within}{key}."), inner, found),
            _ if ["name", "title", "caveats", "text", "calibration"].contains(&key.as_str()) => (),
            _ => {
                found.insert(format!("{within}{key}"), value.to_string());
            }
        }
    }
}

fn differences(file: &str, used: &BTreeMap<String, String>, own: &BTreeMap<String, String>) -> Vec<String> {
    let or_none = |value: Option<&String>| value.map_or("none", String::as_str).to_string();
    let paths = used.keys().chain(own.keys().filter(|path| !used.contains_key(*path)));
    paths
        .filter(|path| used.get(*path) != own.get(*path))
        .map(|path| {
            format!("{file} has {path} = {} (bundled: {})", or_none(used.get(path)), or_none(own.get(path)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_of_two_lacks_differs_too() {
        let (used, own) = (numbers("a = 1\n[b]\ntext = \"x\"\n"), numbers("a = 1\n[b]\nc = 2\n"));
        let found = differences("f", &used, &own);
        assert_eq!(found, ["f has b.c = none (bundled: 2)"]);
    }
}
