//! The result of an endpoint, and how its process writes it.
//!
//! A line `times N came C lost L cost NANOSECONDS` and N times of four bytes; of a stream the line
//! `frames N rate R`. The programs in C write the same.

use std::io::{self, BufRead, Write};

use crosstalk_core::Fault;

use super::stream::FrameCount;
use super::times::MessageTimes;

/// What the process of an endpoint has measured.
#[derive(Debug, Clone, PartialEq)]
pub enum EndpointResult {
    /// Of messages one at a time.
    Times(MessageTimes),
    /// Of a stream.
    Stream(FrameCount),
}

/// Writes an endpoint's result.
///
/// # Errors
/// Those of `out`.
pub fn write_result(result: &EndpointResult, out: &mut impl Write) -> io::Result<()> {
    match result {
        EndpointResult::Times(times) => {
            writeln!(
                out,
                "times {} came {} lost {} cost {}",
                times.times.len(),
                times.received,
                times.lost,
                times.cost
            )?;
            let bytes: Vec<u8> = times.times.iter().flat_map(|time| time.to_le_bytes()).collect();
            out.write_all(&bytes)?;
        }
        EndpointResult::Stream(stream) => writeln!(out, "frames {} rate {}", stream.frames, stream.rate)?,
    }
    out.flush()
}

/// Reads an endpoint's result with at most `most` times.
///
/// # Errors
/// Where it is not complete.
pub fn read_result(mut input: impl BufRead, most: usize) -> Result<EndpointResult, Fault> {
    let incomplete = || Fault::attempt("an endpoint of the wire ended without a result");
    let mut line = String::new();
    input.read_line(&mut line).map_err(|_| incomplete())?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let field = |name: &str| -> Option<f64> {
        let at = words.iter().position(|word| *word == name)?;
        words.get(at + 1)?.parse().ok()
    };
    let number = |name: &str| field(name).ok_or_else(incomplete);
    if words.first() == Some(&"frames") {
        return Ok(EndpointResult::Stream(FrameCount {
            frames: number("frames")? as u64,
            rate: number("rate")?,
        }));
    }
    let count = number("times")? as usize;
    if count > most {
        return Err(incomplete());
    }
    let mut bytes = vec![0; 4 * count];
    input.read_exact(&mut bytes).map_err(|_| incomplete())?;
    let times = bytes.chunks_exact(4).filter_map(|four| Some(u32::from_le_bytes(*four.first_chunk()?)));
    Ok(EndpointResult::Times(MessageTimes {
        times: times.collect(),
        received: number("came")? as u64,
        lost: number("lost")? as u64,
        cost: number("cost")?,
        huge: field("huge").map(|huge| huge > 0.0),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_read_as_it_is_written() {
        let times =
            MessageTimes { times: vec![3, 70_000, u32::MAX], received: 3, lost: 2, cost: 11.5, huge: None };
        for result in
            [EndpointResult::Times(times), EndpointResult::Stream(FrameCount { frames: 7, rate: 1.5e6 })]
        {
            let mut written = Vec::new();
            write_result(&result, &mut written).expect("writes");
            assert_eq!(read_result(written.as_slice(), 3), Ok(result));
        }
    }

    #[test]
    fn an_incomplete_result_is_a_fault() {
        for torn in [
            &b""[..],
            b"times 2 lost 0",
            b"times 2 came 2 lost 0 cost 1\nabcd",
            b"times 9 came 9 lost 0 cost 1\n",
            b"frames 3\n",
        ] {
            assert!(read_result(torn, 3).is_err(), "{torn:?}");
        }
    }
}
