//! For the terminal.

use crosstalk_core::trace::{Account, Place, Side, Tally, Trace};
use crosstalk_core::units::human;

use super::{cost, grouped, headline, scope, share, top};

/// The longest bar, in characters.
const BAR: f64 = 24.0;
/// An account of fewer of the requests is named, not shown, where there is another.
const FEW: f64 = 0.01;

/// Everything, in the order in which people ask.
pub fn text(trace: &Trace) -> String {
    let mut parts = vec![headline(trace)];
    if let Some(why) = &trace.ended {
        parts.push(format!("ended early: {why}"));
    }
    let shown = |account: &&Account| {
        trace.accounts.len() == 1 || account.requests as f64 >= FEW * trace.followed as f64
    };
    parts.extend(trace.accounts.iter().filter(shown).map(account));
    if trace.followed > 0 {
        parts.push(format!("{}\n{}", places("taken in on", &trace.taken_in), places("read on", &trace.read_on)));
    }
    let counts = [("not followed", &trace.not_followed), ("also counted", &trace.counted)];
    parts.extend(counts.iter().filter(|(_, list)| !list.is_empty()).map(|(head, list)| tallies(head, list)));
    parts.push(format!("own cost: {}", cost(&trace.cost)));
    parts.extend(trace.remarks.iter().map(|remark| format!("note: {remark}")));
    parts.join("\n\n")
}

fn account(account: &Account) -> String {
    let percentiles = account.percentiles.iter().map(|p| {
        format!("p{} {}", (p.quantile * 1000.0).round() / 10.0, human(p.seconds, "s"))
    });
    let mean = format!("mean {}", human(account.mean, "s"));
    let times: Vec<String> = percentiles.chain([mean]).collect();
    format!(
        "{} requests, {}\n  {}\n\n{}\n\nmost of it: {}",
        grouped(account.requests),
        scope(account.scope),
        times.join("   "),
        waterfall(account),
        top(account)
    )
}

/// A line a stage: around the median a full bar, around p99 a light one.
fn waterfall(account: &Account) -> String {
    let name = |stage: &crosstalk_core::trace::Stage| match stage.side {
        Side::Unexplained => stage.name.clone(),
        side => format!("{:<8} {}", side.word(), stage.name),
    };
    let widest = account.stages.iter().map(|stage| name(stage).chars().count()).max().unwrap_or(0);
    let times = account.stages.iter().flat_map(|s| [s.around_p50, s.around_p99.unwrap_or(0.0)]);
    let most = times.fold(f64::MIN_POSITIVE, f64::max);
    let bar = |time: f64, of: &str| of.repeat((time / most * BAR).round() as usize);
    let mut lines = vec![format!("  {:widest$}  {:>10}  {:>10}  {:>7}", "where it goes", "around p50", "around p99", "share")];
    for stage in &account.stages {
        let p99 = stage.around_p99.map_or("–".into(), |time| human(time, "s"));
        let bars = match stage.around_p99 {
            // One bar in the other: what p99 takes more is light.
            Some(p99) if p99 > stage.around_p50 => {
                let full = bar(stage.around_p50, "█");
                let whole = bar(p99, "░");
                full.clone() + &"░".repeat(whole.chars().count() - full.chars().count())
            }
            _ => bar(stage.around_p50, "█"),
        };
        let figures = format!("{:>10}  {p99:>10}  {:>7}", human(stage.around_p50, "s"), share(stage.share));
        lines.push(format!("  {:widest$}  {figures}  {bars}", name(stage)).trim_end().to_string());
    }
    let sum = |of: fn(&crosstalk_core::trace::Stage) -> f64| account.stages.iter().map(of).sum::<f64>();
    let p99 = account.stages.iter().any(|stage| stage.around_p99.is_some());
    let p99 = if p99 { human(sum(|s| s.around_p99.unwrap_or(0.0)), "s") } else { "–".into() };
    lines.push(format!("  {:widest$}  {:>10}  {p99:>10}", "in all", human(sum(|s| s.around_p50), "s")));
    lines.join("\n")
}

fn places(head: &str, places: &[Place]) -> String {
    let line = |place: &Place| {
        let queue = place.queue.map_or(String::new(), |queue| format!(", queue {queue}"));
        let told = |name: &str, time: Option<f64>| {
            time.map_or(String::new(), |time| format!("   {name} {}", human(time, "s")))
        };
        let times = told("p50", place.p50) + &told("p99", place.p99);
        format!("{head:<12} CPU {}{queue}: {} of requests{times}", place.cpu, share(place.share))
    };
    places.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn tallies(head: &str, tallies: &[Tally]) -> String {
    let lines = tallies.iter().map(|tally| format!("  {:>10}  {}", grouped(tally.count), tally.what));
    std::iter::once(format!("{head}:")).chain(lines).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::tests::traced;

    #[test]
    fn everything_that_was_counted_is_said() {
        let text = text(&traced());
        for said in ["ended early: interrupted", "p50 40.0 µs", "service, on a CPU", "under way", "queue 3", "a remark"] {
            assert!(text.contains(said), "{said}: {text}");
        }
        let service = text.lines().find(|line| line.contains("server   service")).expect("a line");
        assert_eq!(service.matches('█').count() + service.matches('░').count(), BAR as usize, "{service}");
        let all = text.lines().find(|line| line.contains("in all")).expect("a line");
        assert!(all.contains("40.0 µs") && all.contains("100 µs"), "{all}");
    }

    #[test]
    fn an_account_of_few_is_not_shown_beside_another() {
        let mut trace = traced();
        let few = Account { scope: crosstalk_core::trace::Scope::Server, requests: 3, ..trace.accounts[0].clone() };
        trace.accounts.push(few);
        assert_eq!(text(&trace).matches("where it goes").count(), 1);
        trace.accounts[1].requests = trace.followed;
        assert_eq!(text(&trace).matches("where it goes").count(), 2);
    }

    #[test]
    fn nothing_seen_is_said_too() {
        let trace = Trace { accounts: vec![], taken_in: vec![], read_on: vec![], requests: 0, followed: 0, ..traced() };
        assert!(text(&trace).contains("0 requests"));
    }
}
