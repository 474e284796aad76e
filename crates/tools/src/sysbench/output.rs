//! The report that sysbench 1.0 prints.

use crosstalk_core::Fault;

/// What `sysbench cpu` reports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuOutput {
    /// From its start to its last event.
    pub seconds: f64,
    /// Events.
    pub events: u64,
}

/// What `sysbench oltp_read_write` reports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OltpOutput {
    /// From its start to its last transaction.
    pub seconds: f64,
    /// Statements that read or wrote.
    pub requests: u64,
    /// Transactions.
    pub transactions: u64,
    /// The 99th percentile of their times, in seconds.
    pub p99: f64,
    /// Transactions that collided with others and were retried.
    pub repeated: u64,
}

fn missing(name: &str) -> Fault {
    Fault::attempt(format!("sysbench did not print `{name}`"))
        .remedy("sysbench 1.0 is expected: `sysbench --version`")
}

/// The first word after `name:`, without its unit.
fn word<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line =
        text.lines().find_map(|line| line.trim().strip_prefix(name)?.trim_start().strip_prefix(':'))?;
    line.split_whitespace().next()
}

fn number(text: &str, name: &str) -> Result<f64, Fault> {
    let word = word(text, name).ok_or_else(|| missing(name))?;
    let found = word.trim_end_matches('s').parse().ok();
    found.filter(|number: &f64| number.is_finite() && *number >= 0.0).ok_or_else(|| missing(name))
}

fn count(text: &str, name: &str) -> Result<u64, Fault> {
    word(text, name).and_then(|word| word.parse().ok()).ok_or_else(|| missing(name))
}

/// A time above zero, which rates are divided by.
fn total_time(text: &str) -> Result<f64, Fault> {
    number(text, "total time")
        .and_then(|seconds| if seconds > 0.0 { Ok(seconds) } else { Err(missing("total time")) })
}

impl CpuOutput {
    /// Parses the program's output.
    ///
    /// # Errors
    /// Where a line is missing or its number cannot be read.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        Ok(CpuOutput { seconds: total_time(text)?, events: count(text, "total number of events")? })
    }
}

impl OltpOutput {
    /// Parses the program's output.
    ///
    /// # Errors
    /// Where a line is missing or its number cannot be read.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        Ok(OltpOutput {
            seconds: total_time(text)?,
            requests: count(text, "read")?.saturating_add(count(text, "write")?),
            transactions: count(text, "transactions")?,
            p99: number(text, "99th percentile")? * 1e-3,
            repeated: count(text, "ignored errors")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OLTP: &str = "
SQL statistics:
    queries performed:
        read:                            140000
        write:                           40000
        other:                           20000
        total:                           200000
    transactions:                        10000  (999.10 per sec.)
    queries:                             200000 (19982.10 per sec.)
    ignored errors:                      3      (0.30 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          10.0090s
    total number of events:              10000

Latency (ms):
         min:                                    2.10
         99th percentile:                       17.32
         sum:                                79990.10
";

    #[test]
    fn the_report_of_transactions_is_read() {
        let output = OltpOutput::parse(OLTP).expect("is whole");
        assert_eq!((output.requests, output.transactions, output.repeated), (180_000, 10_000, 3));
        assert!((output.seconds - 10.009).abs() < 1e-12 && (output.p99 - 0.01732).abs() < 1e-12);
    }

    #[test]
    fn the_report_of_the_cpu_test_is_read() {
        let output = CpuOutput::parse(OLTP).expect("is whole");
        assert_eq!((output.events, output.seconds), (10_000, 10.009));
    }

    #[test]
    fn a_missing_line_is_named() {
        for name in ["total time", "99th percentile", "transactions", "read"] {
            let without: Vec<&str> =
                OLTP.lines().filter(|line| !line.trim().starts_with(&format!("{name}:"))).collect();
            let fault = OltpOutput::parse(&without.join("\n")).expect_err(name);
            assert!(fault.message.contains(name), "{fault}");
        }
        assert!(
            CpuOutput::parse(&OLTP.replace("10.0090s", "0.0000s")).is_err(),
            "nothing can be divided by it"
        );
        assert!(CpuOutput::parse(&OLTP.replace("10.0090s", "nans")).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_fault_not_a_panic(noise: String) {
            let _ = OltpOutput::parse(&noise);
            let _ = CpuOutput::parse(&noise);
        }
    }
}
