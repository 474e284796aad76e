//! The workloads, conditions and observers that a study can name.

use crate::Fault;
use crate::name::unknown;
use crate::scene::{Condition, Observer, Workload};

/// The registered parts of scenes. The program has one registry; tests build their own.
#[derive(Default)]
pub struct Registry {
    /// The workloads.
    pub workloads: Vec<Box<dyn Workload>>,
    /// The conditions.
    pub conditions: Vec<Box<dyn Condition>>,
    /// The observers.
    pub observers: Vec<Box<dyn Observer>>,
}

impl Registry {
    /// The workload of that name.
    ///
    /// # Errors
    /// A usage fault with the nearest name.
    pub fn workload(&self, name: &str) -> Result<&dyn Workload, Fault> {
        find("workload", name, &self.workloads, |w| w.name())
    }

    /// The condition of that name.
    ///
    /// # Errors
    /// A usage fault with the nearest name.
    pub fn condition(&self, name: &str) -> Result<&dyn Condition, Fault> {
        find("condition", name, &self.conditions, |c| c.name())
    }

    /// The observer of that name.
    ///
    /// # Errors
    /// A usage fault with the nearest name.
    pub fn observer(&self, name: &str) -> Result<&dyn Observer, Fault> {
        find("observer", name, &self.observers, |o| o.name())
    }
}

fn find<'a, T: ?Sized>(
    kind: &str,
    name: &str,
    all: &'a [Box<T>],
    name_of: impl Fn(&T) -> &'static str,
) -> Result<&'a T, Fault> {
    all.iter()
        .map(Box::as_ref)
        .find(|part| name_of(part) == name)
        .ok_or_else(|| unknown(kind, name, all.iter().map(|part| name_of(part)).collect::<Vec<_>>()))
}
