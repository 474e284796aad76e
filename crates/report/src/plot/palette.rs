//! One colour a name on the whole page: `kosmos-srio` looks the same in every
//! figure. Parts of stacked bars have colours of their own.
//!
//! The hues are Okabe and Ito's (2008), told apart by colour-blind readers;
//! the style sheet holds them, darkened for white and lightened for black.

use crosstalk_study::findings::{Figure, FigureKind};

/// Colours that the style sheet has of each kind.
const COLOURS: usize = 8;

/// Names in the order of their first appearance.
#[derive(Debug, Default)]
pub struct Palette {
    series: Vec<String>,
    parts: Vec<String>,
}

impl Palette {
    /// The names in all figures of a page.
    pub fn of(figures: &[Figure]) -> Palette {
        let mut palette = Palette::default();
        for figure in figures {
            let names = match figure.kind {
                FigureKind::Stacked => &mut palette.parts,
                FigureKind::Lines | FigureKind::Bars | FigureKind::Waterfall => &mut palette.series,
                // One colour, the darker the more; and points that have their names beside them.
                FigureKind::Heat | FigureKind::Frontier => continue,
            };
            for series in &figure.series {
                if !names.contains(&series.name) {
                    names.push(series.name.clone());
                }
            }
        }
        palette
    }

    /// Which of the series' names it is; decides marker and colour.
    pub fn index(&self, name: &str) -> usize {
        position(&self.series, name)
    }

    /// The class of a series.
    pub fn series(&self, name: &str) -> String {
        format!("s{}", self.index(name) % COLOURS)
    }

    /// The class of the fields of a heat map.
    pub fn heat(&self) -> String {
        "s0".into()
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

fn position(names: &[String], name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or(0)
}
