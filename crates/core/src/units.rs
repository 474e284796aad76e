//! Quantities with units. Machine-readable output is in base units (seconds, bytes,
//! bits a second, hertz); output for people has prefixes.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::str::FromStr;

use crate::quote::number;
use crate::{Fault, quoted};

mod amount;

pub use amount::Amount;

/// A duration in seconds.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize)]
#[serde(transparent)]
pub struct Seconds(pub f64);

/// A size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A rate in bits a second.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize)]
#[serde(transparent)]
pub struct BitRate(pub f64);

/// A frequency in hertz.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize)]
#[serde(transparent)]
pub struct Hertz(pub f64);

type Unit = (&'static str, f64);

const TIME: &[Unit] = &[
    ("s", 1.0),
    ("ms", 1e-3),
    ("µs", 1e-6),
    ("us", 1e-6),
    ("μs", 1e-6),
    ("ns", 1e-9),
    ("ps", 1e-12),
    ("min", 60.0),
    ("h", 3600.0),
];
const SIZE: &[Unit] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];
const RATE: &[Unit] = &[
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("Tbit/s", 1e12),
    ("B/s", 8.0),
    ("kB/s", 8e3),
    ("MB/s", 8e6),
    ("GB/s", 8e9),
    // As network cards and `tc` write rates (only in `tc`, `kbps` means kilobytes a second).
    ("kbps", 1e3),
    ("Mbps", 1e6),
    ("Gbps", 1e9),
    ("kbit", 1e3),
    ("Mbit", 1e6),
    ("Gbit", 1e9),
];
const FREQUENCY: &[Unit] = &[("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)];

/// Splits `text` into a number and the unit behind it.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let split = text
        .char_indices()
        .find(|(i, c)| {
            // `1e-3 s`: an exponent belongs to the number when a digit or sign follows.
            let exponent = matches!(c, 'e' | 'E')
                && text[i + 1..].starts_with(|n: char| n.is_ascii_digit() || n == '-' || n == '+');
            !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_') || exponent)
        })
        .map_or(text.len(), |(i, _)| i);
    let (number, unit) = text.split_at(split);
    (number, unit.trim())
}

fn parse(text: &str, what: &str, units: &[Unit], example: &str) -> Result<f64, Fault> {
    let text = text.trim();
    let (number, unit) = split(text);
    let number: f64 = number.replace('_', "").parse().map_err(|_| {
        Fault::usage(format!("expected {what}, found `{}`", quoted(text)))
            .remedy(format!("write for example \"{example}\""))
    })?;
    // A plain number is a time in seconds. A plain size or rate could be in several units.
    if unit.is_empty() && units[0].0 == TIME[0].0 {
        return Ok(number);
    }
    if unit.is_empty() {
        return Err(Fault::usage(format!("{what} needs a unit, found `{}`", quoted(text)))
            .remedy(format!("write for example \"{example}\"")));
    }
    match units.iter().find(|(name, _)| *name == unit) {
        Some((_, factor)) => Ok(number * factor),
        None => Err(bare_prefix(unit, units)
            .unwrap_or_else(|| crate::name::unknown("unit", unit, units.iter().map(|u| u.0)))),
    }
}

/// Parses a share of a whole as a ratio: `5 %`, `5%` and `0.05` are the same. A plain number from 1 on is
/// refused, since it could mean percent.
///
/// # Errors
/// A usage fault if it is neither, or negative.
pub fn share(text: &str) -> Result<f64, Fault> {
    let read =
        |text: &str| text.trim().parse::<f64>().ok().filter(|number| *number >= 0.0 && number.is_finite());
    let share = match text.trim().strip_suffix('%') {
        Some(percent) => read(percent).map(|number| number / 100.0),
        None => read(text).filter(|number| *number < 1.0),
    };
    share.ok_or_else(|| {
        Fault::usage(format!("expected a share such as 5 % or 0.05, found `{}`", quoted(text)))
            .remedy("write for example '5 %'")
    })
}

/// The fault of a size whose unit is a prefix alone, such as `4 G`. Some tools mean a power of ten by it,
/// others a power of two.
fn bare_prefix(unit: &str, units: &[Unit]) -> Option<Fault> {
    let prefixes = [("K", "kB", "KiB"), ("M", "MB", "MiB"), ("G", "GB", "GiB"), ("T", "TB", "TiB")];
    let place = prefixes.iter().position(|(prefix, ..)| prefix.eq_ignore_ascii_case(unit))?;
    let (_, tens, twos) = prefixes[place];
    let (ten, two) = (3 * (place + 1), 10 * (place + 1));
    units
        .iter()
        .any(|(name, _)| *name == twos)
        .then(|| Fault::usage(format!("`{unit}` is not clear: `{tens}` is 10^{ten}, `{twos}` is 2^{two}")))
}

/// A quantity in a file: a number in base units, or text with a unit.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum NumberOrText {
    Number(f64),
    Text(String),
}

