//! The simulator: what ranks have in common, and the loop that lets everything happen in order.

use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::units::Seconds;

use super::card::Card;
use super::charge::CostModel;
use super::clock::TimeBreakdown;
use super::collective::Communicators;
use super::event::{Event, EventKind, Events};
use super::message::Messages;
use super::operation::{Answer, Source};
use super::rank::{Rank, State};
use crate::collective::Choices;
use crate::time::VirtualTime;

/// How far a network has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It waits for what running ranks do next.
    NeedsMore,
    /// All ranks have finished.
    Finished,
}

/// An emulated network, and the ranks on it.
#[derive(Debug)]
pub struct Network<'e> {
    pub(super) emulation: &'e Emulation,
    pub(super) costs: CostModel<'e>,
    pub(super) choices: Choices,
    /// Seconds of the host's CPU to combine a byte.
    pub(super) combine: Seconds,
    pub(super) cards: Vec<Card>,
    /// The links of boards.
    pub(super) boards: Vec<Card>,
    pub(super) ranks: Vec<Rank>,
    pub(super) communicators: Communicators,
    pub(super) messages: Messages,
    pub(super) events: Events,
    /// Ranks that can go on.
    pub(super) able: Vec<u32>,
    /// Ranks whose next operation is not known.
    pub(super) running: Vec<u32>,
    pub(super) lookahead: (VirtualTime, VirtualTime),
}

impl<'e> Network<'e> {
    /// A network of `ranks` ranks at the time zero. `combine` is the time that the host's CPU needs to combine a
    /// byte in a reduction.
    ///
    /// # Errors
    /// A usage fault where the emulation has too few nodes for the ranks.
    pub fn new(emulation: &'e Emulation, ranks: usize, combine: Seconds) -> Result<Self, Fault> {
        let (nodes, each) = (emulation.board.len(), emulation.ranks_per_node as usize);
        if ranks == 0 || ranks > nodes * each {
            return Err(Fault::usage(format!(
                "expected 1 to {} ranks on {nodes} nodes with {each} each, found {ranks}",
                nodes * each
            )));
        }
        let costs = CostModel::new(emulation);
        let all: Vec<Rank> = (0..ranks as u32).map(|_| Rank::default()).collect();
        Ok(Network {
            lookahead: costs.lookahead(),
            costs,
            choices: Choices::new(emulation.mpi.as_ref().map_or(&[][..], |mpi| &mpi.collectives)),
            combine,
            cards: vec![Card::default(); nodes],
            boards: vec![Card::default(); emulation.board.iter().max().map_or(0, |last| *last as usize + 1)],
            communicators: Communicators::of_world(ranks),
            messages: Messages::default(),
            events: Events::default(),
            able: Vec::new(),
            running: (0..ranks as u32).rev().collect(),
            ranks: all,
            emulation,
        })
    }

    /// Goes on as far as is known what ranks do.
    ///
    /// # Errors
    /// An attempt fault: ranks wait for each other, call different collectives, or leave messages that nobody
    /// receives. A usage fault where a program is none.
    pub fn advance(&mut self, source: &mut impl Source) -> Result<Progress, Fault> {
        self.able.append(&mut self.running);
        loop {
            while let Some(rank) = self.able.pop() {
                self.run(rank, source)?;
            }
            match self.events.first() {
                Some(event) if self.is_safe(event) => {
                    let event = *event;
                    self.events.pop();
                    self.happen(event, source);
                }
                _ if !self.running.is_empty() => return Ok(Progress::NeedsMore),
                _ if self.ranks.iter().all(|rank| rank.state == State::Finished) => {
                    self.check_all_received(source)?;
                    return Ok(Progress::Finished);
                }
                _ if self.ranks.iter().all(|rank| rank.state == State::AtRestart) => self.restart(source),
                _ => return Err(self.deadlock(source)),
            }
        }
    }

    /// The clock of each rank.
    pub fn clocks(&self) -> impl Iterator<Item = TimeBreakdown> {
        self.ranks.iter().map(|rank| rank.clock)
    }

    /// Whether no running rank can do anything that comes before the event.
    fn is_safe(&self, event: &Event) -> bool {
        let (to_arrive, to_leave) = self.lookahead;
        let leaves = matches!(event.kind, EventKind::Leave(_) | EventKind::LeaveBoard(_));
        let ahead = if leaves { to_leave } else { to_arrive };
        self.running.iter().all(|rank| event.at < self.ranks[*rank as usize].clock.total() + ahead)
    }

    fn happen(&mut self, event: Event, source: &mut impl Source) {
        match event.kind {
            EventKind::Leave(message) => self.leave(message, event.at),
            EventKind::LeaveBoard(message) => self.leave_board(message, event.at),
            EventKind::ArriveAtBoard(message) => self.arrive_at_board(message, event.at),
            EventKind::Arrive(message) => self.arrive(message, event.at),
            EventKind::Test(rank) => self.test(rank, source),
        }
    }

    /// Everything on its way has arrived: all clocks and cards begin anew.
    fn restart(&mut self, source: &mut impl Source) {
        self.cards.iter_mut().chain(&mut self.boards).for_each(Card::restart);
        self.messages.all_have_arrived();
        for (number, rank) in self.ranks.iter_mut().enumerate() {
            rank.restart();
            source.answer_rank(number as u32, Answer::Done);
            self.able.push(number as u32);
        }
    }
}
