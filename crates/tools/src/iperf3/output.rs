//! The report of iperf3's client, as JSON (`--json`).

use serde::Deserialize;

use crosstalk_core::Fault;

/// What iperf3 reports.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Received, in bits a second.
    pub bandwidth: f64,
    /// Sent, in bits a second.
    pub offered: f64,
    /// Retransmitted segments, over TCP.
    pub retransmitted: Option<u64>,
    /// The congestion control of the sender and of the receiver, over TCP.
    pub congestion: [Option<String>; 2],
    /// What became of datagrams, over UDP.
    pub datagrams: Option<Datagrams>,
}

/// What became of datagrams.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Datagrams {
    /// How many were sent.
    pub sent: u64,
    /// The share that was lost.
    pub lost: f64,
    /// Jitter at the receiver, in seconds.
    pub jitter: f64,
}

#[derive(Deserialize)]
struct Report {
    error: Option<String>,
    end: Option<End>,
}

#[derive(Deserialize)]
struct End {
    sum_sent: Option<Sum>,
    sum_received: Option<Sum>,
    sender_tcp_congestion: Option<String>,
    receiver_tcp_congestion: Option<String>,
}

#[derive(Deserialize)]
struct Sum {
    bits_per_second: f64,
    retransmits: Option<u64>,
    packets: Option<u64>,
    lost_percent: Option<f64>,
    jitter_ms: Option<f64>,
}

impl Output {
    /// Parses the report of a client; `udp`: of a run over UDP.
    ///
    /// # Errors
    /// The error that iperf3 reports; where the text is no report, or lacks what it must have.
    pub fn parse(text: &str, udp: bool) -> Result<Self, Fault> {
        let report: Report =
            serde_json::from_str(text).map_err(|e| unreadable(format!("iperf3 printed no report: {e}")))?;
        if let Some(error) = report.error {
            return Err(Fault::attempt(format!("iperf3 failed: {error}")));
        }
        let end = report.end.ok_or_else(|| missing("end"))?;
        let sent = end.sum_sent.ok_or_else(|| missing("end.sum_sent"))?;
        let received = end.sum_received.ok_or_else(|| missing("end.sum_received"))?;
        if received.bits_per_second <= 0.0 {
            return Err(Fault::attempt("iperf3 received nothing").remedy("send more, or for longer"));
        }
        let datagrams = || {
            Some(Datagrams {
                sent: sent.packets?,
                lost: received.lost_percent? / 100.0,
                jitter: received.jitter_ms? * 1e-3,
            })
        };
        Ok(Output {
            bandwidth: received.bits_per_second,
            offered: sent.bits_per_second,
            retransmitted: sent.retransmits,
            congestion: [end.sender_tcp_congestion, end.receiver_tcp_congestion],
            datagrams: match udp {
                true => Some(datagrams().ok_or_else(|| missing("end.sum_sent.packets"))?),
                false => None,
            },
        })
    }
}

fn missing(name: &str) -> Fault {
    unreadable(format!("iperf3's report has no `{name}`"))
}

fn unreadable(why: String) -> Fault {
    Fault::attempt(why).remedy("iperf 3.12 or later is expected: `iperf3 --version`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The ends of reports of iperf 3.12, recorded on a loopback.
    const TCP: &str = r#"{"start":{"version":"iperf 3.12","test_start":{"protocol":"TCP","num_streams":2}},"intervals":[],
        "end":{"streams":[],
        "sum_sent":{"start":0,"end":1.004884,"seconds":1.004884,"bytes":2533621760,"bits_per_second":20170461545.81026,"retransmits":3,"sender":false},
        "sum_received":{"start":0,"end":1.00046,"seconds":1.00046,"bytes":2526937088,"bits_per_second":20206201851.14847,"sender":false},
        "cpu_utilization_percent":{"host_total":21.36,"host_user":0.67,"host_system":20.69},
        "sender_tcp_congestion":"cubic","receiver_tcp_congestion":"reno"}}"#;
    const UDP: &str = r#"{"start":{"version":"iperf 3.12"},"intervals":[],"end":{"streams":[],
        "sum":{"start":0,"end":1.000196,"seconds":1.000196,"bytes":12451840,"bits_per_second":99613026.5785482,"jitter_ms":0.837505318928233,"lost_packets":57,"packets":380,"lost_percent":15,"sender":true},
        "sum_sent":{"start":0,"end":1.000017,"seconds":1.000017,"bytes":12451840,"bits_per_second":99613026.5785482,"jitter_ms":0,"lost_packets":0,"packets":380,"lost_percent":0,"sender":true},
        "sum_received":{"start":0,"end":1.000196,"seconds":1.000196,"bytes":10584064,"bits_per_second":84655919.4397898,"jitter_ms":0.837505318928233,"lost_packets":57,"packets":380,"lost_percent":15,"sender":false}}}"#;
    const FAILED: &str = r#"{"start":{"connected":[],"version":"iperf 3.12"},"intervals":[],"end":{},
        "error":"unable to connect to server: Connection refused"}"#;

    #[test]
    fn a_report_over_tcp_has_bandwidth_retransmissions_and_congestion_control() {
        let output = Output::parse(TCP, false).expect("is whole");
        assert_eq!((output.bandwidth, output.offered), (20206201851.14847, 20170461545.81026));
        assert_eq!((output.retransmitted, output.datagrams), (Some(3), None));
        assert_eq!(output.congestion, [Some("cubic".into()), Some("reno".into())]);
    }

    #[test]
    fn a_report_over_udp_has_datagrams() {
        let output = Output::parse(UDP, true).expect("is whole");
        assert_eq!((output.bandwidth, output.retransmitted), (84655919.4397898, None));
        let datagrams = output.datagrams.expect("are counted");
        assert_eq!((datagrams.sent, datagrams.lost), (380, 0.15));
        assert!((datagrams.jitter - 837.505e-6).abs() < 1e-9);
    }

    #[test]
    fn the_error_that_iperf3_reports_is_the_fault() {
        let fault = Output::parse(FAILED, false).expect_err("failed");
        assert_eq!(fault.message, "iperf3 failed: unable to connect to server: Connection refused");
    }

    #[test]
    fn what_is_missing_is_named() {
        for name in ["sum_sent", "sum_received"] {
            let fault = Output::parse(&TCP.replace(name, "other"), false).expect_err(name);
            assert!(fault.message.contains(name) && fault.remedy.is_some(), "{fault}");
        }
        assert!(Output::parse(&UDP.replace("packets", "other"), true).is_err());
        assert!(Output::parse("", false).is_err());
        let nothing = TCP.replace("20206201851.14847", "0");
        assert!(Output::parse(&nothing, false).expect_err("nothing").message.contains("nothing"));
    }

    proptest! {
        #[test]
        fn any_text_is_a_fault_not_a_panic(noise: String, cut in 0usize..1000, udp: bool) {
            let _ = Output::parse(&noise, udp);
            prop_assert!(Output::parse(&TCP[..cut.min(TCP.len() - 1)], udp).is_err());
        }
    }
}
