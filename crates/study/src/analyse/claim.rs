//! Claims, each put as a question to its data.

use crosstalk_core::value::Levels;
use crosstalk_stats::verdict::{Margin, Side};
use std::f64::consts::LN_2;

use super::contrast::Contrast;
use super::datum::{Datum, log_ratio, mean_value};
use super::lookup::PublishedNumbers;
use super::patterns;
use super::question::{ClaimQuestion, NoiseSource, NumberQuestion, OpenClaim};
use super::select::View;
use super::statement::{Expectation, Interpretation, Scale, turn_to_positive};
use crate::file::Claim;
use crate::level;
use crate::predicate::{Predicate, Relation};
use crate::rules::margins;

/// A claim as a question to the experiments that it names. It is not asked where one of them has no view.
pub fn open<'a>(
    name: &'a str,
    written: &'a Claim,
    view: impl Fn(&str) -> Option<View<'a>>,
    published: &PublishedNumbers,
) -> OpenClaim<'a> {
    let number = written.published.as_ref().and_then(|p| published.number_of_claim(p));
    let margin = written.margin.as_ref().map(|margin| margin.value.0);
    let views: Result<Vec<View<'a>>, &str> =
        written.experiments().map(|(_, name)| view(name).ok_or(name)).collect();
    let absent = views.as_ref().err().copied().unwrap_or_default();
    let question = ClaimQuestion::NotAsked(format!("experiment `{absent}` is not part of this run"));
    let unit = unit(written, views.as_ref().ok().map(|views| &views[0]));
    let open = OpenClaim { name, written, published: number, margin, unit, per: String::new(), question };
    match views {
        Ok(views) => {
            let open = OpenClaim { per: per(written, &views[0]), ..open };
            OpenClaim { question: question_to(&open, &views), ..open }
        }
        Err(_) => open,
    }
}

/// The unit of its number. That of a metric is known where its experiment is part of the run.
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
        Some(trend) => patterns::slope_name(&view.levels_of(&trend.along, &claim.at), &trend.along),
        None => String::new(),
    }
}

/// `views` are those of [`Claim::experiments`].
fn question_to<'a>(open: &OpenClaim<'a>, views: &[View<'a>]) -> ClaimQuestion<'a> {
    let (claim, view) = (open.written, &views[0]);
    if let Some(ratio) = &claim.ratio {
        let log = |view: &View, at: &Levels| log_ratio(view, &ratio.metric, at, &ratio.of, &ratio.to);
        let against = ratio.against.as_ref().map(|levels| level::overlaid(&claim.at, levels));
        // Two ratios together are off by as much as both.
        let ratios = views.len() + usize::from(against.is_some());
        let kind = Kind::paired(Scale::Ratio, 1.0, views, &ratio.metric, ratios as f64);
        match (views, against) {
            ([here, there], _) => {
                let log = |view: &View| log(view, &claim.at);
                about_number(open, patterns::difference_of_views([here, there], log), kind)
            }
            (_, Some(there)) => {
                about_number(open, patterns::difference([log(view, &claim.at), log(view, &there)]), kind)
            }
            _ => about_number(open, log(view, &claim.at), Kind { contrast: open.contrast(view), ..kind }),
        }
    } else if let Some(trend) = &claim.trend {
        // A slope is a log₂ ratio a doubling or step.
        let datum = patterns::slope_by_block(view, trend, &claim.at);
        about_number(open, datum, Kind::paired(Scale::Plain, 0.0, views, &trend.metric, LN_2.recip()))
    } else if let Some(order) = &claim.order {
        patterns::order_claim(view, order, &claim.at)
    } else if let Some(peak) = &claim.peak {
        patterns::peak_claim(view, peak, &claim.at)
    } else if let Some(threshold) = &claim.threshold {
        about_number(open, mean_value(view, &threshold.metric, &claim.at, false), Kind::unpaired())
    } else if let Some(correlation) = &claim.correlation {
        about_number(open, patterns::correlation_by_block(views, correlation, &claim.at), Kind::unpaired())
    } else {
        ClaimQuestion::NotAsked("it states nothing".into())
    }
}

/// The question on which side of a bound one number lies, and whether it has the published size.
fn about_number<'a>(open: &OpenClaim<'a>, datum: Datum, kind: Kind<'a>) -> ClaimQuestion<'a> {
    if !datum.was_run {
        return ClaimQuestion::NotAsked(datum.missing.first().cloned().unwrap_or_default());
    }
    let predicate = open.written.expect.as_ref().map(|expect| expect.value);
    let size = size(open, kind.scale);
    let (predicate, holds_on) = match Expectation::of(predicate, open.published, kind.neutral) {
        Some(Expectation::Side(predicate)) => (predicate, Side::Above),
        Some(Expectation::Equal(bound)) => (Predicate { relation: Relation::Above, bound }, Side::Within),
        None => return ClaimQuestion::NotAsked("it expects nothing that data could refute".into()),
    };
    let (datum, interpretation) = turn_to_positive(&datum, kind.scale, predicate);
    let size = size.map(|(value, margin)| (interpretation.sign * (value - interpretation.offset), margin));
    let equal = holds_on == Side::Within;
    let interpretation = Interpretation { holds_on, size_asked: size.is_some() && !equal, ..interpretation };
    ClaimQuestion::Number(NumberQuestion {
        datum,
        paired: kind.paired,
        interpretation,
        margin: if equal { size.map_or(kind.margin, |(_, margin)| margin.into()) } else { kind.margin },
        size: size.filter(|_| !equal),
        noise: if equal { Vec::new() } else { kind.noise },
        contrast: kind.contrast.filter(|_| !equal),
    })
}

/// The published value and its margin, as compared. Of a ratio the margin spans value ÷ (1 + margin) to
/// value × (1 + margin), of a plain number value ± margin · |value|.
fn size(open: &OpenClaim, scale: Scale) -> Option<(f64, f64)> {
    let (value, margin) = (open.published?, open.margin?);
    let (value, margin) = match scale {
        Scale::Ratio => (value.ln(), margin.ln_1p()),
        Scale::Plain => (value, margin * value.abs()),
    };
    value.is_finite().then_some((value, margin))
}

/// What kind of number a claim is about.
struct Kind<'a> {
    scale: Scale,
    /// The number that means no effect; not a number where there is none.
    neutral: f64,
    /// As compared.
    margin: Margin,
    /// Whether it is a difference of cells that ran in random order.
    paired: bool,
    noise: Vec<NoiseSource<'a>>,
    contrast: Option<Contrast<'a>>,
}

impl<'a> Kind<'a> {
    /// A difference of which one unit of the natural logarithm is `unit`.
    fn paired(scale: Scale, neutral: f64, views: &[View<'a>], metric: &str, unit: f64) -> Self {
        let Margin { beyond, within } = margins();
        let margin = Margin { beyond: beyond * unit, within: within * unit };
        let noise = views.iter().filter_map(|view| NoiseSource::of(view, metric, unit)).collect();
        Kind { scale, neutral, margin, paired: true, noise, contrast: None }
    }

    /// A number without a neutral value: what was published of it is a size.
    fn unpaired() -> Self {
        let margin = Margin::default();
        let neutral = f64::NAN;
        Kind { scale: Scale::Plain, neutral, margin, paired: false, noise: Vec::new(), contrast: None }
    }
}
