//! What BT and SP share: an implicit scheme of alternating directions for the flow of a gas in a cube (RNR-94-007, sections
//! 3.1 to 3.4), on a square number of ranks by the multi-partition scheme (NAS-95-020, section 3).
//!
//! A step computes what changes at each point by the present flow, solves a system along every line of the cube in one
//! direction, then in the second and the third, and adds the result. The systems of all lines in a direction are
//! independent. So [`PACK`](field::PACK) of them are solved at once, which is how processors compute fastest.
//!
//! | file | holds |
//! |---|---|
//! | `field` | values on the points of a cell, and packs of them |
//! | `partition` | which cells a rank has |
//! | `coefficients` | the numbers of the scheme |
//! | `cell` | a cell of points |
//! | `residual` | what changes by the present flow |
//! | `faces` | what neighbours know of each other's cells |
//! | `lines` | packs of lines across a cell |
//! | `sweep` | elimination and substitution from cell to cell |
//! | `step` | a benchmark of this kind, from the first values to the norms |

pub(crate) mod cell;
pub(crate) mod coefficients;
pub(crate) mod faces;
pub(crate) mod field;
pub(crate) mod lines;
pub(crate) mod partition;
pub(crate) mod residual;
pub(crate) mod step;
pub(crate) mod sweep;
