//! A quantity of the kind that its unit says.

use super::{
    BitRate, Bytes, FREQUENCY, Hertz, LARGEST, RATE, SIZE, Seconds, TIME, Unit, not_negative, split,
};

/// A size, a time, a rate or a frequency: a number with its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// `4 KiB`.
    Size(Bytes),
    /// `200 ms`.
    Time(Seconds),
    /// `10 Gbit/s`.
    Rate(BitRate),
    /// `2.4 GHz`.
    Frequency(Hertz),
}

impl Amount {
    /// Reads a number that is not negative, and a unit. `None` for anything else, also for a number
    /// without a unit.
    pub fn parse(text: &str) -> Option<Amount> {
        let (number, unit) = split(text);
        if number.is_empty() || unit.is_empty() {
            return None;
        }
        let number: f64 = number.replace('_', "").parse().ok()?;
        let in_base = |units: &[Unit]| {
            let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
            not_negative(number * factor)
        };
        let size = || in_base(SIZE).filter(|size| *size < LARGEST).map(|size| Bytes(size.round() as u64));
        let time = || in_base(TIME).map(Seconds).map(Amount::Time);
        let rate = || in_base(RATE).map(BitRate).map(Amount::Rate);
        let frequency = || in_base(FREQUENCY).map(Hertz).map(Amount::Frequency);
        size().map(Amount::Size).or_else(time).or_else(rate).or_else(frequency)
    }

    /// Its value in the base unit.
    pub fn number(self) -> f64 {
        match self {
            Amount::Size(Bytes(bytes)) => bytes as f64,
            Amount::Time(Seconds(seconds)) => seconds,
            Amount::Rate(BitRate(rate)) => rate,
            Amount::Frequency(Hertz(hertz)) => hertz,
        }
    }

    /// The base unit: `B`, `s`, `bit/s` or `Hz`.
    pub fn unit(self) -> &'static str {
        match self {
            Amount::Size(_) => "B",
            Amount::Time(_) => "s",
            Amount::Rate(_) => "bit/s",
            Amount::Frequency(_) => "Hz",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_says_which_quantity_it_is() {
        assert_eq!(Amount::parse("4 KiB"), Some(Amount::Size(Bytes(4096))));
        assert_eq!(Amount::parse("200ms"), Some(Amount::Time(Seconds(200.0 * 1e-3))));
        assert_eq!(Amount::parse("10 Gbit/s"), Some(Amount::Rate(BitRate(1e10))));
        assert_eq!(Amount::parse("2.5 GHz"), Some(Amount::Frequency(Hertz(2.5e9))));
        for none in ["", "4", "4 K", "KiB", "-1 s", "16 EiB", "half", "1 s 2", "nan s"] {
            assert_eq!(Amount::parse(none), None, "{none}");
        }
    }

    #[test]
    fn it_equals_what_each_quantity_reads() {
        for text in ["3 B", "64 KiB", "1_000 kB", "1e-3 s", "7 min", "2.5 Gbit/s", "3 MB/s", "800 MHz"] {
            let amount = Amount::parse(text).expect("is one");
            let read = match amount {
                Amount::Size(_) => text.parse::<Bytes>().map(|read| read.0 as f64),
                Amount::Time(_) => text.parse::<Seconds>().map(|read| read.0),
                Amount::Rate(_) => text.parse::<BitRate>().map(|read| read.0),
                Amount::Frequency(_) => text.parse::<Hertz>().map(|read| read.0),
            };
            assert_eq!(read, Ok(amount.number()), "{text}");
        }
    }
}
