//! Labels of readings in the place of factors.
//!
//! One attempt tells many readings of a metric, which its labels tell apart: the stages of a
//! message, the rates that were offered, the cores between which a line was handed over. Where
//! a claim, a figure or a table names a factor, `[stage]` means that label, and its values are
//! the levels.

use crosstalk_core::units::Bytes;
use crosstalk_core::value::{Levels, Value};

/// The label that stands in the place of a factor: of `[stage]` it is `stage`.
pub(crate) fn label(name: &str) -> Option<&str> {
    name.strip_prefix('[')?.strip_suffix(']').filter(|label| !label.is_empty())
}

/// As people call what stands in the place of a factor: without brackets.
pub(crate) fn called(name: &str) -> &str {
    label(name).unwrap_or(name)
}

/// Levels of factors, and those of labels in their places, by the label's name.
pub(crate) fn split(levels: &Levels) -> (Levels, Levels) {
    let (mut factors, mut labels) = (Levels::new(), Levels::new());
    for (name, level) in levels {
        match label(name) {
            Some(label) => labels.insert(label.to_string(), level.clone()),
            None => factors.insert(name.clone(), level.clone()),
        };
    }
    (factors, labels)
}

/// What a reading's label says, as a level: bytes of a `size` with their unit, numbers as numbers.
pub(crate) fn level(label: &str, said: &str) -> Value {
    match (label, said.parse::<u64>()) {
        ("size", Ok(bytes)) => bytes_in_words(Bytes(bytes)).into(),
        _ => Value::from_word(said),
    }
}

/// Exactly so many, in the largest unit that has a whole number of them.
fn bytes_in_words(Bytes(bytes): Bytes) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let whole = units.into_iter().find(|(unit, _)| bytes > 0 && bytes % unit == 0);
    whole.map_or_else(|| format!("{bytes} B"), |(unit, name)| format!("{} {name}", bytes / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_brackets_is_a_label() {
        assert_eq!((label("[stage]"), label("stage"), label("[]")), (Some("stage"), None, None));
        assert_eq!((called("[stage]"), called("mode")), ("stage", "mode"));
        let at = Levels::from([("mode".into(), "polling".into()), ("[way]".into(), "there".into())]);
        let (factors, labels) = split(&at);
        assert_eq!(factors, Levels::from([("mode".into(), "polling".into())]));
        assert_eq!(labels, Levels::from([("way".into(), "there".into())]));
    }

    #[test]
    fn sizes_have_their_unit_and_numbers_are_numbers() {
        assert_eq!(level("size", "4096"), "4 KiB".into());
        assert_eq!(level("size", "1500"), "1500 B".into());
        assert_eq!(level("size", "0"), "0 B".into());
        assert_eq!(level("offered", "5000"), 5000.into());
        assert_eq!(level("stage", "wake-up"), "wake-up".into());
    }
}
