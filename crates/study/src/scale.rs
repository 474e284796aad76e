//! Links at a fraction of their rates, for machines that cannot emulate the full rate.

use crosstalk_core::testbed::Link;
use crosstalk_core::units::{BitRate, digits, human};
use crosstalk_core::value::Value;
use crosstalk_core::{Fault, quoted};

/// The lowest rate to which the kernel can shape a link, in bits a second.
const LOWEST: f64 = 8.0;

/// A link at a fabric's rate over `scale`.
///
/// # Errors
/// A usage fault where the rate is too low for the kernel.
pub fn scaled_link(rate: BitRate, scale: f64) -> Result<Link, Fault> {
    let scaled = BitRate(rate.0 / scale);
    if scaled.0 >= LOWEST {
        return Ok(Link::Rate(scaled));
    }
    let (rate, found) = (human(rate.0, "bit/s"), digits(scale));
    Err(Fault::usage(format!("expected links of at least 8 bit/s, found {rate} over a scale of {found}"))
        .remedy("take a smaller scale, such as --scale 50"))
}

/// Reads a scale, by which rates are divided.
///
/// # Errors
/// A usage fault where it is no number of at least 1.
pub fn parse_scale(value: &Value) -> Result<f64, Fault> {
    value.number().filter(|scale| scale.is_finite() && *scale >= 1.0).ok_or_else(|| {
        Fault::usage(format!("expected a number of at least 1, found `{}`", quoted(value.to_string())))
            .remedy("scale = 10 runs every link at a tenth of its fabric's rate")
    })
}
