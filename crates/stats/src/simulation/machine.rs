//! Machines with the kinds of noise that real ones have.

use crate::rng::Rng;

/// A kind of noise that a simulated machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoiseKind {
    /// Normal on the log scale.
    Normal,
    /// Student's t with two degrees of freedom: no variance.
    HeavyTailed,
    /// Normal, but one attempt in ten is delayed by a lognormal stall.
    Stalling,
    /// Two states, as of idle states: 70 % fast, 30 % slow.
    Bimodal,
    /// A random walk from attempt to attempt with sudden jumps; the first attempt of
    /// each block is slower.
    Drifting,
}

impl NoiseKind {
    /// Every kind of noise.
    pub const ALL: [NoiseKind; 5] = [
        NoiseKind::Normal,
        NoiseKind::HeavyTailed,
        NoiseKind::Stalling,
        NoiseKind::Bimodal,
        NoiseKind::Drifting,
    ];

    /// The spread of a log ratio at scale 1. The first is exact; the others are from
    /// simulation.
    fn unit_spread(self) -> f64 {
        match self {
            NoiseKind::Normal => std::f64::consts::SQRT_2,
            NoiseKind::HeavyTailed => 2.29,
            NoiseKind::Stalling => 1.46,
            NoiseKind::Bimodal => 1.28,
            NoiseKind::Drifting => 1.33,
        }
    }

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            NoiseKind::Normal => "normal",
            NoiseKind::HeavyTailed => "heavy-tailed",
            NoiseKind::Stalling => "stalling",
            NoiseKind::Bimodal => "bimodal",
            NoiseKind::Drifting => "drifting",
        }
    }
}

/// A simulated machine, with noise of one kind.
#[derive(Debug, Clone)]
pub struct Machine {
    kind: NoiseKind,
    scale: f64,
    level: f64,
    rng: Rng,
}

impl Machine {
    /// A machine on which the log ratio of two equal cells has this `spread`, in the
    /// sense of [`crate::noise::spread`].
    pub fn new(kind: NoiseKind, spread: f64, seed: u64) -> Self {
        Machine { kind, scale: spread / kind.unit_spread(), level: 0.0, rng: Rng::seeded(seed) }
    }

    /// Simulates a block: one attempt of each cell, in random order. `truths` are the
    /// cells' true log metrics; returns the measured ones.
    pub fn simulate_block(&mut self, truths: &[f64]) -> Vec<f64> {
        let mut order: Vec<usize> = (0..truths.len()).collect();
        self.rng.shuffle(&mut order);
        let mut values = truths.to_vec();
        for (place, cell) in order.into_iter().enumerate() {
            values[cell] += self.scale * self.attempt(place == 0);
        }
        values
    }

    /// The noise of one attempt, in units of the scale.
    fn attempt(&mut self, first: bool) -> f64 {
        match self.kind {
            NoiseKind::Normal => self.rng.normal(),
            NoiseKind::HeavyTailed => self.student_t_2(),
            NoiseKind::Stalling => 0.8 * self.rng.normal() + self.stall(),
            NoiseKind::Bimodal => 0.4 * self.rng.normal() + if self.rng.uniform() < 0.3 { 2.0 } else { 0.0 },
            NoiseKind::Drifting => 0.8 * self.rng.normal() + self.drift() + if first { 1.0 } else { 0.0 },
        }
    }

    /// t with two degrees of freedom: normal over the root of an exponential.
    fn student_t_2(&mut self) -> f64 {
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
    fn equal_cells_have_the_given_spread() {
        for kind in NoiseKind::ALL {
            let mut machine = Machine::new(kind, 0.04, 7);
            let ratios: Vec<f64> = (0..1_000)
                .map(|_| machine.simulate_block(&[0.0; 8]))
                .map(|values| values[1] - values[0])
                .collect();
            let found = spread(&ratios).expect("1,000 blocks suffice");
            assert!((found / 0.04 - 1.0).abs() < 0.08, "{kind:?}: {found}");
        }
    }
}
