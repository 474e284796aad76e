//! A metric of the program's own: a number in what it writes to its standard output.

use crosstalk_core::record::{Better, Metric};
use crosstalk_core::value::Params;
use crosstalk_core::{Fault, quoted};
use regex_lite::Regex;

use super::METRICS;

/// The metric, and how its value is found.
#[derive(Debug, Clone)]
pub struct Own {
    /// As the study knows it.
    pub metric: Metric,
    pattern: Regex,
}

/// Which way it may be better.
const BETTER: [&str; 3] = ["lower", "higher", "neither"];

impl Own {
    /// The metric that the parameters declare, if they do.
    ///
    /// # Errors
    /// A usage fault that names the parameter.
    pub fn read(params: &Params) -> Result<Option<Self>, Fault> {
        let name = params.text("metric", "")?;
        if name.is_empty() {
            let alone = ["pattern", "better", "unit"].into_iter().find(|other| params.get(other).is_some());
            return match alone {
                None => Ok(None),
                Some(other) => Err(Fault::usage("there is no metric that it could be about")
                    .at(format!("parameter `{other}`"))
                    .remedy("give the metric a name: metric = \"requests\"")),
            };
        }
        let metric = Metric::new(checked(name)?, params.text("unit", "")?, better(params)?);
        Ok(Some(Own { metric, pattern: pattern(params)? }))
    }

    /// Its value in what the program has written: the last that the pattern finds.
    ///
    /// # Errors
    /// Where the pattern finds nothing, or something that is no number.
    pub fn value(&self, written: &[u8]) -> Result<f64, Fault> {
        let text = String::from_utf8_lossy(written);
        let name = &self.metric.name;
        let last = self.pattern.captures_iter(&text).last();
        let found = last.as_ref().and_then(|found| found.get(1)).ok_or_else(|| {
            Fault::attempt(format!(
                "metric `{name}` is not in what the program has written: the last {} bytes of its standard output \
                 have nothing like {}",
                written.len(),
                self.pattern.as_str()
            ))
            .of_parameter("pattern")
            .remedy("run the command by hand, and compare what it writes to its standard output")
        })?;
        let number = found.as_str().trim().parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| {
            Fault::attempt(format!(
                "expected a number for metric `{name}`, found `{}`",
                quoted(found.as_str())
            ))
            .of_parameter("pattern")
            .remedy("have the parentheses hold the number alone, as in '([0-9.]+) requests'")
        })
    }
}

/// A name that nothing else has.
fn checked(name: &str) -> Result<&str, Fault> {
    let fault = |message: String| Err(Fault::usage(message).of_parameter("metric"));
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(plain) {
        return fault(format!(
            "expected letters, digits and `_`, the first a letter, found `{}`",
            quoted(name)
        ));
    }
    if METRICS.iter().any(|(known, ..)| *known == name) {
        return fault(format!("`{name}` is a metric of every command: take another name"));
    }
    Ok(name)
}

fn better(params: &Params) -> Result<Better, Fault> {
    // Nobody can guess it, and a wrong guess turns the verdict around.
    if params.get("better").is_none() {
        return Err(Fault::usage("expected which way the metric is better, found nothing")
            .of_parameter("better")
            .remedy("write better = \"higher\", \"lower\", or \"neither\" for what only explains"));
    }
    Ok(match params.choice("better", &BETTER)? {
        "lower" => Better::Lower,
        "higher" => Better::Higher,
        _ => Better::Neither,
    })
}

fn pattern(params: &Params) -> Result<Regex, Fault> {
    let wrong = |message: String| {
        Fault::usage(message)
            .of_parameter("pattern")
            .remedy("write a regular expression with the number in parentheses: '([0-9.]+) requests'")
    };
    let text = params.text("pattern", "")?;
    if text.is_empty() {
        return Err(wrong("expected where the metric's number stands, found nothing".into()));
    }
    let pattern =
        Regex::new(text).map_err(|e| wrong(format!("this is no regular expression: {e}: {text}")))?;
    match pattern.captures_len() - 1 {
        1 => Ok(pattern),
        groups => Err(wrong(format!("expected one pair of parentheses, found {groups} in {text}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn declared(pattern: &str) -> Params {
        Params::default()
            .with("metric", "requests")
            .with("unit", "/s")
            .with("better", "higher")
            .with("pattern", pattern)
    }

    fn value(pattern: &str, written: &str) -> Result<f64, Fault> {
        Own::read(&declared(pattern)).expect("reads").expect("is declared").value(written.as_bytes())
    }

    #[test]
    fn the_last_number_that_the_pattern_finds_counts() {
        let pattern = r"([0-9.]+) requests/s";
        assert_eq!(value(pattern, "warm-up: 3 requests/s\n12.5 requests/s\nbye\n"), Ok(12.5));
        assert_eq!(value(r"rate: +(\S+)", "rate:   -1e3\n"), Ok(-1000.0));
        let own = Own::read(&declared(pattern)).expect("reads").expect("is declared");
        assert_eq!(own.metric, Metric::new("requests", "/s", Better::Higher));
        assert!(Own::read(&Params::default()).expect("reads").is_none(), "nothing is declared");
    }

    #[test]
    fn what_is_not_there_or_no_number_fails_the_attempt_with_place_and_remedy() {
        for (pattern, written, said) in [
            (r"([0-9]+) requests", "no such thing", "have nothing like ([0-9]+) requests"),
            (r"([0-9]+)? requests", "many requests", "is not in what the program has written"),
            (r"(\w+) requests", "many requests", "found `many`"),
            (r"(\w+) requests", "inf requests", "found `inf`"),
        ] {
            let fault = value(pattern, written).expect_err("fails");
            assert_eq!(fault.kind, crosstalk_core::FaultKind::Attempt);
            assert_eq!(fault.parameter.as_deref(), Some("pattern"));
            assert!(fault.message.contains(said) && fault.remedy.is_some(), "{fault}");
        }
    }

    #[test]
    fn a_declaration_that_is_wrong_names_its_parameter() {
        let without = |name: &str| {
            let mut params = declared("(.)");
            params.0.remove(name);
            params
        };
        for (params, parameter) in [
            (without("metric"), "pattern"),
            (without("pattern"), "pattern"),
            (without("better"), "better"),
            (declared("("), "pattern"),
            (declared("[0-9]+"), "pattern"),
            (declared("(.)(.)"), "pattern"),
            (declared("(.)").with("metric", "run_time"), "metric"),
            (declared("(.)").with("metric", "a b"), "metric"),
        ] {
            let fault = Own::read(&params).expect_err("refused");
            assert_eq!(fault.parameter.as_deref(), Some(parameter), "{fault}");
        }
        let fault = Own::read(&declared("(.)").with("better", "hihger")).expect_err("refused");
        assert_eq!(fault.remedy.as_deref(), Some("did you mean `higher`?"));
    }

    proptest! {
        #[test]
        fn no_text_panics(pattern in "\\PC{0,20}", written in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(Some(own)) = Own::read(&declared(&pattern)) {
                let _ = own.value(&written);
            }
        }
    }
}
