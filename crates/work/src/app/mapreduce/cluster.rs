//! What a job needs of the nodes that run it.

use crosstalk_core::Fault;
use crosstalk_core::units::Seconds;
use std::time::Instant;

/// What arrived in one [`Cluster::exchange`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    /// From each part, a buffer.
    pub buffers: Vec<Vec<u8>>,
    /// Whether any part has more to hand out.
    pub more: bool,
}

/// One part's end of a cluster of `parts()` of them.
pub trait Cluster {
    /// This part's number, from 0.
    fn part(&self) -> usize;
    /// How many parts there are.
    fn parts(&self) -> usize;
    /// Hands `outgoing[p]` to part `p`, and says whether this part has `more`.
    /// All parts call it the same number of times.
    fn exchange(&mut self, outgoing: Vec<Vec<u8>>, more: bool) -> Result<Arrived, Fault>;
    /// Computes on all of the node's cores.
    fn parallel<R>(&mut self, work: impl FnOnce() -> R) -> R;
    /// Turns data into messages or back, on one core.
    fn serialise<R>(&mut self, work: impl FnOnce() -> R) -> R;
    /// What this part's clock shows.
    fn now(&self) -> Seconds;

    /// Hands `mine` to every part, and returns what each part handed.
    fn share(&mut self, mine: Vec<u8>) -> Result<Vec<Vec<u8>>, Fault> {
        let outgoing = vec![mine; self.parts()];
        Ok(self.exchange(outgoing, false)?.buffers)
    }
}

/// The only part, in real time: what it hands out comes back.
pub struct Alone(Instant);

impl Default for Alone {
    fn default() -> Self {
        Alone(Instant::now())
    }
}

impl Cluster for Alone {
    fn part(&self) -> usize {
        0
    }

    fn parts(&self) -> usize {
        1
    }

    fn exchange(&mut self, buffers: Vec<Vec<u8>>, more: bool) -> Result<Arrived, Fault> {
        Ok(Arrived { buffers, more })
    }

    fn parallel<R>(&mut self, work: impl FnOnce() -> R) -> R {
        work()
    }

    fn serialise<R>(&mut self, work: impl FnOnce() -> R) -> R {
        work()
    }

    fn now(&self) -> Seconds {
        Seconds(self.0.elapsed().as_secs_f64())
    }
}

#[cfg(test)]
pub mod mock {
    //! Parts as threads of one process.

    use super::{Arrived, Cluster, Fault, Seconds};
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// A part that reaches the others over channels.
    pub struct Channels {
        part: usize,
        to: Vec<Sender<(Vec<u8>, bool)>>,
        from: Vec<Receiver<(Vec<u8>, bool)>>,
        /// Times it exchanged.
        pub exchanges: usize,
    }

    impl Cluster for Channels {
        fn part(&self) -> usize {
            self.part
        }

        fn parts(&self) -> usize {
            self.to.len()
        }

        fn exchange(&mut self, outgoing: Vec<Vec<u8>>, more: bool) -> Result<Arrived, Fault> {
            self.exchanges += 1;
            for (to, buffer) in self.to.iter().zip(outgoing) {
                to.send((buffer, more)).map_err(|_| Fault::attempt("a part is gone"))?;
            }
            let mut arrived = Arrived { buffers: Vec::new(), more: false };
            for from in &self.from {
                let (buffer, more) = from.recv().map_err(|_| Fault::attempt("a part is gone"))?;
                arrived.buffers.push(buffer);
                arrived.more |= more;
            }
            Ok(arrived)
        }

        fn parallel<R>(&mut self, work: impl FnOnce() -> R) -> R {
            work()
        }

        fn serialise<R>(&mut self, work: impl FnOnce() -> R) -> R {
            work()
        }

        /// Every exchange takes a second, and nothing else takes any time.
        fn now(&self) -> Seconds {
            Seconds(self.exchanges as f64)
        }
    }

    /// Runs `work` on each of `parts` threads, and returns what each returned.
    pub fn on_threads<T: Send>(parts: usize, work: impl Fn(&mut Channels) -> T + Sync) -> Vec<T> {
        let mut to: Vec<Vec<_>> = (0..parts).map(|_| Vec::new()).collect();
        let mut from: Vec<Vec<_>> = (0..parts).map(|_| Vec::new()).collect();
        for sends in &mut to {
            for receives in &mut from {
                let (sender, receiver) = channel();
                sends.push(sender);
                receives.push(receiver);
            }
        }
        let ends = to.into_iter().zip(from).enumerate();
        let work = &work;
        std::thread::scope(|scope| {
            let threads: Vec<_> = ends
                .map(|(part, (to, from))| {
                    scope.spawn(move || work(&mut Channels { part, to, from, exchanges: 0 }))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        })
    }
}
