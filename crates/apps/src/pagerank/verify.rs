//! Checks of the answer: no edge is missing, no rank was lost or created in any iteration, and a sample of
//! vertices has the ranks that their edges give.

use crosstalk_core::Fault;

use super::ranks::Balance;
use super::slave::TOP_RANKS;

/// The largest relative error that rounding can explain.
const TOLERANCE: f64 = 1e-9;

/// Checks that all edges arrived.
pub fn check_edge_count(expected: u64, found: u64) -> Result<(), Fault> {
    if expected == found {
        return Ok(());
    }
    Err(wrong(format!("the graph has {expected} edges, the slaves hold {found}"))
        .remedy("give every node the same file"))
}

/// Checks that in every iteration the ranks add up to what the ranks before it give: `reset` for each vertex,
/// and `1 − reset` of the rank that flows on. `balances` begins with that of the initial ranks, 1 each.
pub fn check_balances(vertices: u64, balances: &[Balance], reset: f64) -> Result<(), Fault> {
    let count = vertices as f64;
    let initial = balances.first().map_or(0.0, |balance| balance.all.to_number());
    close(initial, count, || "the initial ranks".into())?;
    for (iteration, pair) in (1..).zip(balances.windows(2)) {
        let expected = reset * count + (1.0 - reset) * pair[0].flowing.to_number();
        close(pair[1].all.to_number(), expected, || format!("the ranks of iteration {iteration}"))?;
    }
    Ok(())
}

/// Checks that the highest ranks are all there, highest first.
pub fn check_highest(top: &[(u32, f64)], vertices: u64) -> Result<(), Fault> {
    let expected = vertices.min(TOP_RANKS as u64);
    if top.len() as u64 == expected && top.is_sorted_by(|a, b| a.1 >= b.1) {
        return Ok(());
    }
    Err(wrong(format!("expected the {expected} highest ranks, found {top:?}")))
}

/// The ranks of the sample's vertices in the last iteration, to be checked.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleCheck {
    /// The sum of each by its edges; and its rank.
    vertices: Vec<(f64, f64)>,
}

impl SampleCheck {
    /// Combines the slaves' reports: for each vertex a partial sum, and its rank from its owner, NaN from
    /// others.
    pub fn new(reports: &[Vec<u64>]) -> Result<Self, Fault> {
        let count = reports.first().map_or(0, Vec::len);
        let mut vertices = vec![(0.0, f64::NAN); count / 2];
        for report in reports {
            if report.len() != count {
                return Err(wrong("the slaves disagree about the sample".into()));
            }
            for (vertex, [sum, rank]) in vertices.iter_mut().zip(report.as_chunks::<2>().0) {
                vertex.0 += f64::from_bits(*sum);
                let rank = f64::from_bits(*rank);
                if !rank.is_nan() {
                    vertex.1 = rank;
                }
            }
        }
        Ok(SampleCheck { vertices })
    }

    /// Checks that every vertex of the sample has the rank that its edges give it.
    pub fn verify(&self, reset: f64, factor: f64) -> Result<(), Fault> {
        for (gathered, rank) in &self.vertices {
            let expected = (reset + (1.0 - reset) * gathered) * factor;
            // No rank at all, NaN, is wrong too.
            if rank.is_nan() || (rank - expected).abs() > TOLERANCE * expected {
                return Err(wrong(format!("a vertex has rank {rank}, its edges give it {expected}")));
            }
        }
        Ok(())
    }
}

fn close(found: f64, expected: f64, what: impl Fn() -> String) -> Result<(), Fault> {
    if (found - expected).abs() <= TOLERANCE * expected {
        return Ok(());
    }
    Err(wrong(format!("{} add up to {found}, not to {expected}", what())))
}

fn wrong(what: String) -> Fault {
    Fault::attempt(format!("wrong answer: {what}"))
}

#[cfg(test)]
mod tests;
