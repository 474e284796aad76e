//! Changes of the machines during the run, as warnings: their facts at its end against those at its beginning.
//!
//! Blocks before and after a change are not blocks of one machine, and the block of the change is not known. `fixed`
//! facts must not change at all. Two facts of a moment show a change: the cores' frequency, and a load that moved by more
//! than the run's own nodes can make it. With background work in the run a rise of the load shows nothing: that work
//! makes it.

use crosstalk_core::provenance::Provenance;
use std::collections::BTreeMap;

use crate::number::format_percent;
use crate::samples::Run;
use crate::words::join_in_words;

/// The relative change of frequency that is reported: turbo and sampling move it by less.
const FREQUENCY_BEYOND: f64 = 0.1;

/// A sentence for each change of a machine during the run, naming all nodes that have it. With `background`, some of
/// the run's work was background work.
pub fn changes(run: &Run, background: bool) -> Vec<String> {
    if run.provenance.is_empty() || run.end.is_empty() {
        return Vec::new();
    }
    if run.provenance_after.is_empty() {
        return vec![
            "whether the machines changed is not known: their facts were not read again at the end; `crosstalk resume` continues the run and reads them".into(),
        ];
    }
    let mut changes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (node, before) in &run.provenance {
        let changed = match run.provenance_after.get(node) {
            Some(after) => of_node(before, after, run.provenance.len(), background),
            None => vec!["it reported no facts when the run ended".into()],
        };
        for change in changed {
            changes.entry(change).or_default().push(node.clone());
        }
    }
    let whole = run.provenance.len();
    changes.into_iter().map(|(change, nodes)| format!("{}: {change}", subject(&nodes, whole))).collect()
}

fn subject(nodes: &[String], all: usize) -> String {
    match nodes {
        [_, ..] if nodes.len() == all => "the machine changed during the run".into(),
        [node] => format!("node {node} changed during the run"),
        _ => format!("nodes {} changed during the run", join_in_words(nodes)),
    }
}

fn of_node(before: &Provenance, after: &Provenance, nodes: usize, background: bool) -> Vec<String> {
    let fixed = before.fixed.keys().chain(after.fixed.keys().filter(|k| !before.fixed.contains_key(*k)));
    let mut changes: Vec<String> = fixed
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
    let moved = |(was, is): &(f64, f64)| was - is > own || (!background && is - was > own);
    if let Some((was, is)) = both("load").filter(moved) {
        let what = if is > was {
            "which is more than the run's own nodes make; see what else runs there"
        } else {
            "which other programs made; let them end before, and run again"
        };
        changes.push(format!("load was {was} when it began and {is} when it ended, {what}"));
    }
    let moved = |was: f64, is: f64| (is - was).abs() / was;
    if let Some((was, is)) = both("frequency").filter(|(was, is)| moved(*was, *is) > FREQUENCY_BEYOND) {
        changes.push(format!(
            "the first core's frequency moved by {}, from {was} to {is} MHz; the governor `performance` holds it",
            format_percent(moved(was, is))
        ));
    }
    changes
}

/// The first number of a moment's fact; of the load that of the last minute.
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
    fn a_machine_that_stayed_the_same_gives_no_warning() {
        let then = node(&[("governor", "performance")], &[("load", "0.5 1 1"), ("frequency", "2600 MHz")]);
        let now = node(&[("governor", "performance")], &[("load", "2.4 1 1"), ("frequency", "2650 MHz")]);
        assert_eq!(changes(&run(&[(then, now)]), false), Vec::<String>::new());
    }

    #[test]
    fn a_changed_fact_is_reported_once_for_all_nodes_that_share_it() {
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
    fn load_and_frequency_are_reported_beyond_what_the_run_itself_makes() {
        let then = node(&[], &[("load", "0.5 1 1"), ("frequency", "2600 MHz")]);
        let busy = node(&[], &[("load", "2.6 1 1"), ("frequency", "2100 MHz")]);
        let changed = changes(&run(&[(then.clone(), busy.clone())]), false);
        assert!(
            changed.iter().any(|t| t.contains("load was 0.5 when it began and 2.6 when it ended")),
            "{changed:?}"
        );
        assert!(changed.iter().any(|t| t.contains("moved by 19.2 %, from 2600 to 2100 MHz")), "{changed:?}");
        let four: Vec<_> = (0..4).map(|_| (then.clone(), busy.clone())).collect();
        assert!(!changes(&run(&four), false).iter().any(|t| t.contains("load")), "four nodes may make it");
        let has_load = |changed: Vec<String>| changed.iter().any(|changed| changed.contains("load"));
        assert!(
            !has_load(changes(&run(&[(then.clone(), busy.clone())]), true)),
            "background work may make it"
        );
        assert!(has_load(changes(&run(&[(busy, then)]), true)), "others made it when the run began");
    }

    #[test]
    fn a_run_whose_facts_were_not_read_again_says_so() {
        let mut run = run(&[(node(&[], &[]), node(&[], &[]))]);
        run.provenance_after.clear();
        assert!(changes(&run, false)[0].contains("is not known"));
        run.end.clear();
        assert_eq!(changes(&run, false), Vec::<String>::new(), "it goes on");
        assert_eq!(changes(&Run { end: "finished".into(), ..Run::default() }, false), Vec::<String>::new());
    }
}
