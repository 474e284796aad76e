//! Levels in sentences and in statements.

pub use crosstalk_core::value::describe;
use crosstalk_core::value::{Levels, Value};

/// Whether a level is a name that stands by itself, as a system's is: a number is none, and
/// `none` is none either.
pub fn is_name(level: &Value) -> bool {
    matches!(level, Value::Text(text) if *text != *"none") && level.in_base_unit().is_none()
}

/// Whether a factor is an environment variable by its name, `MODE`: its levels are words of the user's program, and
/// say little without it.
fn is_variable(factor: &str) -> bool {
    let capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    factor.chars().all(capital) && factor.contains(|c: char| c.is_ascii_uppercase())
}

/// Whether a level of that factor stands by itself.
pub fn stands_alone(factor: &str, level: &Value) -> bool {
    is_name(level) && !is_variable(factor)
}

/// A level in a sentence: `microblade`, but `slaves 6`, `protect none` and `MODE fast`.
pub fn called(factor: &str, level: &Value) -> String {
    if stands_alone(factor, level) {
        level.to_string()
    } else {
        describe(&Levels::from([(factor.to_string(), level.clone())]))
    }
}

/// A level in a sentence, of which only its word is known.
pub fn called_word(factor: &str, word: &str) -> String {
    called(factor, &Value::from_word(word))
}

/// Whether `levels` has all the levels of `at`.
pub fn matches(levels: &Levels, at: &Levels) -> bool {
    at.iter().all(|(factor, level)| levels.get(factor) == Some(level))
}

/// `levels` with those of `over` put over them.
pub fn with(levels: &Levels, over: &Levels) -> Levels {
    let mut all = levels.clone();
    all.extend(over.iter().map(|(factor, level)| (factor.clone(), level.clone())));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_name_is_called_with_its_factor() {
        assert_eq!(called("system", &"microblade".into()), "microblade");
        assert_eq!(called("slaves", &6.into()), "slaves 6");
        assert_eq!(called("size", &"4 KiB".into()), "size 4 KiB");
        assert_eq!(called("protect", &"none".into()), "protect none");
        assert_eq!(called("MODE", &"fast".into()), "MODE fast");
    }

    #[test]
    fn a_cell_matches_the_levels_that_are_named() {
        let cell = Levels::from([("own".into(), 4.into()), ("protect".into(), "none".into())]);
        assert!(matches(&cell, &Levels::from([("own".into(), Value::Float(4.0))])));
        assert!(!matches(&cell, &Levels::from([("owm".into(), Value::Int(4))])));
        assert!(matches(&cell, &Levels::new()));
    }
}
