//! Where a path saturates: the highest rate that both ends, and what lies between, keep up with.

use crosstalk_core::Fault;

/// How long each rate is tried, in seconds.
pub const LOOK: f64 = 0.2;
/// How many rates are tried at most.
pub const MOST_LOOKS: usize = 24;
/// The shares of what was found that are then measured.
pub const SHARES: [f64; 8] = [0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1];

/// How often a rate is tried before it is too much.
pub const TRIES: usize = 3;
/// Where the search begins, in messages a second.
const BEGIN: f64 = 1000.0;
/// How near the two ends of the search come, as a ratio.
const NEAR: f64 = 1.03;
/// No lower rate is tried.
pub const LEAST: f64 = 1.0;
/// No machine of today takes more.
const HIGHEST: f64 = 2e7;

/// The highest rate for which `kept_up` says yes at the first, second or third try (one
/// hiccup of the machine is no saturation): by doubling, then by halving the ratio. Zero
/// where it keeps up with none.
pub fn saturation(mut kept_up: impl FnMut(f64) -> Result<bool, Fault>) -> Result<f64, Fault> {
    let mut keeps_up = |rate: f64| {
        for _ in 0..TRIES {
            if kept_up(rate)? {
                return Ok(true);
            }
        }
        Ok::<bool, Fault>(false)
    };
    let (mut low, mut high) = (0.0, BEGIN);
    let mut looks = 0;
    while high <= HIGHEST && keeps_up(high)? {
        (low, high) = (high, high * 2.0);
        looks += 1;
    }
    if low == 0.0 {
        // Slower than the first guess: from below.
        while high > LEAST && looks < MOST_LOOKS {
            high /= 2.0;
            looks += 1;
            if keeps_up(high)? {
                (low, high) = (high, high * 2.0);
                break;
            }
        }
    }
    while low > 0.0 && high / low > NEAR && looks < MOST_LOOKS {
        let middle = (low * high).sqrt();
        looks += 1;
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
        fn what_is_there_is_found(truth in 2.0_f64..1e7) {
            let mut looks = 0;
            let found = saturation(|rate| {
                looks += 1;
                Ok(rate <= truth)
            });
            let found = found.expect("finds");
            prop_assert!(found <= truth && truth / found <= NEAR, "{found} of {truth}");
            prop_assert!(looks <= TRIES * (MOST_LOOKS + 2), "{looks}");
        }
    }

    #[test]
    fn what_keeps_up_with_nothing_saturates_at_zero() {
        assert_eq!(saturation(|_| Ok(false)), Ok(0.0));
    }
}
