//! The sentences about a trace, for the terminal and the browser.

use crosstalk_core::trace::{Percentile, Scope, StageTimes, TimeAccount, Trace, TracingCost};
use crosstalk_core::units::{digits, human};

/// The traced service, for how long, and how many of its requests were followed.
pub(super) fn headline(trace: &Trace) -> String {
    let ports: Vec<String> = trace.ports.iter().map(u16::to_string).collect();
    let ports = format!("TCP port{} {}", if ports.len() == 1 { "" } else { "s" }, ports.join(", "));
    let who: Vec<String> = trace.service.iter().map(|s| format!("{} ({})", s.name, s.pid)).collect();
    let who = match who.len() {
        0 => String::new(),
        1..=3 => who.join(", ") + ", ",
        n => format!("{} and {} more, ", who[..2].join(", "), n - 2),
    };
    format!(
        "{who}{ports}, for {}: {}, {} followed",
        human(trace.seconds, "s"),
        requests(trace.requests),
        share(trace.followed as f64 / trace.requests.max(1) as f64)
    )
}

/// The beginning and the end of an account's times.
pub(super) fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Client => "from the client's sending to its reading of the answer",
        Scope::Server => "from the request's arrival at the server to the answer's first packet",
    }
}

/// Of several accounts, one with a smaller share of the requests is not shown: a remark counts it.
const LEAST_SHARE: f64 = 0.01;

/// The accounts that are shown: those with enough requests for a median, and a single one in any case.
pub(super) fn shown(trace: &Trace) -> impl Iterator<Item = &TimeAccount> {
    let many = |account: &&TimeAccount| {
        !account.percentiles.is_empty() && account.requests as f64 >= LEAST_SHARE * trace.followed as f64
    };
    trace.accounts.iter().filter(move |account| trace.accounts.len() == 1 || many(account))
}

/// The percentiles for which there are enough requests, and the mean.
pub(super) fn times(account: &TimeAccount) -> Vec<String> {
    let percentile =
        |p: &Percentile| format!("p{} {}", (p.quantile * 1000.0).round() / 10.0, human(p.seconds, "s"));
    let mean = format!("mean {}", human(account.mean, "s"));
    account.percentiles.iter().map(percentile).chain([mean]).collect()
}

/// The three longest stages, as a clause.
pub(super) fn longest_stages(account: &TimeAccount) -> String {
    let mut stages: Vec<&StageTimes> = account.stages.iter().collect();
    stages.sort_by(|a, b| b.share.total_cmp(&a.share));
    let in_words =
        |stage: &&StageTimes| format!("{} ({}) {}", stage.name, stage.side.word(), share(stage.share));
    stages.iter().take(3).map(in_words).collect::<Vec<_>>().join(", ")
}

/// What tracing cost.
pub(super) fn cost(cost: &TracingCost) -> String {
    let programs = match (cost.runs_a_request, cost.seconds_a_request, cost.kernel_cpus) {
        (Some(runs), Some(seconds), Some(cpus)) => format!(
            "{} runs of the tracing programs and {} a request, {} of one CPU in all (counted for {})",
            digits(runs),
            human(seconds, "s"),
            share(cpus),
            human(cost.counted_seconds, "s")
        ),
        (.., Some(cpus)) => {
            format!("the tracing programs took {} of one CPU, and no request came", share(cpus))
        }
        _ => "the cost of the tracing programs could not be counted (that needs CAP_SYS_ADMIN and Linux 5.8)"
            .into(),
    };
    format!("{programs}; reading the records {} of one", share(cost.reader_cpus))
}

/// A share in percent.
pub(super) fn share(of_one: f64) -> String {
    // 100 % is shown for nothing less.
    if of_one < 1.0 && of_one > 0.9999 { "> 99.99 %".into() } else { human(of_one, "%") }
}

/// A number of requests: `1 request`, `123,457 requests`.
pub(super) fn requests(count: u64) -> String {
    if count == 1 { "1 request".into() } else { format!("{} requests", grouped(count)) }
}

/// A count with commas between thousands.
pub(super) fn grouped(count: u64) -> String {
    let plain = count.to_string();
    let mut apart = String::new();
    for (index, digit) in plain.chars().enumerate() {
        if index > 0 && (plain.len() - index).is_multiple_of(3) {
            apart.push(',');
        }
        apart.push(digit);
    }
    apart
}
