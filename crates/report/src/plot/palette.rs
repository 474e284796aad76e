//! The colours of a page: a series' name has the same colour in every figure. Parts of stacked bars have colours of their own.
//! All heat maps of a quantity have one scale, and all ratios have one.
//!
//! The hues are Okabe and Ito's (2008), which colour-blind readers can distinguish. The style sheet holds them, darkened for
//! white and lightened for black.

use std::collections::BTreeMap;

use crosstalk_study::findings::{Axis, Figure, FigureKind};

use super::scale::is_drawable;

/// The number of colours of each kind in the style sheet.
const COLOURS: usize = 8;

/// Assigns colours and markers to the names in a page's figures, in the order of their first appearance.
#[derive(Debug, Default)]
pub struct Palette {
    series: Vec<String>,
    parts: Vec<String>,
    /// Quantity and unit of heat maps → the least and the greatest value on the page.
    ranges: BTreeMap<(String, String), (f64, f64)>,
}

impl Palette {
    /// The palette for all figures of a page.
    pub fn of_figures(figures: &[Figure]) -> Palette {
        let mut palette = Palette::default();
        for figure in figures {
            let names = match figure.kind {
                FigureKind::Stacked => &mut palette.parts,
                FigureKind::Lines | FigureKind::Bars | FigureKind::Waterfall => &mut palette.series,
                FigureKind::Heat => {
                    palette.widen(figure);
                    continue;
                }
                // Its points have names next to them.
                FigureKind::Frontier | FigureKind::Fit => continue,
            };
            for series in &figure.series {
                if index_of(names, &series.name).is_none() {
                    names.push(series.name.clone());
                }
            }
        }
        palette
    }

    fn widen(&mut self, figure: &Figure) {
        let values = figure.series.iter().flat_map(|series| &series.points).map(|point| point.y.value);
        for value in values.filter(|value| is_drawable(*value, false)) {
            let (least, most) = self.ranges.entry(quantity(&figure.y)).or_insert((value, value));
            (*least, *most) = (least.min(value), most.max(value));
        }
    }

    /// The least and the greatest value of a heat map's quantity on the page; `None` where there is none.
    pub fn heat_range(&self, axis: &Axis) -> Option<(f64, f64)> {
        self.ranges.get(&quantity(axis)).copied()
    }

    /// The colour class of a level of the deciding sentence, `slaves 6`; `None` where no figure has it as a series.
    pub fn level_class(&self, label: &str) -> Option<String> {
        let known = |name: &String| label == name || label.ends_with(&format!(" {name}"));
        self.series.iter().find(|name| known(name)).map(|name| self.series_class(name))
    }

    /// A series' index, which decides marker and colour.
    pub fn series_index(&self, name: &str) -> usize {
        position(&self.series, name)
    }

    /// The colour class of a series, by its name.
    pub fn series_class(&self, name: &str) -> String {
        format!("s{}", self.series_index(name) % COLOURS)
    }

    /// The colour class of a heat map's field; of a ratio, `below` 1 or above.
    pub fn heat_class(below: bool) -> String {
        if below { "s1".into() } else { "s0".into() }
    }

    /// Whether a series has this name.
    pub fn has_series(&self, name: &str) -> bool {
        index_of(&self.series, name).is_some()
    }

    /// The colour class of a part of the time, by its name.
    pub fn part_class(&self, name: &str) -> String {
        format!("p{}", position(&self.parts, name) % COLOURS)
    }
}

fn quantity(axis: &Axis) -> (String, String) {
    (axis.label.clone(), axis.unit.clone())
}

fn position(names: &[String], name: &str) -> usize {
    index_of(names, name).unwrap_or(0)
}

/// The index of a name. A number is the same with and without its factor's name: `slaves 6`, `6`.
fn index_of(names: &[String], name: &str) -> Option<usize> {
    let counts = |whole: &str, bare: &str| {
        bare.parse::<f64>().is_ok() && whole.strip_suffix(bare).is_some_and(|factor| factor.ends_with(' '))
    };
    let same = |known: &String| known == name || counts(known, name) || counts(name, known);
    names.iter().position(|known| known == name).or_else(|| names.iter().position(same))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_has_one_colour_with_and_without_its_factor_s_name() {
        let palette = Palette {
            series: ["microblade", "6", "slaves 60"].map(String::from).to_vec(),
            ..Palette::default()
        };
        assert_eq!(palette.series_class("slaves 6"), palette.series_class("6"));
        assert_eq!(palette.series_class("60"), palette.series_class("slaves 60"));
        assert_ne!(palette.series_class("60"), palette.series_class("6"));
        assert_eq!(palette.level_class("slaves 6"), Some(palette.series_class("6")));
        assert_eq!(palette.level_class("srio"), None);
    }
}
