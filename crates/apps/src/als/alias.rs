//! Draws from a discrete distribution with one look-up (M. D. Vose, IEEE Trans.
//! Softw. Eng. 17(9), 1991).

/// A table that draws numbered outcomes with given weights in constant time (alias method).
pub struct Alias {
    /// Outcome → (it stands for itself below this threshold, else for that one).
    entries: Vec<(u32, u32)>,
}

impl Alias {
    /// Outcomes with these weights, of which one at least is positive.
    pub fn new(weights: &[f64]) -> Self {
        let scale = weights.len() as f64 / weights.iter().sum::<f64>();
        let mut weight: Vec<f64> = weights.iter().map(|w| w * scale).collect();
        let mut entries: Vec<(u32, u32)> = (0..weights.len() as u32).map(|i| (u32::MAX, i)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|i| weight[*i] < 1.0);
        while let (Some(poor), Some(rich)) = (small.pop(), large.last().copied()) {
            entries[poor] = ((weight[poor] * 2_f64.powi(32)) as u32, rich as u32);
            weight[rich] -= 1.0 - weight[poor];
            if weight[rich] < 1.0 {
                large.pop();
                small.push(rich);
            }
        }
        Alias { entries }
    }

    /// The outcome of a random number.
    pub fn sample(&self, random: u64) -> usize {
        let high = u128::from(random >> 32) * self.entries.len() as u128;
        let outcome = (high >> 32) as usize;
        let (threshold, alias) = self.entries[outcome];
        if (random as u32) < threshold { outcome } else { alias as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_has_its_probability() {
        let weights = [5.0, 1.0, 0.0, 3.0, 1.0];
        let table = Alias::new(&weights);
        let mut mass = [0.0; 5];
        for (outcome, (threshold, alias)) in table.entries.iter().enumerate() {
            let kept = f64::from(*threshold) / 2_f64.powi(32);
            mass[outcome] += kept / 5.0;
            mass[*alias as usize] += (1.0 - kept) / 5.0;
        }
        assert!(
            mass.iter().zip(weights).all(|(found, weight)| (found - weight / 10.0).abs() < 1e-9),
            "{mass:?}"
        );
    }
}
