//! Where the extra time of the slower of two goes, in points that add up.
//!
//! A part that bears the share `s` of a change has `s · (ratio − 1) · 100`
//! points, where the ratio is the slower one's time over the faster one's:
//! hundredths of the faster one's time. Points are rounded together, by the
//! largest remainder, so that what is shown adds up to the extra that is shown
//! and none is off by a whole last digit.

use crosstalk_core::value::{Levels, Value};
use std::collections::BTreeMap;

use super::causes::Shares;
use crate::findings::Attribution;
use crate::level;
use crate::part::{self, WAIT};

/// Below so many percent a digit after the point is shown.
const FEW: f64 = 10.0;
/// Points beyond are no explanation of anything.
const MOST: f64 = 1e9;

/// What `shares` of the change of a `ratio` say, where there are any. `sides` are the levels
/// that it is of, and those that it is to; `network` tells whether waiting can only be for the network.
pub fn of(shares: &Shares, ratio: f64, sides: [&Levels; 2], network: bool) -> Option<Attribution> {
    let Shares { of: shares, apart } = shares;
    let [over, under] = sides;
    let (slower, faster, ratio) = if ratio < 1.0 { (under, over, 1.0 / ratio) } else { (over, under, ratio) };
    let extra = (ratio - 1.0) * 100.0;
    let steps = if extra < FEW { 10.0 } else { 1.0 };
    let exact: Vec<f64> = shares.values().map(|share| share * extra * steps).collect();
    let sound = |v: &f64| v.abs() < MOST;
    if exact.is_empty() || !exact.iter().chain([&extra]).all(sound) {
        return None;
    }
    let whole = (extra * steps).round();
    let rounded = apportioned(&exact, whole);
    let points: BTreeMap<String, f64> =
        shares.keys().cloned().zip(rounded.iter().map(|v| v / steps)).collect();
    // A difference too small to show has no points to show either.
    let extra = Some(whole / steps).filter(|shown| *shown > 0.0)?;
    let percents = apportioned(&shares.values().map(|share| share * 100.0).collect::<Vec<_>>(), 100.0);
    let sure = |part: &String| apart.contains(part);
    let shares = shares.keys().cloned().zip(percents);
    let (percents, rest): (BTreeMap<_, _>, BTreeMap<_, _>) =
        shares.filter(|(_, percent)| *percent != 0.0).partition(|(part, _)| sure(part));
    let (most, all) = sentence(&percents, !rest.is_empty(), network);
    let text = match proper(slower) {
        Some(name) => format!("{name} takes longer: {all}"),
        None => format!("At {} it takes longer: {all}", name(slower)),
    };
    Some(Attribution { slower: name(slower), faster: name(faster), extra, points, percents, most, text })
}

/// `values` as whole numbers that add up to `whole`, which is their sum rounded:
/// each rounded down, then up where most was lost.
fn apportioned(values: &[f64], whole: f64) -> Vec<f64> {
    let mut rounded: Vec<f64> = values.iter().map(|v| v.floor()).collect();
    let lost = |i: &usize| values[*i] - values[*i].floor();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| lost(b).total_cmp(&lost(a)));
    let missing = (whole - rounded.iter().sum::<f64>()).max(0.0) as usize;
    order.into_iter().take(missing).for_each(|i| rounded[i] += 1.0);
    rounded
}

/// `92 % of the difference is waiting for the network, 8 % computing`, after its first part alone, which is empty
/// where there is none to name. Of what is not told apart (`rest`) it is said that there is some.
fn sentence(percents: &BTreeMap<String, f64>, rest: bool, network: bool) -> (String, String) {
    let mut shown: Vec<(&String, f64)> = percents.iter().map(|(part, n)| (part, *n)).collect();
    shown.sort_by(|a, b| b.1.total_cmp(&a.1));
    let Some(&(first, share)) = shown.first().filter(|(_, share)| *share > 0.0) else {
        return (String::new(), "which part of the time makes the difference is not decided".into());
    };
    // More than the whole, where something else went the other way.
    if share >= 100.0 {
        let all = format!("all of the difference is {}", words(first, network));
        let less = shown.iter().rev().filter(|(_, n)| *n < 0.0);
        let less: Vec<String> =
            less.map(|(part, n)| format!("{} % {}", plain(-n), words(part, network))).collect();
        let less =
            if less.is_empty() { String::new() } else { format!("; what took less: {}", less.join(", ")) };
        return (all.clone(), all + &less);
    }
    let rest = if rest { "; the rest is not told apart" } else { "" };
    let most = format!("{} % of the difference is {}", plain(share), words(first, network));
    let others = shown[1..].iter().map(|(part, n)| format!(", {} % {}", plain(*n), words(part, network)));
    let all = most.clone() + &others.collect::<String>();
    (most + rest, all + rest)
}

