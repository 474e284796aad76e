//! Figures as SVG without scripts, for screen, phone and paper.
//!
//! Every figure is drawn for each [`Layout`], and the style sheet shows the one that fits. Bars are horizontal, so that long
//! names stay legible.

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
mod text;
mod tornado;
mod waterfall;

pub use draw::draw;
pub use layout::{Layout, NARROW, WIDE};
pub use palette::Palette;
pub use strip::{Strip, strip_scale};
pub use svg::marker;
pub use text::{point_value, position_in_words};
pub use tornado::tornado;
