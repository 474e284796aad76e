//! Levels in sentences, and sets of levels.

pub use crosstalk_core::value::describe_levels;
use crosstalk_core::value::{Levels, Value};

/// Whether a level is a name, as a system's is. Numbers and `none` are not.
pub fn is_name(level: &Value) -> bool {
    matches!(level, Value::Text(text) if *text != *"none") && level.in_base_unit().is_none()
}

/// Whether a factor is an environment variable, by its name in capitals (`MODE`): its levels are words of the user's
/// program, and say little without it.
pub fn is_variable(factor: &str) -> bool {
    let capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    factor.chars().all(capital) && factor.contains(|c: char| c.is_ascii_uppercase())
}

/// Whether a level of that factor needs no factor's name in a sentence.
pub fn needs_no_factor(factor: &str, level: &Value) -> bool {
    is_name(level) && !is_variable(factor)
}

/// A level in a sentence: `microblade`, but `slaves 6`, `protect none` and `MODE fast`.
pub fn level_in_sentence(factor: &str, level: &Value) -> String {
    if needs_no_factor(factor, level) {
        level.to_string()
    } else {
        describe_levels(&Levels::from([(factor.to_string(), level.clone())]))
    }
}

/// The same, for a level's word.
pub fn level_word_in_sentence(factor: &str, word: &str) -> String {
    level_in_sentence(factor, &Value::from_word(word))
}

/// Whether `levels` has all the levels of `at`.
pub fn has_levels(levels: &Levels, at: &Levels) -> bool {
    at.iter().all(|(factor, level)| levels.get(factor) == Some(level))
}

/// `levels`, replaced or completed by those of `over`.
pub fn overlaid(levels: &Levels, over: &Levels) -> Levels {
    let mut all = levels.clone();
    all.extend(over.iter().map(|(factor, level)| (factor.clone(), level.clone())));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_that_is_no_name_has_its_factor_in_a_sentence() {
        assert_eq!(level_in_sentence("system", &"microblade".into()), "microblade");
        assert_eq!(level_in_sentence("slaves", &6.into()), "slaves 6");
        assert_eq!(level_in_sentence("size", &"4 KiB".into()), "size 4 KiB");
        assert_eq!(level_in_sentence("protect", &"none".into()), "protect none");
        assert_eq!(level_in_sentence("MODE", &"fast".into()), "MODE fast");
    }

    #[test]
    fn a_cell_matches_the_levels_that_it_has() {
        let cell = Levels::from([("threads".into(), 4.into()), ("protect".into(), "none".into())]);
        assert!(has_levels(&cell, &Levels::from([("threads".into(), Value::Float(4.0))])));
        assert!(!has_levels(&cell, &Levels::from([("thread".into(), Value::Int(4))])));
        assert!(has_levels(&cell, &Levels::new()));
    }
}
