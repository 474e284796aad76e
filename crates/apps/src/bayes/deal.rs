//! Sends a file's pages from the master to the slaves, in rounds: one byte says whether a round follows, then
//! come pages, each after its number and its length.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;
use std::path::Path;

use super::mediawiki::Pages;
use super::source::spool_page;
use crate::coordination::MASTER;
use crate::mapreduce::record::{append_number, take_number};
use crate::mapreduce::spool::Spool;

/// About the bytes that a slave gets in a round.
const ROUND: usize = 256 << 10;

/// The master's side: reads the file and sends its pages.
pub fn send_pages(path: &Path, expected: u64, rank: &mut Rank) -> Result<(), Fault> {
    let slaves = rank.size() - 1;
    let mut pages = Pages::open(path)?;
    let mut next = 0;
    loop {
        let mut hands = vec![vec![1]; slaves];
        let (mut held, mut ended) = (0, false);
        while held < slaves * ROUND && !ended {
            match rank.serialise(|| pages.next_page())? {
                Some(page) => {
                    let hand = &mut hands[(next % slaves as u64) as usize];
                    append_number(next, hand);
                    append_number(page.len() as u64, hand);
                    hand.extend_from_slice(page.as_bytes());
                    held += page.len();
                    next += 1;
                }
                None => ended = true,
            }
        }
        if ended {
            hands.iter_mut().for_each(|hand| hand[0] = 0);
        }
        hands.insert(MASTER, Vec::new());
        rank.world().scatterv(MASTER, hands)?;
        if ended {
            break;
        }
    }
    if next != expected {
        return Err(Fault::attempt(format!("had {expected} pages, then {next}"))
            .at(path.display().to_string())
            .remedy("let nothing write to it meanwhile"));
    }
    Ok(())
}

/// A slave's side: receives its pages; returns their bytes.
pub fn receive_pages(rank: &mut Rank, pages: &mut Spool) -> Result<u64, Fault> {
    let (mut record, mut bytes) = (Vec::new(), 0);
    loop {
        let hand = rank.world().scatterv(MASTER, Vec::new())?;
        let torn = || Fault::attempt("a hand of pages was cut short");
        let (more, mut hand) = hand.split_first().ok_or_else(torn)?;
        while !hand.is_empty() {
            let number_of_page = take_number(&mut hand).ok_or_else(torn)?;
            let length = take_number(&mut hand).ok_or_else(torn)?;
            let (page, rest) = hand.split_at_checked(length as usize).ok_or_else(torn)?;
            spool_page(number_of_page, page, &mut record, pages, rank)?;
            bytes += length;
            hand = rest;
        }
        if *more == 0 {
            return Ok(bytes);
        }
    }
}
