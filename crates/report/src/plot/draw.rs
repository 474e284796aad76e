//! Draws each kind of figure.

use crosstalk_study::findings::{Figure, FigureKind};

use super::layout::{Drawing, Layout};
use super::palette::Palette;
use super::{bars, frontier, heat, lines, stacked, waterfall};

/// Draws a figure; `None` when nothing in it can be drawn. `id` must be unique on the page.
pub fn draw(figure: &Figure, palette: &Palette, layout: &Layout, id: &str) -> Option<Drawing> {
    match figure.kind {
        FigureKind::Lines => lines::draw(figure, palette, layout, id),
        FigureKind::Bars => bars::draw(figure, palette, layout, id),
        FigureKind::Stacked => stacked::draw(figure, palette, layout, id),
        FigureKind::Waterfall => waterfall::draw(figure, palette, layout, id),
        FigureKind::Heat => heat::draw(figure, palette, layout, id),
        FigureKind::Frontier | FigureKind::Fit => frontier::draw(figure, layout, id),
    }
}
