//! The project's state together with the journal that it follows from.

use crosstalk_core::Fault;

use super::journal::Journal;
use super::line::Line;
use super::state::State;

/// The state of a project, with the journal that keeps it.
pub struct Store {
    /// The state after all lines of the journal.
    pub state: State,
    journal: Journal,
    /// Why nothing more can be written: the state is then ahead of the journal, and nothing of it may be sent
    /// any more.
    pub failure: Option<Fault>,
}

impl Store {
    /// A store of the `state` that the lines of `journal` have given.
    pub fn new(state: State, journal: Journal) -> Self {
        Store { state, journal, failure: None }
    }

    /// Applies a line to the state, and adds it to `lines`, which are to be written.
    pub fn apply_line(&mut self, line: Line, lines: &mut Vec<Line>) -> Result<(), Fault> {
        self.state.apply_line(&line).map_err(|why| self.fail(Fault::environment(why)))?;
        lines.push(line);
        Ok(())
    }

    /// Writes lines that were applied. They are on disk when this returns.
    pub fn write_lines(&mut self, lines: &[Line]) -> Result<(), Fault> {
        self.journal.append(lines).map_err(|fault| self.fail(fault))
    }

    fn fail(&mut self, fault: Fault) -> Fault {
        self.failure.get_or_insert(fault).clone()
    }
}
