//! A schedule over a network.

use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;

use super::Schedule;
use super::codec::{Item, Reader};
use crate::network::{Answer, Network, Next, Operation, Site, Source, TimeBreakdown};

/// How far a rank's operations were read.
struct RecordedRank<'s> {
    operations: Reader<'s>,
    call_sites: Vec<String>,
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

    fn answer_rank(&mut self, _: u32, _: Answer) {}

    fn call_site(&self, rank: u32, site: Site) -> String {
        let known = self.0[rank as usize].call_sites.get(site as usize);
        known.map_or_else(|| format!("operation {site}"), Clone::clone)
    }
}

impl Schedule {
    /// Replays it on `emulation`. Returns each rank's clock at the end.
    ///
    /// # Errors
    /// A usage fault where the emulation has too few nodes, or the schedule is inconsistent: what it does cannot
    /// have been recorded. An attempt fault where ranks wait for each other, which they may on another library.
    pub fn replay(&self, emulation: &Emulation) -> Result<Vec<TimeBreakdown>, Fault> {
        let mut network = Network::new(emulation, self.operations.len(), self.combine)?;
        let ranks = |operations| RecordedRank { operations: Reader::new(operations), call_sites: Vec::new() };
        let mut recorded =
            RecordedRanks(self.operations.iter().map(|operations| ranks(operations)).collect());
        network.advance(&mut recorded)?;
        Ok(network.clocks().collect())
    }
}
