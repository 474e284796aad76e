//! Agents of external work in a group of ours, with all that they start.

use crosstalk_core::Fault;
use crosstalk_core::scene::Holding;
use crosstalk_host::Ledger;

use crate::exec::STUDY;
use crate::group::{Group, Made};

/// The agents go back to where they were with the drop; what else is in the group then ends with it.
#[derive(Debug)]
pub(super) struct Held {
    homes: Vec<(u32, Group)>,
    // Dropped when the agents are out of it.
    made: Made,
}

impl Held {
    /// Makes a group, has `settle` set what holds in it, and moves the `external` processes there.
    ///
    /// # Errors
    /// Where no group can be made, or it does not offer what is set; all is as before then.
    pub(super) fn new(
        external: &[u32],
        settle: impl FnOnce(&Group) -> Result<(), Fault>,
        ledger: &Ledger,
    ) -> Result<Held, Fault> {
        let made = Made::new(STUDY, ledger)?;
        settle(made.group())?;
        let mut held = Held { homes: Vec::new(), made };
        for pid in external {
            let home = Group::of_process(*pid)?.in_trees_of(held.group());
            held.homes.push((*pid, home));
            held.made.take_in(*pid)?;
        }
        Ok(held)
    }

    pub(super) fn group(&self) -> &Group {
        self.made.group()
    }
}

impl Holding for Held {}

impl Drop for Held {
    fn drop(&mut self) {
        for (pid, home) in &self.homes {
            // An agent that cannot go back ends with the group, and another takes its seat.
            let _ = home.take_in(*pid);
        }
    }
}
