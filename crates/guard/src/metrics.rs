//! The guard's numbers as OpenMetrics text (the OpenMetrics specification 1.0), in SI units.

use std::fmt::Write;

use crosstalk_policy::{Decision, Probe, Snapshot, Sums};

/// The text's media type.
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
pub fn text(decision: &Decision, snapshot: &Snapshot, sums: &Sums, budget: f64) -> String {
    let mut text = Text(String::new());
    let (grant, why) = (&decision.grant, &decision.why);
    text.gauge("slowdown_agreed", "ratio", "Slowdown of foreground work that is agreed on.", budget);
    text.gauge(
        "slowdown_expected",
        "ratio",
        "Slowdown of foreground work that is to be expected now.",
        why.expected,
    );
    text.gauge("foreground_processors", "", "Processors that foreground work uses.", snapshot.foreground_cpu);
    text.gauge("background_processors", "", "Processors that background work uses.", snapshot.background_cpu);
    text.gauge("stolen_processors", "", "Processors that other machines take.", snapshot.stolen);
    text.gauge("granted_time", "ratio", "Share of the time that background work may run.", grant.share);
    text.gauge("granted_processors", "", "Processors that background work may use.", grant.cores as f64);
    text.gauge("foreground_busy", "", "Whether foreground work is at work.", f64::from(u8::from(why.busy)));
    text.gauge(
        "grade",
        "",
        "How far the guard goes: 0 idle class, 1 fewer processors, 2 duty cycle, 3 paused.",
        f64::from(decision.grade as u8),
    );
    let kinds = Probe::KINDS.map(|kind| kind.trim_start_matches("memory "));
    let ratios: Vec<(String, f64)> =
        kinds.iter().zip(why.ratios).map(|(kind, ratio)| (format!("{{kind=\"{kind}\"}}"), ratio)).collect();
    text.family(
        "gauge",
        "contention",
        "ratio",
        "How many times as long a probe takes while background work runs.",
        &ratios,
    );
    let probe = snapshot.probe.as_ref().map(Probe::times).unwrap_or_default();
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
        snapshot.memory_stall,
    );
    text.gauge(
        "foreground_io_stall",
        "ratio",
        "Least share of the time that foreground work waits for devices.",
        snapshot.io_stall,
    );
    text.gauge(
        "foreground_refaults",
        "",
        "Pages a second that foreground work fetches again.",
        snapshot.refaults,
    );
    text.gauge(
        "background_memory",
        "bytes",
        "Memory that background work has.",
        snapshot.background_memory as f64,
    );
    text.gauge(
        "wake_up_lateness",
        "seconds",
        "How much later than asked the guard woke up.",
        snapshot.lateness,
    );
    text.counter("foreground_cpu", "seconds", "CPU time of foreground work.", sums.foreground);
    text.counter("background_cpu", "seconds", "CPU time of background work.", sums.background);
    text.counter("paused", "seconds", "Time for which background work was paused.", sums.paused);
    text.counter("cost_cpu", "seconds", "CPU time of the guard itself.", sums.cost);
    text.counter("samples", "", "How often the guard sampled.", sums.samples as f64);
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
    fn each_family_stands_there_once_with_its_type_and_the_end_is_marked() {
        let offers = Offers { idle: true, duty_cycle: true, pause: true, cores: true };
        let mut policy = Policy::new(Contract { slowdown: 0.01, busy: 0.05 }, offers, 2);
        let probe = Probe { compute: 1e-6, latency: 2e-6, bandwidth: 3e-6 };
        let snapshot = Snapshot { probe: Some(probe), ..Snapshot::quiet(2, 0.05) };
        let decision = policy.step(Duration::from_secs(1), &snapshot);
        let text = text(&decision, &snapshot, &Sums::default(), 0.01);
        assert!(text.ends_with("\n# EOF\n") && !text.contains("\n\n"));
        let mut families = BTreeSet::new();
        let mut family = String::new();
        for line in text.lines().filter(|line| *line != "# EOF") {
            if let Some(typed) = line.strip_prefix("# TYPE ") {
                family = typed.split(' ').next().expect("a name").to_string();
                assert!(families.insert(family.clone()), "{family} twice");
            } else if line.starts_with('#') {
                assert_eq!(line.split(' ').nth(2), Some(family.as_str()), "{line}");
            } else {
                let (name, value) = line.rsplit_once(' ').expect("a value");
                assert!(name.starts_with(&family), "{line} in {family}");
                assert!(value.parse::<f64>().is_ok(), "{line}");
            }
        }
        assert!(text.contains("crosstalk_guard_background_cpu_seconds_total 0\n"));
        assert!(text.contains("crosstalk_guard_contention_ratio{kind=\"latency\"} 1\n"));
    }
}
