//! The lines of a TOML file's keys, so that a fault that is found after reading still names file and line.

use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// Finds the line of a key in a TOML file, by the key's path (`claim.slower.expect`, list items by
/// number).
#[derive(Debug, Clone, Default)]
pub struct KeyLines {
    place: String,
    lines: BTreeMap<String, usize>,
}

/// The lines are no part of what a file says.
impl PartialEq for KeyLines {
    fn eq(&self, _: &KeyLines) -> bool {
        true
    }
}

impl KeyLines {
    /// The lines of all keys of `text`, which was read at `place`; of none where `text` is not TOML.
    pub fn parse(text: &str, place: &str) -> KeyLines {
        let mut lines = BTreeMap::new();
        if let Ok(table) = DeTable::parse(text) {
            walk_table(table.get_ref(), "", &LineIndex::of(text), &mut lines);
        }
        KeyLines { place: place.to_string(), lines }
    }

    /// `file:line` of the key at `path`, else of the nearest key above it; the path itself without a file.
    pub fn location_of(&self, path: &str) -> String {
        if self.place.is_empty() {
            return path.to_string();
        }
        let mut prefix = path;
        loop {
            if let Some(line) = self.lines.get(prefix) {
                return format!("{}:{line}", self.place);
            }
            match prefix.rfind('.') {
                Some(dot) => prefix = &prefix[..dot],
                None => return self.place.clone(),
            }
        }
    }
}

fn walk_table(table: &DeTable<'_>, path: &str, index: &LineIndex, lines: &mut BTreeMap<String, usize>) {
    for (key, value) in table {
        let path = join(path, key.get_ref());
        lines.insert(path.clone(), index.line(key.span().start));
        walk_value(value.get_ref(), &path, index, lines);
    }
}

fn walk_value(value: &DeValue<'_>, path: &str, index: &LineIndex, lines: &mut BTreeMap<String, usize>) {
    match value {
        DeValue::Table(table) => walk_table(table, path, index, lines),
        DeValue::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                let path = join(path, &number.to_string());
                lines.insert(path.clone(), index.line(item.span().start));
                walk_value(item.get_ref(), &path, index, lines);
            }
        }
        _ => {}
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_string() } else { format!("{path}.{key}") }
}

/// Byte offset → line number, from 1.
pub(crate) struct LineIndex(Vec<usize>);

impl LineIndex {
    pub(crate) fn of(text: &str) -> LineIndex {
        LineIndex(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect())
    }

    pub(crate) fn line(&self, offset: usize) -> usize {
        self.0.partition_point(|newline| *newline < offset) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_where_they_stand() {
        let key_lines = KeyLines::parse("a = 1\n[b.c]\nd = { e = 2 }\nf = [\n  1,\n  2,\n]\n", "x.toml");
        assert_eq!(key_lines.location_of("a"), "x.toml:1");
        assert_eq!(key_lines.location_of("b.c"), "x.toml:2");
        assert_eq!(key_lines.location_of("b.c.d.e"), "x.toml:3");
        assert_eq!(key_lines.location_of("b.c.f.1"), "x.toml:6");
    }

    #[test]
    fn a_missing_key_is_placed_at_what_would_hold_it() {
        let key_lines = KeyLines::parse("[claim.x]\nstatement = \"s\"\n", "x.toml");
        assert_eq!(key_lines.location_of("claim.x.expect"), "x.toml:1");
        assert_eq!(key_lines.location_of("looks"), "x.toml");
        assert_eq!(KeyLines::default().location_of("claim.x"), "claim.x");
    }
}
