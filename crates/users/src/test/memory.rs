//! Memory: allocated and freed, filled and copied, and taken from the kernel by the program break.

use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

use crosstalk_core::Fault;
use crosstalk_host::program_break::{Moves, move_break};

use super::check::expect;
use crate::user::User;

/// A megabyte is added to the break; then 16 pages go and come back again and again.
const MOVES: Moves = Moves { above: 1 << 20, rounds: 0, pages: 16, stride: None };

pub fn brk_test(user: &mut User) -> Result<(), Fault> {
    move_break(Moves { rounds: user.scaled(1_000), ..MOVES }).map(|_| ())
}

pub fn page_test(user: &mut User) -> Result<(), Fault> {
    let rounds = user.scaled(100);
    let clean = move_break(Moves { rounds, stride: Some(128), ..MOVES })?;
    expect("new pages of zeros", clean, rounds * MOVES.pages)
}

/// Sizes of pieces of memory, one after another.
const SIZES: [usize; 20] =
    [1, 3, 5, 7, 9, 11, 33, 65, 129, 1024, 1025, 1023, 8192, 4096, 4095, 11, 33, 65, 129, 1024];

/// A text of average length, which is copied to a piece of memory of its own size.
const TEXT: &[u8; 45] = b"a text of forty-five bytes, zero included...\0";

/// Pieces of each of three kinds in a round: a text, a piece of which one byte is written, and one of zeros.
const PIECES: usize = 100;

pub fn mem_rtns_1(user: &mut User) -> Result<(), Fault> {
    let rounds = user.scaled(100);
    let (mut read, mut expected) = (0_u64, 0_u64);
    let [mut texts, mut others, mut zeros]: [Vec<Vec<u8>>; 3] = [(); 3].map(|()| Vec::with_capacity(PIECES));
    for round in 0..rounds {
        for index in 0..PIECES {
            let mut text = Vec::with_capacity(TEXT.len());
            text.extend_from_slice(TEXT);
            let mut other = Vec::with_capacity(SIZES[index % SIZES.len()]);
            other.push((round + index) as u8);
            expected += u64::from((round + index) as u8) + u64::from(TEXT[0]);
            texts.push(text);
            others.push(other);
            zeros.push(vec![0; SIZES[(index + 1) % SIZES.len()]]);
        }
        let first =
            |pieces: &[Vec<u8>]| black_box(pieces).iter().map(|piece| u64::from(piece[0])).sum::<u64>();
        read += first(&texts) + first(&others) + first(&zeros);
        // The latest first, and of each three the text first.
        while texts.pop().is_some() {
            zeros.pop();
            others.pop();
        }
    }
    expect("the first bytes of all pieces add up", read, expected)
}

/// Bytes between two buffers, beyond whole pages.
const APART: usize = 16;

/// Bytes of a buffer, and how far operations are shifted into it at most.
const BUFFER: usize = 8192;
const SHIFTS: usize = 8;

pub fn mem_rtns_2(user: &mut User) -> Result<(), Fault> {
    // In this order, which takes a processor longer: what is copied lies below where it is copied to, and both at
    // nearly the same place of a page.
    let mut buffers = [[0_u8; BUFFER + APART]; 2];
    let [second, first] = &mut buffers;
    let mut wrong = 0;
    for round in 0..user.scaled(100) {
        let (at, to) = (round % SHIFTS, round / SHIFTS % SHIFTS);
        let size = black_box(SIZES[round % SIZES.len()]);
        let one = &mut first[at..at + size];
        let other = &mut second[to..to + size];
        black_box(&mut *one).fill(b'A');
        black_box(&mut *other).fill(b'A');
        let marked = round % size;
        one[marked] = b'Z';
        wrong += usize::from(memchr::memchr(b'Z', black_box(&*one)) != Some(marked));
        wrong += usize::from(black_box(&*one) <= black_box(&*other));
        one[marked] = b'A';
        one.copy_from_slice(black_box(other));
        wrong += usize::from(one[marked] != other[marked]);
        // And from there to the other buffer.
        second[at..at + size].copy_from_slice(black_box(&first[to..to + size]));
        wrong += usize::from(black_box(&*second)[at + marked] != first[to + marked]);
    }
    expect("wrong bytes", wrong, 0)
}

/// Sizes of copies, from small ones between to large ones, with how often each comes.
const COPIES: &[(usize, usize)] = &[
    (1, 5),
    (2, 5),
    (3, 5),
    (4, 5),
    (5, 5),
    (6, 5),
    (7, 43),
    (8, 2),
    (9, 2),
    (11, 2),
    (17, 2),
    (33, 2),
    (63, 2),
    (127, 1),
    (256, 1),
    (512, 1),
    (1001, 1),
    (1024, 1),
    (1200, 1),
    (1492, 1),
    (1500, 1),
    (2048, 1),
    (3172, 1),
    (4096, 1),
    (8192, 1),
    (16384, 1),
    (32768, 1),
    (65536, 1),
];

/// Bytes of the largest copy.
const LARGEST: usize = 65536;

/// Where to, and what is copied. They begin as zeros, so the source stays that one page of zeros which the kernel
/// maps for memory that nobody has written to.
static BUFFERS: Mutex<[[u8; LARGEST + SHIFTS]; 2]> = Mutex::new([[0; LARGEST + SHIFTS]; 2]);

pub fn ram_copy(user: &mut User) -> Result<(), Fault> {
    let mut buffers = BUFFERS.lock().unwrap_or_else(PoisonError::into_inner);
    let [to, from] = &mut *buffers;
    let (mut wrong, mut round) = (0, 0);
    for &(size, times) in COPIES {
        for _ in 0..user.scaled(times) {
            let (start, end) = (round / SHIFTS % SHIFTS, round % SHIFTS);
            to[end + size - 1] = 1;
            to[end..end + size].copy_from_slice(black_box(&from[start..start + size]));
            wrong += usize::from(black_box(&*to)[end + size - 1] != 0);
            round += 1;
        }
    }
    expect("wrong bytes", wrong, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_copies_are_made_as_aim7_makes() {
        assert_eq!(COPIES.iter().map(|(_, times)| times).sum::<usize>(), 100);
        assert_eq!(COPIES.iter().map(|(size, times)| size * times).sum::<usize>(), 139_996);
    }
}
