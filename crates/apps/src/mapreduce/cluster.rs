//! The nodes that run a job: an exchange, computing, and a disk.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;
use crosstalk_core::units::Seconds;
use std::time::Instant;

use crate::coordination::{MASTER, SlaveExchange};
use crate::exchange::Exchange;
use crate::spill::{Disk, Unmetered};

/// What was received in one [`Cluster::round`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// From each part, a buffer.
    pub buffers: Vec<Vec<u8>>,
    /// Whether any part has more to send.
    pub more: bool,
}

/// One part of a cluster that shuffles records in rounds.
pub trait Cluster: Exchange {
    /// Sends `outgoing[p]` to part `p`, and whether this part has `more`. All parts must call it equally
    /// often.
    fn round(&mut self, outgoing: Vec<Vec<u8>>, more: bool) -> Result<Received, Fault>;
    /// Computes on all of the node's cores, and may access its disk.
    fn parallel<R>(&mut self, work: impl FnOnce(&mut dyn Disk) -> R) -> R;
    /// Serialises or deserialises on one core, and may access the disk.
    fn serialise<R>(&mut self, work: impl FnOnce(&mut dyn Disk) -> R) -> R;
    /// Marks a point in the program.
    fn mark_time(&mut self);
    /// This part's clock at each mark since this was called last.
    ///
    /// # Errors
    /// If other parts are gone.
    fn marked_times(&mut self) -> Result<Vec<Seconds>, Fault>;
}

/// The slaves of an application. In a round each sends the master one byte, which says whether it has more.
impl Cluster for SlaveExchange<'_, '_> {
    fn round(&mut self, mut outgoing: Vec<Vec<u8>>, more: bool) -> Result<Received, Fault> {
        outgoing.insert(MASTER, Vec::new());
        mark(&mut outgoing, more);
        let mut buffers = self.0.world().alltoallv(outgoing)?;
        buffers.remove(MASTER);
        unmark(buffers)
    }

    fn parallel<R>(&mut self, work: impl FnOnce(&mut dyn Disk) -> R) -> R {
        self.0.compute_in_parallel_spilling(|rank| work(rank))
    }

    fn serialise<R>(&mut self, work: impl FnOnce(&mut dyn Disk) -> R) -> R {
        self.0.serialise_spilling(|rank| work(rank))
    }

    fn mark_time(&mut self) {
        self.0.mark_time();
    }

    fn marked_times(&mut self) -> Result<Vec<Seconds>, Fault> {
        self.0.marked_times()
    }
}

/// Takes part in the slaves' rounds as the master, which has nothing to send, until no slave has more.
pub fn join_rounds_empty(rank: &mut Rank) -> Result<(), Fault> {
    loop {
        let nothing = vec![Vec::new(); rank.size()];
        let mut buffers = rank.world().alltoallv(nothing)?;
        buffers.remove(MASTER);
        if !unmark(buffers)?.more {
            return Ok(());
        }
    }
}

/// Appends to each buffer whether more follows.
fn mark(buffers: &mut [Vec<u8>], more: bool) {
    buffers.iter_mut().for_each(|buffer| buffer.push(u8::from(more)));
}

/// Removes from each buffer what [`mark`] appended.
fn unmark(mut buffers: Vec<Vec<u8>>) -> Result<Received, Fault> {
    let mut more = false;
    for buffer in &mut buffers {
        let mark = buffer.pop().ok_or_else(|| Fault::attempt("a part's message was empty"))?;
        more |= mark == 1;
    }
    Ok(Received { buffers, more })
}

/// A cluster of one part, in real time: it receives what it sends.
pub struct Single {
    began: Instant,
    marked: Vec<Seconds>,
}

impl Default for Single {
    fn default() -> Self {
        Single { began: Instant::now(), marked: Vec::new() }
    }
}

impl Exchange for Single {
    fn part(&self) -> usize {
        0
    }

    fn parts(&self) -> usize {
        1
    }

    fn exchange(&mut self, outgoing: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Fault> {
        Ok(outgoing)
    }
}

impl Cluster for Single {
    fn round(&mut self, buffers: Vec<Vec<u8>>, more: bool) -> Result<Received, Fault> {
        Ok(Received { buffers, more })
    }

    fn parallel<R>(&mut self, work: impl FnOnce(&mut dyn Disk) -> R) -> R {
        work(&mut Unmetered)
    }

    fn serialise<R>(&mut self, work: impl FnOnce(&mut dyn Disk) -> R) -> R {
        work(&mut Unmetered)
    }

    fn mark_time(&mut self) {
        self.marked.push(Seconds(self.began.elapsed().as_secs_f64()));
    }

    fn marked_times(&mut self) -> Result<Vec<Seconds>, Fault> {
        Ok(std::mem::take(&mut self.marked))
    }
}

#[cfg(test)]
pub mod mock {
    //! Parts as threads of one process, that count rounds instead of time.

    use super::{Cluster, Disk, Exchange, Fault, Received, Seconds, mark, unmark};
    use crate::exchange::mock::{self, Channels};
    use crate::spill::mock::AccessLog;

    /// A part that reaches the others over channels.
    pub struct Thread<'a> {
        channels: &'a mut Channels,
        /// Rounds so far.
        pub rounds: usize,
        /// Rounds at each mark.
        marked: Vec<Seconds>,
        /// Its disk.
        pub disk: AccessLog,
    }

    impl Exchange for Thread<'_> {
        fn part(&self) -> usize {
            self.channels.part()
        }

        fn parts(&self) -> usize {
            self.channels.parts()
        }

        fn exchange(&mut self, outgoing: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Fault> {
            self.channels.exchange(outgoing)
        }
    }

    impl Cluster for Thread<'_> {
        fn round(&mut self, mut outgoing: Vec<Vec<u8>>, more: bool) -> Result<Received, Fault> {
            self.rounds += 1;
            mark(&mut outgoing, more);
            unmark(self.exchange(outgoing)?)
        }

        fn parallel<R>(&mut self, work: impl FnOnce(&mut dyn Disk) -> R) -> R {
            work(&mut self.disk)
        }

        fn serialise<R>(&mut self, work: impl FnOnce(&mut dyn Disk) -> R) -> R {
            work(&mut self.disk)
        }

        fn mark_time(&mut self) {
            self.marked.push(Seconds(self.rounds as f64));
        }

        fn marked_times(&mut self) -> Result<Vec<Seconds>, Fault> {
            Ok(std::mem::take(&mut self.marked))
        }
    }

    /// Runs `work` on each of `parts` threads, and returns what each returned.
    pub fn on_threads<T: Send>(parts: usize, work: impl Fn(&mut Thread) -> T + Sync) -> Vec<T> {
        mock::on_threads(parts, |channels| {
            work(&mut Thread { channels, rounds: 0, marked: Vec::new(), disk: AccessLog::default() })
        })
    }
}
