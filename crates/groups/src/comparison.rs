//! What groups felt while some were protected, and while none was: medians of both, to stand side by side.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::name::GroupName;
use crate::numbers::{Rates, Waits};

/// What was counted in both states.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Off, and on.
    states: [BTreeMap<GroupName, Vec<Rates>>; 2],
}

/// Medians of a state.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Medians {
    /// How many times it was counted.
    pub n: usize,
    /// What is typical.
    pub rates: Rates,
}

impl Comparison {
    /// Adds what was counted of a group while protection was on, or off. Whoever switches leaves out the count that
    /// has both.
    pub fn add(&mut self, is_on: bool, name: &GroupName, rates: Rates) {
        self.states[usize::from(is_on)].entry(name.clone()).or_default().push(rates);
    }

    /// The medians of a group in a state, if it was counted there.
    pub fn medians(&self, is_on: bool, name: &GroupName) -> Option<Medians> {
        let all = self.states[usize::from(is_on)].get(name)?;
        let of = |value: fn(&Rates) -> Option<f64>| median(all.iter().filter_map(value).collect());
        let rates = Rates {
            processors: of(|rates| rates.processors),
            refaults: of(|rates| rates.refaults),
            waits: Waits {
                cpu: of(|rates| rates.waits.cpu),
                memory: of(|rates| rates.waits.memory),
                io: of(|rates| rates.waits.io),
            },
            delay: of(|rates| rates.delay),
        };
        Some(Medians { n: all.len(), rates })
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = values[(values.len() - 1) / 2];
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_kept_apart() {
        let (name, other) = ("lab".parse().expect("is a name"), "web".parse().expect("is a name"));
        let cpu = |cpu| Rates { waits: Waits { cpu, ..Waits::default() }, ..Rates::default() };
        let mut found = Comparison::default();
        for share in [0.3, 0.9, 0.1] {
            found.add(false, &name, cpu(Some(share)));
        }
        found.add(true, &name, cpu(Some(0.02)));
        found.add(true, &name, cpu(Some(0.04)));
        found.add(true, &other, Rates { delay: Some(0.004), ..cpu(None) });
        let of = |is_on, name| found.medians(is_on, name).map(|medians| (medians.n, medians.rates.waits.cpu));
        assert_eq!((of(false, &name), of(true, &name)), (Some((3, Some(0.3))), Some((2, Some(0.03)))));
        assert_eq!((of(true, &other), of(false, &other)), (Some((1, None)), None));
        assert_eq!(found.medians(true, &other).and_then(|medians| medians.rates.delay), Some(0.004));
    }
}
