//! `"$factor"` in parameters and conditions is replaced by the factor's level. Text that begins with `$$` loses one `$`.

use crosstalk_core::value::{Levels, Value};

/// The factor that `text` refers to.
fn reference(text: &str) -> Option<&str> {
    text.strip_prefix('$').filter(|name| !name.is_empty() && !name.starts_with('$'))
}

/// The factors that `value` refers to.
pub(crate) fn factors_in(value: &Value) -> Vec<&str> {
    match value {
        Value::Text(text) => reference(text).into_iter().collect(),
        Value::List(items) => items.iter().flat_map(factors_in).collect(),
        _ => Vec::new(),
    }
}

/// `value` with every reference to a factor replaced by its level.
pub(crate) fn substitute(value: &Value, levels: &Levels) -> Value {
    match value {
        Value::Text(text) => match reference(text) {
            Some(name) => levels.get(name).unwrap_or(value).clone(),
            None => Value::Text(
                text.strip_prefix('$').filter(|rest| rest.starts_with('$')).unwrap_or(text).into(),
            ),
        },
        Value::List(items) => Value::List(items.iter().map(|item| substitute(item, levels)).collect()),
        other => other.clone(),
    }
}

/// A value whose substitution gives `text`.
pub(crate) fn literal(text: &str) -> Value {
    if text.starts_with('$') { format!("${text}").into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_factor_is_replaced_by_its_level_also_in_lists() {
        let levels = Levels::from([("size".to_string(), Value::Int(64))]);
        let list = Value::List(vec!["-s".into(), "$size".into()]);
        assert_eq!(factors_in(&list), ["size"]);
        assert_eq!(substitute(&list, &levels), Value::List(vec!["-s".into(), Value::Int(64)]));
    }

    proptest! {
        #[test]
        fn literal_text_is_kept_by_substitution(text in "[$a-z]{0,6}") {
            prop_assert!(factors_in(&literal(&text)).is_empty() || text == "$");
            prop_assert_eq!(substitute(&literal(&text), &Levels::new()), Value::from(text));
        }
    }
}
