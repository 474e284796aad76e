//! What LU, SP and BT share: the flow of a compressible gas, as RNR-94-007 defines it in section 3 for all simulated
//! applications, with its differences, initial state and norms. A point has five values: density, momentum in three
//! directions, and energy.

pub(crate) mod differences;
pub(crate) mod exact;
pub(crate) mod norms;

/// Values of a point.
pub(crate) const VALUES: usize = 5;
/// The ratio of specific heats: the report's c1, and c2 + 1.
pub(crate) const GAMMA: f64 = 1.4;
/// Viscosity: the report's c3·c4.
pub(crate) const VISCOSITY: f64 = 0.1;
/// How much faster energy is conducted than momentum: the report's c1·c5.
pub(crate) const CONDUCTION: f64 = GAMMA * 1.4;
/// How much more viscous stress there is along a gradient than across.
pub(crate) const ALONG: f64 = 4.0 / 3.0;
