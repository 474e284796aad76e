//! What became of the machines meanwhile: what they were when the run began
//! against what they were when it ended, as caveats.
//!
//! Blocks that ran on either side of a change are not blocks of one machine, and
//! nobody knows at which block it came. `fixed` facts must not change at all. Of
//! the facts of a moment two tell of a change: the load, where it moved by more
//! than this run's own nodes can make it, and the cores' frequency. What load
//! external work makes is its own affair: beside it a load that rose tells nothing.

use crosstalk_core::provenance::Provenance;
use std::collections::BTreeMap;

use crate::number::percent;
use crate::samples::Run;
use crate::words::list;

/// A frequency that moved by more is told: turbo and sampling move it by less.
const FREQUENCY_BEYOND: f64 = 0.1;

/// What changed, once for all nodes of which the same is true. `external` says whether some of the run's
/// work was.
pub fn changes(run: &Run, external: bool) -> Vec<String> {
    if run.provenance.is_empty() || run.end.is_empty() {
        return Vec::new();
    }
    if run.provenance_after.is_empty() {
        return vec![
            "whether the machines stayed what they were is not known: they were not asked again at the end; `crosstalk resume` goes on and asks".into(),
        ];
    }
    let mut changes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (node, before) in &run.provenance {
        let told = match run.provenance_after.get(node) {
            Some(after) => of_node(before, after, run.provenance.len(), external),
            None => vec!["it told nothing of itself when the run ended".into()],
        };
        for change in told {
            changes.entry(change).or_default().push(node.clone());
        }
    }
    let whole = run.provenance.len();
    changes.into_iter().map(|(change, nodes)| format!("{}: {change}", whose(&nodes, whole))).collect()
}

fn whose(nodes: &[String], all: usize) -> String {
    match nodes {
        [_, ..] if nodes.len() == all => "the machine changed during the run".into(),
        [node] => format!("node {node} changed during the run"),
        _ => format!("nodes {} changed during the run", list(nodes)),
    }
}

fn of_node(before: &Provenance, after: &Provenance, nodes: usize, external: bool) -> Vec<String> {
    let fixed = before.fixed.keys().chain(after.fixed.keys().filter(|k| !before.fixed.contains_key(*k)));
    let mut told: Vec<String> = fixed
        .filter(|fact| before.fixed.get(*fact) != after.fixed.get(*fact))
        .map(|fact| {
            let was = before.fixed.get(fact).map_or("unknown", String::as_str);
            let is = after.fixed.get(fact).map_or("unknown", String::as_str);
            format!(
                "{fact} was `{was}` when it began and `{is}` when it ended; keep it as it was and run again"
            )
        })
        .collect();
    let both = |fact: &str| Some((number(before, fact)?, number(after, fact)?));
    // One runnable task a node, and the runner's own.
    let own = nodes as f64 + 1.0;
    let moved = |(was, is): &(f64, f64)| was - is > own || (!external && is - was > own);
    if let Some((was, is)) = both("load").filter(moved) {
        let what = if is > was {
            "which is more than its own nodes make; see what else runs there"
        } else {
            "which others had made; let them end before, and run again"
        };
        told.push(format!("load was {was} when it began and {is} when it ended, {what}"));
    }
    let moved = |was: f64, is: f64| (is - was).abs() / was;
    if let Some((was, is)) = both("frequency").filter(|(was, is)| moved(*was, *is) > FREQUENCY_BEYOND) {
        told.push(format!(
            "the first core's frequency moved by {}, from {was} to {is} MHz; the governor `performance` holds it",
            percent(moved(was, is))
        ));
    }
    told
}

/// The first number of a moment's fact: of the load, that of the last minute.
fn number(facts: &Provenance, fact: &str) -> Option<f64> {
    facts.moment.get(fact)?.split_whitespace().next()?.parse().ok().filter(|n: &f64| n.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(fixed: &[(&str, &str)], moment: &[(&str, &str)]) -> Provenance {
        let facts = |of: &[(&str, &str)]| of.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        Provenance { fixed: facts(fixed), moment: facts(moment) }
    }

    fn run(pairs: &[(Provenance, Provenance)]) -> Run {
        let each = |of: fn(&(Provenance, Provenance)) -> &Provenance| {
            pairs.iter().enumerate().map(|(n, pair)| (n.to_string(), of(pair).clone())).collect()
        };
        Run {
            end: "finished".into(),
            provenance: each(|pair| &pair.0),
            provenance_after: each(|pair| &pair.1),
            ..Run::default()
        }
    }

    #[test]
    fn a_machine_that_stayed_the_same_is_not_told() {
        let then = node(&[("governor", "performance")], &[("load", "0.5 1 1"), ("frequency", "2600 MHz")]);
        let now = node(&[("governor", "performance")], &[("load", "2.4 1 1"), ("frequency", "2650 MHz")]);
        assert_eq!(changes(&run(&[(then, now)]), false), Vec::<String>::new());
    }

    #[test]
    fn a_changed_fact_is_told_once_for_all_nodes_that_share_it() {
        let then = node(&[("cores allowed", "8"), ("governor", "performance")], &[]);
        let slow = node(&[("cores allowed", "8"), ("governor", "powersave")], &[]);
        let both = changes(&run(&[(then.clone(), slow.clone()), (then.clone(), slow.clone())]), false);
        assert_eq!(both.len(), 1, "{both:?}");
        assert!(
            both[0].starts_with(
                "the machine changed during the run: governor was `performance` when it began and `powersave`"
            ),
            "{both:?}"
        );
        let few = node(&[("cores allowed", "2")], &[]);
        let one = changes(&run(&[(then.clone(), then.clone()), (then, few)]), false);
        assert_eq!(one.len(), 2, "a core set, and a governor that is no longer known: {one:?}");
        assert!(one[0].starts_with("node 1 changed during the run: cores allowed was `8`"), "{one:?}");
        assert!(one[1].contains("governor was `performance` when it began and `unknown`"), "{one:?}");
    }

    #[test]
    fn load_and_frequency_are_told_beyond_what_the_run_itself_makes() {
        let then = node(&[], &[("load", "0.5 1 1"), ("frequency", "2600 MHz")]);
        let busy = node(&[], &[("load", "2.6 1 1"), ("frequency", "2100 MHz")]);
        let told = changes(&run(&[(then.clone(), busy.clone())]), false);
        assert!(
            told.iter().any(|t| t.contains("load was 0.5 when it began and 2.6 when it ended")),
            "{told:?}"
        );
        assert!(told.iter().any(|t| t.contains("moved by 19.2 %, from 2600 to 2100 MHz")), "{told:?}");
        let four: Vec<_> = (0..4).map(|_| (then.clone(), busy.clone())).collect();
        assert!(!changes(&run(&four), false).iter().any(|t| t.contains("load")), "four nodes may make it");
        let has_load = |told: Vec<String>| told.iter().any(|told| told.contains("load"));
        assert!(!has_load(changes(&run(&[(then.clone(), busy.clone())]), true)), "external work may make it");
        assert!(has_load(changes(&run(&[(busy, then)]), true)), "others made it when the run began");
    }

    #[test]
    fn a_run_that_did_not_ask_again_says_so() {
        let mut run = run(&[(node(&[], &[]), node(&[], &[]))]);
        run.provenance_after.clear();
        assert!(changes(&run, false)[0].contains("is not known"));
        run.end.clear();
        assert_eq!(changes(&run, false), Vec::<String>::new(), "it goes on");
        assert_eq!(changes(&Run { end: "finished".into(), ..Run::default() }, false), Vec::<String>::new());
    }
}
