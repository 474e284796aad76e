//! Parts as threads of one process.

use std::sync::mpsc::{Receiver, Sender, channel};

use crosstalk_core::Fault;

use crate::exchange::Exchange;

/// A part that exchanges messages with the others over channels between threads.
pub struct Channels {
    part: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
}

impl Exchange for Channels {
    fn part(&self) -> usize {
        self.part
    }

    fn parts(&self) -> usize {
        self.to.len()
    }

    fn exchange(&mut self, outgoing: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Fault> {
        let gone = |_| Fault::attempt("a part is gone");
        for (to, buffer) in self.to.iter().zip(outgoing) {
            to.send(buffer).map_err(|_| Fault::attempt("a part is gone"))?;
        }
        self.from.iter().map(|from| from.recv().map_err(gone)).collect()
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
            .map(|(part, (to, from))| scope.spawn(move || work(&mut Channels { part, to, from })))
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}
