//! Claims, each put as a question to its data.

use crosstalk_core::value::Levels;
use crosstalk_stats::order::Order;
use crosstalk_stats::verdict::{Margin, Side};
use std::collections::BTreeSet;
use std::f64::consts::LN_2;

use super::datum::{Datum, level_of, log_ratio};
use super::lookup::Lookup;
use super::noise::margins;
use super::select::View;
use super::statement::{Expected, Reading, Scale, turned};
use super::{level, shape};
use crate::file::Claim;
use crate::label;
use crate::predicate::{Predicate, Relation, margin};

/// A claim with what is known of it before its data are judged.
pub struct Stated<'a> {
    /// Its name in the study.
    pub name: &'a str,
    /// As written.
    pub claim: &'a Claim,
    /// What was published, in the claim's own unit.
    pub published: Option<f64>,
    /// The margin of the size test, as a ratio.
    pub margin: Option<f64>,
    /// The unit of its number.
    pub unit: String,
    /// What its number is per, where the unit does not say: ` as the power of slaves that it follows`.
    pub per: String,
    /// What it asks.
    pub put: Put,
}

/// A claim as a question.
pub enum Put {
    /// About one number a block.
    One(One),
    /// About several differences that must all be above zero.
    Steps(Steps),
    /// It cannot be asked: why.
    Not(String),
}

/// A question about one number a block, above zero where the claim stands.
pub struct One {
    /// The numbers.
    pub datum: Datum,
    /// Whether they are no differences of cells that ran in random order.
    pub lone: bool,
    /// How the answer reads.
    pub reading: Reading,
    /// Beyond which it stands.
    pub margin: Margin,
    /// The published size and its margin, on the question's scale.
    pub size: Option<(f64, f64)>,
    /// Which noise counts as margin.
    pub noise: Vec<Beside>,
    /// For a ratio: which cells it is of, so that a comparison of the same can answer it.
    pub contrast: Option<Contrast>,
}

/// A question about several differences.
pub struct Steps {
    /// What each step showed, by complete block.
    pub order: Order,
    /// How the answer reads.
    pub reading: Reading,
    /// Which noise counts as margin.
    pub noise: Beside,
}

/// The noise beside which a claim must stand.
#[derive(Debug, Clone, PartialEq)]
pub struct Beside {
    /// The place of the claim's experiment.
    pub experiment: usize,
    /// What is asked of its cells.
    pub metric: String,
    /// What one of the natural log is on the claim's scale.
    pub scale: f64,
}

/// Cells over cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Contrast {
    /// The experiment's place.
    pub experiment: usize,
    /// What is asked of them.
    pub metric: String,
    /// The cells above.
    pub of: BTreeSet<usize>,
    /// The cells below.
    pub to: BTreeSet<usize>,
    /// Which of their readings, above and below, where labels stand in the place of factors.
    pub labels: [Levels; 2],
}

impl Contrast {
    /// The cells of a log ratio (see [`log_ratio`]).
    pub fn new(view: &View, metric: &str, at: &Levels, of: &Levels, to: &Levels) -> Self {
        let cells = |levels: &Levels| {
            view.units(&level::with(at, levels)).into_iter().flat_map(|unit| unit.cells).collect()
        };
        let labels = [of, to].map(|levels| label::split(&level::with(at, levels)).1);
        Contrast { experiment: view.index, metric: metric.to_string(), of: cells(of), to: cells(to), labels }
    }

    /// The cell above and the cell below, where each is one and whole.
    pub fn cells(&self) -> Option<(usize, usize)> {
        let whole = self.labels.iter().all(Levels::is_empty);
        let only = |cells: &BTreeSet<usize>| cells.first().copied().filter(|_| whole && cells.len() == 1);
        Some((only(&self.of)?, only(&self.to)?))
    }

    /// 1 where `other` is the same, −1 where it is the inverse.
    pub fn sign(&self, other: &Contrast) -> Option<f64> {
        if self == other {
            return Some(1.0);
        }
        let [of, to] = other.labels.clone();
        let inverse =
            Contrast { of: other.to.clone(), to: other.of.clone(), labels: [to, of], ..other.clone() };
        (*self == inverse).then_some(-1.0)
    }
}

/// Puts a claim to the experiments that it speaks of; where one has no view, it cannot be asked.
pub fn state<'a, 'b>(
    name: &'a str,
    claim: &'a Claim,
    view: impl Fn(&str) -> Option<View<'b>>,
    published: &Lookup,
) -> Stated<'a> {
    let number = claim.published.as_ref().and_then(|p| published.claimed(p));
    let margin = claim.margin.as_deref().and_then(|text| margin(text).ok());
    let views: Result<Vec<View>, &str> =
        claim.experiments().map(|(_, name)| view(name).ok_or(name)).collect();
    let absent = views.as_ref().err().copied().unwrap_or_default();
    let put = Put::Not(format!("experiment `{absent}` is not part of this run"));
    let unit = unit(claim, views.as_ref().ok().map(|views| &views[0]));
    let stated = Stated { name, claim, published: number, margin, unit, per: String::new(), put };
    match views {
        Ok(views) => {
            let stated = Stated { per: per(claim, &views[0]), ..stated };
            Stated { put: stated.ask(&views), ..stated }
        }
        Err(_) => stated,
    }
}

