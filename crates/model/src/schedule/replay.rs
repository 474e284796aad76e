//! A schedule over a network.

use crosstalk_core::emulation::Emulation;
use crosstalk_core::{Fault, quoted};

use super::Schedule;
use super::codec::{Item, Reader};
use crate::network::{Answer, Network, Next, Operation, Site, Source, TimeBreakdown};

/// How far a rank's operations were read.
struct RecordedRank<'s> {
    operations: Reader<'s>,
    call_sites: Vec<String>,
    /// Its clock wherever it asked for it.
    accounts: Vec<TimeBreakdown>,
}

struct RecordedRanks<'s>(Vec<RecordedRank<'s>>);

impl Source for RecordedRanks<'_> {
    fn next(&mut self, rank: u32) -> Next {
        let recorded = &mut self.0[rank as usize];
        loop {
            match recorded.operations.item() {
                Ok(Some(Item::Operation(operation, site))) => return Next::Operation(operation, site),
                Ok(Some(Item::CallSite(call_site))) => recorded.call_sites.push(call_site),
                // A rank that was ended within a run has done no more.
                Ok(None) | Err(_) => return Next::Operation(Operation::Finish, 0),
            }
        }
    }

    fn answer_rank(&mut self, rank: u32, answer: Answer) {
        if let Answer::Account(clock) = answer {
            self.0[rank as usize].accounts.push(clock);
        }
    }

    fn call_site(&self, rank: u32, site: Site) -> String {
        let known = self.0[rank as usize].call_sites.get(site as usize);
        known.map_or_else(|| format!("operation {site}"), |known| quoted(known).to_string())
    }
}

impl Schedule {
    /// Replays it on `emulation`. Returns each rank's clock at the end.
    ///
    /// # Errors
    /// A usage fault where the emulation has too few nodes, or the schedule is inconsistent: what it does cannot
    /// have been recorded. An attempt fault where ranks wait for each other, which they may on another library.
    pub fn replay(&self, emulation: &Emulation) -> Result<Vec<TimeBreakdown>, Fault> {
        let ranks = self.replay_with_accounts(emulation)?;
        Ok(ranks.into_iter().filter_map(|clocks| clocks.last().copied()).collect())
    }

    /// Replays it on `emulation`. Returns each rank's clock wherever its program asked for it, and at the end.
    ///
    /// # Errors
    /// As [`Schedule::replay`].
    pub fn replay_with_accounts(&self, emulation: &Emulation) -> Result<Vec<Vec<TimeBreakdown>>, Fault> {
        let mut network = Network::new(emulation, self.operations.len(), self.combine)?;
        let ranks = |operations| RecordedRank {
            operations: Reader::new(operations),
            call_sites: Vec::new(),
            accounts: Vec::new(),
        };
        let mut recorded =
            RecordedRanks(self.operations.iter().map(|operations| ranks(operations)).collect());
        network.advance(&mut recorded)?;
        let with_end = |(mut rank, end): (RecordedRank, TimeBreakdown)| {
            rank.accounts.push(end);
            rank.accounts
        };
        Ok(recorded.0.into_iter().zip(network.clocks()).map(with_end).collect())
    }
}
