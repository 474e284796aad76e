//! Machines that scatter in the ways real ones do.

use crate::rng::Rng;

/// How a machine scatters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Normal on the log scale.
    Normal,
    /// Student's t with two degrees of freedom: no variance.
    HeavyTailed,
    /// Normal, but one attempt in ten is delayed by a lognormal stall.
    Stalling,
    /// Two states, as with wake-ups and idle states: 70 % fast, 30 % slow.
    Bimodal,
    /// A random walk from attempt to attempt, sudden jumps, and a first attempt in
    /// each block that is always slower.
    Drifting,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 5] =
        [Kind::Normal, Kind::HeavyTailed, Kind::Stalling, Kind::Bimodal, Kind::Drifting];

    /// The spread of a log ratio at scale 1; found by simulation, but for the first.
    fn own_spread(self) -> f64 {
        match self {
            Kind::Normal => std::f64::consts::SQRT_2,
            Kind::HeavyTailed => 2.29,
            Kind::Stalling => 1.46,
            Kind::Bimodal => 1.28,
            Kind::Drifting => 1.33,
        }
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Normal => "normal",
            Kind::HeavyTailed => "heavy-tailed",
            Kind::Stalling => "stalling",
            Kind::Bimodal => "bimodal",
            Kind::Drifting => "drifting",
        }
    }
}

/// A simulated machine.
#[derive(Debug, Clone)]
pub struct Machine {
    kind: Kind,
    scale: f64,
    level: f64,
    rng: Rng,
}

impl Machine {
    /// A machine on which the log ratio of two equal cells scatters by `spread`,
    /// as [`crate::noise::spread`] tells it.
    pub fn new(kind: Kind, spread: f64, seed: u64) -> Self {
        Machine { kind, scale: spread / kind.own_spread(), level: 0.0, rng: Rng::seeded(seed) }
    }

    /// One block: the log metric of each cell, whose true log metrics are
    /// `truths`, attempted in random order.
    pub fn block(&mut self, truths: &[f64]) -> Vec<f64> {
        let mut order: Vec<usize> = (0..truths.len()).collect();
        self.rng.shuffle(&mut order);
        let mut values = truths.to_vec();
        for (place, cell) in order.into_iter().enumerate() {
            values[cell] += self.scale * self.attempt(place == 0);
        }
        values
    }

    /// One attempt's noise, in units of the scale.
    fn attempt(&mut self, first: bool) -> f64 {
        match self.kind {
            Kind::Normal => self.rng.normal(),
            Kind::HeavyTailed => self.student_2(),
            Kind::Stalling => 0.8 * self.rng.normal() + self.stall(),
            Kind::Bimodal => 0.4 * self.rng.normal() + if self.rng.uniform() < 0.3 { 2.0 } else { 0.0 },
            Kind::Drifting => 0.8 * self.rng.normal() + self.drift() + if first { 1.0 } else { 0.0 },
        }
    }

    /// t with two degrees of freedom: normal over the root of an exponential.
    fn student_2(&mut self) -> f64 {
        let exponential = -(1.0 - self.rng.uniform()).ln();
        self.rng.normal() / exponential.sqrt()
    }

    fn stall(&mut self) -> f64 {
        let length = (1.0 + self.rng.normal()).exp();
        if self.rng.uniform() < 0.1 { length } else { 0.0 }
    }

    fn drift(&mut self) -> f64 {
        self.level += 0.2 * self.rng.normal();
        if self.rng.uniform() < 0.01 {
            self.level += 5.0 * self.rng.normal();
        }
        self.level
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::spread;

    #[test]
    fn equal_cells_scatter_as_asked() {
        for kind in Kind::ALL {
            let mut machine = Machine::new(kind, 0.04, 7);
            let ratios: Vec<f64> =
                (0..1_000).map(|_| machine.block(&[0.0; 8])).map(|values| values[1] - values[0]).collect();
            let found = spread(&ratios).expect("1,000 blocks suffice");
            assert!((found / 0.04 - 1.0).abs() < 0.08, "{kind:?}: {found}");
        }
    }
}
