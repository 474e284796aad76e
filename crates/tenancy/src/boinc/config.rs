//! The client's two files of settings: `cc_config.xml`, of which one setting is
//! changed and all else kept, and `global_prefs_override.xml`, which is written whole.
//!
//! Source: BOINC's pages on client configuration and preferences, `lib/cc_config.cpp`,
//! `lib/prefs.cpp`.

use super::dialect::first;

/// `cc_config.xml` with so many processors to use (`None`: as many as there are), and
/// all else as it was. An empty text, or one that is no such file, becomes one.
///
/// The client takes the last of several settings, so only one is left.
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

/// How many processors the client is told to take itself to have; a number below 1 tells nothing.
pub fn cores(config: &str) -> Option<u32> {
    let options = first(first(config, "cc_config")?.body, "options")?;
    let told = options.elements().filter(|element| element.name == "ncpus").last()?;
    told.value::<u32>().filter(|cores| *cores > 0)
}

/// A text without the elements of that name.
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

/// When and how much a client may compute. What is not here is as BOINC has it by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preferences {
    /// Of the processors that it knows of, the share that it may use, from 0 to 1.
    pub cores: f64,
    /// Of the time, the share that it may compute, from 0 to 1: it stops all tasks and
    /// starts them again, second by second.
    pub time: f64,
    /// Suspends all tasks while other programs use more than this share of the
    /// processors; 0 never does.
    pub others_below: f64,
    /// Of the memory, the share that it may use, from 0 to 1.
    pub memory: f64,
    /// Seconds of work that it keeps in store.
    pub store: f64,
}

impl Default for Preferences {
    /// All of the machine, whatever else it does.
    fn default() -> Self {
        Preferences { cores: 1.0, time: 1.0, others_below: 0.0, memory: 0.9, store: 600.0 }
    }
}

impl Preferences {
    /// As the client reads them.
    pub fn to_file(self) -> String {
        let percent = |share: f64| share.clamp(0.0, 1.0) * 100.0;
        let settings = [
            ("run_on_batteries", 1.0),
            ("run_if_user_active", 1.0),
            ("run_gpu_if_user_active", 1.0),
            ("leave_apps_in_memory", 1.0),
            ("suspend_cpu_usage", percent(self.others_below)),
            ("max_ncpus_pct", percent(self.cores)),
            ("cpu_usage_limit", percent(self.time)),
            ("ram_max_used_busy_pct", percent(self.memory)),
            ("ram_max_used_idle_pct", percent(self.memory)),
            ("vm_max_used_pct", 100.0),
            ("disk_max_used_gb", 0.0),
            ("disk_max_used_pct", 100.0),
            ("disk_min_free_gb", 0.01),
            ("disk_interval", 60.0),
            ("work_buf_min_days", self.store.max(0.0) / 86_400.0),
            ("work_buf_additional_days", 0.0),
        ];
        let lines: String =
            settings.iter().map(|(name, value)| format!("<{name}>{value:.6}</{name}>\n")).collect();
        format!("<global_preferences>\n{lines}</global_preferences>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boinc::dialect::Element;
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
    fn preferences_are_percent_and_days() {
        let file = Preferences { time: 0.5, store: 864.0, ..Preferences::default() }.to_file();
        let prefs = first(&file, "global_preferences").expect("is one");
        let value = |name| first(prefs.body, name).map(|e: Element<'_>| e.number());
        assert_eq!(value("cpu_usage_limit"), Some(50.0));
        assert_eq!(value("work_buf_min_days"), Some(0.01));
        assert_eq!(value("suspend_cpu_usage"), Some(0.0));
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
