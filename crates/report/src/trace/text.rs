//! The text for the terminal.

use crosstalk_core::trace::{LabelledCount, QueueRequests, Side, StageTimes, TimeAccount, Trace};
use crosstalk_core::units::human;

use super::sentences::{cost, grouped, headline, longest_stages, requests, scope, share, shown, times};

/// The length of the longest bars, in characters.
const BAR: usize = 14;

/// A trace as text for a terminal.
pub fn text(trace: &Trace) -> String {
    let mut parts = vec![headline(trace)];
    if let Some(why) = &trace.ended {
        parts.push(format!("ended early: {why}"));
    }
    parts.extend(shown(trace).map(account));
    if trace.followed > 0 {
        parts.push(format!(
            "{}\n{}",
            places("received on", &trace.taken_in),
            places("read on", &trace.read_on)
        ));
    }
    let counts = [("not followed", &trace.not_followed), ("also counted", &trace.counted)];
    parts.extend(counts.iter().filter(|(_, list)| !list.is_empty()).map(|(head, list)| tallies(head, list)));
    parts.push(format!("cost of tracing: {}", cost(&trace.cost)));
    parts.extend(trace.remarks.iter().map(|remark| format!("note: {remark}")));
    parts.join("\n\n")
}

fn account(account: &TimeAccount) -> String {
    format!(
        "{}, {}\n  {}\n\n{}\n\nmost of it: {}",
        requests(account.requests),
        scope(account.scope),
        times(account).join("   "),
        waterfall(account),
        longest_stages(account)
    )
}

/// A line for each stage, with a full bar for times around the median and a light one around p99, each on its own scale.
fn waterfall(account: &TimeAccount) -> String {
    let name = |stage: &StageTimes| match stage.side {
        Side::Unexplained => stage.name.clone(),
        side => format!("{:<8} {}", side.word(), stage.name),
    };
    let widest = account.stages.iter().map(|stage| name(stage).chars().count()).max().unwrap_or(0);
    let (p50, p99) = (Column::of(account, |s| Some(s.around_p50)), Column::of(account, |s| s.around_p99));
    let line = |first: &str, times: [String; 2], share: &str, bars: [String; 2]| {
        let figures = format!("{:>10}  {:>10}  {share:>7}", times[0], times[1]);
        let line = format!("  {first:widest$}  {figures}  {:<BAR$}  {}", bars[0], bars[1]);
        line.trim_end().to_string()
    };
    let none = || [String::new(), String::new()];
    let mut lines = vec![line("where it goes", ["around p50".into(), "around p99".into()], "share", none())];
    for stage in &account.stages {
        let (median, slow) = (Some(stage.around_p50), stage.around_p99);
        let bars = [p50.bar(median, "█"), p99.bar(slow, "░")];
        lines.push(line(&name(stage), [time_or_dash(median), time_or_dash(slow)], &share(stage.share), bars));
    }
    lines.push(line("in all", [time_or_dash(p50.sum), time_or_dash(p99.sum)], "", none()));
    lines.join("\n")
}

/// A column of times.
struct Column {
    sum: Option<f64>,
    most: f64,
}

impl Column {
    fn of(account: &TimeAccount, time: fn(&StageTimes) -> Option<f64>) -> Column {
        let times: Vec<f64> = account.stages.iter().filter_map(time).collect();
        let sum = (!times.is_empty()).then(|| times.iter().sum());
        Column { sum, most: times.into_iter().fold(f64::MIN_POSITIVE, f64::max) }
    }

    fn bar(&self, time: Option<f64>, of: &str) -> String {
        of.repeat((time.unwrap_or(0.0) / self.most * BAR as f64).round() as usize)
    }
}

fn time_or_dash(time: Option<f64>) -> String {
    time.map_or("–".into(), |time| human(time, "s"))
}

fn places(head: &str, places: &[QueueRequests]) -> String {
    let line = |place: &QueueRequests| {
        let queue = place.queue.map_or(String::new(), |queue| format!(", queue {queue}"));
        let known = |name: &str, time: Option<f64>| {
            time.map_or(String::new(), |time| format!("   {name} {}", human(time, "s")))
        };
        let times = known("p50", place.p50) + &known("p99", place.p99);
        format!("{head:<12} CPU {}{queue}: {} of requests{times}", place.cpu, share(place.share))
    };
    places.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn tallies(head: &str, tallies: &[LabelledCount]) -> String {
    let lines = tallies.iter().map(|tally| format!("  {:>10}  {}", grouped(tally.count), tally.what));
    std::iter::once(format!("{head}:")).chain(lines).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::tests::traced;

    #[test]
    fn everything_that_was_counted_is_in_the_text() {
        let text = text(&traced());
        for expected in [
            "ended early: interrupted",
            "p50 40.0 µs",
            "service, on a CPU",
            "under way",
            "queue 3",
            "a remark",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        let service = text.lines().find(|line| line.contains("server   service")).expect("a line");
        assert_eq!((service.matches('█').count(), service.matches('░').count()), (BAR, BAR), "{service}");
        let all = text.lines().find(|line| line.contains("in all")).expect("a line");
        assert!(all.contains("40.0 µs") && all.contains("100 µs"), "{all}");
    }

    #[test]
    fn an_account_of_few_is_not_shown_beside_another() {
        let mut trace = traced();
        let few = TimeAccount {
            scope: crosstalk_core::trace::Scope::Server,
            requests: 3,
            ..trace.accounts[0].clone()
        };
        trace.accounts.push(few);
        assert_eq!(text(&trace).matches("where it goes").count(), 1);
        trace.accounts[1].requests = trace.followed;
        assert_eq!(text(&trace).matches("where it goes").count(), 2);
    }

    #[test]
    fn a_trace_without_requests_has_a_text_too() {
        let trace = Trace {
            accounts: vec![],
            taken_in: vec![],
            read_on: vec![],
            requests: 0,
            followed: 0,
            ..traced()
        };
        assert!(text(&trace).contains("0 requests"));
    }
}
