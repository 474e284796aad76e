//! What is wrong when nothing can happen any more: who waits for whom, and where; or what nobody received.

use crosstalk_core::Fault;

use super::matching::{COLLECTIVE, Key};
use super::operation::{Pattern, Source};
use super::rank::{Rank, State};
use super::request::{Purpose, State as RequestState};
use super::simulator::Network;

/// The most ranks that the message names.
const NAMED: usize = 8;

impl Network<'_> {
    /// No rank can go on.
    pub(super) fn deadlock(&self, source: &impl Source) -> Fault {
        let waiting = |(number, rank): (usize, &Rank)| {
            let (what, site) = self.waits_for(rank)?;
            Some(format!("rank {number} at {} waits for {what}", source.call_site(number as u32, site)))
        };
        let mut all: Vec<String> = self.ranks.iter().enumerate().filter_map(waiting).collect();
        let more = all.len().saturating_sub(NAMED);
        all.truncate(NAMED);
        if more > 0 {
            all.push(format!("and {more} more"));
        }
        Fault::attempt(format!("deadlock: {}", all.join("; "))).remedy(
            "let each message that is waited for be sent first, with the tag that the receive asks for",
        )
    }

    fn waits_for(&self, rank: &Rank) -> Option<(String, u32)> {
        match rank.state {
            State::AtRestart => Some(("all ranks to restart their clocks".into(), rank.wait.site)),
            State::Waiting => {
                let pending = |handle: &&u32| rank.requests.get(**handle).state == RequestState::Pending;
                let request = rank.requests.get(*rank.wait.handles.iter().find(pending)?);
                Some((self.describe(request.purpose), rank.wait.site))
            }
            State::Running | State::Testing(_) | State::Finished => None,
        }
    }

    fn describe(&self, purpose: Purpose) -> String {
        let end = |rank: u32| match self.ranks[rank as usize].state {
            State::Finished => format!(", which rank {rank} has finished without"),
            _ => String::new(),
        };
        let tag = |key: Key| match key.communicator & COLLECTIVE == 0 {
            true => format!("with tag {}", key.tag),
            false => format!("in collective {} of the communicator", key.tag),
        };
        match purpose {
            Purpose::Send(to, key) => format!("rank {to} to receive its message {}{}", tag(key), end(to)),
            Purpose::Receive(key) => format!("a message of rank {} {}{}", key.from, tag(key), end(key.from)),
            Purpose::ReceiveAny(Pattern { from, tag }) => {
                let from = from.map_or("any rank".into(), |from| format!("rank {from}"));
                let tag = tag.map_or("any tag".into(), |tag| format!("tag {tag}"));
                format!("a message of {from} with {tag}")
            }
        }
    }

    /// All ranks have finished: nothing may be left.
    pub(super) fn check_all_received(&self, source: &impl Source) -> Result<(), Fault> {
        let left =
            self.ranks.iter().enumerate().find_map(|(number, rank)| Some((number, rank.arrived.any()?)));
        let Some((to, message)) = left else { return Ok(()) };
        let message = self.messages.get(message);
        let from = message.key.from;
        Err(Fault::attempt(format!(
            "a message of {} bytes with tag {} from rank {from}, sent at {}, was never received",
            message.bytes,
            message.key.tag,
            source.call_site(from, message.site)
        ))
        .on(to)
        .remedy("receive it, or do not send it"))
    }
}
