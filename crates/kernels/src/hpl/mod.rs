//! HPL: a dense system of equations, solved by LU factorisation with row pivoting, as Petitet, Whaley, Dongarra and Cleary
//! describe it ("HPL – a portable implementation of the High-Performance Linpack benchmark", 2008).
//!
//! The matrix is cut into square blocks, which are dealt to a grid of P × Q ranks in both directions. A column of blocks at
//! a time, a *panel*, is factored by the P ranks that have it, and sent round each row of the grid. All ranks exchange rows
//! by its pivots, and subtract its product from what is left. The ranks that have the next panel factor it first, and send
//! it while they do the rest (look-ahead of depth 1). The right-hand side is one more column.
//!
//! | file | holds |
//! |---|---|
//! | `grid` | which rank has what |
//! | `matrix` | the entries, and a rank's part of them |
//! | `dense` | products and triangular systems on one rank |
//! | `panel` | a panel's factorisation, recursively |
//! | `exchange` | rows that are exchanged by pivots |
//! | `factor` | the loop over panels |
//! | `solve` | the triangular system at the end, and the residual |
//! | `spec`, `workload` | the workload `hpl` |

mod dense;
mod exchange;
mod factor;
mod grid;
mod matrix;
mod panel;
mod solve;
mod spec;
mod workload;

pub use spec::Spec;
pub use workload::{HPL, run, solved};
