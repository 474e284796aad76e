//! What claims state about several cells at once: trends, orders, peaks, correlations, quotients of two ratios.

use crosstalk_core::value::{Levels, Value};
use crosstalk_stats::order::Order as StepsData;
use crosstalk_stats::verdict::Side;
use crosstalk_stats::{correlation as rank, trend};
use std::collections::BTreeMap;
use std::f64::consts::LN_2;
use std::rc::Rc;

use super::cell::ByBlock;
use super::datum::{Datum, combine_by_block, log_ratio, mean_value};
use super::question::{ClaimQuestion, NoiseSource, StepsQuestion};
use super::select::View;
use super::statement::{Interpretation, Scale};
use crate::file::{Correlation, Order, Peak, Trend};
use crate::label;
use crate::level;
use crate::rules::BEYOND;
use crate::words::count_in_words;

/// The positions of a factor's levels on a trend's axis: log₂ of the levels where all are numbers above zero, else
/// 0, 1, 2 and so on.
fn positions(levels: &[Value]) -> Vec<f64> {
    match numbers(levels) {
        Some(numbers) => numbers.iter().map(|n| n.log2()).collect(),
        None => (0..levels.len()).map(|index| index as f64).collect(),
    }
}

fn numbers(levels: &[Value]) -> Option<Vec<f64>> {
    levels.iter().map(|l| l.in_base_unit().map(|(n, _)| n).filter(|n| *n > 0.0)).collect()
}

/// What a slope along a factor is, to follow its number in a sentence.
pub fn slope_name(levels: &[Value], along: &str) -> String {
    let along = label::display_name(along);
    match numbers(levels) {
        Some(_) => format!(" as the power of {along} that it follows"),
        None => format!(" doublings a step along {along}"),
    }
}

/// The slope of log₂ `metric` along a factor, one number a block: the exponent with which the metric grows. With
/// `beyond` the metric counts less its value in those other cells.
pub fn slope_by_block(view: &View, trend: &Trend, at: &Levels) -> Datum {
    let levels = view.levels_of(&trend.along, at);
    if levels.is_empty() && label::label(&trend.along).is_some() {
        // A label's levels are known once something is read. The question counts before that as well.
        return Datum { values: ByBlock::new(), ..mean_value(view, &trend.metric, at, true) };
    }
    if levels.len() < 2 {
        return Datum::not_planned(at);
    }
    let at_one = |level: &Value| match &trend.beyond {
        None => at_level(view, &trend.metric, at, &trend.along, level),
        Some(base) => {
            excess(view, &trend.metric, &level::overlaid(at, &single_level(&trend.along, level)), base)
        }
    };
    let datums: Vec<Datum> = levels.iter().map(at_one).collect();
    let (blocks, rows) = rows(&datums);
    let slopes = trend::slope_of_each_block(&positions(&levels), &rows);
    let values = blocks
        .into_iter()
        .zip(slopes)
        .filter_map(|(block, slope)| Some((block, slope? / LN_2)))
        .filter(|(_, slope)| slope.is_finite());
    Datum { values: values.collect(), ..merged(&datums) }
}

/// The logarithm of the difference between `metric` at `at` and the same with the levels `base` put in. A block
/// without a difference above zero has no number.
fn excess(view: &View, metric: &str, at: &Levels, base: &Levels) -> Datum {
    let sides = [at.clone(), level::overlaid(at, base)].map(|at| mean_value(view, metric, &at, false));
    let [above, below] = sides.each_ref().map(|side| side.values.clone());
    let all = combine_by_block(&[above, below], |v| v[0] - v[1]);
    let values = combine_by_block(std::slice::from_ref(&all), |v| v[0].ln());
    let mut datum = Datum { values, ..merged(&sides) };
    if datum.values.len() < all.len() {
        datum.missing.push(format!(
            "the cell at {} has no more `{metric}` than that at {} in {} of {}",
            level::describe_levels(at),
            level::describe_levels(base),
            all.len() - datum.values.len(),
            count_in_words(all.len(), "block"),
        ));
    }
    datum
}

