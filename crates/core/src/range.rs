//! Between which values a parameter of a catalogue lies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

use crate::{Fault, quoted};

/// The lower and the upper end, written as the parameter is: `["15 µs", "60 µs"]`, `[0.1, 0.225]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Range(pub [End; 2]);

/// One end of a range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum End {
    /// A number without a unit.
    Number(f64),
    /// A quantity with its unit.
    Text(String),
}

impl End {
    fn is_not_finite(&self) -> bool {
        match self {
            End::Number(number) => !number.is_finite(),
            End::Text(text) => text.trim().parse().is_ok_and(|number: f64| !number.is_finite()),
        }
    }
}

impl Range {
    /// The ends as quantities; the lower one first.
    ///
    /// # Errors
    /// A usage fault where an end is no such quantity, or they are not in ascending order.
    pub fn quantities<T: FromStr<Err = Fault> + PartialOrd>(&self) -> Result<(T, T), Fault> {
        self.ends(|end| match end {
            End::Text(text) => text.parse(),
            End::Number(number) => number.to_string().parse(),
        })
    }

    /// The ends as numbers without a unit; the lower one first.
    ///
    /// # Errors
    /// As [`Range::quantities`].
    pub fn numbers(&self) -> Result<(f64, f64), Fault> {
        self.ends(|end| match end {
            End::Number(number) => Ok(*number),
            End::Text(text) => text.trim().parse().map_err(|_| {
                Fault::usage(format!("expected a number without a unit, found `{}`", quoted(text)))
                    .remedy("write for example [0.1, 0.2]")
            }),
        })
    }

    fn ends<T: PartialOrd>(&self, read: impl Fn(&End) -> Result<T, Fault>) -> Result<(T, T), Fault> {
        if self.0.iter().any(End::is_not_finite) {
            return Err(Fault::usage("the ends of a range are finite")
                .remedy("write a wide range where little is known: [0.1, 10]"));
        }
        let (low, high) = (read(&self.0[0])?, read(&self.0[1])?);
        // Not the other way round: what is no number is in no order.
        match low <= high {
            true => Ok((low, high)),
            false => Err(Fault::usage("expected the lower end of a range before the upper one")
                .remedy("write for example [\"10 µs\", \"20 µs\"]")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Seconds;

    fn range(text: &str) -> Range {
        #[derive(Deserialize)]
        struct File {
            range: Range,
        }
        toml::from_str::<File>(&format!("range = {text}")).expect("reads").range
    }

    #[test]
    fn ends_are_read_as_the_parameter_is() {
        let seconds = range(r#"["15 µs", "0.1 ms"]"#).quantities::<Seconds>().expect("times");
        assert!((seconds.0.0 - 15e-6).abs() < 1e-18 && (seconds.1.0 - 1e-4).abs() < 1e-18);
        assert_eq!(range("[0, 1e-6]").quantities(), Ok((Seconds(0.0), Seconds(1e-6))));
        assert_eq!(range("[0.1, 0.225]").numbers(), Ok((0.1, 0.225)));
        assert_eq!(range(r#"["1", "2"]"#).numbers(), Ok((1.0, 2.0)));
    }

    #[test]
    fn ends_that_are_no_such_quantity_or_out_of_order_are_faults() {
        assert!(range(r#"["1 kg", "2 s"]"#).quantities::<Seconds>().is_err());
        assert!(range(r#"["2 s", "1 s"]"#).quantities::<Seconds>().is_err());
        assert!(range(r#"["1 s", "2 s"]"#).numbers().is_err());
        for endless in ["[nan, 2]", "[1, inf]", "[-inf, 2]", "[\"0.1\", \"inf\"]"] {
            assert!(range(endless).numbers().is_err(), "{endless}");
        }
    }
}
