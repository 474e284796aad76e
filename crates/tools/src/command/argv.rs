//! The workload's parameters: the command line and environment variables.

use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::value::{Params, Value};

/// The parameters of the workload `command`.
pub const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new("argv", "", "the program and its arguments, a list; no shell reads them"),
    Parameter::new("nodes", "1", "number of nodes that run it at once"),
    Parameter::new("env", "none", "pairs of a variable's name and its value"),
    Parameter::new("prepare", "none", "a line for `sh -c` that node 0 runs before each attempt, not timed"),
    Parameter::new("log", "none", "a directory for what each node's program writes"),
    Parameter::new(
        "metric",
        "none",
        "the name of a metric that the program prints, on which the study decides",
    ),
    Parameter::new(
        "pattern",
        "",
        "a regular expression with that metric's number in its only parentheses; its last match in the last 64 KiB of node 0's standard output counts",
    ),
    Parameter::new("better", "", "which way that metric is better: higher, lower or neither"),
    Parameter::new("unit", "none", "that metric's unit, such as s, B or /s"),
]]);

/// The parameter `argv`: the program and its arguments. A text is a program
/// without arguments: it is not split at blanks, and no shell reads it.
pub fn parse_argv(params: &Params) -> Result<Vec<String>, Fault> {
    let words: Vec<String> = match params.get("argv") {
        Some(Value::List(words)) => words.iter().map(ToString::to_string).collect(),
        Some(Value::Text(word)) => vec![word.to_string()],
        _ => Vec::new(),
    };
    if words.first().is_none_or(String::is_empty) {
        return Err(Fault::usage("expected a program and its arguments, found none")
            .of_parameter("argv")
            .remedy("write for example argv = [\"./my-job\", \"--size\", \"10\"]"));
    }
    if words.iter().any(|w| w.contains('\0')) {
        return Err(Fault::usage("an argument holds a zero byte").of_parameter("argv"));
    }
    Ok(words)
}

/// The parameter `env`: pairs of a variable's name and its value.
pub fn parse_env(params: &Params) -> Result<Vec<(String, String)>, Fault> {
    let wrong = || {
        Fault::usage("expected pairs of a name and a value")
            .of_parameter("env")
            .remedy("write for example env = [[\"OMP_NUM_THREADS\", \"4\"]]")
    };
    let pairs = match params.get("env") {
        None => return Ok(Vec::new()),
        Some(Value::List(pairs)) => pairs,
        Some(_) => return Err(wrong()),
    };
    let pair = |value: &Value| match value {
        Value::List(pair) if pair.len() == 2 => {
            let (name, value) = (pair[0].to_string(), pair[1].to_string());
            let sound = !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0');
            sound.then_some((name, value)).ok_or_else(wrong)
        }
        _ => Err(wrong()),
    };
    pairs.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_a_list_of_words() {
        let read = |value: Value| parse_argv(&Params::default().with("argv", value));
        let words = Value::List(vec!["sleep".into(), Value::Int(1)]);
        assert_eq!(read(words), Ok(vec!["sleep".to_string(), "1".to_string()]));
        assert_eq!(read("my job".into()), Ok(vec!["my job".to_string()]));
        for none in [Value::List(vec![]), "".into(), Value::Bool(true)] {
            assert!(read(none).is_err());
        }
    }

    #[test]
    fn variables_are_pairs() {
        let read = |value: Value| parse_env(&Params::default().with("env", value));
        let pair = |name: &str, value: Value| Value::List(vec![name.into(), value]);
        assert_eq!(read(Value::List(vec![pair("N", Value::Int(4))])), Ok(vec![("N".into(), "4".into())]));
        assert_eq!(parse_env(&Params::default()), Ok(vec![]));
        for bad in [pair("N", Value::Int(4)), Value::List(vec![pair("A=B", "c".into())]), "N=4".into()] {
            assert!(read(bad.clone()).is_err(), "{bad:?}");
        }
    }
}
