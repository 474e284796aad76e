//! Published numbers in the units of the findings that they are shown with.

use crosstalk_core::record::Origin;
use crosstalk_core::value::Levels;
use std::collections::BTreeMap;

use crate::catalogue::Catalogues;
use crate::estimate;
use crate::file::Published;
use crate::findings::TableCell;
use crate::level;
use crate::published::published_id;

/// Looks up published numbers: in base units, and changes in percent as ratios.
#[derive(Clone, Copy)]
pub struct PublishedNumbers<'a>(pub &'a Catalogues);

impl PublishedNumbers<'_> {
    /// The published number of a claim; `None` where words were published.
    pub fn number_of_claim(&self, published: &Published) -> Option<f64> {
        match published {
            Published::Number(number) => Some(*number),
            Published::Id(id) => self.number(id),
        }
    }

    /// The number with that id.
    fn number(&self, id: &str) -> Option<f64> {
        Some(self.0.published(id)?.in_base_unit()?.0)
    }

    /// A table cell with what is published under the id that `template` makes at levels `at`: a number in its base
    /// unit, or the printed words.
    pub fn table_cell(&self, template: &str, at: &Levels, spellings: &BTreeMap<String, String>) -> TableCell {
        let found = published_id(template, at, spellings).and_then(|id| self.0.published(&id));
        match found.map(|printed| (printed, printed.in_base_unit())) {
            None => TableCell::Text("–".into()),
            Some((printed, None)) => TableCell::Text(printed.in_words()),
            Some((_, Some((value, unit)))) => TableCell::Number {
                estimate: estimate::published_estimate(value),
                unit: unit.to_string(),
                origin: Origin::Published,
            },
        }
    }

    /// The number with the id that `template` makes at levels `at`. With `base` it is a ratio: as printed where it was
    /// printed as one, else the number over that at the levels `base`.
    pub fn number_at(
        &self,
        template: &str,
        at: &Levels,
        spellings: &BTreeMap<String, String>,
        base: Option<&Levels>,
    ) -> Option<f64> {
        let printed = |levels: &Levels| self.0.published(&published_id(template, levels, spellings)?);
        let number = |levels: &Levels| Some(printed(levels)?.in_base_unit()?.0);
        match base {
            None => number(at),
            Some(base) => printed(at)?.ratio().or_else(|| {
                Some(number(at)? / number(&level::overlaid(at, base))?).filter(|ratio| ratio.is_finite())
            }),
        }
    }
}
