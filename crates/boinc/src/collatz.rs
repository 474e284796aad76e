//! The work of a task: for every number of a span, how many steps its Collatz sequence takes to 1 (an even
//! number is halved, an odd one is tripled and increased by one). It is integer arithmetic alone, and each
//! number is computed by itself. No shorter way to the answer is known, but part of an answer is checked by
//! computing just that part.
//!
//! A span is cut into blocks. An answer has, for each block, the longest sequence, the number that it starts
//! at, and the steps of all sequences together.

use std::fmt::Write;
use std::ops::Range;
use std::time::Instant;

use crosstalk_core::Fault;

/// The first line of both kinds of file.
const HEAD: &str = "crosstalk collatz 1";

/// Blocks of a span: checking one costs less than 1 % of the work.
pub const BLOCKS_PER_RANGE: u32 = 128;

/// The sequences of numbers from here on take nearly the same time each.
pub const FIRST_NUMBER: u64 = 1 << 40;

/// The longest file of either kind, in bytes, rounded up.
pub const LONGEST_FILE: u64 = 16 << 10;

/// A range of numbers: the work of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberRange {
    /// The first.
    pub from: u64,
    /// The one after the last.
    pub to: u64,
}

/// The answer for one block of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Block {
    /// The steps of the longest sequence.
    pub longest: u32,
    /// The first number whose sequence is that long.
    pub at: u64,
    /// The steps of all sequences.
    pub steps: u64,
}

impl NumberRange {
    /// The numbers of block `index`.
    pub fn block(&self, index: u32) -> Range<u64> {
        let cut = |index: u32| {
            let share = u128::from(self.to - self.from) * u128::from(index) / u128::from(BLOCKS_PER_RANGE);
            self.from + share as u64
        };
        cut(index)..cut(index + 1)
    }

    /// The text of a task's input file.
    pub fn to_file(self) -> String {
        format!("{HEAD}\nfrom {}\nto {}\n", self.from, self.to)
    }

    /// Parses a task's input file.
    ///
    /// # Errors
    /// An attempt fault where the text is something else.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let mut lines = text.lines();
        let span = (lines.next() == Some(HEAD)).then(|| {
            let mut number = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
            Some(NumberRange { from: number("from")?, to: number("to")? })
        });
        span.flatten()
            .filter(|span| 0 < span.from && span.from < span.to && span.to < u64::MAX / 4)
            .ok_or_else(|| Fault::attempt("expected a span of numbers, found something else"))
    }
}

impl Block {
    /// Adds the answer for `numbers`, which must follow the numbers so far.
    pub fn add(&mut self, numbers: Range<u64>) {
        for number in numbers {
            let steps = collatz_steps(number);
            self.steps += u64::from(steps);
            if steps > self.longest {
                (self.longest, self.at) = (steps, number);
            }
        }
    }

    /// Computes the answer for `numbers`.
    pub fn of(numbers: Range<u64>) -> Self {
        let mut block = Block::default();
        block.add(numbers);
        block
    }

    /// The line of an answer file.
    pub fn to_line(self) -> String {
        format!("{} {} {}\n", self.longest, self.at, self.steps)
    }

    /// Parses a line of an answer file; `None` where it is none.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let block = Block {
            longest: words.next()?.parse().ok()?,
            at: words.next()?.parse().ok()?,
            steps: words.next()?.parse().ok()?,
        };
        // Only one spelling of a number is allowed: equal answers must be equal texts.
        (block.to_line().trim_end() == line).then_some(block)
    }
}

/// The steps of the sequence of `number`, which is not 0.
pub fn collatz_steps(number: u64) -> u32 {
    let mut n = number;
    let mut steps = 0;
    loop {
        let halvings = n.trailing_zeros();
        n >>= halvings;
        steps += halvings;
        if n == 1 {
            return steps;
        }
        match n.checked_mul(3).and_then(|n| n.checked_add(1)) {
            Some(up) => n = up,
            None => return steps + steps_128(u128::from(n)),
        }
        steps += 1;
    }
}

/// The same for a sequence that exceeds 64 bits; none that starts below 2^62 is known to exceed 128.
#[cold]
fn steps_128(number: u128) -> u32 {
    let mut n = number;
    let mut steps = 0;
    while n != 1 {
        let halvings = n.trailing_zeros();
        n >>= halvings;
        steps += halvings;
        if n != 1 {
            n = n.saturating_mul(3).saturating_add(1);
            steps += 1;
        }
    }
    steps
}

/// The text of an answer file.
pub fn answer_file(span: NumberRange, blocks: &[Block]) -> String {
    blocks.iter().fold(span.to_file(), |mut file, block| {
        // Writing to a string does not fail.
        let _ = write!(file, "{}", block.to_line());
        file
    })
}

/// Parses the answer for `span`.
///
/// # Errors
/// Says what is wrong with it.
pub fn read_answer(span: NumberRange, file: &str) -> Result<Vec<Block>, String> {
    let rest = file.strip_prefix(&span.to_file()).ok_or("it is the answer for another span")?;
    let blocks: Vec<Block> = rest.lines().map_while(Block::parse).collect();
    if blocks.len() != BLOCKS_PER_RANGE as usize || answer_file(span, &blocks) != file {
        return Err(format!("expected {BLOCKS_PER_RANGE} blocks, found {} and something else", blocks.len()));
    }
    Ok(blocks)
}

/// Computes block `index` again; returns whether the answer has it right.
pub fn block_is_right(span: NumberRange, blocks: &[Block], index: u32) -> bool {
    blocks.get(index as usize).is_some_and(|block| *block == Block::of(span.block(index)))
}

/// Measures how many numbers one core of this machine does per second.
pub fn measure_rate() -> f64 {
    let begin = Instant::now();
    let mut done = 0;
    // Long enough that one interruption hardly counts.
    while begin.elapsed().as_millis() < 200 {
        std::hint::black_box(Block::of(FIRST_NUMBER + done..FIRST_NUMBER + done + 10_000));
        done += 10_000;
    }
    done as f64 / begin.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests;
