//! What a job needs of the nodes that run it, beside an exchange.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;
use crosstalk_core::units::Seconds;
use std::time::Instant;

use crate::exchange::Exchange;
use crate::spill::{Disk, Unmetered};
use crate::words::{MASTER, Slaves};

/// What arrived in one [`Cluster::round`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    /// From each part, a buffer.
    pub buffers: Vec<Vec<u8>>,
    /// Whether any part has more to hand out.
    pub more: bool,
}

/// One part's end of a cluster.
pub trait Cluster: Exchange {
    /// Hands `outgoing[p]` to part `p`, and says whether this part has `more`.
    /// All parts call it the same number of times.
    fn round(&mut self, outgoing: Vec<Vec<u8>>, more: bool) -> Result<Arrived, Fault>;
    /// Computes on all of the node's cores, and turns to its disk in between.
    fn parallel<R>(&mut self, work: impl FnOnce(&mut dyn Disk) -> R) -> R;
    /// Turns data into messages or back, on one core, and to the disk in between.
    fn serialise<R>(&mut self, work: impl FnOnce(&mut dyn Disk) -> R) -> R;
    /// What this part's clock shows.
    fn now(&self) -> Seconds;

    /// Hands `mine` to every part, and returns what each part handed.
    fn share(&mut self, mine: Vec<u8>) -> Result<Vec<Vec<u8>>, Fault> {
        let outgoing = vec![mine; self.parts()];
        Ok(self.round(outgoing, false)?.buffers)
    }
}

/// The slaves of an application. In a round the master gets one byte of each,
/// which says whether that slave has more.
impl Cluster for Slaves<'_, '_> {
    fn round(&mut self, mut outgoing: Vec<Vec<u8>>, more: bool) -> Result<Arrived, Fault> {
        outgoing.insert(MASTER, Vec::new());
        mark(&mut outgoing, more);
        let mut buffers = self.0.alltoallv(outgoing)?;
        buffers.remove(MASTER);
        unmark(buffers)
    }

    fn parallel<R>(&mut self, work: impl FnOnce(&mut dyn Disk) -> R) -> R {
        self.0.parallel_spilling(|rank| work(rank))
    }

    fn serialise<R>(&mut self, work: impl FnOnce(&mut dyn Disk) -> R) -> R {
        self.0.serialise_spilling(|rank| work(rank))
    }

    fn now(&self) -> Seconds {
        self.0.now()
    }
}

/// The master's part in the slaves' rounds, until none has more.
pub fn look_on(rank: &mut Rank) -> Result<(), Fault> {
    loop {
        let mut buffers = rank.alltoallv(vec![Vec::new(); rank.size()])?;
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

/// Takes off each buffer what [`mark`] appended.
fn unmark(mut buffers: Vec<Vec<u8>>) -> Result<Arrived, Fault> {
    let mut more = false;
    for buffer in &mut buffers {
        let mark = buffer.pop().ok_or_else(|| Fault::attempt("a part's message was empty"))?;
        more |= mark == 1;
    }
    Ok(Arrived { buffers, more })
}

/// The only part, in real time: what it hands out comes back.
pub struct Single(Instant);

impl Default for Single {
    fn default() -> Self {
        Single(Instant::now())
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
    fn round(&mut self, buffers: Vec<Vec<u8>>, more: bool) -> Result<Arrived, Fault> {
        Ok(Arrived { buffers, more })
    }

    fn parallel<R>(&mut self, work: impl FnOnce(&mut dyn Disk) -> R) -> R {
        work(&mut Unmetered)
    }

    fn serialise<R>(&mut self, work: impl FnOnce(&mut dyn Disk) -> R) -> R {
        work(&mut Unmetered)
    }

    fn now(&self) -> Seconds {
        Seconds(self.0.elapsed().as_secs_f64())
    }
}

#[cfg(test)]
pub mod mock {
    //! Parts as threads of one process, that count rounds instead of time.

    use super::{Arrived, Cluster, Disk, Exchange, Fault, Seconds, mark, unmark};
    use crate::exchange::mock::{self, Channels};
    use crate::spill::mock::Told;

    /// A part that reaches the others over channels.
    pub struct Thread<'a> {
        channels: &'a mut Channels,
        /// Rounds so far.
        pub rounds: usize,
        /// Its disk.
        pub disk: Told,
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
        fn round(&mut self, mut outgoing: Vec<Vec<u8>>, more: bool) -> Result<Arrived, Fault> {
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

        fn now(&self) -> Seconds {
            Seconds(self.rounds as f64)
        }
    }

    /// Runs `work` on each of `parts` threads, and returns what each returned.
    pub fn on_threads<T: Send>(parts: usize, work: impl Fn(&mut Thread) -> T + Sync) -> Vec<T> {
        mock::on_threads(parts, |channels| work(&mut Thread { channels, rounds: 0, disk: Told::default() }))
    }
}
