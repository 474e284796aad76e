//! The client's own settings, as `global_prefs_override.xml` has them.
//!
//! Source: BOINC's page on preferences, `lib/prefs.cpp`.

use std::str::FromStr;

use crosstalk_core::Fault;
use crosstalk_core::units;

/// A client's own limits. Written `none`, `time N%` or `processors N%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preferences {
    /// Share of the time in which it computes; its tasks are paused for the rest of each second or so.
    pub time: f64,
    /// Share of the processors that it uses.
    pub processors: f64,
}

impl Default for Preferences {
    fn default() -> Self {
        Preferences { time: 1.0, processors: 1.0 }
    }
}

impl FromStr for Preferences {
    type Err = Fault;

    fn from_str(written: &str) -> Result<Self, Fault> {
        let all = Preferences::default();
        if written.trim() == "none" {
            return Ok(all);
        }
        let read = || {
            let (word, share) = written.trim().split_once(' ')?;
            let share = units::share(share).ok().filter(|share| (0.01..=1.0).contains(share))?;
            match word {
                "time" => Some(Preferences { time: share, ..all }),
                "processors" => Some(Preferences { processors: share, ..all }),
                _ => None,
            }
        };
        read().ok_or_else(|| {
            Fault::usage(format!(
                "expected none, or time or processors with a share from 1% to 100%, found `{written}`"
            ))
            .remedy("write for example \"time 50%\"")
        })
    }
}

impl Preferences {
    /// How many tasks a client with so many processors runs at a time: at least one, and none without
    /// processors.
    pub fn tasks(&self, cores: u32) -> u32 {
        ((f64::from(cores) * self.processors) as u32).max(1).min(cores)
    }

    /// The text of `global_prefs_override.xml` with these limits.
    pub fn file(&self) -> String {
        let settings = [
            ("run_on_batteries", 1.0),
            ("run_if_user_active", 1.0),
            ("run_gpu_if_user_active", 1.0),
            ("leave_apps_in_memory", 1.0),
            // Percentage of other programs' CPU use that pauses its tasks; 0: none does.
            ("suspend_cpu_usage", 0.0),
            ("max_ncpus_pct", 100.0 * self.processors),
            ("cpu_usage_limit", 100.0 * self.time),
            ("ram_max_used_busy_pct", 90.0),
            ("ram_max_used_idle_pct", 90.0),
            ("vm_max_used_pct", 100.0),
            ("disk_max_used_gb", 0.0),
            ("disk_max_used_pct", 100.0),
            ("disk_min_free_gb", 0.01),
            ("disk_interval", 60.0),
            // Ten minutes.
            ("work_buf_min_days", 600.0 / 86_400.0),
            ("work_buf_additional_days", 0.0),
        ];
        let lines: String =
            settings.iter().map(|(name, value)| format!("<{name}>{value:.6}</{name}>\n")).collect();
        format!("<global_preferences>\n{lines}</global_preferences>\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::first;

    #[test]
    fn preferences_are_one_element_with_one_setting_each() {
        let file = "time 25%".parse::<Preferences>().expect("is one").file();
        let prefs = first(&file, "global_preferences").expect("is one");
        let names: Vec<&str> = prefs.elements().map(|element| element.name).collect();
        assert_eq!(names.len(), 16);
        let number = |name| first(prefs.body, name).map(|store| store.number());
        assert_eq!(number("work_buf_min_days"), Some(0.006944));
        assert_eq!((number("cpu_usage_limit"), number("max_ncpus_pct")), (Some(25.0), Some(100.0)));
    }

    #[test]
    fn limits_are_read() {
        let read = |written: &str| written.parse::<Preferences>();
        assert_eq!(read("none"), Ok(Preferences::default()));
        assert_eq!(read("processors 50 %"), Ok(Preferences { processors: 0.5, ..Preferences::default() }));
        for wrong in ["", "all", "time", "time 0%", "time 101%", "cpus 50%", "time 50", "time half"] {
            let fault = read(wrong).expect_err(wrong);
            assert!(fault.message.contains(&format!("`{wrong}`")), "{fault}");
        }
        let half = read("processors 50%").expect("is one");
        assert_eq!([0, 1, 2, 5, 50].map(|cores| half.tasks(cores)), [0, 1, 1, 2, 25]);
    }
}
