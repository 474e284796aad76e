//! What surrounds the work of a node during an attempt: conditions that are applied here and undone
//! here, observers that watch here. Nothing else in the room applies or attaches any.

use std::time::Instant;

use crosstalk_core::Fault;
use crosstalk_core::message::{Step, Surroundings};
use crosstalk_core::record::Reading;
use crosstalk_core::registry::Registry;
use crosstalk_core::scene::{Holding, Watch};

/// Those that stand. Dropping it undoes the conditions.
pub struct Standing<'a> {
    registry: &'a Registry,
    conditions: Conditions,
    /// With the node that their readings are labelled with, if any.
    watches: Vec<(Option<usize>, Box<dyn Watch>)>,
    began: Instant,
}

impl<'a> Standing<'a> {
    /// None so far; what comes is named in `registry`.
    pub fn new(registry: &'a Registry) -> Self {
        Standing { registry, conditions: Conditions(Vec::new()), watches: Vec::new(), began: Instant::now() }
    }

    /// Takes a step; `tell` takes what observers saw, with the seconds since they were attached.
    ///
    /// # Errors
    /// The first fault of a condition, an observer or `tell`. Where not all could be put, none stands.
    pub fn step(
        &mut self,
        step: &Step,
        tell: &mut dyn FnMut(Reading, f64) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        match step {
            Step::Put(surroundings) => {
                let put = self.put(surroundings);
                if put.is_err() {
                    self.watches.clear();
                    self.conditions.undo();
                }
                put
            }
            Step::Begin => self.conditions.begin(),
            Step::End => self.conditions.end(),
            Step::Clear => {
                let seen = self.detach();
                self.conditions.undo();
                let at = self.began.elapsed().as_secs_f64();
                seen?.into_iter().try_for_each(|reading| tell(reading, at))
            }
        }
    }

    fn put(&mut self, surroundings: &Surroundings) -> Result<(), Fault> {
        let background = || {
            let known = surroundings.lasting.iter().map(|process| {
                process.ok_or_else(|| {
                    Fault::environment("an agent here does not know its process's number")
                        .remedy("mount /proc for this node's processes, or use --testbed local")
                })
            });
            known.collect()
        };
        for (name, value) in &surroundings.conditions {
            self.conditions.0.push(self.registry.condition(name)?.apply(value, &background)?);
        }
        for observed in &surroundings.observers {
            let watch = self.registry.observer(&observed.observer)?.attach()?;
            self.watches.push((observed.node, watch));
        }
        self.began = Instant::now();
        Ok(())
    }

    /// Detaches all observers; what they saw, or the first fault.
    fn detach(&mut self) -> Result<Vec<Reading>, Fault> {
        let (mut readings, mut outcome) = (Vec::new(), Ok(()));
        for (node, watch) in self.watches.drain(..) {
            let mut seen: Vec<Reading> = Vec::new();
            outcome = outcome.and(watch.detach(&mut seen));
            readings.extend(seen.into_iter().map(|reading| match node {
                Some(node) => reading.label("node", node),
                None => reading,
            }));
        }
        outcome.map(|()| readings)
    }
}

/// Those that hold. They are undone the last first, as each was applied upon those before.
struct Conditions(Vec<Box<dyn Holding>>);

impl Conditions {
    fn begin(&mut self) -> Result<(), Fault> {
        self.0.iter_mut().try_for_each(|condition| condition.begin())
    }

    /// Ends each; the first fault.
    fn end(&mut self) -> Result<(), Fault> {
        let ended: Vec<_> = self.0.iter_mut().rev().map(|condition| condition.end()).collect();
        ended.into_iter().collect()
    }

    fn undo(&mut self) {
        while self.0.pop().is_some() {}
    }
}

impl Drop for Conditions {
    fn drop(&mut self) {
        self.undo();
    }
}
