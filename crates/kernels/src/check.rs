//! Results beside the official ones.

use crosstalk_core::Fault;

/// What to do where a result is wrong.
pub(crate) const WRONG_RESULT: &str =
    "run it again: if it is wrong again, report it with the class, the number of ranks and the processor";

/// A result, and what it has to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// What it is, for people.
    pub what: String,
    /// The result.
    pub found: f64,
    /// The official value.
    pub expected: f64,
    /// How far apart they may be, as a share of the official value.
    pub tolerance: f64,
}

impl Check {
    /// A result that has to be `expected`, within a relative `tolerance`.
    pub fn new(what: impl Into<String>, found: f64, expected: f64, tolerance: f64) -> Self {
        Check { what: what.into(), found, expected, tolerance }
    }

    /// How far the result is from the official value, as a share of that.
    pub fn error(&self) -> f64 {
        let apart = (self.found - self.expected).abs();
        if self.expected == 0.0 { apart } else { apart / self.expected.abs() }
    }

    /// An attempt fault where the result is wrong.
    ///
    /// # Errors
    /// If it is further away than it may be, or no number.
    pub fn verify(&self) -> Result<(), Fault> {
        // Not the other way round: no number is no result.
        if self.error() <= self.tolerance {
            return Ok(());
        }
        Err(Fault::attempt(format!(
            "verification failed: {} is {:.15e}, and has to be {:.15e}: {:.1e} apart, of {:.0e} allowed",
            self.what,
            self.found,
            self.expected,
            self.error(),
            self.tolerance
        ))
        .remedy(WRONG_RESULT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_results_are_named_with_what_they_have_to_be() {
        assert_eq!(Check::new("zeta", 8.597_177_507_864_8, 8.597_177_507_864_8, 1e-10).verify(), Ok(()));
        let wrong = Check::new("zeta", 8.6, 8.5, 1e-10).verify().expect_err("is wrong").to_string();
        assert!(wrong.contains("zeta is 8.6") && wrong.contains("1.2e-2 apart"), "{wrong}");
        assert!(Check::new("zeta", f64::NAN, 8.5, 1e-10).verify().is_err());
    }
}
