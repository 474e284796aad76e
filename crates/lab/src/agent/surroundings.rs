//! The keeper's part: applies and undoes a node's conditions, attaches and detaches its observers.
//! Nothing else in this crate does.

use std::time::Instant;

use crosstalk_core::Fault;
use crosstalk_core::message::{Step, Surroundings};
use crosstalk_core::record::Reading;
use crosstalk_core::registry::Registry;
use crosstalk_core::scene::{AppliedCondition, AttachedObserver};

/// The conditions and observers that are active. Dropping it undoes the conditions.
pub struct ActiveSurroundings<'a> {
    registry: &'a Registry,
    conditions: Conditions,
    /// With the node label of their readings, if any.
    observers: Vec<(Option<usize>, Box<dyn AttachedObserver>)>,
    /// When the observers were attached.
    began: Instant,
}

impl<'a> ActiveSurroundings<'a> {
    /// No conditions and observers yet. `registry` resolves the names of those to come.
    pub fn new(registry: &'a Registry) -> Self {
        ActiveSurroundings {
            registry,
            conditions: Conditions(Vec::new()),
            observers: Vec::new(),
            began: Instant::now(),
        }
    }

    /// Does a step. `report` takes the observers' readings, with the seconds since they were attached.
    ///
    /// # Errors
    /// The first fault of a condition, an observer or `report`. If one cannot be applied, all are undone.
    pub fn do_step(
        &mut self,
        step: &Step,
        report: &mut dyn FnMut(Reading, f64) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        match step {
            Step::Put(surroundings) => {
                let outcome = self.set_up(surroundings);
                if outcome.is_err() {
                    self.observers.clear();
                    self.conditions.undo();
                }
                outcome
            }
            Step::Begin => self.conditions.begin(),
            Step::End => self.conditions.end(),
            Step::Clear => {
                let readings = self.detach();
                self.conditions.undo();
                let at = self.began.elapsed().as_secs_f64();
                readings?.into_iter().try_for_each(|reading| report(reading, at))
            }
        }
    }

    fn set_up(&mut self, surroundings: &Surroundings) -> Result<(), Fault> {
        let background = || {
            let known = surroundings.lasting.iter().map(|process| {
                process.ok_or_else(|| {
                    Fault::environment("an agent on this node does not know its process id")
                        .remedy("mount /proc for this node's processes, or use --testbed local")
                })
            });
            known.collect()
        };
        for (name, value) in &surroundings.conditions {
            self.conditions.0.push(self.registry.condition(name)?.apply(value, &background)?);
        }
        for part in &surroundings.observers {
            let observer = self.registry.observer(&part.observer)?.attach()?;
            self.observers.push((part.node, observer));
        }
        self.began = Instant::now();
        Ok(())
    }

    /// Detaches all observers. Returns their readings, or the first fault.
    fn detach(&mut self) -> Result<Vec<Reading>, Fault> {
        let (mut readings, mut outcome) = (Vec::new(), Ok(()));
        for (node, observer) in self.observers.drain(..) {
            let mut taken: Vec<Reading> = Vec::new();
            outcome = outcome.and(observer.detach(&mut taken));
            readings.extend(taken.into_iter().map(|reading| match node {
                Some(node) => reading.label("node", node),
                None => reading,
            }));
        }
        outcome.map(|()| readings)
    }
}

/// The conditions that are applied. They are undone in reverse order, as each may build on earlier ones.
struct Conditions(Vec<Box<dyn AppliedCondition>>);

impl Conditions {
    fn begin(&mut self) -> Result<(), Fault> {
        self.0.iter_mut().try_for_each(|condition| condition.begin())
    }

    /// Ends each condition. Returns the first fault.
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
