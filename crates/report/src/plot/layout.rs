//! What a picture is drawn for, and what it then is.

/// What a picture is drawn for. Lengths in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layout {
    /// Name and class in the style sheet.
    pub name: &'static str,
    /// Width of the picture.
    pub width: f64,
    /// Height of pictures that do not grow with their data.
    pub height: f64,
    /// Room for series' names at the right of their lines; none where the legend names them.
    pub names: f64,
    /// Room for names at the left of bars; longer ones stand above their bar.
    pub labels: f64,
    /// How many ticks across.
    pub ticks: usize,
}

/// For screens and paper.
pub const WIDE: Layout =
    Layout { name: "wide", width: 752.0, height: 360.0, names: 168.0, labels: 190.0, ticks: 8 };
/// For phones.
pub const NARROW: Layout =
    Layout { name: "narrow", width: 343.0, height: 300.0, names: 0.0, labels: 104.0, ticks: 4 };

/// A figure drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    /// The `<svg>` element.
    pub svg: String,
    /// Whether the series' names stand beside their lines, so that no legend need name them.
    pub named: bool,
    /// Data that have no place on the axes.
    pub omitted: usize,
}