/// `microblade`, or `slaves 6, boards many` where levels say little by themselves.
fn name(levels: &Levels) -> String {
    proper(levels).map_or_else(|| level::describe(levels), ToString::to_string)
}

/// The one level that is a name of its own.
fn proper(levels: &Levels) -> Option<&Value> {
    let mut all = levels.iter();
    let (_, only) = all.next().filter(|(factor, level)| level::stands_alone(factor, level))?;
    all.next().is_none().then_some(only)
}

/// `24`, `2.3`, `−0.1`: as rounded, no digit more.
fn plain(number: f64) -> String {
    let text = format!("{:.1}", number.abs());
    let sign = if number < 0.0 { "−" } else { "" };
    format!("{sign}{}", text.strip_suffix(".0").unwrap_or(&text))
}

/// A part in words; `network` tells whether waiting can only be for the network.
pub fn words(part: &str, network: bool) -> String {
    if part == WAIT && network { "waiting for the network".into() } else { part::words(part) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::OTHER;
    use proptest::prelude::*;

    fn system(name: &str) -> Levels {
        Levels::from([("system".to_string(), name.into())])
    }

    fn slaves(n: i64) -> Levels {
        Levels::from([("slaves".to_string(), n.into())])
    }

    fn shares(of: &[(&str, f64)]) -> BTreeMap<String, f64> {
        of.iter().map(|(part, share)| (part.to_string(), *share)).collect()
    }

    /// Every part told apart.
    fn sure(of: &[(&str, f64)]) -> Shares {
        let of = shares(of);
        Shares { apart: of.keys().cloned().collect(), of }
    }

    fn said(ratio: f64, of: &[(&str, f64)]) -> Option<Attribution> {
        super::of(&sure(of), ratio, [&system("microblade"), &system("kosmos-srio")], true)
    }

    #[test]
    fn more_than_the_whole_is_all_of_it_and_what_went_the_other_way() {
        let text = |of: &[(&str, f64)]| said(1.5, of).expect("is known").text;
        assert_eq!(
            text(&[("wait", 1.02), ("compute", -0.02)]),
            "microblade takes longer: all of the difference is waiting for the network; what took less: 2 % computing"
        );
        assert_eq!(
            text(&[("wait", 1.0)]),
            "microblade takes longer: all of the difference is waiting for the network"
        );
    }

    #[test]
    fn a_part_whose_own_change_may_be_none_has_no_share_in_the_sentence() {
        let of = |apart: &[&str]| {
            let of = shares(&[("compute", 0.71), ("wait", 0.24), ("ready", 0.05)]);
            let shares = Shares { of, apart: apart.iter().map(|part| part.to_string()).collect() };
            super::of(&shares, 1.5, [&system("a"), &system("b")], true).expect("is known")
        };
        let found = of(&["compute"]);
        assert_eq!(
            found.text,
            "a takes longer: 71 % of the difference is computing; the rest is not told apart"
        );
        assert_eq!(found.most, "71 % of the difference is computing; the rest is not told apart");
        assert_eq!(found.percents, shares(&[("compute", 71.0)]));
        let found = of(&[]);
        assert_eq!(found.text, "a takes longer: which part of the time makes the difference is not decided");
        assert_eq!(found.most, "");
    }

    #[test]
    fn the_largest_share_is_the_same_wherever_it_is_said() {
        // 96.4 % by itself; beside others it is the one that lost most by rounding.
        let of = [("wait", 0.9649), ("compute", 0.0639), ("serialise", 0.0148), (OTHER, -0.0436)];
        let found = said(1.5, &of).expect("is known");
        assert_eq!(found.most, "97 % of the difference is waiting for the network");
        assert!(found.text.contains(&found.most), "{found:?}");
    }

    #[test]
    fn points_are_shares_of_what_is_extra() {
        let found = said(1.26, &[("wait", 0.92), ("compute", 0.06), ("serialise", 0.02)]).expect("is known");
        assert_eq!((found.slower.as_str(), found.faster.as_str()), ("microblade", "kosmos-srio"));
        assert_eq!(found.extra, 26.0);
        assert_eq!(found.points, shares(&[("wait", 24.0), ("compute", 2.0), ("serialise", 0.0)]));
        let text = "microblade takes longer: 92 % of the difference is waiting for the network, 6 % computing, 2 % serialising";
        assert_eq!(found.text, text);
    }

    #[test]
    fn the_slower_one_is_named_whichever_way_the_ratio_stands() {
        let of = [("wait", 0.5), ("compute", 0.5)];
        let above = said(1.25, &of).expect("is known");
        let below = said(0.8, &of).expect("is known");
        assert_eq!((below.slower.as_str(), below.faster.as_str()), ("kosmos-srio", "microblade"));
        assert_eq!((below.extra, &below.points), (above.extra, &above.points));
        assert_eq!(above.points, shares(&[("wait", 12.0), ("compute", 13.0)]), "12.5 each would show as 26");
        assert!(
            below.text.starts_with("kosmos-srio takes longer: 50 % of the difference is computing, 50 % ")
        );
    }

    #[test]
    fn a_small_extra_has_a_digit_and_a_large_one_none() {
        let of = [("wait", 0.9), ("compute", 0.1)];
        assert_eq!(said(1.023, &of).expect("is known").points, shares(&[("wait", 2.1), ("compute", 0.2)]));
        assert_eq!(said(3.5, &of).expect("is known").points, shares(&[("wait", 225.0), ("compute", 25.0)]));
    }

    #[test]
    fn what_went_the_other_way_is_below_zero_and_still_adds_up() {
        let found = said(1.1, &[("wait", 1.3), ("compute", -0.2), (OTHER, -0.1)]).expect("is known");
        assert!(found.text.ends_with(
            "all of the difference is waiting for the network; what took less: 20 % computing, 10 % not accounted for"
        ));
    }

    #[test]
    fn waiting_is_for_the_network_only_where_nothing_else_differs() {
        let of = sure(&[("wait", 0.9), ("spill", 0.1)]);
        let found = super::of(&of, 0.5, [&slaves(6), &slaves(1)], false).expect("is known");
        assert_eq!(
            found.text,
            "At slaves 1 it takes longer: 90 % of the difference is waiting, 10 % spilling"
        );
        let unprotected = Levels::from([("protect".to_string(), "none".into())]);
        let none = super::of(&of, 0.5, [&slaves(1), &unprotected], false).expect("is known");
        assert!(none.text.starts_with("At protect none it takes longer: 90 % "), "{none:?}");
        let alone = super::of(&sure(&[("wait", 1.0)]), 1.26, [&system("a"), &system("b")], true);
        assert_eq!(
            alone.expect("is known").text,
            "a takes longer: all of the difference is waiting for the network"
        );
    }

    #[test]
    fn what_is_not_known_is_not_said() {
        assert_eq!(said(1.26, &[]), None);
        assert_eq!(said(1.0003, &[("wait", 1.0)]), None, "it would be a share of 0.0 %");
        assert_eq!(said(f64::NAN, &[("wait", 1.0)]), None);
        assert_eq!(said(0.0, &[("wait", 1.0)]), None);
        assert_eq!(said(1.26, &[("wait", f64::INFINITY), ("compute", f64::NEG_INFINITY)]), None);
    }

    proptest! {
        #[test]
        fn points_add_up_to_what_is_extra(
            parts in proptest::collection::vec(-3.0f64..3.0, 1..6),
            log in -3.0f64..3.0,
        ) {
            let mut of: BTreeMap<String, f64> =
                parts.iter().enumerate().map(|(i, share)| (format!("part{i}"), *share)).collect();
            of.insert(OTHER.into(), 1.0 - parts.iter().sum::<f64>());
            let Some(found) = super::of(&Shares { of: of.clone(), ..Shares::default() }, log.exp(), [&system("a"), &system("b")], true) else {
                prop_assert!(log.abs() < 0.0005);
                return Ok(());
            };
            let extra = (log.abs().exp() - 1.0) * 100.0;
            let digit = if extra < FEW { 0.1 } else { 1.0 };
            prop_assert!((found.points.values().sum::<f64>() - found.extra).abs() < 1e-6, "{found:?}");
            prop_assert!((found.extra - extra).abs() <= digit * 0.5 + 1e-9, "{found:?}");
            for (part, share) in &of {
                let off = (found.points[part] - share * extra).abs();
                prop_assert!(off < digit + 1e-6, "{part} is off by {off}: {found:?}");
            }
            prop_assert_eq!(found.slower.as_str(), if log < 0.0 { "b" } else { "a" });
        }
    }
}