/// The unit of its number; that of a metric is known where its experiment is part of the run.
fn unit(claim: &Claim, view: Option<&View>) -> String {
    let factor = claim.ratio.is_some() || claim.order.is_some() || claim.peak.is_some();
    match (&claim.threshold, view) {
        _ if factor => "ratio".into(),
        (Some(threshold), Some(view)) => view.metric(&threshold.metric).unit,
        _ => String::new(),
    }
}

fn per(claim: &Claim, view: &View) -> String {
    match &claim.trend {
        Some(trend) => shape::exponent(&view.levels_of(&trend.along, &claim.at), &trend.along),
        None => String::new(),
    }
}

impl Stated<'_> {
    /// The cells of a ratio, where it is one of one experiment.
    pub fn contrast(&self, view: &View) -> Option<Contrast> {
        let ratio = self.claim.ratio.as_ref().filter(|ratio| ratio.over.is_none())?;
        Some(Contrast::new(view, &ratio.metric, &self.claim.at, &ratio.of, &ratio.to))
    }

    /// `views` are those of [`Claim::experiments`].
    fn ask(&self, views: &[View]) -> Put {
        let (claim, view) = (self.claim, &views[0]);
        if let Some(ratio) = &claim.ratio {
            let log = |view: &View| log_ratio(view, &ratio.metric, &claim.at, &ratio.of, &ratio.to);
            // Two ratios together are off by as much as both.
            let kind = Kind::paired(Scale::Ratio, 1.0, views, &ratio.metric, views.len() as f64);
            match views {
                [here, there] => self.one(shape::difference([here, there], log), kind),
                _ => self.one(log(view), Kind { contrast: self.contrast(view), ..kind }),
            }
        } else if let Some(trend) = &claim.trend {
            // A slope is a log₂ ratio a doubling or step.
            let datum = shape::slope(view, trend, &claim.at);
            self.one(datum, Kind::paired(Scale::Plain, 0.0, views, &trend.metric, LN_2.recip()))
        } else if let Some(order) = &claim.order {
            shape::order(view, order, &claim.at)
        } else if let Some(peak) = &claim.peak {
            shape::peak(view, peak, &claim.at)
        } else if let Some(threshold) = &claim.threshold {
            self.one(level_of(view, &threshold.metric, &claim.at, false), Kind::lone())
        } else if let Some(correlation) = &claim.correlation {
            self.one(shape::correlation(views, correlation, &claim.at), Kind::lone())
        } else {
            Put::Not("it states nothing".into())
        }
    }

    /// A claim about one number: on which side of a bound, and of which size.
    fn one(&self, datum: Datum, kind: Kind) -> Put {
        if !datum.run {
            return Put::Not(datum.missing.first().cloned().unwrap_or_default());
        }
        let predicate = self.claim.expect.as_deref().and_then(|text| Predicate::parse(text).ok());
        let size = self.size(kind.scale);
        let sided = Expected::of(predicate, self.published, kind.neutral);
        let (predicate, stands) = match sided {
            Some(Expected::Side(predicate)) => (predicate, Side::Above),
            Some(Expected::Equal(bound)) => (Predicate { relation: Relation::Above, bound }, Side::Within),
            None => return Put::Not("it expects nothing that data could refute".into()),
        };
        let (datum, reading) = turned(&datum, kind.scale, predicate);
        let size = size.map(|(value, margin)| (reading.sign * (value - reading.offset), margin));
        let equal = stands == Side::Within;
        let reading = Reading { stands, sized: size.is_some() && !equal, ..reading };
        Put::One(One {
            datum,
            lone: kind.lone,
            reading,
            margin: if equal { size.map_or(kind.margin, |(_, margin)| margin.into()) } else { kind.margin },
            size: size.filter(|_| !equal),
            noise: if equal { Vec::new() } else { kind.noise },
            contrast: kind.contrast.filter(|_| !equal),
        })
    }

    /// The published value and its margin as compared: between value ÷ (1 + margin)
    /// and value × (1 + margin) for ratios, value ± margin of it for plain numbers.
    fn size(&self, scale: Scale) -> Option<(f64, f64)> {
        let (value, margin) = (self.published?, self.margin?);
        let (inner, margin) = match scale {
            Scale::Ratio => (value.ln(), margin.ln_1p()),
            Scale::Plain => (value, margin * value.abs()),
        };
        inner.is_finite().then_some((inner, margin))
    }
}

/// What kind of number a claim is about.
struct Kind {
    scale: Scale,
    /// The number that stands for no effect; none where every value is one.
    neutral: f64,
    /// As compared.
    margin: Margin,
    lone: bool,
    noise: Vec<Beside>,
    contrast: Option<Contrast>,
}

impl Kind {
    /// Of differences, whose unit is `unit` of the natural log.
    fn paired(scale: Scale, neutral: f64, views: &[View], metric: &str, unit: f64) -> Self {
        let Margin { beyond, within } = margins();
        let margin = Margin { beyond: beyond * unit, within: within * unit };
        let beside = |view: &View| Beside { experiment: view.index, metric: metric.to_string(), scale: unit };
        let noise = views.iter().map(beside).collect();
        Kind { scale, neutral, margin, lone: false, noise, contrast: None }
    }

    /// A number that has no neutral place: what was published of it is a size.
    fn lone() -> Self {
        let margin = Margin::default();
        Kind { scale: Scale::Plain, neutral: f64::NAN, margin, lone: true, noise: Vec::new(), contrast: None }
    }
}
