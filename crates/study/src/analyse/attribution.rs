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
    let (most, all) = sentence(&percents, !rest.is_empty(), network);
    let text = match standalone_name(slower) {
        Some(name) => format!("{name} takes longer: {all}"),
        None => format!("At {} it takes longer: {all}", name(slower)),
    };
    Some(Attribution { slower: name(slower), faster: name(faster), extra, points, percents, most, text })
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

/// `92 % of the difference is waiting for the network, 8 % computing`, after its first part alone; the latter is empty
/// where no part took longer. With `rest` there are parts within noise, and both say so.
fn sentence(percents: &BTreeMap<String, f64>, rest: bool, network: bool) -> (String, String) {
    let mut shown: Vec<(&String, f64)> = percents.iter().map(|(part, n)| (part, *n)).collect();
    shown.sort_by(|a, b| b.1.total_cmp(&a.1));
    let Some(&(first, share)) = shown.first().filter(|(_, share)| *share > 0.0) else {
        return (String::new(), "which part of the time makes the difference is not decided".into());
    };
    // A share above 100 %: another part took less.
    if share >= 100.0 {
        let all = format!("all of the difference is {}", part_in_words(first, network));
        let less = shown.iter().rev().filter(|(_, n)| *n < 0.0);
        let less: Vec<String> =
            less.map(|(part, n)| format!("{} % {}", shortest(-n), part_in_words(part, network))).collect();
        let less =
            if less.is_empty() { String::new() } else { format!("; what took less: {}", less.join(", ")) };
        return (all.clone(), all + &less);
    }
    let rest = if rest { "; the rest is within noise" } else { "" };
    let most = format!("{} % of the difference is {}", shortest(share), part_in_words(first, network));
    let others =
        shown[1..].iter().map(|(part, n)| format!(", {} % {}", shortest(*n), part_in_words(part, network)));
    let all = most.clone() + &others.collect::<String>();
    (most + rest, all + rest)
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

    /// Every part significant.
    fn significant(of: &[(&str, f64)]) -> Shares {
        let shares = shares(of);
        Shares { significant: shares.keys().cloned().collect(), shares }
    }

    fn attributed(ratio: f64, of: &[(&str, f64)]) -> Option<Attribution> {
        attribute(&significant(of), ratio, [&system("microblade"), &system("kosmos-srio")], true)
    }

    #[test]
    fn more_than_the_whole_is_all_of_it_and_what_went_the_other_way() {
        let text = |of: &[(&str, f64)]| attributed(1.5, of).expect("is known").text;
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
        let of = |significant: &[&str]| {
            let shares = shares(&[("compute", 0.71), ("wait", 0.24), ("ready", 0.05)]);
            let shares =
                Shares { shares, significant: significant.iter().map(|part| part.to_string()).collect() };
            attribute(&shares, 1.5, [&system("a"), &system("b")], true).expect("is known")
        };
        let found = of(&["compute"]);
        assert_eq!(
            found.text,
            "a takes longer: 71 % of the difference is computing; the rest is within noise"
        );
        assert_eq!(found.most, "71 % of the difference is computing; the rest is within noise");
        assert_eq!(found.percents, shares(&[("compute", 71.0)]));
        let found = of(&[]);
        assert_eq!(found.text, "a takes longer: which part of the time makes the difference is not decided");
        assert_eq!(found.most, "");
    }

    #[test]
    fn the_largest_share_is_the_same_in_both_sentences() {
        // 96.4 % by itself; rounded with the others it has the largest remainder.
        let of = [("wait", 0.9649), ("compute", 0.0639), ("serialise", 0.0148), (OTHER, -0.0436)];
        let found = attributed(1.5, &of).expect("is known");
        assert_eq!(found.most, "97 % of the difference is waiting for the network");
        assert!(found.text.contains(&found.most), "{found:?}");
    }

    #[test]
    fn percentage_points_are_shares_of_the_extra_time() {
        let found =
            attributed(1.26, &[("wait", 0.92), ("compute", 0.06), ("serialise", 0.02)]).expect("is known");
        assert_eq!((found.slower.as_str(), found.faster.as_str()), ("microblade", "kosmos-srio"));
        assert_eq!(found.extra, 26.0);
        assert_eq!(found.points, shares(&[("wait", 24.0), ("compute", 2.0), ("serialise", 0.0)]));
        let text = "microblade takes longer: 92 % of the difference is waiting for the network, 6 % computing, 2 % serialising";
        assert_eq!(found.text, text);
    }

    #[test]
    fn the_slower_one_is_named_whichever_way_the_ratio_stands() {
        let of = [("wait", 0.5), ("compute", 0.5)];
        let above = attributed(1.25, &of).expect("is known");
        let below = attributed(0.8, &of).expect("is known");
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
        assert_eq!(
            attributed(1.023, &of).expect("is known").points,
            shares(&[("wait", 2.1), ("compute", 0.2)])
        );
        assert_eq!(
            attributed(3.5, &of).expect("is known").points,
            shares(&[("wait", 225.0), ("compute", 25.0)])
        );
    }

    #[test]
    fn what_went_the_other_way_is_below_zero_and_still_adds_up() {
        let found = attributed(1.1, &[("wait", 1.3), ("compute", -0.2), (OTHER, -0.1)]).expect("is known");
        assert!(found.text.ends_with(
            "all of the difference is waiting for the network; what took less: 20 % computing, 10 % not accounted for"
        ));
    }

    #[test]
    fn waiting_is_for_the_network_only_where_nothing_else_differs() {
        let of = significant(&[("wait", 0.9), ("spill", 0.1)]);
        let found = attribute(&of, 0.5, [&slaves(6), &slaves(1)], false).expect("is known");
        assert_eq!(
            found.text,
            "At slaves 1 it takes longer: 90 % of the difference is waiting, 10 % spilling"
        );
        let unprotected = Levels::from([("protect".to_string(), "none".into())]);
        let none = attribute(&of, 0.5, [&slaves(1), &unprotected], false).expect("is known");
        assert!(none.text.starts_with("At protect none it takes longer: 90 % "), "{none:?}");
        let alone = attribute(&significant(&[("wait", 1.0)]), 1.26, [&system("a"), &system("b")], true);
        assert_eq!(
            alone.expect("is known").text,
            "a takes longer: all of the difference is waiting for the network"
        );
    }

    #[test]
    fn nothing_is_attributed_where_shares_or_the_ratio_are_not_known() {
        assert_eq!(attributed(1.26, &[]), None);
        assert_eq!(attributed(1.0003, &[("wait", 1.0)]), None, "it would be a share of 0.0 %");
        assert_eq!(attributed(f64::NAN, &[("wait", 1.0)]), None);
        assert_eq!(attributed(0.0, &[("wait", 1.0)]), None);
        assert_eq!(attributed(1.26, &[("wait", f64::INFINITY), ("compute", f64::NEG_INFINITY)]), None);
    }

    proptest! {
        #[test]
        fn percentage_points_add_up_to_the_extra_time(
            parts in proptest::collection::vec(-3.0f64..3.0, 1..6),
            log in -3.0f64..3.0,
        ) {
            let mut of: BTreeMap<String, f64> =
                parts.iter().enumerate().map(|(i, share)| (format!("part{i}"), *share)).collect();
            of.insert(OTHER.into(), 1.0 - parts.iter().sum::<f64>());
            let Some(found) = attribute(&Shares { shares: of.clone(), ..Shares::default() }, log.exp(), [&system("a"), &system("b")], true) else {
                prop_assert!(log.abs() < 0.0005);
                return Ok(());
            };
            let extra = (log.abs().exp() - 1.0) * 100.0;
            let digit = if extra < ONE_DIGIT_BELOW { 0.1 } else { 1.0 };
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