/// The claim that a factor's levels ascend by `metric`.
pub fn order_claim<'a>(view: &View<'a>, order: &Order, at: &Levels) -> ClaimQuestion<'a> {
    let at_one = |level: &Value| single_level(&order.factor, level);
    let steps = order.ascending.windows(2);
    steps_of(
        view,
        &order.metric,
        steps.map(|pair| log_ratio(view, &order.metric, at, &at_one(&pair[1]), &at_one(&pair[0]))).collect(),
    )
}

/// The claim that `metric` is greatest at one of the levels `among`. The best of these is chosen on other blocks
/// than those in which it is compared with each other level.
pub fn peak_claim<'a>(view: &View<'a>, peak: &Peak, at: &Levels) -> ClaimQuestion<'a> {
    let datum = |level: &Value| at_level(view, &peak.metric, at, &peak.along, level);
    let claimed: Vec<Datum> = peak.among.iter().map(datum).collect();
    if let Some(absent) = claimed.iter().find(|d| !d.was_run) {
        return ClaimQuestion::NotAsked(absent.missing.first().cloned().unwrap_or_default());
    }
    let variants: Vec<Rc<ByBlock>> = claimed.iter().map(|d| Rc::new(d.values.clone())).collect();
    let best =
        if let [only] = variants.as_slice() { only.as_ref().clone() } else { view.best(&variants, false) };
    let others = view
        .levels_of(&peak.along, at)
        .into_iter()
        .filter(|level| !peak.among.contains(level))
        .filter(|level| {
            is_ever_above_zero(view, &peak.metric, &level::overlaid(at, &single_level(&peak.along, level)))
        });
    let leads = others.map(|level| {
        let other = datum(&level);
        let lead = combine_by_block(&[best.clone(), other.values.clone()], |v| v[0] - v[1]);
        Datum { values: lead, ..other }
    });
    let mut leads: Vec<Datum> = leads.collect();
    // A label's levels are known once something is read. The question counts before that as well.
    if leads.is_empty() && label::label(&peak.along).is_some() && claimed.iter().all(|d| d.values.is_empty())
    {
        leads = claimed;
    }
    steps_of(view, &peak.metric, leads)
}

/// Whether the metric is ever above zero there: without that it has no ratio.
fn is_ever_above_zero(view: &View, metric: &str, at: &Levels) -> bool {
    let values = mean_value(view, metric, at, false).values;
    values.is_empty() || values.values().any(|value| *value > 0.0)
}

fn single_level(factor: &str, level: &Value) -> Levels {
    Levels::from([(factor.to_string(), level.clone())])
}

fn steps_of<'a>(view: &View<'a>, metric: &str, steps: Vec<Datum>) -> ClaimQuestion<'a> {
    if let Some(absent) = steps.iter().find(|d| !d.was_run) {
        return ClaimQuestion::NotAsked(absent.missing.first().cloned().unwrap_or_default());
    }
    if steps.is_empty() {
        return ClaimQuestion::NotAsked("this run has no other level to set it against".into());
    }
    let Datum { origins, modelled, .. } = merged(&steps);
    let steps = steps.iter().map(|d| d.values_or_none_in(&view.data.complete)).collect();
    let interpretation = Interpretation {
        scale: Scale::Ratio,
        sign: 1.0,
        offset: 0.0,
        holds_on: Side::Above,
        size_asked: false,
    };
    let order = StepsData { steps, margin: BEYOND.ln_1p(), noise: Vec::new() };
    let noise = NoiseSource::of(view, metric, 1.0).into_iter().collect();
    ClaimQuestion::Steps(StepsQuestion { order, origins, modelled, interpretation, noise })
}

/// The `datum` of the first view less that of the second, over the blocks that have both.
pub fn difference_of_views(views: [&View; 2], datum: impl Fn(&View) -> Datum) -> Datum {
    difference(views.map(|view| with_experiment_name(view, datum(view))))
}

/// The first datum less the second, over the blocks that have both.
pub fn difference(datums: [Datum; 2]) -> Datum {
    let values = combine_by_block(&datums.each_ref().map(|datum| datum.values.clone()), |v| v[0] - v[1]);
    let mut datum = Datum { values, ..merged(&datums) };
    datum.ensure_reason();
    datum
}

