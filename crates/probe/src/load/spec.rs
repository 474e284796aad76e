//! What to measure: the parameters of the probe.

use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::units::{Bytes, Seconds};
use crosstalk_core::value::{Params, Value, parameter_fault};
use crosstalk_stats::rng::Rng;

use super::saturation::{
    LEAST_RATE as LOWEST_RATE, MEASURED_SHARES, MOST_RATES, TRIES_PER_RATE, TRY_SECONDS,
};
use crate::arguments::{PIN, check_duration, parse_duration, parse_pins};
use crate::latency::session::Session;
use crate::message::ServerStamps;
use crate::mode::Mode;
use crate::session::limits::LONGEST_SILENCE;
use crate::transport::{TRANSPORT, Transport};

/// The parameters of the probe `load`.
pub const PARAMETERS: Parameters = Parameters(&[&[
    TRANSPORT,
    Parameter::new("size", "64 B", "of a message, at least 8 B"),
    Parameter::new(
        "rate",
        "shares of the saturation, which is searched for",
        "messages a second: one, or a list",
    ),
    Parameter::new("arrivals", "even", "`even`, or `poisson`: at random times"),
    Parameter::new("mode", "blocking", "how the server waits: `blocking` or `polling`"),
    PIN,
    Parameter::new("duration", "1 s", "of each rate"),
    Parameter::new("patience", "200 ms", "how long to wait for replies after the last message"),
]]);

/// The fewest and the most messages of one rate.
const LEAST: f64 = 10.0;
const MOST: f64 = 5e6;

/// What a probe under load measures, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// What carries the messages.
    pub transport: Transport,
    /// The size of a message.
    pub size: Bytes,
    /// Messages a second; `None`: shares of the saturation.
    pub rates: Option<Vec<f64>>,
    /// Whether messages are due at random times.
    pub random: bool,
    /// The seed of the random times.
    pub seed: u64,
    /// How the server waits.
    pub mode: Mode,
    /// Processors of the client and the server; `None`: not pinned.
    pub pin: [Option<usize>; 2],
    /// How long each rate is offered.
    pub duration: Seconds,
    /// How long to wait for replies after the last message.
    pub patience: Seconds,
}

impl Spec {
    /// Reads and checks the workload's parameters.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        let transport = Transport::from_params(params)?;
        let size = params.size("size", Bytes(64))?;
        transport.check_size(size)?;
        if size.0 < 8 {
            let why = format!("a message carries its number in 8 B, found {} B", size.0);
            return Err(parameter_fault("size", why).remedy("take at least 8 B"));
        }
        let duration = parse_duration(params, Seconds(1.0))?;
        let rates = rates(params)?;
        let count = |rate: &&f64| !(LEAST..=MOST).contains(&(**rate * duration.0).round());
        if let Some(rate) = rates.iter().flatten().find(count) {
            let why = format!(
                "expected {LEAST} to {MOST:e} messages, and {rate} a second for {} s are not",
                duration.0
            );
            return Err(parameter_fault("rate", why).remedy("take another rate, or another duration"));
        }
        Ok(Spec {
            transport,
            size,
            rates,
            random: params.choice("arrivals", &["even", "poisson"])? == "poisson",
            seed: 1,
            mode: Mode::from_params(params)?,
            pin: parse_pins(params)?,
            duration,
            patience: check_duration("patience", params.seconds("patience", Seconds(0.2))?)?,
        })
    }

    /// Whether the server sleeps while it waits.
    pub fn server_sleeps(&self) -> bool {
        self.mode == Mode::Blocking
    }

    /// About how long the measurement takes, in seconds.
    pub fn seconds(&self) -> f64 {
        let each = self.duration.0 + self.patience.0;
        match &self.rates {
            Some(rates) => rates.len() as f64 * each,
            None => {
                MEASURED_SHARES.len() as f64 * each
                    + (TRIES_PER_RATE * MOST_RATES) as f64 * (TRY_SECONDS + self.patience.0)
            }
        }
    }

    /// The session with the server.
    pub fn session(&self) -> Session {
        Session {
            transport: self.transport,
            size: self.size.0,
            mode: self.mode,
            stamps: ServerStamps::None,
            pin: self.pin[1],
            seconds: self.seconds(),
            idle: self.longest_gap() + self.patience.0 + LONGEST_SILENCE.as_secs_f64(),
        }
    }

    /// The longest time between two messages, in seconds; exceeded once in 10⁸ at random times.
    fn longest_gap(&self) -> f64 {
        let slowest = match &self.rates {
            Some(rates) => rates.iter().copied().fold(f64::INFINITY, f64::min),
            None => LOWEST_RATE / 2.0 * MEASURED_SHARES[0],
        };
        if self.random { 20.0 / slowest } else { 1.0 / slowest }
    }

    /// When messages are due at `rate` for `seconds`: nanoseconds from the beginning, ascending.
    pub fn schedule(&self, rate: f64, seconds: f64) -> Vec<u64> {
        let count = ((rate * seconds).round().clamp(1.0, MOST)) as usize;
        let gap = 1e9 / rate;
        if !self.random {
            return (0..count).map(|place| (place as f64 * gap) as u64).collect();
        }
        let mut rng = Rng::seeded(self.seed ^ (count as u64) << 32);
        let mut due = 0.0;
        let next = |_| {
            let now = due;
            due -= (1.0 - rng.uniform()).ln() * gap;
            now as u64
        };
        (0..count).map(next).collect()
    }
}

