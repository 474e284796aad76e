//! The trace of a live service, for the terminal and for the browser.

mod page;
mod picture;
mod sentences;
mod text;

pub use page::page;
pub use text::text;

#[cfg(test)]
mod tests {
    use super::sentences::{cost, grouped, headline, longest_stages, scope};
    use super::*;
    use crosstalk_core::trace::{
        LabelledCount, Percentile, QueueRequests, Scope, ServerProcess, Side, StageTimes, TRACE_SCHEMA,
        TimeAccount, Trace, TracingCost,
    };

    /// A trace as it might be.
    pub fn traced() -> Trace {
        let stage = |side, name: &str, share| StageTimes {
            side,
            name: name.into(),
            mean: share * 5e-5,
            share,
            around_p50: share * 4e-5,
            around_p99: Some(share * 1e-4),
        };
        let account = TimeAccount {
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
        let place =
            |queue| QueueRequests { cpu: 1, queue, requests: 5, share: 0.5, p50: Some(4e-5), p99: None };
        Trace {
            schema: TRACE_SCHEMA.into(),
            service: vec![ServerProcess { pid: 42, name: "<redis>".into() }],
            ports: vec![6379],
            seconds: 10.0,
            ended: Some("interrupted".into()),
            requests: 123_457,
            followed: 123_456,
            not_followed: vec![LabelledCount { what: "under way when tracing ended".into(), count: 1 }],
            counted: vec![],
            accounts: vec![account],
            taken_in: vec![place(None), place(Some(3))],
            read_on: vec![place(None)],
            cost: TracingCost {
                runs_a_request: Some(20.0),
                seconds_a_request: Some(2e-6),
                kernel_cpus: Some(0.03),
                ..TracingCost::default()
            },
            remarks: vec!["a remark".into()],
        }
    }

    #[test]
    fn the_headline_names_the_service_and_the_number_of_requests() {
        let sentence = headline(&traced());
        assert_eq!(sentence, "<redis> (42), TCP port 6379, for 10.0 s: 123,457 requests, > 99.99 % followed");
        let nobody = Trace { service: vec![], ports: vec![1, 2], ..traced() };
        assert!(headline(&nobody).starts_with("TCP ports 1, 2, for"));
    }

    #[test]
    fn a_few_requests_beside_many_have_no_section() {
        let few = |requests: u64, percentiles: &[Percentile]| {
            let mut trace = traced();
            let lone = TimeAccount {
                scope: Scope::Server,
                requests,
                percentiles: percentiles.into(),
                ..trace.accounts[0].clone()
            };
            trace.accounts.push(lone);
            trace
        };
        let median = [Percentile { quantile: 0.5, seconds: 2e-3 }];
        let says =
            |trace: &Trace| [page(trace), text(trace)].map(|shown| shown.contains(scope(Scope::Server)));
        assert_eq!(says(&few(1, &[])), [false; 2]);
        assert_eq!(says(&few(50_000, &median)), [true; 2]);
        // A lone request is all there is to show, without a median of one.
        let lone = Trace { accounts: few(1, &[]).accounts.split_off(1), ..traced() };
        assert_eq!(says(&lone), [true; 2]);
        assert!(text(&lone).contains("1 request, from"));
        let page = page(&lone);
        assert!(!page.contains("around the median") && page.contains("first packet: mean 50.0"), "{page}");
    }

    #[test]
    fn the_longest_stage_comes_first() {
        assert!(longest_stages(&traced().accounts[0]).starts_with("service, on a CPU (server) 70.0 %, send"));
    }

    #[test]
    fn the_cost_of_tracing_is_given_or_why_it_is_unknown() {
        assert!(cost(&traced().cost).contains("20.0 runs of the tracing programs and 2.00 µs a request"));
        let idle = TracingCost { kernel_cpus: Some(0.01), ..TracingCost::default() };
        assert!(cost(&idle).contains("no request came"));
        assert!(cost(&TracingCost::default()).contains("could not be counted"));
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
