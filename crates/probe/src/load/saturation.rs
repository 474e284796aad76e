//! The search for the saturation: the highest rate that client, network and server keep up with.

use crosstalk_core::Fault;

/// How long each rate is tried in the search for saturation, in seconds.
pub const TRY_SECONDS: f64 = 0.2;
/// The largest number of rates that the search tries.
pub const MOST_RATES: usize = 24;
/// The shares of the saturation that are then measured.
pub const MEASURED_SHARES: [f64; 8] = [0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1];

/// How often a rate is tried before it counts as too high.
pub const TRIES_PER_RATE: usize = 3;
/// Where the search begins, in messages a second.
const BEGIN: f64 = 1000.0;
/// The ratio of the bounds at which the search ends.
const NEAR: f64 = 1.03;
/// The lowest rate that is tried.
pub const LEAST_RATE: f64 = 1.0;
/// The highest rate that is tried: no machine of today reaches it.
const HIGHEST: f64 = 2e7;

/// The highest rate at which `kept_up` is true in one of [`TRIES_PER_RATE`] tries: a single disturbance of the
/// machine is no saturation. The search doubles the rate, then halves the ratio of its bounds. Zero
/// if no rate is kept up with.
///
/// # Errors
/// Those of `kept_up`.
pub fn saturation(mut kept_up: impl FnMut(f64) -> Result<bool, Fault>) -> Result<f64, Fault> {
    let mut keeps_up = |rate: f64| {
        for _ in 0..TRIES_PER_RATE {
            if kept_up(rate)? {
                return Ok(true);
            }
        }
        Ok::<bool, Fault>(false)
    };
    let (mut low, mut high) = (0.0, BEGIN);
    let mut rates = 0;
    while high <= HIGHEST && keeps_up(high)? {
        (low, high) = (high, high * 2.0);
        rates += 1;
    }
    if low == 0.0 {
        // The first rate was too high.
        while high > LEAST_RATE && rates < MOST_RATES {
            high /= 2.0;
            rates += 1;
            if keeps_up(high)? {
                (low, high) = (high, high * 2.0);
                break;
            }
        }
    }
    while low > 0.0 && high / low > NEAR && rates < MOST_RATES {
        let middle = (low * high).sqrt();
        rates += 1;
        if keeps_up(middle)? { low = middle } else { high = middle }
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_saturation_is_found(truth in 2.0_f64..1e7) {
            let mut rates = 0;
            let found = saturation(|rate| {
                rates += 1;
                Ok(rate <= truth)
            });
            let found = found.expect("finds");
            prop_assert!(found <= truth && truth / found <= NEAR, "{found} of {truth}");
            prop_assert!(rates <= TRIES_PER_RATE * (MOST_RATES + 2), "{rates}");
        }
    }

    #[test]
    fn without_a_rate_that_is_kept_up_with_it_is_zero() {
        assert_eq!(saturation(|_| Ok(false)), Ok(0.0));
    }
}
