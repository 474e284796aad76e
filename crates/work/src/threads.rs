//! A number of threads: as such, or as a share of the usable processors.

use crosstalk_core::Fault;
use crosstalk_core::value::{Params, Value, parameter_fault};
use crosstalk_host::cpu::allowed;

/// A share of the processors: its word, and how many threads that is on so many.
type Share = (&'static str, fn(usize) -> usize);

/// All shares.
const SHARES: [Share; 5] = [
    ("quarter", |cores| cores.div_ceil(4)),
    ("half", |cores| cores.div_ceil(2)),
    ("all", |cores| cores),
    ("twice", |cores| 2 * cores),
    ("four times", |cores| 4 * cores),
];

/// The most threads.
const MOST: u64 = 4096;

/// Reads the parameter `name`, at least `least` [default: 1].
///
/// # Errors
/// A usage fault where it is neither a number in range nor a share's word.
pub fn threads(params: &Params, name: &str, least: u64) -> Result<usize, Fault> {
    match params.get(name) {
        Some(Value::Text(word)) => of_share(word, allowed().len().max(1)).ok_or_else(|| {
            let words: Vec<&str> = SHARES.iter().map(|(word, _)| *word).collect();
            parameter_fault(name, format!("expected a number or one of {}, found `{word}`", words.join(", ")))
        }),
        _ => params.bounded(name, 1, least, MOST).map(|count| count as usize),
    }
}

fn of_share(word: &str, cores: usize) -> Option<usize> {
    SHARES.iter().find(|(name, _)| *name == word).map(|(_, count)| count(cores))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded_up() {
        let of = |word| [1, 2, 4, 6].map(|cores| of_share(word, cores));
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
