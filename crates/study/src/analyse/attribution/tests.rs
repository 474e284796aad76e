//! Which parts a sentence names, and with which shares.

use super::*;
use crate::part::OTHER;
use proptest::prelude::*;
use std::collections::BTreeSet;

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
    assert_eq!(found.text, "a takes longer: 71 % of the difference is computing; the rest is within noise");
    assert_eq!(found.shares, "71 % of the difference is computing; the rest is within noise");
    assert_eq!(found.percents, shares(&[("compute", 71.0)]));
    let found = of(&[]);
    assert_eq!(found.text, "a takes longer: which part of the time makes the difference is not decided");
    assert_eq!(found.shares, "");
}

#[test]
fn every_significant_part_is_named_and_only_the_others_are_within_noise() {
    let of = |all: &[(&str, f64)], significant: &[&str]| {
        let significant = significant.iter().map(|part| part.to_string()).collect();
        let shares = Shares { shares: shares(all), significant };
        attribute(&shares, 1.5, [&system("a"), &system("b")], false).expect("is known").shares
    };
    let all = [("queue", 0.65), ("compute", 0.46), ("wait", -0.11)];
    assert_eq!(
        of(&all, &["queue", "compute"]),
        "65 % of the difference is waiting for a processor, 46 % computing; parts within noise make it 11 % smaller"
    );
    assert_eq!(
        of(&all, &["queue", "compute", "wait"]),
        "65 % of the difference is waiting for a processor, 46 % computing; what took less: 11 % waiting"
    );
    let all = [("queue", 0.97), ("compute", 0.01), ("wait", 0.02)];
    assert_eq!(
        of(&all, &["queue", "compute"]),
        "97 % of the difference is waiting for a processor, 1 % computing; the rest is within noise"
    );
    let all = [("queue", 1.3), ("compute", 0.4), ("wait", -0.7)];
    assert_eq!(
        of(&all, &["queue", "compute", "wait"]),
        "130 % of the difference is waiting for a processor, 40 % computing; what took less: 70 % waiting"
    );
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
    assert!(below.text.starts_with("kosmos-srio takes longer: 50 % of the difference is computing, 50 % "));
}

#[test]
fn a_small_extra_has_a_digit_and_a_large_one_none() {
    let of = [("wait", 0.9), ("compute", 0.1)];
    assert_eq!(attributed(1.023, &of).expect("is known").points, shares(&[("wait", 2.1), ("compute", 0.2)]));
    assert_eq!(attributed(3.5, &of).expect("is known").points, shares(&[("wait", 225.0), ("compute", 25.0)]));
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
    assert_eq!(found.text, "At slaves 1 it takes longer: 90 % of the difference is waiting, 10 % spilling");
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

    #[test]
    fn the_shares_that_the_sentence_names_are_all_that_are_significant_and_add_up_to_100_percent(
        parts in proptest::collection::vec((-1.5f64..1.5, any::<bool>()), 1..6),
        rest_is_significant: bool,
    ) {
        let name = |i: usize| format!("part{i}");
        let mut of: BTreeMap<String, f64> =
            parts.iter().enumerate().map(|(i, (share, _))| (name(i), *share)).collect();
        of.insert(OTHER.into(), 1.0 - parts.iter().map(|(share, _)| share).sum::<f64>());
        let mut significant: BTreeSet<String> =
            parts.iter().enumerate().filter(|(_, (_, is))| *is).map(|(i, _)| name(i)).collect();
        significant.extend(rest_is_significant.then(|| OTHER.to_string()));
        let sides = [&system("a"), &system("b")];
        let found = attribute(&Shares { shares: of, significant: significant.clone() }, 1.5, sides, false)
            .expect("is known");
        let text = &found.shares;
        if text.is_empty() {
            prop_assert!(found.percents.values().all(|percent| *percent < 0.0), "{found:?}");
            return Ok(());
        }
        for part in found.percents.keys() {
            prop_assert!(significant.contains(part), "{found:?}");
            prop_assert!(text.contains(&part::part_in_words(part)), "{found:?}");
        }
        if text.starts_with("all of the difference") {
            prop_assert!(found.percents.values().filter(|percent| **percent > 0.0).count() == 1);
            prop_assert!(found.percents.values().any(|percent| *percent >= 100.0), "{found:?}");
            return Ok(());
        }
        let numbers = |text: &str| -> f64 {
            let words: Vec<&str> = text.split(' ').collect();
            words.windows(2).filter(|two| two[1] == "%").map(|two| two[0].parse::<f64>().expect("a number")).sum()
        };
        let (named, noise) = text.split_once("; parts within noise").unwrap_or((text, ""));
        let (more, less) = named.split_once("; what took less").unwrap_or((named, ""));
        let sum = numbers(more) - numbers(less) - numbers(noise);
        if text.ends_with("; the rest is within noise") {
            prop_assert!(sum < 100.0, "{found:?}");
        } else {
            prop_assert!((sum - 100.0).abs() < 1e-6, "{sum}: {found:?}");
        }
    }
}
