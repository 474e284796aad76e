//! What is agreed on between foreground and background work.

use std::ops::RangeInclusive;

use crosstalk_core::Fault;
use crosstalk_core::quote::quoted;
use crosstalk_core::units::share;

use super::activity::BUSY;

/// The slowdowns that can be agreed on: less cannot be held, more is no protection.
pub const SLOWDOWN: RangeInclusive<f64> = 0.001..=1.0;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contract {
    /// By how much foreground work may be slower than alone: 0.01 is 1 %.
    pub slowdown: f64,
    /// Processors from which foreground work counts as at work.
    pub busy: f64,
}

impl Contract {
    /// The slowdown is a share, `1%` or `0.01`; `busy` is what this program takes by default.
    ///
    /// # Errors
    /// A usage fault that names the one that makes no sense here.
    pub fn agreed(slowdown: &str, busy: Option<f64>, cores: usize) -> Result<Self, Fault> {
        let slower = share(slowdown).ok().filter(|share| SLOWDOWN.contains(share)).ok_or_else(|| {
            Fault::usage(format!("expected a slowdown from 0.1% to 100%, found `{}`", quoted(slowdown)))
                .at("--slowdown")
                .remedy("write for example --slowdown 1%")
        })?;
        let busy = busy.unwrap_or(BUSY);
        // Foreground work that can never be at work is never protected.
        if !(busy > 0.0 && busy <= cores as f64) {
            let why = format!("expected more than 0 and at most {cores} processors, found {busy}");
            return Err(Fault::usage(why).at("busy").remedy(format!("write for example busy = {BUSY}")));
        }
        Ok(Contract { slowdown: slower, busy })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_sense_is_agreed_on() {
        assert_eq!(Contract::agreed("0.05", None, 4), Contract::agreed("5%", None, 4));
        assert_eq!(Contract::agreed(" 5 % ", None, 4), Ok(Contract { slowdown: 0.05, busy: BUSY }));
        assert_eq!(Contract::agreed("100%", Some(1.0), 4), Ok(Contract { slowdown: 1.0, busy: 1.0 }));
        for wrong in ["1", "", "0%", "101%", "nan%", "x%"] {
            let fault = Contract::agreed(wrong, None, 4).expect_err(wrong);
            assert_eq!(fault.place.as_deref(), Some("--slowdown"));
        }
        for wrong in [0.0, -1.0, 1e9, f64::NAN, f64::INFINITY] {
            let fault = Contract::agreed("1%", Some(wrong), 4).expect_err("refused");
            assert_eq!(fault.place.as_deref(), Some("busy"));
        }
    }
}
