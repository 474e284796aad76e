//! How a level of `protect` is written.

use std::ops::RangeInclusive;

use crosstalk_core::Fault;
use crosstalk_core::name::nearest;
use crosstalk_core::units;
use crosstalk_core::value::Value;

use crosstalk_policy::SLOWDOWN;

/// What is done about background work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Level {
    /// Nothing.
    None,
    /// The greatest nice value.
    Nice,
    /// The policy SCHED_IDLE.
    SchedIdle,
    /// A group in the idle class.
    CpuIdle,
    /// A group that gets this share of all processors' time at most.
    Quota(f64),
    /// A group that yields, and a guard that keeps foreground work's slowdown to this share.
    Guard(f64),
}

/// What can be given of all processors.
const QUOTA: RangeInclusive<f64> = 0.01..=1.0;
/// The slowdown by default.
const ONE_PERCENT: f64 = 0.01;

const WORDS: [&str; 6] = ["none", "nice", "sched-idle", "cpu-idle", "quota", "guard"];

impl Level {
    /// Reads it.
    ///
    /// # Errors
    /// A usage fault that names the levels there are.
    pub(super) fn parse(value: &Value) -> Result<Level, Fault> {
        let written = value.to_string();
        let (word, share) = match written.trim().split_once(' ') {
            Some((word, share)) => (word, Some(share)),
            None => (written.trim(), None),
        };
        let within = |range: RangeInclusive<f64>| {
            let read = share.and_then(|text| units::share(text).ok()).filter(|share| range.contains(share));
            read.ok_or_else(|| {
                let (least, most) = (range.start() * 100.0, range.end() * 100.0);
                Fault::usage(format!(
                    "expected `{word}` with a share from {least}% to {most}%, found `{written}`"
                ))
                .remedy(format!("write for example \"{word} 10%\""))
            })
        };
        Ok(match (word, share) {
            ("none", None) => Level::None,
            ("nice", None) => Level::Nice,
            ("sched-idle", None) => Level::SchedIdle,
            ("cpu-idle", None) => Level::CpuIdle,
            ("quota", _) => Level::Quota(within(QUOTA)?),
            ("guard", None) => Level::Guard(ONE_PERCENT),
            ("guard", Some(_)) => Level::Guard(within(SLOWDOWN)?),
            _ => return Err(unknown(word, &written)),
        })
    }
}

fn unknown(word: &str, written: &str) -> Fault {
    let levels = "none, nice, sched-idle, cpu-idle, quota N%, guard, guard N%";
    let fault = Fault::usage(format!("expected one of {levels}, found `{written}`"));
    match nearest(word, WORDS).filter(|near| *near != word) {
        Some(near) => fault.remedy(format!("did you mean `{near}`?")),
        None => fault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Level, Fault> {
        Level::parse(&text.into())
    }

    #[test]
    fn levels_are_read() {
        let cases = [
            ("none", Level::None),
            ("nice", Level::Nice),
            ("sched-idle", Level::SchedIdle),
            ("cpu-idle", Level::CpuIdle),
            ("quota 50%", Level::Quota(0.5)),
            ("guard", Level::Guard(0.01)),
            ("guard 5 %", Level::Guard(0.05)),
            (" guard  0.1% ", Level::Guard(0.001)),
        ];
        for (text, level) in cases {
            assert_eq!(parse(text), Ok(level), "{text}");
        }
    }

    #[test]
    fn what_is_no_level_is_answered_with_those_there_are() {
        for text in ["", "quota", "quota 0%", "quota 101%", "quota half", "guard 0%", "guard 5", "nice 5%"] {
            let fault = parse(text).expect_err(text);
            assert!(fault.message.contains(&format!("`{text}`")), "{fault}");
        }
        assert_eq!(parse("gaurd").expect_err("no word").remedy.as_deref(), Some("did you mean `guard`?"));
        assert!(parse("guard 200%").expect_err("too much").message.contains("100%"));
        assert!(Level::parse(&5.into()).is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(guard|quota|nice)?[ 0-9.%e-]{0,9}\\PC{0,3}") {
            let _ = parse(&text);
        }
    }
}
