//! A process that has an end of the wire, or both: it is told on standard input, says
//! `ready` on a line of standard output, and writes what it found there: a line, `times N
//! came C lost L cost NANOSECONDS`, and N times of four bytes; of a stream only a line, `frames N
//! rate R`. The program that speaks DPDK does the same.

use std::io::{BufRead, Write};
use std::net::UdpSocket;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_host::process::die_with_parent;

use super::exchange::{Limits, Times, alone, answer, ask, calls};
use super::port::{AfXdp, Memory, Port};
use super::spec::{Order, Role, Transport};
use super::stream::{Stream, count, flood};
use crate::latency::Mode;

/// How long an end that sleeps does so before it looks whether to go on.
const NAP: Duration = Duration::from_millis(100);

/// Does as it is told, in a process that was started for it.
///
/// # Errors
/// An order that cannot be read; whatever the wire refuses.
pub fn serve(mut orders: impl BufRead, mut out: impl Write) -> Result<(), Fault> {
    die_with_parent();
    let mut line = String::new();
    let read = orders.read_line(&mut line);
    read.map_err(|e| Fault::environment(format!("no order: {e}")))?;
    let order: Order = serde_json::from_str(&line)
        .map_err(|e| Fault::environment(format!("not an order of this program: {e}")))?;
    let found = match order.transport {
        Transport::Udp => end::<UdpSocket>(&order, &mut out),
        Transport::AfXdp => end::<AfXdp>(&order, &mut out),
        Transport::Shared => end::<Memory>(&order, &mut out),
        other => return Err(Fault::environment(format!("`{}` has ends of another program", other.name()))),
    }?;
    tell(&found, &mut out).map_err(|e| gone(&e))
}

/// What an end found.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// Of messages one at a time.
    Times(Times),
    /// Of a stream.
    Stream(Stream),
}

fn end<P: Port>(order: &Order, out: &mut impl Write) -> Result<Found, Fault> {
    let (size, nap) = (order.size, order.mode.nap(NAP));
    let limits = Limits::new(Duration::from_nanos(order.duration), order.most, order.mode == Mode::Polling);
    let open = |end: usize| P::open(&order.ends[end], end, nap);
    let mut ready = || out.write_all(b"ready\n").and_then(|()| out.flush()).map_err(|e| gone(&e));
    let mut one = |end: usize| open(end).and_then(|port| ready().map(|()| port));
    match order.role {
        Role::Asks => ask(one(0)?, size, limits).map(Found::Times),
        Role::Answers => answer(one(1)?, size).map(Found::Times),
        Role::Floods => flood(one(0)?, size, limits.duration).map(Found::Stream),
        Role::Counts => count(one(1)?, size, limits.spins).map(Found::Stream),
        Role::Alone | Role::Stages => {
            let (first, second) = (open(0)?, open(1)?);
            ready()?;
            let run = if order.role == Role::Alone { alone } else { calls };
            run(first, second, size, limits).map(Found::Times)
        }
    }
}

fn gone(e: &std::io::Error) -> Fault {
    Fault::environment(format!("whoever started this end is gone: {e}"))
}

fn tell(found: &Found, out: &mut impl Write) -> std::io::Result<()> {
    match found {
        Found::Times(found) => {
            writeln!(
                out,
                "times {} came {} lost {} cost {}",
                found.times.len(),
                found.came,
                found.lost,
                found.cost
            )?;
            let bytes: Vec<u8> = found.times.iter().flat_map(|time| time.to_le_bytes()).collect();
            out.write_all(&bytes)?;
        }
        Found::Stream(found) => writeln!(out, "frames {} rate {}", found.frames, found.rate)?,
    }
    out.flush()
}

/// Reads what an end found.
pub fn hear(mut told: impl BufRead, most: usize) -> Result<Found, Fault> {
    let strange = || Fault::attempt("an end of the wire ended without a result");
    let mut line = String::new();
    told.read_line(&mut line).map_err(|_| strange())?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let told_of = |name: &str| -> Option<f64> {
        let at = words.iter().position(|word| *word == name)?;
        words.get(at + 1)?.parse().ok()
    };
    let number = |name: &str| told_of(name).ok_or_else(strange);
    if words.first() == Some(&"frames") {
        return Ok(Found::Stream(Stream { frames: number("frames")? as u64, rate: number("rate")? }));
    }
    let count = number("times")? as usize;
    if count > most {
        return Err(strange());
    }
    let mut bytes = vec![0; 4 * count];
    told.read_exact(&mut bytes).map_err(|_| strange())?;
    let times = bytes.chunks_exact(4).filter_map(|four| Some(u32::from_le_bytes(*four.first_chunk()?)));
    Ok(Found::Times(Times {
        times: times.collect(),
        came: number("came")? as u64,
        lost: number("lost")? as u64,
        cost: number("cost")?,
        huge: told_of("huge").map(|huge| huge > 0.0),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_heard() {
        let times = Times { times: vec![3, 70_000, u32::MAX], came: 3, lost: 2, cost: 11.5, huge: None };
        for found in [Found::Times(times), Found::Stream(Stream { frames: 7, rate: 1.5e6 })] {
            let mut told = Vec::new();
            tell(&found, &mut told).expect("writes");
            assert_eq!(hear(told.as_slice(), 3), Ok(found));
        }
    }

    #[test]
    fn half_of_a_result_is_none() {
        for torn in [
            &b""[..],
            b"times 2 lost 0",
            b"times 2 came 2 lost 0 cost 1\nabcd",
            b"times 9 came 9 lost 0 cost 1\n",
            b"frames 3\n",
        ] {
            assert!(hear(torn, 3).is_err(), "{torn:?}");
        }
    }

    #[test]
    fn an_order_that_is_none_is_refused() {
        assert!(serve(&b"{}\n"[..], Vec::new()).is_err());
    }
}