/// The parameter `rate`.
fn rates(params: &Params) -> Result<Option<Vec<f64>>, Fault> {
    let rate = |value: &Value| match value.number() {
        Some(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        _ => Err(parameter_fault("rate", format!("expected messages a second, above zero, found `{value}`"))),
    };
    match params.get("rate") {
        None => Ok(None),
        Some(Value::List(rates)) if rates.is_empty() => {
            Err(parameter_fault("rate", "expected at least one, found none".into()))
        }
        Some(Value::List(rates)) => rates.iter().map(rate).collect::<Result<_, _>>().map(Some),
        Some(one) => Ok(Some(vec![rate(one)?])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(pairs: &[(&str, Value)]) -> Result<Spec, Fault> {
        let params = pairs.iter().fold(Params::default(), |p, (name, value)| p.with(name, value.clone()));
        Spec::from_params(&params)
    }

    #[test]
    fn messages_are_due_evenly_or_at_random_as_often() {
        let even = spec(&[]).expect("reads").schedule(1000.0, 0.5);
        assert_eq!((even.len(), even[0], even[1]), (500, 0, 1_000_000));
        let random = spec(&[("arrivals", "poisson".into())]).expect("reads").schedule(1e5, 1.0);
        let last = *random.last().expect("some") as f64 * 1e-9;
        assert!((last - 1.0).abs() < 0.02, "{last}");
        assert!(random.windows(2).all(|pair| pair[0] <= pair[1]));
        // Of exponential gaps as many exceed the mean as e⁻¹ says.
        let long = random.windows(2).filter(|pair| pair[1] - pair[0] > 10_000).count() as f64 / 1e5;
        assert!((long - (-1.0_f64).exp()).abs() < 0.01, "{long}");
    }

    #[test]
    fn rates_that_cannot_be_offered_are_refused() {
        for (name, value) in [
            ("rate", Value::Int(0)),
            ("rate", "fast".into()),
            ("rate", Value::List(vec![])),
            ("rate", Value::Float(1e9)),
            ("size", "4 B".into()),
            ("arrivals", "odd".into()),
        ] {
            let fault = spec(&[(name, value.clone())]).expect_err("refused");
            assert!(fault.to_string().contains(name), "{fault}");
        }
    }
}
