//! Predicates and margins of claims and comparisons: `"> 1"`, `"5 %"`. They are read once, with the study file.

use crosstalk_core::units::share;
use crosstalk_core::{Fault, quoted};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use crate::number;
use crate::rules::BEYOND;

/// A value with the text that it was read from. The text is shown and written back.
#[derive(Debug, Clone, PartialEq)]
pub struct AsWritten<T> {
    text: String,
    /// The value.
    pub value: T,
}

impl<T> AsWritten<T> {
    /// The text as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl<T: FromStr<Err = Fault>> FromStr for AsWritten<T> {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        Ok(AsWritten { text: text.to_string(), value: text.parse()? })
    }
}

impl<T> Serialize for AsWritten<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de, T: FromStr<Err = Fault>> Deserialize<'de> for AsWritten<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrNumber(PhantomData))
    }
}

/// Reads text. A number is read as the text that it would be.
struct TextOrNumber<T>(PhantomData<T>);

impl<T: FromStr<Err = Fault>> Visitor<'_> for TextOrNumber<T> {
    type Value = AsWritten<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<AsWritten<T>, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<AsWritten<T>, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<AsWritten<T>, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<AsWritten<T>, E> {
        self.visit_str(&number.to_string())
    }
}

/// The side of a bound that a predicate allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// `<` or `<=`.
    Below,
    /// `>` or `>=`.
    Above,
}

/// A predicate on one number. An interval cannot distinguish `<` from `<=`: both are [`Relation::Below`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predicate {
    /// The allowed side.
    pub relation: Relation,
    /// The bound.
    pub bound: f64,
}

impl FromStr for Predicate {
    type Err = Fault;

    /// Reads `> 1` or `<= 0.5`; a usage fault where it is neither.
    fn from_str(text: &str) -> Result<Predicate, Fault> {
        let trimmed = text.trim();
        let (relation, rest) = match trimmed.chars().next() {
            Some('<') => (Relation::Below, &trimmed[1..]),
            Some('>') => (Relation::Above, &trimmed[1..]),
            _ => return Err(no_predicate(text)),
        };
        let number = rest.strip_prefix('=').unwrap_or(rest).trim();
        match number.parse::<f64>() {
            Ok(bound) if bound.is_finite() => Ok(Predicate { relation, bound }),
            _ => Err(no_predicate(text)),
        }
    }
}

fn no_predicate(text: &str) -> Fault {
    Fault::usage(format!("expected a predicate, found `{}`", quoted(text)))
        .remedy("write for example \"> 1\" or \"<= 0.5\"")
}

/// The margin of a size test, as a ratio: `5 %` and `0.05` are 0.05.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizeMargin(pub f64);

impl FromStr for SizeMargin {
    type Err = Fault;

    /// Reads a share above zero; a usage fault where it is none.
    fn from_str(text: &str) -> Result<SizeMargin, Fault> {
        match share(text) {
            Ok(margin) if margin > 0.0 => Ok(SizeMargin(margin)),
            _ => {
                let percent = text.trim().parse().ok().filter(|n| (1.0..=100.0).contains(n)).unwrap_or(5.0);
                Err(Fault::usage(format!(
                    "expected a margin above zero, as a share, found `{}`",
                    quoted(text)
                ))
                .remedy(format!("write \"{percent} %\" or {}", percent / 100.0)))
            }
        }
    }
}

/// The margin within which two levels are equivalent, as a ratio of at least [`BEYOND`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EquivalenceMargin(pub f64);

impl FromStr for EquivalenceMargin {
    type Err = Fault;

    /// Reads a share; a usage fault where it is none, or narrower than the margin beyond which a direction counts.
    fn from_str(text: &str) -> Result<EquivalenceMargin, Fault> {
        let SizeMargin(within) = text.parse()?;
        if within < BEYOND {
            let least = number::format_percent(BEYOND);
            let why = format!(
                "expected a margin of at least {least}, found `{}`: randomised, paired runs on a shared machine may be \
                 off by {least}, however many they are",
                quoted(text)
            );
            return Err(Fault::usage(why).remedy(format!("write \"{least}\" or more")));
        }
        Ok(EquivalenceMargin(within))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn predicates_and_margins_read_as_written() {
        let predicate = |text: &str| text.parse::<Predicate>();
        let margin = |text: &str| text.parse().map(|SizeMargin(ratio)| ratio);
        let equivalence = |text: &str| text.parse().map(|EquivalenceMargin(ratio)| ratio);
        assert_eq!(predicate("> 1"), Ok(Predicate { relation: Relation::Above, bound: 1.0 }));
        assert_eq!(predicate("<=-0.5"), Ok(Predicate { relation: Relation::Below, bound: -0.5 }));
        assert_eq!((margin("5 %"), margin("0.05")), (Ok(0.05), Ok(0.05)));
        assert_eq!(margin(" 0.02 "), Ok(0.02));
        for bad in ["", "1", "= 1", "> x", "> nan", "→ 1"] {
            assert!(predicate(bad).is_err(), "{bad}");
        }
        for bad in ["5", "0 %", "-5 %", "x %", ""] {
            assert!(margin(bad).is_err(), "{bad}");
        }
        assert_eq!((equivalence("0.5 %"), equivalence("2 %")), (Ok(0.005), Ok(0.02)));
        for bad in ["0.49 %", "0.001", "0 %", "x"] {
            assert!(equivalence(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_number_reads_as_its_text_and_is_written_as_text() {
        let read = |json: &str| serde_json::from_str::<AsWritten<SizeMargin>>(json);
        let number = read("0.05").expect("is a margin");
        assert_eq!((number.text(), number.value), ("0.05", SizeMargin(0.05)));
        assert_eq!(serde_json::to_string(&number).expect("writes"), "\"0.05\"");
        assert_eq!(read("\"5 %\"").expect("is a margin").text(), "5 %");
        assert!(read("5").is_err() && read("[0.05]").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,12}") {
            let _ = text.parse::<Predicate>();
            let _ = text.parse::<EquivalenceMargin>();
        }
    }
}
