//! Tests of `collatz`.

use super::*;
use proptest::prelude::*;

fn plainly(number: u64) -> u32 {
    let (mut n, mut steps) = (u128::from(number), 0);
    while n != 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

#[test]
fn known_sequences_have_their_lengths() {
    // 27 and 837799 are textbook; the sequence of 12327829503 exceeds 64 bits.
    assert_eq!(
        [collatz_steps(1), collatz_steps(2), collatz_steps(27), collatz_steps(837_799)],
        [0, 1, 111, 524]
    );
    assert_eq!(collatz_steps(12_327_829_503), plainly(12_327_829_503));
    assert_eq!(Block::of(1..1_000_000).at, 837_799);
}

#[test]
fn an_answer_survives_its_file_and_a_wrong_block_is_seen() {
    let span = NumberRange { from: 1000, to: 11_000 };
    let blocks: Vec<Block> = (0..BLOCKS_PER_RANGE).map(|index| Block::of(span.block(index))).collect();
    let file = answer_file(span, &blocks);
    assert!((file.len() as u64) < LONGEST_FILE);
    let mut read = read_answer(span, &file).expect("is one");
    assert_eq!(read, blocks);
    assert!((0..BLOCKS_PER_RANGE).all(|index| block_is_right(span, &read, index)));
    read[7].steps += 1;
    assert!(!block_is_right(span, &read, 7) && block_is_right(span, &read, 8));
    assert!(!block_is_right(span, &read, BLOCKS_PER_RANGE));
}

#[test]
fn what_is_no_answer_is_refused() {
    let span = NumberRange { from: 1000, to: 11_000 };
    let file = answer_file(span, &[Block::default(); BLOCKS_PER_RANGE as usize]);
    assert!(read_answer(span, &file).is_ok());
    assert!(read_answer(NumberRange { from: 1001, ..span }, &file).is_err());
    for bad in [
        String::new(),
        file.replace("0 0 0\n", ""),
        file.clone() + "0 0 0\n",
        file.replace("0 0 0", "0 0 00"),
    ] {
        assert!(read_answer(span, &bad).is_err(), "{bad}");
    }
    assert!(read_answer(span, file.trim_end()).is_err());
}

#[test]
fn the_largest_answer_fits_into_its_file() {
    let span = NumberRange { from: u64::MAX / 8, to: u64::MAX / 4 - 1 };
    let block = Block { longest: u32::MAX, at: u64::MAX, steps: u64::MAX };
    assert!((answer_file(span, &[block; BLOCKS_PER_RANGE as usize]).len() as u64) < LONGEST_FILE);
}

proptest! {
    #[test]
    fn steps_are_those_of_the_definition(number in 1_u64..1 << 50) {
        prop_assert_eq!(collatz_steps(number), plainly(number));
    }

    #[test]
    fn blocks_cover_a_span_once(from in 1_u64..1 << 60, length in 1_u64..1 << 40) {
        let span = NumberRange { from, to: from + length };
        prop_assert_eq!(NumberRange::parse(&span.to_file()), Ok(span));
        let mut next = from;
        for index in 0..BLOCKS_PER_RANGE {
            prop_assert_eq!(span.block(index).start, next);
            next = span.block(index).end;
        }
        prop_assert_eq!(next, span.to);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,80}") {
        let _ = NumberRange::parse(&text);
        let _ = Block::parse(&text);
        let _ = read_answer(NumberRange { from: 1, to: 2 }, &format!("{}{text}", NumberRange { from: 1, to: 2 }.to_file()));
    }
}
