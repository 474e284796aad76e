//! Parameters that several probes have.

use crosstalk_core::Fault;
use crosstalk_core::parameter::Parameter;
use crosstalk_core::units::{Bytes, Seconds, human};
use crosstalk_core::value::{Params, Value};

/// The parameter `pin` of probes with a client and a server.
pub const PIN: Parameter = Parameter::new("pin", "none", "processors of the client and the server, \"0,1\"");

/// The parameter `pin` of probes of one machine.
pub const PIN_ONE: Parameter = Parameter::new("pin", "none", "the processor to run on");

/// The parameter `size`: one, or a list.
pub fn parse_sizes(params: &Params, default: Bytes) -> Result<Vec<Bytes>, Fault> {
    match params.get("size") {
        Some(Value::List(list)) if list.is_empty() => {
            Err(Fault::usage("expected at least one size, found none").of_parameter("size"))
        }
        Some(Value::List(list)) => {
            list.iter().map(|v| Params::default().with("size", v.clone()).size("size", default)).collect()
        }
        _ => Ok(vec![params.size("size", default)?]),
    }
}

/// The parameter `pin`: the processors of the client and the server (`"0,1"`, `[0, 1]`); one number
/// is the client's.
pub fn parse_pins(params: &Params) -> Result<[Option<usize>; 2], Fault> {
    let wrong = |found: &Value| {
        Fault::usage(format!("expected \"none\" or one or two processors, found `{found}`"))
            .of_parameter("pin")
            .remedy("write for example pin = \"0,1\": the client on 0, the server on 1")
    };
    let Some(value) = params.get("pin") else {
        return Ok([None, None]);
    };
    let words: Vec<String> = match value {
        Value::Text(t) if t == "none" => return Ok([None, None]),
        Value::Text(t) => t.split(',').map(|w| w.trim().to_string()).collect(),
        Value::List(list) => list.iter().map(ToString::to_string).collect(),
        other => vec![other.to_string()],
    };
    let cpus: Vec<usize> =
        words.iter().map(|w| w.parse().map_err(|_| wrong(value))).collect::<Result<_, _>>()?;
    match cpus[..] {
        [client] => Ok([Some(client), None]),
        [client, server] => Ok([Some(client), Some(server)]),
        _ => Err(wrong(value)),
    }
}

/// The parameter `pin` of a probe of one machine.
pub fn parse_one_pin(params: &Params) -> Result<Option<usize>, Fault> {
    match parse_pins(params)? {
        [one, None] => Ok(one),
        _ => Err(Fault::usage("expected one processor")
            .of_parameter("pin")
            .remedy("write for example pin = 0")),
    }
}

/// The parameter `duration`, above zero.
pub fn parse_duration(params: &Params, default: Seconds) -> Result<Seconds, Fault> {
    check_duration("duration", params.seconds("duration", default)?)
}

/// Refuses a duration of zero, or longer than a day.
pub fn check_duration(name: &str, seconds: Seconds) -> Result<Seconds, Fault> {
    if seconds.0 > 0.0 && seconds.0 <= 86_400.0 {
        return Ok(seconds);
    }
    let found = human(seconds.0, "s");
    Err(Fault::usage(format!("expected a duration above zero and of at most a day, found {found}"))
        .of_parameter(name)
        .remedy(format!("write for example {name} = \"1 s\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(values: &[&str]) -> Value {
        Value::List(values.iter().map(|v| Value::from(*v)).collect())
    }

    #[test]
    fn sizes_are_one_or_many() {
        let read = |value: Value| parse_sizes(&Params::default().with("size", value), Bytes(64));
        assert_eq!(parse_sizes(&Params::default(), Bytes(64)), Ok(vec![Bytes(64)]));
        assert_eq!(read("1 KiB".into()), Ok(vec![Bytes(1024)]));
        assert_eq!(read(list(&["1 B", "2 B"])), Ok(vec![Bytes(1), Bytes(2)]));
    }

    #[test]
    fn sizes_of_zero_and_empty_lists_are_refused() {
        for bad in [Value::Int(0), list(&["0 B"]), list(&["64 B", "0 B"]), list(&[])] {
            let fault = parse_sizes(&Params::default().with("size", bad), Bytes(64)).expect_err("is refused");
            assert_eq!(fault.parameter.as_deref(), Some("size"), "{fault}");
        }
    }

    #[test]
    fn processors_are_read_as_written() {
        let read = |value: Value| parse_pins(&Params::default().with("pin", value));
        assert_eq!(parse_pins(&Params::default()), Ok([None, None]));
        assert_eq!(read("none".into()), Ok([None, None]));
        assert_eq!(read("0,1".into()), Ok([Some(0), Some(1)]));
        assert_eq!(read(Value::List(vec![Value::Int(1), Value::Int(0)])), Ok([Some(1), Some(0)]));
        assert_eq!(read(Value::Int(1)), Ok([Some(1), None]));
        for bad in ["x", "0,1,2", "-1", ""] {
            assert!(read(bad.into()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_duration_of_zero_is_refused() {
        assert!(parse_duration(&Params::default().with("duration", "0 s"), Seconds(1.0)).is_err());
        assert!(parse_duration(&Params::default().with("duration", 1e9), Seconds(1.0)).is_err());
    }
}
