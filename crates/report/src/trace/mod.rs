//! A traced service, for the terminal and for the browser.

mod page;
mod picture;
mod text;

pub use page::page;
pub use text::text;

use crosstalk_core::trace::{Account, Cost, Percentile, Scope, Stage, Trace};
use crosstalk_core::units::{digits, human};

/// Who was traced, for how long, and how much of it was followed.
pub fn headline(trace: &Trace) -> String {
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
pub fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Client => "from the client's sending to its having read the answer",
        Scope::Server => "from the server's taking it in to the answer's first packet leaving",
    }
}

/// An account of a smaller part of the requests is counted in a remark, not shown, where there is another.
const FEW: f64 = 0.01;

/// The accounts that are shown: those of enough requests to have a median; a lone one is shown however few it has.
fn shown(trace: &Trace) -> impl Iterator<Item = &Account> {
    let many = |account: &&Account| {
        !account.percentiles.is_empty() && account.requests as f64 >= FEW * trace.followed as f64
    };
    trace.accounts.iter().filter(move |account| trace.accounts.len() == 1 || many(account))
}

/// Percentiles, as far as there are enough requests, and the mean.
fn times(account: &Account) -> Vec<String> {
    let percentile =
        |p: &Percentile| format!("p{} {}", (p.quantile * 1000.0).round() / 10.0, human(p.seconds, "s"));
    let mean = format!("mean {}", human(account.mean, "s"));
    account.percentiles.iter().map(percentile).chain([mean]).collect()
}

/// The stages that take most, as a sentence.
fn top(account: &Account) -> String {
    let mut stages: Vec<&Stage> = account.stages.iter().collect();
    stages.sort_by(|a, b| b.share.total_cmp(&a.share));
    let said = |stage: &&Stage| format!("{} ({}) {}", stage.name, stage.side.word(), share(stage.share));
    stages.iter().take(3).map(said).collect::<Vec<_>>().join(", ")
}

/// What tracing took.
fn cost(cost: &Cost) -> String {
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
fn share(of_one: f64) -> String {
    // All is only what is all.
    if of_one < 1.0 && of_one > 0.9999 { "> 99.99 %".into() } else { human(of_one, "%") }
}

/// A count with its thousands apart.
fn grouped(count: u64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::trace::{Place, Served, Side, TRACE_SCHEMA, Tally};

    /// A trace as it might be.
    pub fn traced() -> Trace {
        let stage = |side, name: &str, share| Stage {
            side,
            name: name.into(),
            mean: share * 5e-5,
            share,
            around_p50: share * 4e-5,
            around_p99: Some(share * 1e-4),
        };
        let account = Account {
            scope: Scope::Client,
            requests: 123_456,
            mean: 5e-5,
            percentiles: vec![
                Percentile { quantile: 0.5, seconds: 4e-5 },
                Percentile { quantile: 0.99, seconds: 1e-4 },
            ],
            stages: vec![
                stage(Side::Client, "send: call and protocol", 0.2),
                stage(Side::Between, "driver and wire", 0.1),
                stage(Side::Server, "service, on a CPU", 0.7),
            ],
        };
        let place = |queue| Place { cpu: 1, queue, requests: 5, share: 0.5, p50: Some(4e-5), p99: None };
        Trace {
            schema: TRACE_SCHEMA.into(),
            service: vec![Served { pid: 42, name: "<redis>".into() }],
            ports: vec![6379],
            seconds: 10.0,
            ended: Some("interrupted".into()),
            requests: 123_457,
            followed: 123_456,
            not_followed: vec![Tally { what: "under way when tracing ended".into(), count: 1 }],
            counted: vec![],
            accounts: vec![account],
            taken_in: vec![place(None), place(Some(3))],
            read_on: vec![place(None)],
            cost: Cost {
                runs_a_request: Some(20.0),
                seconds_a_request: Some(2e-6),
                kernel_cpus: Some(0.03),
                ..Cost::default()
            },
            remarks: vec!["a remark".into()],
        }
    }

    #[test]
    fn the_headline_says_who_and_how_much() {
        let said = headline(&traced());
        assert_eq!(said, "<redis> (42), TCP port 6379, for 10.0 s: 123,457 requests, > 99.99 % followed");
        let nobody = Trace { service: vec![], ports: vec![1, 2], ..traced() };
        assert!(headline(&nobody).starts_with("TCP ports 1, 2, for"));
    }

    #[test]
    fn a_few_requests_beside_many_have_no_section() {
        let few = |requests: u64, percentiles: &[Percentile]| {
            let mut trace = traced();
            let lone = Account {
                scope: Scope::Server,
                requests,
                percentiles: percentiles.into(),
                ..trace.accounts[0].clone()
            };
            trace.accounts.push(lone);
            trace
        };
        let median = [Percentile { quantile: 0.5, seconds: 2e-3 }];
        let says = |trace: &Trace| [page(trace), text(trace)].map(|said| said.contains(scope(Scope::Server)));
        assert_eq!(says(&few(1, &[])), [false; 2]);
        assert_eq!(says(&few(50_000, &median)), [true; 2]);
        // A lone request is all there is to show, without a median of one.
        let lone = Trace { accounts: few(1, &[]).accounts.split_off(1), ..traced() };
        assert_eq!(says(&lone), [true; 2]);
        let page = page(&lone);
        assert!(!page.contains("around the median") && page.contains("leaving: mean 50.0"), "{page}");
    }

    #[test]
    fn the_most_comes_first() {
        assert!(top(&traced().accounts[0]).starts_with("service, on a CPU (server) 70.0 %, send"));
    }

    #[test]
    fn the_cost_is_told_or_why_not() {
        assert!(cost(&traced().cost).contains("20.0 runs of our programs and 2.00 µs a request"));
        let idle = Cost { kernel_cpus: Some(0.01), ..Cost::default() };
        assert!(cost(&idle).contains("no request came"));
        assert!(cost(&Cost::default()).contains("could not be counted"));
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
