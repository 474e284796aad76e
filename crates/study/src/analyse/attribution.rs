//! Where the extra time of the slower of two goes, in percentage points of the faster one's time.
//!
//! A part with the share `s` of a change has `s · (ratio − 1) · 100` percentage points. The ratio is the slower one's
//! time over the faster one's. Points are rounded together by the method of largest remainders: they add up to the extra
//! time as shown, and none is off by a whole last digit.

use crosstalk_core::value::{Levels, Value};
use std::collections::BTreeMap;

use super::causes::Shares;
use crate::findings::Attribution;
use crate::level;
use crate::part::{self, WAIT};

/// Extra time below this, in percent, is shown with one digit after the point.
const ONE_DIGIT_BELOW: f64 = 10.0;
/// Percentage points beyond this explain nothing.
const LARGEST: f64 = 1e9;
/// The sentence where no significant part took longer.
const NOT_DECIDED: &str = "which part of the time makes the difference is not decided";

/// The attribution of a `ratio` by the `shares` of its change; `None` where no share or no difference is shown. `sides`
/// are the levels of numerator and denominator. With `network` all waiting is for the network.
pub fn attribute(shares: &Shares, ratio: f64, sides: [&Levels; 2], network: bool) -> Option<Attribution> {
    let Shares { shares, significant } = shares;
    let [above, below] = sides;
    let (slower, faster, ratio) =
        if ratio < 1.0 { (below, above, 1.0 / ratio) } else { (above, below, ratio) };
    let extra = (ratio - 1.0) * 100.0;
    let steps = if extra < ONE_DIGIT_BELOW { 10.0 } else { 1.0 };
    let exact: Vec<f64> = shares.values().map(|share| share * extra * steps).collect();
    let sound = |v: &f64| v.abs() < LARGEST;
    if exact.is_empty() || !exact.iter().chain([&extra]).all(sound) {
        return None;
    }
    let whole = (extra * steps).round();
    let rounded = apportioned(&exact, whole);
    let points: BTreeMap<String, f64> =
        shares.keys().cloned().zip(rounded.iter().map(|v| v / steps)).collect();
    // A difference too small to show has no percentage points to show either.
    let extra = Some(whole / steps).filter(|shown| *shown > 0.0)?;
    let percents = apportioned(&shares.values().map(|share| share * 100.0).collect::<Vec<_>>(), 100.0);
    let shares = shares.keys().cloned().zip(percents);
    let (percents, rest): (BTreeMap<_, _>, BTreeMap<_, _>) =
        shares.filter(|(_, percent)| *percent != 0.0).partition(|(part, _)| significant.contains(part));
    let shares = sentence(&percents, rest.values().sum(), network);
    let all = if shares.is_empty() { NOT_DECIDED } else { &shares };
    let text = match standalone_name(slower) {
        Some(name) => format!("{name} takes longer: {all}"),
        None => format!("At {} it takes longer: {all}", name(slower)),
    };
    Some(Attribution { slower: name(slower), faster: name(faster), extra, points, percents, shares, text })
}

/// `values` as whole numbers that add up to `whole`, their rounded sum: each rounded down, then up where the remainder
/// is largest.
fn apportioned(values: &[f64], whole: f64) -> Vec<f64> {
    let mut rounded: Vec<f64> = values.iter().map(|v| v.floor()).collect();
    let lost = |i: &usize| values[*i] - values[*i].floor();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| lost(b).total_cmp(&lost(a)));
    let missing = (whole - rounded.iter().sum::<f64>()).max(0.0) as usize;
    order.into_iter().take(missing).for_each(|i| rounded[i] += 1.0);
    rounded
}

/// `92 % of the difference is waiting for the network, 9 % computing; what took less: 1 % spilling`: every significant
/// part; empty where none took longer. `noise` is the percentage of all other parts together: the shares that the
/// sentence names add up to 100 % with it.
fn sentence(percents: &BTreeMap<String, f64>, noise: f64, network: bool) -> String {
    let mut shown: Vec<(&String, f64)> = percents.iter().map(|(part, n)| (part, *n)).collect();
    shown.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let (more, less): (Vec<_>, Vec<_>) = shown.into_iter().partition(|(_, percent)| *percent > 0.0);
    let share = |(part, percent): &(&String, f64)| {
        format!("{} % {}", shortest(percent.abs()), part_in_words(part, network))
    };
    let Some((first, percent)) = more.first() else { return String::new() };
    let is_all = more.len() == 1 && *percent >= 100.0;
    let amount = if is_all { "all".into() } else { format!("{} %", shortest(*percent)) };
    let mut text = format!("{amount} of the difference is {}", part_in_words(first, network));
    more[1..].iter().for_each(|other| text += &format!(", {}", share(other)));
    if !less.is_empty() {
        text += &format!("; what took less: {}", less.iter().map(share).collect::<Vec<_>>().join(", "));
    }
    match noise {
        // More than the whole of it: what is missing took less.
        _ if is_all => {}
        more if more > 0.0 => text += "; the rest is within noise",
        less if less < 0.0 => text += &format!("; parts within noise make it {} % smaller", shortest(-less)),
        _ => {}
    }
    text
}

/// `microblade`; levels that say little by themselves with their factors, `slaves 6, boards many`.
fn name(levels: &Levels) -> String {
    standalone_name(levels).map_or_else(|| level::describe_levels(levels), ToString::to_string)
}

/// The only level, where it is a name that needs no factor.
fn standalone_name(levels: &Levels) -> Option<&Value> {
    let mut all = levels.iter();
    let (_, only) = all.next().filter(|(factor, level)| level::needs_no_factor(factor, level))?;
    all.next().is_none().then_some(only)
}

/// A rounded number with one digit where it has one: `24`, `2.3`, `−0.1`.
fn shortest(number: f64) -> String {
    let text = format!("{:.1}", number.abs());
    let sign = if number < 0.0 { "−" } else { "" };
    format!("{sign}{}", text.strip_suffix(".0").unwrap_or(&text))
}

/// A part of the time in words, such as `computing`. With `waits_for_network`, `wait` is `waiting for the network`.
pub fn part_in_words(part: &str, waits_for_network: bool) -> String {
    if part == WAIT && waits_for_network {
        "waiting for the network".into()
    } else {
        part::part_in_words(part)
    }
}

#[cfg(test)]
mod tests;