/// The same with the experiment's name before each reason why something is missing.
fn with_experiment_name(view: &View, mut datum: Datum) -> Datum {
    let name = view.experiment.name();
    datum.missing.iter_mut().for_each(|why| *why = format!("experiment `{name}`: {why}"));
    datum
}

/// Spearman's coefficient of two metrics over the cells of all `views`, one number a block, with the first metric of the
/// block before. With a `ratio` the second is a metric's ratio.
pub fn correlation_by_block(views: &[View], spec: &Correlation, at: &Levels) -> Datum {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for view in views {
        let here = spec.ratio.as_ref().map_or(at.clone(), |sides| level::overlaid(at, &sides.to));
        for mut combination in view.combinations(&here) {
            x.push(with_experiment_name(view, mean_value(view, &spec.x, &combination.levels, false)));
            let other = match &spec.ratio {
                None => mean_value(view, &spec.y, &combination.levels, false),
                Some(sides) => {
                    combination.levels.retain(|factor, _| !sides.to.contains_key(factor));
                    log_ratio(view, &spec.y, &combination.levels, &sides.of, &sides.to)
                }
            };
            y.push(with_experiment_name(view, other));
        }
    }
    if x.len() < 3 {
        let few = format!("a correlation takes three cells, and this run has {}", x.len());
        return Datum { missing: vec![few], ..Datum::default() };
    }
    let all: Vec<Datum> = x.iter().chain(&y).cloned().collect();
    let (blocks, rows) = rows(&all);
    let (x, y) = rows.split_at(x.len());
    // The two may share a cell's time, whose noise would make equal cells correlate. So they are of different blocks.
    let x = match views.iter().all(View::has_no_noise) {
        true => x.to_vec(),
        false => x.iter().map(|row| of_the_block_before(row)).collect(),
    };
    let values = blocks.into_iter().zip(rank::by_block(&x, y)).filter_map(|(b, rho)| Some((b, rho?)));
    Datum { values: values.collect(), ..merged(&all) }
}

fn of_the_block_before(row: &[Option<f64>]) -> Vec<Option<f64>> {
    std::iter::once(None).chain(row.iter().copied()).take(row.len()).collect()
}

/// The levels of a factor, and at each the logarithm of `metric` by complete block.
pub fn logs_by_level(
    view: &View,
    metric: &str,
    along: &str,
    at: &Levels,
) -> (Vec<Value>, Vec<Vec<Option<f64>>>) {
    let levels = view.levels_of(along, at);
    let row = |l: &Value| at_level(view, metric, at, along, l).values_or_none_in(&view.data.complete);
    let rows = levels.iter().map(row).collect();
    (levels, rows)
}

/// The logarithm of `metric` at one level of a factor.
fn at_level(view: &View, metric: &str, at: &Levels, factor: &str, level: &Value) -> Datum {
    mean_value(view, metric, &level::overlaid(at, &single_level(factor, level)), true)
}

/// All blocks that any datum has, and the numbers of each datum in them.
fn rows(datums: &[Datum]) -> (Vec<usize>, Vec<Vec<Option<f64>>>) {
    let blocks: BTreeMap<usize, ()> =
        datums.iter().flat_map(|d| d.values.keys().map(|block| (*block, ()))).collect();
    let blocks: Vec<usize> = blocks.into_keys().collect();
    let rows = datums.iter().map(|d| d.values_or_none_in(&blocks)).collect();
    (blocks, rows)
}

/// Origins and missing data of several, as those of one; without values.
fn merged(datums: &[Datum]) -> Datum {
    let mut missing: Vec<String> = datums.iter().flat_map(|d| d.missing.clone()).collect();
    missing.dedup();
    Datum {
        values: ByBlock::new(),
        origins: datums.iter().flat_map(|d| d.origins.iter().copied()).collect(),
        modelled: datums.iter().any(|d| d.modelled),
        missing,
        was_run: datums.iter().all(|d| d.was_run),
    }
}
