//! The guard's numbers as OpenMetrics text (the OpenMetrics specification 1.0), in SI units.

use std::fmt::Write;

use crosstalk_policy::Decision;
use crosstalk_policy::Sums;
use crosstalk_policy::{Probe, Sense};

/// What the text is: to be told over HTTP.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

struct Text(String);

impl Text {
    /// A family of one sample, or of several that differ in a label.
    fn family(&mut self, kind: &str, name: &str, unit: &str, help: &str, samples: &[(String, f64)]) {
        let full = if unit.is_empty() {
            format!("crosstalk_guard_{name}")
        } else {
            format!("crosstalk_guard_{name}_{unit}")
        };
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# TYPE {full} {kind}");
        if !unit.is_empty() {
            let _ = writeln!(self.0, "# UNIT {full} {unit}");
        }
        let _ = writeln!(self.0, "# HELP {full} {help}");
        let suffix = if kind == "counter" { "_total" } else { "" };
        for (labels, value) in samples {
            let value = if value.is_infinite() { "+Inf".into() } else { value.to_string() };
            let _ = writeln!(self.0, "{full}{suffix}{labels} {value}");
        }
    }

    fn gauge(&mut self, name: &str, unit: &str, help: &str, value: f64) {
        self.family("gauge", name, unit, help, &[(String::new(), value)]);
    }

    fn counter(&mut self, name: &str, unit: &str, help: &str, value: f64) {
        self.family("counter", name, unit, help, &[(String::new(), value)]);
    }
}

/// The text.
pub fn text(decision: &Decision, sense: &Sense, sums: &Sums, budget: f64) -> String {
    let mut text = Text(String::new());
    let (grant, why) = (&decision.grant, &decision.why);
    text.gauge("slowdown_agreed", "ratio", "Slowdown of foreground work that is agreed on.", budget);
    text.gauge(
        "slowdown_expected",
        "ratio",
        "Slowdown of foreground work that is to be expected now.",
        why.expected,
    );
    text.gauge("foreground_processors", "", "Processors that foreground work uses.", sense.foreground_cpu);
    text.gauge("background_processors", "", "Processors that background work uses.", sense.background_cpu);
    text.gauge("stolen_processors", "", "Processors that other machines take.", sense.stolen);
    text.gauge("granted_time", "ratio", "Share of the time that background work may run.", grant.share);
    text.gauge("granted_processors", "", "Processors that background work may use.", grant.cores as f64);
    let memory = grant.memory.map_or(f64::INFINITY, |bytes| bytes as f64);
    text.gauge("granted_memory", "bytes", "Memory that background work may have.", memory);
    text.gauge("foreground_busy", "", "Whether foreground work is at work.", f64::from(u8::from(why.busy)));
    text.gauge(
        "grade",
        "",
        "How far the guard goes: 0 idle class, 1 processors, 2 memory, 3 I/O, 4 turns, 5 still.",
        f64::from(decision.grade as u8),
    );
    let kinds = Probe::KINDS.map(|kind| kind.trim_start_matches("memory "));
    let ratios: Vec<(String, f64)> =
        kinds.iter().zip(why.ratios).map(|(kind, ratio)| (format!("{{kind=\"{kind}\"}}"), ratio)).collect();
    text.family(
        "gauge",
        "contention",
        "ratio",
        "How many times as long a probe takes beside background work.",
        &ratios,
    );
    let probe = sense.probe.as_ref().map(Probe::times).unwrap_or_default();
    let times: Vec<(String, f64)> = kinds
        .iter()
        .zip(probe)
        .filter(|(_, time)| *time > 0.0)
        .map(|(kind, time)| (format!("{{kind=\"{kind}\"}}"), time))
        .collect();
    if !times.is_empty() {
        text.family("gauge", "probe", "seconds", "What a batch of the last probe took.", &times);
    }
    text.gauge(
        "foreground_memory_stall",
        "ratio",
        "Least share of the time that foreground work waits for memory.",
        sense.memory_stall,
    );
    text.gauge(
        "foreground_io_stall",
        "ratio",
        "Least share of the time that foreground work waits for devices.",
        sense.io_stall,
    );
    text.gauge(
        "foreground_refaults",
        "",
        "Pages a second that foreground work fetches again.",
        sense.refaults,
    );
    text.gauge(
        "background_memory",
        "bytes",
        "Memory that background work has.",
        sense.background_memory as f64,
    );
    text.gauge("wake_up_lateness", "seconds", "How much later than asked the guard woke up.", sense.lateness);
    text.counter("foreground_cpu", "seconds", "CPU time of foreground work.", sums.foreground);
    text.counter("background_cpu", "seconds", "CPU time of background work.", sums.background);
    text.counter("still", "seconds", "Time for which background work stood still.", sums.still);
    text.counter("cost_cpu", "seconds", "CPU time of the guard itself.", sums.cost);
    text.counter("looks", "", "How often the guard looked.", sums.looks as f64);
    text.0 + "# EOF\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_policy::Contract;
    use crosstalk_policy::{Offers, Policy};
    use std::collections::BTreeSet;
    use std::time::Duration;

    #[test]
    fn each_family_is_told_once_with_its_type_and_the_end_is_marked() {
        let offers = Offers { idle: true, turns: true, still: true, cores: true, memory: true, io: true };
        let mut policy = Policy::new(Contract { slowdown: 0.01, busy: 0.05 }, offers, 2);
        let probe = Probe { compute: 1e-6, latency: 2e-6, bandwidth: 3e-6 };
        let sense = Sense { probe: Some(probe), ..Sense::quiet(2, 0.05) };
        let decision = policy.step(Duration::from_secs(1), &sense);
        let told = text(&decision, &sense, &Sums::default(), 0.01);
        assert!(told.ends_with("\n# EOF\n") && !told.contains("\n\n"));
        let mut families = BTreeSet::new();
        let mut family = String::new();
        for line in told.lines().filter(|line| *line != "# EOF") {
            if let Some(typed) = line.strip_prefix("# TYPE ") {
                family = typed.split(' ').next().expect("a name").to_string();
                assert!(families.insert(family.clone()), "{family} twice");
            } else if line.starts_with('#') {
                assert_eq!(line.split(' ').nth(2), Some(family.as_str()), "{line}");
            } else {
                let (name, value) = line.rsplit_once(' ').expect("a value");
                assert!(name.starts_with(&family), "{line} in {family}");
                assert!(value == "+Inf" || value.parse::<f64>().is_ok(), "{line}");
            }
        }
        assert!(told.contains("crosstalk_guard_background_cpu_seconds_total 0\n"));
        assert!(told.contains("crosstalk_guard_granted_memory_bytes +Inf\n"));
        assert!(told.contains("crosstalk_guard_contention_ratio{kind=\"latency\"} 1\n"));
    }
}
