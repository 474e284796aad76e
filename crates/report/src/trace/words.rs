//! What a trace says, in words that the terminal and the browser share.

use crosstalk_core::trace::{Account, Cost, Percentile, Scope, Stage, Trace};
use crosstalk_core::units::{digits, human};

/// Who was traced, for how long, and how much of it was followed.
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
        "{who}{ports}, for {}: {} requests, {} followed",
        human(trace.seconds, "s"),
        grouped(trace.requests),
        share(trace.followed as f64 / trace.requests.max(1) as f64)
    )
}

/// What an account's times are of.
pub(super) fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Client => "from the client's sending to its having read the answer",
        Scope::Server => "from the server's taking it in to the answer's first packet leaving",
    }
}

/// An account of a smaller part of the requests is counted in a remark, not shown, where there is another.
const FEW: f64 = 0.01;

/// The accounts that are shown: those of enough requests to have a median; a lone one is shown however few it has.
pub(super) fn shown(trace: &Trace) -> impl Iterator<Item = &Account> {
    let many = |account: &&Account| {
        !account.percentiles.is_empty() && account.requests as f64 >= FEW * trace.followed as f64
    };
    trace.accounts.iter().filter(move |account| trace.accounts.len() == 1 || many(account))
}

/// Percentiles, as far as there are enough requests, and the mean.
pub(super) fn times(account: &Account) -> Vec<String> {
    let percentile =
        |p: &Percentile| format!("p{} {}", (p.quantile * 1000.0).round() / 10.0, human(p.seconds, "s"));
    let mean = format!("mean {}", human(account.mean, "s"));
    account.percentiles.iter().map(percentile).chain([mean]).collect()
}

/// The stages that take most, as a sentence.
pub(super) fn top(account: &Account) -> String {
    let mut stages: Vec<&Stage> = account.stages.iter().collect();
    stages.sort_by(|a, b| b.share.total_cmp(&a.share));
    let said = |stage: &&Stage| format!("{} ({}) {}", stage.name, stage.side.word(), share(stage.share));
    stages.iter().take(3).map(said).collect::<Vec<_>>().join(", ")
}

/// What tracing took.
pub(super) fn cost(cost: &Cost) -> String {
    let programs = match (cost.runs_a_request, cost.seconds_a_request, cost.kernel_cpus) {
        (Some(runs), Some(seconds), Some(cpus)) => format!(
            "{} runs of our programs and {} a request, {} of one CPU in all (counted for {})",
            digits(runs),
            human(seconds, "s"),
            share(cpus),
            human(cost.counted_seconds, "s")
        ),
        (.., Some(cpus)) => {
            format!("our programs took {} of one CPU, and no request came meanwhile", share(cpus))
        }
        _ => "our programs' could not be counted (it takes CAP_SYS_ADMIN and Linux 5.8)".into(),
    };
    format!("{programs}; reading the records {} of one", share(cost.reader_cpus))
}

/// A part of the whole.
pub(super) fn share(of_one: f64) -> String {
    // All is only what is all.
    if of_one < 1.0 && of_one > 0.9999 { "> 99.99 %".into() } else { human(of_one, "%") }
}

/// A count with its thousands apart.
pub(super) fn grouped(count: u64) -> String {
    let plain = count.to_string();
    let mut apart = String::new();
    for (place, digit) in plain.chars().enumerate() {
        if place > 0 && (plain.len() - place).is_multiple_of(3) {
            apart.push(',');
        }
        apart.push(digit);
    }
    apart
}
