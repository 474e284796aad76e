//! Figures drawn as SVG: without scripts, for the screen, the phone and paper.
//!
//! Every figure is drawn for each [`Layout`]; the style sheet shows the one
//! that fits. Bars lie on their side, so that names of any length stay legible.

mod axes;
mod bars;
mod draw;
pub mod frontier;
pub mod heat;
mod layout;
mod lines;
mod names;
mod palette;
mod rows;
mod scale;
mod stacked;
mod strip;
pub(crate) mod svg;
mod waterfall;
mod words;

pub use draw::draw;
pub use layout::{Layout, NARROW, WIDE};
pub use palette::Palette;
pub use strip::{Strip, domain};
pub use svg::marker;
pub use words::across;
