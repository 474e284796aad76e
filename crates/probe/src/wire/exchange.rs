//! One message at a time over the wire, timed from before the send to after the receive.
//!
//! A message carries its number. A reply also carries the tick at which the message arrived and the
//! one at which it was sent back. These are 20 bytes, little-endian.

use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_host::ticks::TickClock;

use super::messages::Messages;
use super::port::Port;
use super::times::{KeptTimes, MOST_TIMES_PER_MESSAGE, MeasureLimits, MessageTimes};

/// Where a reply has the tick of its message's arrival.
const ARRIVED: usize = 4;

/// Where a reply has the tick at which it was sent.
const REPLIED: usize = 12;

/// How long to wait for a message.
const PATIENCE: Duration = Duration::from_millis(100);

/// One message: when it was sent, and its times in ticks; none if it was lost.
struct Message {
    sent: u64,
    times: [Option<u64>; MOST_TIMES_PER_MESSAGE],
}

/// Sends on `first` and receives on `second`, in one thread.
///
/// # Errors
/// Where a port fails.
pub fn time_in_one_thread<P: Port>(
    first: P,
    second: P,
    size: usize,
    limits: MeasureLimits,
) -> Result<MessageTimes, Fault> {
    let (mut first, mut second) = (Messages::new(first, size), Messages::new(second, size));
    run(limits, |number, clock, patience| {
        first.write_at(0, &number.to_le_bytes());
        let sent = clock.now();
        first.send()?;
        let received = second.wait_for(number, limits.spins, clock, sent + patience)?;
        let arrived = clock.now();
        Ok(Message { sent, times: [received.then_some(arrived - sent), None, None] })
    })
}

/// As [`time_in_one_thread`], with the times of the calls ([`super::times::TIMES_WITH_CALLS`]).
///
/// # Errors
/// Where a port fails.
pub fn time_calls_in_one_thread<P: Port>(
    first: P,
    second: P,
    size: usize,
    limits: MeasureLimits,
) -> Result<MessageTimes, Fault> {
    let (mut first, mut second) = (Messages::new(first, size), Messages::new(second, size));
    run(limits, |number, clock, patience| {
        first.write_at(0, &number.to_le_bytes());
        let sent = clock.now();
        first.send()?;
        let handed = clock.now();
        let began = second.wait_for_timed(number, clock, sent + patience)?;
        let arrived = clock.now();
        let times = began.map(|began| [handed - sent, began - handed, arrived - began].map(Some));
        Ok(Message { sent, times: times.unwrap_or([None; MOST_TIMES_PER_MESSAGE]) })
    })
}

/// Sends, and waits for the reply.
///
/// # Errors
/// Where the port fails, or the processors' clocks differ.
pub fn time_round_trips<P: Port>(port: P, size: usize, limits: MeasureLimits) -> Result<MessageTimes, Fault> {
    let mut port = Messages::new(port, size);
    run(limits, |number, clock, patience| {
        port.write_at(0, &number.to_le_bytes());
        let sent = clock.now();
        port.send()?;
        let received = port.wait_for(number, limits.spins, clock, sent + patience)?;
        let back = clock.now();
        if !received {
            return Ok(Message { sent, times: [None; MOST_TIMES_PER_MESSAGE] });
        }
        let times =
            [port.received_tick(ARRIVED).checked_sub(sent), back.checked_sub(port.received_tick(REPLIED))];
        match times {
            [Some(there), Some(back)] => Ok(Message { sent, times: [Some(there), Some(back), None] }),
            _ => Err(Fault::environment("the processors' clocks differ: one-way times are unknown")),
        }
    })
}

/// Sends back every message, until the process is ended.
///
/// # Errors
/// Where the port fails.
pub fn return_messages<P: Port>(port: P, size: usize) -> Result<MessageTimes, Fault> {
    let mut port = Messages::new(port, size);
    let clock = TickClock::best();
    loop {
        if !port.receive()? {
            continue;
        }
        let arrived = clock.now();
        let number = port.received_number();
        port.write_at(0, &number.to_le_bytes());
        port.write_at(ARRIVED, &arrived.to_le_bytes());
        port.write_at(REPLIED, &clock.now().to_le_bytes());
        port.send()?;
    }
}

/// Sends one message after the other until the time is over.
fn run(
    limits: MeasureLimits,
    mut exchange: impl FnMut(u32, TickClock, u64) -> Result<Message, Fault>,
) -> Result<MessageTimes, Fault> {
    let clock = TickClock::best();
    let patience = clock.ticks_of(PATIENCE);
    let end = clock.now() + clock.ticks_of(limits.duration);
    let mut kept = KeptTimes::new(limits.most);
    let (mut received, mut lost) = (0, 0);
    for number in 1.. {
        let Message { sent, times } = exchange(number, clock, patience)?;
        if times[0].is_none() {
            lost += 1;
        } else {
            if received % kept.each == 0 {
                kept.add(times, clock, limits.most);
            }
            received += 1;
        }
        if sent > end {
            break;
        }
    }
    Ok(MessageTimes { times: kept.times, received, lost, cost: clock.reading_cost() * 1e9, huge: None })
}

#[cfg(test)]
mod tests;
