//! A metric that the program prints: a number in its standard output.

use crosstalk_core::record::{Better, Metric};
use crosstalk_core::value::Params;
use crosstalk_core::{Fault, quoted};
use regex_lite::Regex;

use super::metrics::is_command_metric;

/// A metric that is read from a program's output: its declaration, and the pattern of its
/// value.
#[derive(Debug, Clone)]
pub struct CustomMetric {
    /// The metric as the study declares it.
    pub metric: Metric,
    pattern: Regex,
}

/// Values of the parameter `better`.
const BETTER: [&str; 3] = ["lower", "higher", "neither"];

impl CustomMetric {
    /// The metric that the parameters declare; `None` if they declare none.
    ///
    /// # Errors
    /// A usage fault that names the parameter.
    pub fn from_params(params: &Params) -> Result<Option<Self>, Fault> {
        let name = params.text("metric", "")?;
        if name.is_empty() {
            let alone = ["pattern", "better", "unit"].into_iter().find(|other| params.get(other).is_some());
            return match alone {
                None => Ok(None),
                Some(other) => Err(Fault::usage("expected a metric that it belongs to, found none")
                    .of_parameter(other)
                    .remedy("give the metric a name: metric = \"requests\"")),
            };
        }
        let metric = Metric::new(checked(name)?, params.text("unit", "")?, better(params)?);
        Ok(Some(CustomMetric { metric, pattern: pattern(params)? }))
    }

    /// Its value in the program's output: the last match of the pattern.
    ///
    /// # Errors
    /// Where the pattern does not match, or matches something that is no number.
    pub fn value(&self, output: &[u8]) -> Result<f64, Fault> {
        let text = String::from_utf8_lossy(output);
        let name = &self.metric.name;
        let last = self.pattern.captures_iter(&text).last();
        let found = last.as_ref().and_then(|found| found.get(1)).ok_or_else(|| {
            Fault::attempt(format!(
                "metric `{name}` is not in the program's output: the last {} bytes of its standard output do not \
                 match {}",
                output.len(),
                self.pattern.as_str()
            ))
            .of_parameter("pattern")
            .remedy("run the command by hand, and compare its standard output with the pattern")
        })?;
        let number = found.as_str().trim().parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| {
            Fault::attempt(format!(
                "expected a number for metric `{name}`, found `{}`",
                quoted(found.as_str())
            ))
            .of_parameter("pattern")
            .remedy("put the number alone into the parentheses, as in '([0-9.]+) requests'")
        })
    }
}

/// The name, if it is valid and free.
fn checked(name: &str) -> Result<&str, Fault> {
    let fault = |message: String| Err(Fault::usage(message).of_parameter("metric"));
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(plain) {
        return fault(format!(
            "expected letters, digits and `_`, the first a letter, found `{}`",
            quoted(name)
        ));
    }
    if is_command_metric(name) {
        return fault(format!("`{name}` is a metric of every command: take another name"));
    }
    Ok(name)
}

fn better(params: &Params) -> Result<Better, Fault> {
    // There is no default: a wrong one would turn the verdict around.
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
        return Err(wrong("expected a pattern of the metric's number, found none".into()));
    }
    let pattern =
        Regex::new(text).map_err(|e| wrong(format!("expected a regular expression, found {text}: {e}")))?;
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

    fn value(pattern: &str, output: &str) -> Result<f64, Fault> {
        CustomMetric::from_params(&declared(pattern))
            .expect("reads")
            .expect("is declared")
            .value(output.as_bytes())
    }

    #[test]
    fn the_last_match_counts() {
        let pattern = r"([0-9.]+) requests/s";
        assert_eq!(value(pattern, "warm-up: 3 requests/s\n12.5 requests/s\nbye\n"), Ok(12.5));
        assert_eq!(value(r"rate: +(\S+)", "rate:   -1e3\n"), Ok(-1000.0));
        let custom = CustomMetric::from_params(&declared(pattern)).expect("reads").expect("is declared");
        assert_eq!(custom.metric, Metric::new("requests", "/s", Better::Higher));
        assert!(
            CustomMetric::from_params(&Params::default()).expect("reads").is_none(),
            "nothing is declared"
        );
    }

    #[test]
    fn a_missing_or_malformed_number_fails_the_attempt_with_place_and_remedy() {
        for (pattern, output, message) in [
            (r"([0-9]+) requests", "no such thing", "do not match ([0-9]+) requests"),
            (r"([0-9]+)? requests", "many requests", "is not in the program's output"),
            (r"(\w+) requests", "many requests", "found `many`"),
            (r"(\w+) requests", "inf requests", "found `inf`"),
        ] {
            let fault = value(pattern, output).expect_err("fails");
            assert_eq!(fault.kind, crosstalk_core::FaultKind::Attempt);
            assert_eq!(fault.parameter.as_deref(), Some("pattern"));
            assert!(fault.message.contains(message) && fault.remedy.is_some(), "{fault}");
        }
    }

    #[test]
    fn a_wrong_declaration_names_its_parameter() {
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
            let fault = CustomMetric::from_params(&params).expect_err("refused");
            assert_eq!(fault.parameter.as_deref(), Some(parameter), "{fault}");
        }
        let fault =
            CustomMetric::from_params(&declared("(.)").with("better", "hihger")).expect_err("refused");
        assert_eq!(fault.remedy.as_deref(), Some("did you mean `higher`?"));
    }

    proptest! {
        #[test]
        fn no_text_panics(pattern in "\\PC{0,20}", output in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(Some(custom)) = CustomMetric::from_params(&declared(&pattern)) {
                let _ = custom.value(&output);
            }
        }
    }
}
