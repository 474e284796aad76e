//! Claims, each put as a question to its data.

use crosstalk_stats::verdict::{Margin, Side};
use std::f64::consts::LN_2;

use super::contrast::Contrast;
use super::datum::{Datum, level_of, log_ratio};
use super::lookup::Lookup;
use super::question::{Beside, One, Put, Stated};
use super::select::View;
use super::shape;
use super::statement::{Expected, Reading, Scale, turned};
use crate::file::Claim;
use crate::predicate::{Predicate, Relation, margin};
use crate::rules::margins;

/// Puts a claim to the experiments that it speaks of; where one has no view, it cannot be asked.
pub fn state<'a>(
    name: &'a str,
    claim: &'a Claim,
    view: impl Fn(&str) -> Option<View<'a>>,
    published: &Lookup,
) -> Stated<'a> {
    let number = claim.published.as_ref().and_then(|p| published.claimed(p));
    let margin = claim.margin.as_deref().and_then(|text| margin(text).ok());
    let views: Result<Vec<View<'a>>, &str> =
        claim.experiments().map(|(_, name)| view(name).ok_or(name)).collect();
    let absent = views.as_ref().err().copied().unwrap_or_default();
    let put = Put::Not(format!("experiment `{absent}` is not part of this run"));
    let unit = unit(claim, views.as_ref().ok().map(|views| &views[0]));
    let stated = Stated { name, claim, published: number, margin, unit, per: String::new(), put };
    match views {
        Ok(views) => {
            let stated = Stated { per: per(claim, &views[0]), ..stated };
            Stated { put: ask(&stated, &views), ..stated }
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

/// `views` are those of [`Claim::experiments`].
fn ask<'a>(stated: &Stated<'a>, views: &[View<'a>]) -> Put<'a> {
    let (claim, view) = (stated.claim, &views[0]);
    if let Some(ratio) = &claim.ratio {
        let log = |view: &View| log_ratio(view, &ratio.metric, &claim.at, &ratio.of, &ratio.to);
        // Two ratios together are off by as much as both.
        let kind = Kind::paired(Scale::Ratio, 1.0, views, &ratio.metric, views.len() as f64);
        match views {
            [here, there] => one(stated, shape::difference([here, there], log), kind),
            _ => one(stated, log(view), Kind { contrast: stated.contrast(view), ..kind }),
        }
    } else if let Some(trend) = &claim.trend {
        // A slope is a log₂ ratio a doubling or step.
        let datum = shape::slope(view, trend, &claim.at);
        one(stated, datum, Kind::paired(Scale::Plain, 0.0, views, &trend.metric, LN_2.recip()))
    } else if let Some(order) = &claim.order {
        shape::order(view, order, &claim.at)
    } else if let Some(peak) = &claim.peak {
        shape::peak(view, peak, &claim.at)
    } else if let Some(threshold) = &claim.threshold {
        one(stated, level_of(view, &threshold.metric, &claim.at, false), Kind::lone())
    } else if let Some(correlation) = &claim.correlation {
        one(stated, shape::correlation(views, correlation, &claim.at), Kind::lone())
    } else {
        Put::Not("it states nothing".into())
    }
}

/// A claim about one number: on which side of a bound, and of which size.
fn one<'a>(stated: &Stated<'a>, datum: Datum, kind: Kind<'a>) -> Put<'a> {
    if !datum.run {
        return Put::Not(datum.missing.first().cloned().unwrap_or_default());
    }
    let predicate = stated.claim.expect.as_deref().and_then(|text| Predicate::parse(text).ok());
    let size = size(stated, kind.scale);
    let sided = Expected::of(predicate, stated.published, kind.neutral);
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
fn size(stated: &Stated, scale: Scale) -> Option<(f64, f64)> {
    let (value, margin) = (stated.published?, stated.margin?);
    let (inner, margin) = match scale {
        Scale::Ratio => (value.ln(), margin.ln_1p()),
        Scale::Plain => (value, margin * value.abs()),
    };
    inner.is_finite().then_some((inner, margin))
}

/// What kind of number a claim is about.
struct Kind<'a> {
    scale: Scale,
    /// The number that stands for no effect; none where every value is one.
    neutral: f64,
    /// As compared.
    margin: Margin,
    lone: bool,
    noise: Vec<Beside<'a>>,
    contrast: Option<Contrast<'a>>,
}

impl<'a> Kind<'a> {
    /// Of differences, whose unit is `unit` of the natural log.
    fn paired(scale: Scale, neutral: f64, views: &[View<'a>], metric: &str, unit: f64) -> Self {
        let Margin { beyond, within } = margins();
        let margin = Margin { beyond: beyond * unit, within: within * unit };
        let beside = |view: &View<'a>| Beside {
            experiment: view.experiment.name(),
            metric: metric.to_string(),
            scale: unit,
        };
        let noise = views.iter().map(beside).collect();
        Kind { scale, neutral, margin, lone: false, noise, contrast: None }
    }

    /// A number that has no neutral place: what was published of it is a size.
    fn lone() -> Self {
        let margin = Margin::default();
        Kind { scale: Scale::Plain, neutral: f64::NAN, margin, lone: true, noise: Vec::new(), contrast: None }
    }
}
