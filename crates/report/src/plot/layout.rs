//! The layouts of a picture, and the drawing.

/// A layout: screen and paper, or phone. Lengths are in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layout {
    /// Its name, and its class in the style sheet.
    pub name: &'static str,
    /// Width of the picture.
    pub width: f64,
    /// Height of pictures that do not grow with their data.
    pub height: f64,
    /// Width for series' names at the right of their lines; 0 where the legend names them.
    pub names: f64,
    /// Width for names at the left of bars; longer names are above their bar.
    pub labels: f64,
    /// The number of ticks across.
    pub ticks: usize,
}

/// The layout for screens and paper.
pub const WIDE: Layout =
    Layout { name: "wide", width: 752.0, height: 360.0, names: 168.0, labels: 190.0, ticks: 8 };
/// The layout for phones.
pub const NARROW: Layout =
    Layout { name: "narrow", width: 343.0, height: 300.0, names: 0.0, labels: 104.0, ticks: 4 };

/// A drawn figure: its SVG text and what the page needs to know of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    /// The `<svg>` element.
    pub svg: String,
    /// Whether the series' names are at their lines, so that the legend need not name them.
    pub named: bool,
    /// The number of points that cannot be drawn.
    pub omitted: usize,
}
