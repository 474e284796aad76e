//! Published values: `published/*.csv`, one row a figure as printed.
//! Columns: `id,study,quantity,levels,value,unit,relative_to,note`.

use crate::csv;
use crosstalk_core::value::Levels;
use crosstalk_core::{Fault, quoted};
use std::collections::BTreeMap;

/// The columns of a file of published values, in order.
pub const COLUMNS: [&str; 8] = ["id", "study", "quantity", "levels", "value", "unit", "relative_to", "note"];

/// One value that a paper has published.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedValue {
    /// `kosmos/graph-analytics/over-kosmos/microblade/6`.
    pub id: String,
    /// The study it belongs to.
    pub study: String,
    /// What was measured.
    pub quantity: String,
    /// At which levels, as printed.
    pub levels: String,
    /// As printed: mostly a number, at times words ("falls strongly", "~4").
    pub printed: String,
    /// The number, where it is one.
    pub value: Option<f64>,
    /// Its unit as printed: `%`, `ratio`, `ns`, `1e3 s`, `words` and others.
    pub unit: String,
    /// What it is relative to; empty where it is absolute.
    pub relative_to: String,
    /// Reservations.
    pub note: String,
}

impl PublishedValue {
    /// The ratio: of a change in percent (+25.8 % is 1.258), or as printed; `None` of other units.
    pub fn ratio(&self) -> Option<f64> {
        match self.unit.as_str() {
            "%" => self.value.map(|percent| 1.0 + percent / 100.0),
            "ratio" => self.value,
            _ => None,
        }
    }

    /// The value in words: `306 · 10⁴ s`, `3.146 ×, relative to microblade`, or the printed words.
    pub fn in_words(&self) -> String {
        let printed = &self.printed;
        let text = match self.unit.as_str() {
            "words" | "" => printed.clone(),
            "ratio" => format!("{printed} ×"),
            "1e3 s" => format!("{printed} · 10³ s"),
            "1e4 s" => format!("{printed} · 10⁴ s"),
            unit => format!("{printed} {unit}"),
        };
        if self.relative_to.is_empty() { text } else { format!("{text}, relative to {}", self.relative_to) }
    }

    /// The number in its base unit, with that unit; percentages as ratios.
    pub fn in_base_unit(&self) -> Option<(f64, &str)> {
        let value = self.value?;
        Some(match self.unit.as_str() {
            "%" | "ratio" => (self.ratio()?, "ratio"),
            "ns" => (value * 1e-9, "s"),
            "1e3 s" => (value * 1e3, "s"),
            "1e4 s" => (value * 1e4, "s"),
            "Gbit/s" => (value * 1e9, "bit/s"),
            other => (value, other),
        })
    }
}

/// Reads a file of published values found at `place`.
///
/// # Errors
/// A usage fault with file and line: wrong columns, an open quote, an id given twice.
pub fn parse_published(text: &str, place: &str) -> Result<Vec<PublishedValue>, Fault> {
    let mut rows = csv::records(text, place)?.into_iter();
    match rows.next() {
        Some(head) if head.fields == COLUMNS => {}
        _ => {
            return Err(Fault::usage("expected the columns of published data")
                .at(format!("{place}:1"))
                .remedy(format!("begin the file with {}", COLUMNS.join(","))));
        }
    }
    let mut values: Vec<PublishedValue> = Vec::new();
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows {
        let at = format!("{place}:{}", row.line);
        let found = row.fields.len();
        let fields: [String; 8] = row.fields.try_into().map_err(|_| {
            Fault::usage(format!("expected {} fields, found {found}", COLUMNS.len())).at(at.clone())
        })?;
        if let Some(first) = lines.insert(fields[0].clone(), row.line) {
            return Err(Fault::usage(format!(
                "id `{}` is given twice, first on line {first}",
                quoted(&fields[0])
            ))
            .at(at));
        }
        values.push(value(fields));
    }
    Ok(values)
}

fn value([id, study, quantity, levels, printed, unit, relative_to, note]: [String; 8]) -> PublishedValue {
    let value = printed.parse().ok().filter(|number: &f64| number.is_finite());
    PublishedValue { id, study, quantity, levels, printed, value, unit, relative_to, note }
}

/// The names in braces: `system` and `slaves` in `time/{system}/{slaves}`.
pub(crate) fn placeholders(template: &str) -> Vec<&str> {
    template.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect()
}

/// The id that `template` makes at `levels`. `spellings` maps levels to other spellings in ids. `None` where a level is
/// missing.
pub fn published_id(template: &str, levels: &Levels, spellings: &BTreeMap<String, String>) -> Option<String> {
    let mut id = template.to_string();
    for name in placeholders(template) {
        let level = levels.get(name)?.to_string();
        id = id.replace(&format!("{{{name}}}"), spellings.get(&level).unwrap_or(&level));
    }
    Some(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: &str = "id,study,quantity,levels,value,unit,relative_to,note\n";

    #[test]
    fn a_change_in_percent_is_a_ratio() {
        let text = format!("{HEAD}a/b,s,q,x=1,25.8,%,y,\n\"c,d\",s,q,,~4,nodes,,'about'\n");
        let values = parse_published(&text, "p.csv").expect("reads");
        assert!((values[0].ratio().expect("a ratio") - 1.258).abs() < 1e-12);
        assert_eq!((values[1].id.as_str(), values[1].value), ("c,d", None));
        assert_eq!(values[1].in_base_unit(), None);
    }

    #[test]
    fn units_read_as_people_write_them() {
        let text =
            format!("{HEAD}a,s,q,,306,1e4 s,,\nb,s,q,,ahead,words,,\nc,s,q,,3.146,ratio,microblade,\n");
        let text: Vec<String> =
            parse_published(&text, "p.csv").expect("reads").iter().map(PublishedValue::in_words).collect();
        assert_eq!(text, ["306 · 10⁴ s", "ahead", "3.146 ×, relative to microblade"]);
    }

    #[test]
    fn printed_units_become_base_units() {
        let values = parse_published(&format!("{HEAD}a,s,q,,57,1e3 s,,\n"), "p.csv").expect("reads");
        assert_eq!(values[0].in_base_unit(), Some((57e3, "s")));
    }

    #[test]
    fn faults_name_file_and_line() {
        let place = |text: String| parse_published(&text, "p.csv").expect_err("refused").place;
        assert_eq!(place("id,value\n".into()).as_deref(), Some("p.csv:1"));
        assert_eq!(place(format!("{HEAD}a,b\n")).as_deref(), Some("p.csv:2"));
        assert_eq!(place(format!("{HEAD}a,,,,1,,,\nb,,,,1,,,\na,,,,1,,,\n")).as_deref(), Some("p.csv:4"));
    }

    #[test]
    fn a_template_takes_levels_as_ids_spell_them() {
        let levels = Levels::from([("system".into(), "kosmos-srio".into()), ("slaves".into(), 6.into())]);
        let spellings = BTreeMap::from([("kosmos-srio".to_string(), "kosmos".to_string())]);
        assert_eq!(published_id("t/{system}/{slaves}", &levels, &spellings).as_deref(), Some("t/kosmos/6"));
        assert_eq!(published_id("t/{size}", &levels, &spellings), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[a,\"\n{}\\PC]{0,60}") {
            let _ = parse_published(&text, "p.csv");
            let _ = parse_published(&format!("{HEAD}{text}"), "p.csv");
            let _ = published_id(&text, &Levels::new(), &BTreeMap::new());
        }
    }
}