macro_rules! quantity {
    ($name:ident, $inner:ty, $what:literal, $units:expr, $example:literal, $convert:expr) => {
        impl FromStr for $name {
            type Err = Fault;
            fn from_str(text: &str) -> Result<Self, Fault> {
                let convert: fn(f64) -> Option<$inner> = $convert;
                let amount = parse(text, $what, $units, $example)?;
                convert(amount).map($name).ok_or_else(|| {
                    Fault::usage(format!("expected {}, found `{}`", bounded($what, amount, $units), quoted(text)))
                        .remedy(concat!("write for example \"", $example, "\""))
                })
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                use serde::de::Error;
                let convert: fn(f64) -> Option<$inner> = $convert;
                match NumberOrText::deserialize(d)
                    .map_err(|_| D::Error::custom(concat!("expected ", $what, ", for example \"", $example, "\"")))?
                {
                    NumberOrText::Number(n) => convert(n).map($name).ok_or_else(|| {
                        D::Error::custom(format!("expected {}, found `{}`", bounded($what, n, $units), number(n)))
                    }),
                    NumberOrText::Text(t) => t.parse().map_err(D::Error::custom),
                }
            }
        }
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "description": concat!($what, ": a number in base units, or text with a unit such as \"", $example, "\""),
                    "type": ["number", "string"]
                })
            }
        }
    };
}

/// What was expected, with the upper bound if the number exceeds it.
fn bounded(what: &str, number: f64, units: &[Unit]) -> String {
    let is_size = units[0].0 == SIZE[0].0;
    if is_size && number >= LARGEST { format!("{what} below 8 EiB") } else { what.into() }
}

/// More bytes than a file or memory can have (`loff_t`): 8 EiB.
pub(crate) const LARGEST: f64 = 9_223_372_036_854_775_808.0;

fn not_negative(v: f64) -> Option<f64> {
    (v.is_finite() && v >= 0.0).then_some(v)
}
quantity!(Seconds, f64, "a duration", TIME, "200 ms", not_negative);
quantity!(Bytes, u64, "a size", SIZE, "64 KiB", |v| not_negative(v)
    .filter(|v| *v < LARGEST)
    .map(|v| v.round() as u64));
quantity!(BitRate, f64, "a rate", RATE, "2.5 Gbit/s", not_negative);
quantity!(Hertz, f64, "a frequency", FREQUENCY, "2.4 GHz", not_negative);

/// `value` with three significant digits and the prefix that suits it.
fn scaled(value: f64, steps: &[(f64, &str)]) -> String {
    if value == 0.0 {
        let base = steps.iter().find(|(factor, _)| *factor == 1.0).unwrap_or(&steps[0]);
        return format!("0 {}", base.1);
    }
    let (factor, unit) =
        steps.iter().rev().find(|(factor, _)| value.abs() >= 0.9995 * factor).unwrap_or(&steps[0]);
    let (scaled, binary) = (value / factor, unit.ends_with("iB"));
    // Most sizes are whole multiples of the unit.
    if binary && scaled.fract() == 0.0 {
        format!("{scaled:.0} {unit}")
    } else {
        format!("{} {unit}", digits(scaled))
    }
}

/// The number as text with three significant digits; with an exponent only below 10⁻⁴ and from 10¹⁵ on.
pub fn digits(v: f64) -> String {
    let magnitude = v.abs();
    if !v.is_finite() {
        format!("{v}")
    } else if magnitude >= 1e15 {
        format!("{v:.2e}")
    } else if magnitude >= 99.95 || magnitude == 0.0 {
        format!("{v:.0}")
    } else if magnitude >= 9.995 {
        format!("{v:.1}")
    } else if magnitude >= 0.0995 {
        format!("{v:.2}")
    } else if magnitude >= 0.0001 {
        format!("{v:.4}")
    } else {
        format!("{v:.2e}")
    }
}

