//! How many threads: a number, or a part of the processors that may be used.

use crosstalk_core::Fault;
use crosstalk_core::value::{Params, Value, parameter};
use crosstalk_host::cpu::allowed;

/// A part of the processors: its word, and how many threads that is on so many.
type Part = (&'static str, fn(usize) -> usize);

/// Those there are.
const PARTS: [Part; 5] = [
    ("quarter", |cores| cores.div_ceil(4)),
    ("half", |cores| cores.div_ceil(2)),
    ("all", |cores| cores),
    ("twice", |cores| 2 * cores),
    ("four times", |cores| 4 * cores),
];

/// The most that anybody may ask for.
const MOST: u64 = 4096;

/// Parameter `name`, no less than `least`; 1 where it is not given.
pub fn threads(params: &Params, name: &str, least: u64) -> Result<usize, Fault> {
    match params.get(name) {
        Some(Value::Text(word)) => of_part(word, allowed().len().max(1)).ok_or_else(|| {
            let known: Vec<&str> = PARTS.iter().map(|(known, _)| *known).collect();
            parameter(name, format!("expected a number or one of {}, found `{word}`", known.join(", ")))
        }),
        _ => params.bounded(name, 1, least, MOST).map(|count| count as usize),
    }
}

fn of_part(word: &str, cores: usize) -> Option<usize> {
    PARTS.iter().find(|(known, _)| *known == word).map(|(_, count)| count(cores))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_rounded_up() {
        let of = |word| [1, 2, 4, 6].map(|cores| of_part(word, cores));
        assert_eq!(of("quarter"), [1, 1, 1, 2].map(Some));
        assert_eq!(of("half"), [1, 1, 2, 3].map(Some));
        assert_eq!(of("all"), [1, 2, 4, 6].map(Some));
        assert_eq!(of("twice"), [2, 4, 8, 12].map(Some));
        assert_eq!(of("thirds"), [None; 4]);
    }

    #[test]
    fn a_number_is_itself_and_nothing_else_is() {
        let of = |value: Value, least| threads(&Params::default().with("threads", value), "threads", least);
        assert_eq!(threads(&Params::default(), "threads", 0), Ok(1));
        assert_eq!((of(3.into(), 1), of(0.into(), 0)), (Ok(3), Ok(0)));
        assert!(of(0.into(), 1).is_err() && of("most".into(), 0).is_err());
    }
}
