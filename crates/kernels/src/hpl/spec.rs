//! How large a system, on which grid: the parameters of the workload.

use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::units::human;
use crosstalk_core::value::Params;
use crosstalk_work::peer::record::RECORD;
use crosstalk_work::peer::replay::REPLAY;

/// The parameters of the workload `hpl`.
pub const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new("n", "1000", "number of equations; in virtual time 1000 are mostly too short to be timed"),
    Parameter::new("nb", "192; 32 below 1000 equations, 384 from 10000 on", "rows and columns of a block"),
    Parameter::new(
        "p",
        "the largest divisor up to the square root",
        "rows of the grid of ranks, a divisor of their number",
    ),
    Parameter::new("q", "number of ranks over p", "columns of the grid, a divisor of the number of ranks"),
    Parameter::new("nodes", "1", "number of nodes"),
    RECORD,
    REPLAY,
]]);

/// Panels' sizes that are held beside the matrix.
const PANELS: f64 = 4.0;

/// A system, and the grid that solves it.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// Equations.
    pub order: usize,
    /// Rows and columns of a block.
    pub block: usize,
    /// Rows and columns of the grid, where they were given.
    pub grid: (Option<usize>, Option<usize>),
    /// Nodes.
    pub nodes: usize,
}

impl Spec {
    /// Reads and checks the workload's parameters.
    ///
    /// # Errors
    /// A usage fault that names the parameter.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        let order = params.bounded("n", 1000, 1, 1 << 24)? as usize;
        // Each panel passes once over all that is left: few passes count for most where that is much larger than caches.
        let usual = match order {
            0..1000 => 32,
            1000..10_000 => 192,
            _ => 384,
        };
        let given = |name| params.get(name).map(|_| params.bounded(name, 1, 1, 4096)).transpose();
        Ok(Spec {
            order,
            block: params.bounded("nb", usual, 1, 4096)? as usize,
            grid: (given("p")?.map(|p| p as usize), given("q")?.map(|q| q as usize)),
            nodes: params.bounded("nodes", 1, 1, 4096)? as usize,
        })
    }

    /// Rows and columns of the grid for so many ranks.
    ///
    /// # Errors
    /// A usage fault where they are not its product.
    pub fn shape(&self, ranks: usize) -> Result<(usize, usize), Fault> {
        let widest = || (1..=ranks.isqrt()).rev().find(|rows| ranks.is_multiple_of(*rows)).unwrap_or(1);
        let (rows, columns) = match self.grid {
            (Some(rows), Some(columns)) => (rows, columns),
            (Some(rows), None) => (rows, ranks / rows),
            (None, Some(columns)) => (ranks / columns, columns),
            (None, None) => (widest(), ranks / widest()),
        };
        if rows * columns == ranks && rows > 0 {
            return Ok((rows, columns));
        }
        let (parameter, wrong) = match self.grid {
            (Some(rows), Some(columns)) => {
                ("p", format!("a grid of {rows} × {columns} is not of {ranks} ranks"))
            }
            (None, Some(columns)) => ("q", format!("q = {columns} does not divide {ranks} ranks")),
            _ => ("p", format!("p = {rows} does not divide {ranks} ranks")),
        };
        let divisors: Vec<String> = (1..=ranks)
            .filter(|rows| ranks.is_multiple_of(*rows))
            .map(|divisor| divisor.to_string())
            .collect();
        Err(Fault::usage(wrong).of_parameter(parameter).remedy(format!(
            "divisors are {}; p times q is the number of ranks, and what is left out follows",
            divisors.join(", ")
        )))
    }

    /// Floating-point operations, as HPL counts them.
    pub fn operations(&self) -> f64 {
        let order = self.order as f64;
        order * order * (2.0 / 3.0 * order + 1.5)
    }

    /// Bytes of the matrix and of the panels that are there at once: one that is factored, two that are used or on their
    /// way, and the rows that they exchange.
    pub fn bytes(&self) -> f64 {
        let order = self.order as f64;
        order * (order + 1.0 + PANELS * self.block as f64) * 8.0
    }

    /// Refuses a matrix that does not fit.
    ///
    /// # Errors
    /// A usage fault that says how much it needs, and the largest that fits.
    pub fn check_memory(&self, available: f64, whose: &str) -> Result<(), Fault> {
        if self.bytes() <= available {
            return Ok(());
        }
        // n · (n + 1 + PANELS · nb) · 8 bytes.
        let half = (1.0 + PANELS * self.block as f64) / 2.0;
        let most = ((half * half + available / 8.0).sqrt() - half).floor();
        Err(Fault::usage(format!(
            "{} equations need {}, and {whose} has {}",
            self.order,
            human(self.bytes(), "B"),
            human(available, "B")
        ))
        .of_parameter("n")
        .remedy(format!("take at most n = {most}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_as_square_as_ranks_allow() {
        let spec = Spec::from_params(&Params::default()).expect("reads");
        let shapes: Vec<_> = [1, 2, 3, 4, 6, 8, 12].map(|ranks| spec.shape(ranks).expect("fits")).into();
        assert_eq!(shapes, [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (2, 4), (3, 4)]);
        let given = Spec { grid: (Some(4), None), ..spec };
        assert_eq!(given.shape(8), Ok((4, 2)));
    }

    #[test]
    fn a_grid_that_ranks_do_not_fill_is_refused_with_the_divisors() {
        let refused = |grid, ranks| {
            let spec = Spec { grid, ..Spec::from_params(&Params::default()).expect("reads") };
            spec.shape(ranks).expect_err("is refused").to_string()
        };
        let few = refused((Some(8), None), 4);
        assert!(
            few.contains("`p`: p = 8 does not divide 4 ranks") && few.contains("divisors are 1, 2, 4;"),
            "{few}"
        );
        assert!(refused((None, Some(4)), 6).contains("`q`: q = 4 does not divide 6 ranks"));
        assert!(refused((Some(2), Some(2)), 8).contains("a grid of 2 × 2 is not of 8 ranks"));
    }

    #[test]
    fn too_large_a_matrix_is_refused_with_the_largest_that_fits() {
        let spec = Spec::from_params(&Params::default().with("n", 100_000)).expect("reads");
        let refused = spec.check_memory(8e9, "a node").expect_err("does not fit").to_string();
        assert!(refused.contains("75.7 GiB") && refused.contains("at most n = 30863"), "{refused}");
        for available in [8.0, 8.0 * 144.0, 8e9, 8.0 * 1000.0 * 1001.0 - 1.0] {
            let sized = |order| Spec { order, ..spec.clone() };
            let refused = sized(1 << 20).check_memory(available, "a node").expect_err("does not fit");
            let most = refused.remedy.as_deref().and_then(|text| text.rsplit(' ').next()?.parse().ok());
            let most: usize = most.expect("a number");
            assert!(most == 0 || sized(most).check_memory(available, "a node").is_ok(), "{available}");
            assert!(sized(most + 1).check_memory(available, "a node").is_err(), "{available}");
        }
    }
}
