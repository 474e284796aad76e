//! One colour a name on the whole page: `kosmos-srio` looks the same in every
//! figure. Parts of stacked bars have colours of their own. Fields of heat maps of the
//! same quantity have one scale: what is darker is more, in whichever map. All ratios have one.
//!
//! The hues are Okabe and Ito's (2008), told apart by colour-blind readers;
//! the style sheet holds them, darkened for white and lightened for black.

use std::collections::BTreeMap;

use crosstalk_study::findings::{Axis, Figure, FigureKind};

use super::scale::drawable;

/// Colours that the style sheet has of each kind.
const COLOURS: usize = 8;

/// Names in the order of their first appearance.
#[derive(Debug, Default)]
pub struct Palette {
    series: Vec<String>,
    parts: Vec<String>,
    /// Quantity and unit of heat maps → the least and the most on the page.
    ranges: BTreeMap<(String, String), (f64, f64)>,
}

impl Palette {
    /// The names in all figures of a page.
    pub fn of(figures: &[Figure]) -> Palette {
        let mut palette = Palette::default();
        for figure in figures {
            let names = match figure.kind {
                FigureKind::Stacked => &mut palette.parts,
                FigureKind::Lines | FigureKind::Bars | FigureKind::Waterfall => &mut palette.series,
                FigureKind::Heat => {
                    palette.widen(figure);
                    continue;
                }
                // Its points have their names beside them.
                FigureKind::Frontier => continue,
            };
            for series in &figure.series {
                if !names.contains(&series.name) {
                    names.push(series.name.clone());
                }
            }
        }
        palette
    }

    fn widen(&mut self, figure: &Figure) {
        let values = figure.series.iter().flat_map(|series| &series.points).map(|point| point.y.value);
        for value in values.filter(|value| drawable(*value, false)) {
            let (least, most) = self.ranges.entry(quantity(&figure.y)).or_insert((value, value));
            (*least, *most) = (least.min(value), most.max(value));
        }
    }

    /// The least and the most of a heat map's quantity on the page; `None` where there is none.
    pub fn range(&self, axis: &Axis) -> Option<(f64, f64)> {
        self.ranges.get(&quantity(axis)).copied()
    }

    /// Which of the series' names it is; decides marker and colour.
    pub fn index(&self, name: &str) -> usize {
        position(&self.series, name)
    }

    /// The class of a series.
    pub fn series(&self, name: &str) -> String {
        format!("s{}", self.index(name) % COLOURS)
    }

    /// The class of the fields of a heat map; of a ratio's, `below` 1 or above.
    pub fn heat(below: bool) -> String {
        if below { "s1".into() } else { "s0".into() }
    }

    /// Whether a series has this name.
    pub fn has(&self, name: &str) -> bool {
        self.series.iter().any(|known| known == name)
    }

    /// The class of a part.
    pub fn part(&self, name: &str) -> String {
        format!("p{}", position(&self.parts, name) % COLOURS)
    }
}

fn quantity(axis: &Axis) -> (String, String) {
    (axis.label.clone(), axis.unit.clone())
}

fn position(names: &[String], name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or(0)
}
