//! Predicates and margins as claims write them: `"> 1"`, `"5 %"`.

use crosstalk_core::units::share;
use crosstalk_core::{Fault, quoted};

use crate::number;
use crate::rules::BEYOND;

/// Which side of its bound a predicate allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// `<` or `<=`.
    Below,
    /// `>` or `>=`.
    Above,
}

/// A predicate on one number. An interval cannot tell `<` from `<=`: both are [`Relation::Below`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predicate {
    /// The allowed side.
    pub relation: Relation,
    /// The number.
    pub bound: f64,
}

impl Predicate {
    /// Reads `"> 1"`, `"<= 0.5"`.
    ///
    /// # Errors
    /// A usage fault where it is none.
    pub fn parse(text: &str) -> Result<Predicate, Fault> {
        let trimmed = text.trim();
        let (relation, rest) = match trimmed.chars().next() {
            Some('<') => (Relation::Below, &trimmed[1..]),
            Some('>') => (Relation::Above, &trimmed[1..]),
            _ => return Err(wrong(text)),
        };
        let number = rest.strip_prefix('=').unwrap_or(rest).trim();
        match number.parse::<f64>() {
            Ok(bound) if bound.is_finite() => Ok(Predicate { relation, bound }),
            _ => Err(wrong(text)),
        }
    }

    /// Whether `value` lies on the allowed side.
    pub fn holds(&self, value: f64) -> bool {
        match self.relation {
            Relation::Below => value < self.bound,
            Relation::Above => value > self.bound,
        }
    }
}

fn wrong(text: &str) -> Fault {
    Fault::usage(format!("expected a predicate, found `{}`", quoted(text)))
        .remedy("write for example \"> 1\" or \"<= 0.5\"")
}

/// Reads a margin such as `"5 %"` or `"0.05"` as a ratio (0.05).
///
/// # Errors
/// A usage fault where it is none, or not above zero.
pub fn margin(text: &str) -> Result<f64, Fault> {
    match share(text) {
        Ok(margin) if margin > 0.0 => Ok(margin),
        _ => {
            let percent = text.trim().parse().ok().filter(|n| (1.0..=100.0).contains(n)).unwrap_or(5.0);
            Err(Fault::usage(format!("expected a margin above zero, as a share, found `{}`", quoted(text)))
                .remedy(format!("write \"{percent} %\" or {}", percent / 100.0)))
        }
    }
}

/// Reads the margin within which levels are equivalent.
///
/// # Errors
/// A usage fault where it is no margin, or narrower than one beyond which a direction is claimed.
pub fn equivalence(text: &str) -> Result<f64, Fault> {
    let within = margin(text)?;
    if within < BEYOND {
        let least = number::percent(BEYOND);
        let why = format!(
            "expected a margin of at least {least}, found `{}`: randomised, paired runs on a shared machine may be off \
             by {least}, however many they are",
            quoted(text)
        );
        return Err(Fault::usage(why).remedy(format!("write \"{least}\" or more")));
    }
    Ok(within)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn predicates_and_margins_read_as_written() {
        assert_eq!(Predicate::parse("> 1"), Ok(Predicate { relation: Relation::Above, bound: 1.0 }));
        assert_eq!(Predicate::parse("<=-0.5"), Ok(Predicate { relation: Relation::Below, bound: -0.5 }));
        assert_eq!((margin("5 %"), margin("0.05")), (Ok(0.05), Ok(0.05)));
        assert_eq!(margin(" 0.02 "), Ok(0.02));
        for bad in ["", "1", "= 1", "> x", "> nan", "→ 1"] {
            assert!(Predicate::parse(bad).is_err(), "{bad}");
        }
        for bad in ["5", "0 %", "-5 %", "x %", ""] {
            assert!(margin(bad).is_err(), "{bad}");
        }
        assert_eq!((equivalence("0.5 %"), equivalence("2 %")), (Ok(0.005), Ok(0.02)));
        for bad in ["0.49 %", "0.001", "0 %", "x"] {
            assert!(equivalence(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,12}") {
            let _ = Predicate::parse(&text);
            let _ = margin(&text);
        }
    }
}