/// A number of base units as text for people, with three digits, a prefix and the unit. Known units: `s`, `B`,
/// `bit/s`, `Hz`, `1/s`, `%` (of a ratio), `ratio`. Any other unit is appended.
pub fn human(value: f64, unit: &str) -> String {
    match unit {
        "s" => scaled(value, &[(1e-12, "ps"), (1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s")]),
        "B" if value.abs() < 1023.5 => format!("{value:.0} B"),
        "B" => scaled(value, &[(1.0, "B"), (1024.0, "KiB"), (1_048_576.0, "MiB"), (1_073_741_824.0, "GiB")]),
        "bit/s" => scaled(
            value,
            &[(1.0, "bit/s"), (1e3, "kbit/s"), (1e6, "Mbit/s"), (1e9, "Gbit/s"), (1e12, "Tbit/s")],
        ),
        "B/s" => scaled(value, &[(1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s")]),
        "Hz" => scaled(value, &[(1.0, "Hz"), (1e3, "kHz"), (1e6, "MHz"), (1e9, "GHz")]),
        "%" => format!("{} %", digits(value * 100.0)),
        "ratio" => format!("{} ×", digits(value)),
        "" => digits(value),
        "1/s" | "/s" => scaled(value, &[(1.0, "/s"), (1e3, "k/s"), (1e6, "M/s"), (1e9, "G/s")]),
        other => {
            scaled(value, &[(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")]).trim_end().to_string()
                + " "
                + other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_read_as_written() {
        assert_eq!("2.5 Gbit/s".parse(), Ok(BitRate(2.5e9)));
        assert_eq!("64KiB".parse(), Ok(Bytes(65_536)));
        assert_eq!("1 MB".parse(), Ok(Bytes(1_000_000)));
        assert_eq!(
            "1e30 GiB".parse::<Bytes>().expect_err("nowhere").message,
            "expected a size below 8 EiB, found `1e30 GiB`"
        );
        assert_eq!("30 µs".parse::<Seconds>().map(|s| (s.0 * 1e9).round()), Ok(30_000.0));
        assert_eq!("1e-3 s".parse(), Ok(Seconds(1e-3)));
        assert_eq!("2.4 GHz".parse(), Ok(Hertz(2.4e9)));
    }

    #[test]
    fn a_count_a_second_has_its_prefix_before_the_slash() {
        assert_eq!(
            [9990.0, 500.0, 0.0, 2.5e6].map(|v| human(v, "/s")),
            [9990.0, 500.0, 0.0, 2.5e6].map(|v| human(v, "1/s"))
        );
        assert_eq!(
            [9990.0, 500.0, 0.0, 2.5e6].map(|v| human(v, "1/s")),
            ["9.99 k/s", "500 /s", "0 /s", "2.50 M/s"]
        );
    }

    #[test]
    fn a_plain_number_is_seconds_and_nothing_else() {
        assert_eq!(
            ("2".parse(), " 0.5 ".parse(), "1e-3".parse()),
            (Ok(Seconds(2.0)), Ok(Seconds(0.5)), Ok(Seconds(1e-3)))
        );
        assert!("-1".parse::<Seconds>().is_err() && "".parse::<Seconds>().is_err());
        assert!("64".parse::<Bytes>().is_err() && "64".parse::<BitRate>().is_err());
    }

    #[test]
    fn a_rate_reads_as_network_tools_write_it() {
        for text in ["100 Mbit/s", "100Mbps", "100Mbit", "0.1 Gbps", "12.5 MB/s"] {
            assert_eq!(text.parse(), Ok(BitRate(1e8)), "{text}");
        }
    }

    #[test]
    fn a_share_is_percent_or_a_ratio_below_one() {
        for text in ["5 %", "5%", " 5 % ", "0.05"] {
            assert_eq!(share(text), Ok(0.05), "{text}");
        }
        assert_eq!((share("250%"), share("0")), (Ok(2.5), Ok(0.0)));
        for text in ["", "5", "1", "-5%", "-0.1", "x%", "nan%", "inf", "%"] {
            assert!(share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_wrong_unit_names_the_nearest() {
        let fault = "1 Gbits/s".parse::<BitRate>().expect_err("no such unit");
        assert_eq!(fault.remedy.as_deref(), Some("did you mean `Gbit/s`?"));
        for (text, unclear) in [
            ("4G", "`G` is not clear: `GB` is 10^9, `GiB` is 2^30"),
            ("64 k", "`k` is not clear: `kB` is 10^3, `KiB` is 2^10"),
            ("64K", "`K` is not clear: `kB` is 10^3, `KiB` is 2^10"),
            ("1m", "`m` is not clear: `MB` is 10^6, `MiB` is 2^20"),
            ("2T", "`T` is not clear: `TB` is 10^12, `TiB` is 2^40"),
        ] {
            assert_eq!(text.parse::<Bytes>().expect_err("a prefix alone").message, unclear);
        }
        assert_eq!("1 G".parse::<BitRate>().expect_err("no size").message, "unknown unit `G`");
        assert!("64".parse::<Bytes>().expect_err("no unit").message.contains("needs a unit"));
        assert!("-1 s".parse::<Seconds>().is_err());
        assert!("x s".parse::<Seconds>().is_err());
    }

    #[test]
    fn quantities_for_people_have_three_digits() {
        assert_eq!(human(0.000_012_34, "s"), "12.3 µs");
        assert_eq!(human(2.5e9, "bit/s"), "2.50 Gbit/s");
        assert_eq!(human(4096.0, "B"), "4 KiB");
        assert_eq!(human(5000.0, "B"), "4.88 KiB");
        assert_eq!(human(64.0, "B"), "64 B");
        assert_eq!(human(0.0, "s"), "0 s");
        assert_eq!(human(0.05, "%"), "5.00 %");
        assert_eq!(human(0.9999, "s"), "1.00 s");
        assert_eq!(human(1e300, "bit/s"), "1.00e288 Tbit/s");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,24}") {
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<Seconds>();
            let _ = text.parse::<BitRate>();
        }

        #[test]
        fn seconds_survive_writing(ns in 1u64..10_000_000_000) {
            let read: Seconds = format!("{ns} ns").parse().expect("reads");
            prop_assert!((read.0 * 1e9 - ns as f64).abs() < 1e-3 * ns as f64);
        }
    }
}
