//! The client's two settings files: `cc_config.xml`, in which one setting is changed and all else kept, and
//! `global_prefs_override.xml`, which is written whole.
//!
//! Source: BOINC's pages on client configuration and preferences, `lib/cc_config.cpp`,
//! `lib/prefs.cpp`.

use std::str::FromStr;

use crosstalk_core::Fault;
use crosstalk_core::units;

use super::markup::first;

/// `cc_config.xml` with so many processors (`None`: all), and all else as it was. A text that is no such file
/// becomes one.
///
/// The client uses the last of several such settings, so only one is left.
pub fn with_cores(config: &str, cores: Option<u32>) -> String {
    let setting = cores.map(|cores| format!("<ncpus>{cores}</ncpus>"));
    let config = without(config, "ncpus");
    let into = |config: &str, tag: &str, put: &str| {
        let at = config.find(tag)? + tag.len();
        Some(format!("{}{put}{}", &config[..at], &config[at..]))
    };
    let Some(setting) = setting else {
        return config;
    };
    into(&config, "<options>", &setting)
        .or_else(|| into(&config, "<cc_config>", &format!("<options>{setting}</options>")))
        .unwrap_or_else(|| format!("<cc_config><options>{setting}</options></cc_config>"))
}

/// How many processors the client is set to have; `None` where it uses all, as with a number below 1.
pub fn cores(config: &str) -> Option<u32> {
    let options = first(first(config, "cc_config")?.body, "options")?;
    let setting = options.elements().filter(|element| element.name == "ncpus").last()?;
    setting.value::<u32>().filter(|cores| *cores > 0)
}

/// A text without its elements of that name.
fn without(text: &str, name: &str) -> String {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find(&open) {
        let Some(end) = rest[begin..].find(&close) else { break };
        kept.push_str(&rest[..begin]);
        rest = &rest[begin + end + close.len()..];
    }
    kept + rest
}

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
}

/// The text of `global_prefs_override.xml` with these limits.
pub fn preferences(share: &Preferences) -> String {
    let settings = [
        ("run_on_batteries", 1.0),
        ("run_if_user_active", 1.0),
        ("run_gpu_if_user_active", 1.0),
        ("leave_apps_in_memory", 1.0),
        // Percentage of other programs' CPU use that pauses its tasks; 0: none does.
        ("suspend_cpu_usage", 0.0),
        ("max_ncpus_pct", 100.0 * share.processors),
        ("cpu_usage_limit", 100.0 * share.time),
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILE: &str = "<cc_config>\n <log_flags>\n  <task>1</task>\n </log_flags>\n <options>\n  <ncpus>4</ncpus>\n  \
        <no_gpus>1</no_gpus>\n </options>\n</cc_config>";

    #[test]
    fn one_setting_changes_and_all_else_stays() {
        let changed = with_cores(FILE, Some(50));
        assert_eq!(cores(&changed), Some(50));
        assert_eq!(with_cores(&changed, None), with_cores(FILE, None));
        assert!(changed.contains("<no_gpus>1</no_gpus>") && changed.contains("<task>1</task>"));
        assert_eq!((cores(FILE), cores(&with_cores(FILE, None))), (Some(4), None));
        assert_eq!(cores(&FILE.replace('4', "-1")), None, "which is as many as there are");
    }

    #[test]
    fn a_file_that_is_not_there_or_is_none_becomes_one() {
        for config in
            ["", "<cc_config></cc_config>", "<cc_config><options></options></cc_config>", "nonsense"]
        {
            assert_eq!(cores(&with_cores(config, Some(1))), Some(1), "{config}");
        }
    }

    #[test]
    fn preferences_are_one_element_with_one_setting_each() {
        let file = preferences(&"time 25%".parse().expect("is one"));
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

    proptest! {
        #[test]
        fn whatever_the_file_says_the_cores_are_those_asked_for(n in 1_u32..1000, noise in "[ a-z\n]{0,20}") {
            let config = format!("{noise}{FILE}{noise}");
            prop_assert_eq!(cores(&with_cores(&config, Some(n))), Some(n));
            prop_assert_eq!(with_cores(&with_cores(&config, Some(n)), None), with_cores(&config, None));
        }
    }
}
