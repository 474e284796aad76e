//! Labels of readings in the place of factors.
//!
//! One attempt may report several readings of a metric with different labels: the stages of a message, the offered rates,
//! the two cores of a hand-over. Where a claim, a figure or a table names a factor, `[stage]` means the label `stage`. Its
//! values are the levels.

use crosstalk_core::units::Bytes;
use crosstalk_core::value::{Levels, Value};

/// The label's name of a name in brackets: `stage` of `[stage]`; `None` for a factor.
pub(crate) fn label(name: &str) -> Option<&str> {
    name.strip_prefix('[')?.strip_suffix(']').filter(|label| !label.is_empty())
}

/// The name of a factor or label for people: without brackets.
pub(crate) fn display_name(name: &str) -> &str {
    label(name).unwrap_or(name)
}

/// The levels of factors, and those of labels by the label's name.
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

/// A label's value as a level: the bytes of a `size` with their unit, numbers as numbers.
pub(crate) fn level(label: &str, value: &str) -> Value {
    match (label, value.parse::<u64>()) {
        ("size", Ok(bytes)) => bytes_in_words(Bytes(bytes)).into(),
        _ => Value::from_word(value),
    }
}

/// A size in the largest unit of which it is a whole number.
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
        assert_eq!((display_name("[stage]"), display_name("mode")), ("stage", "mode"));
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
