//! What a rank's program does, how it is answered, and the trait of what runs programs.

use crosstalk_core::mpi;
use std::sync::Arc;

use super::clock::TimeBreakdown;
use crate::disk::Access;

/// What CPU time is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUse {
    /// Computing on one core.
    Compute,
    /// Computing on all cores of the node: it takes its CPU time over their speedup.
    Parallel,
    /// Turning data into messages or back, on one core.
    Serialise,
}

/// A call site in a program, as its [`Source`] numbers them.
pub type Site = u32;

/// The number under which a rank knows one of its requests until it is done. It may be used again then.
pub type RequestNumber = u32;

/// The number under which a rank knows a communicator: 0 is the world, others follow as it defines them.
pub type CommunicatorNumber = u32;

/// What a message must be to match a receive. `None` matches any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    /// The sender's number in the world.
    pub from: Option<u32>,
    /// The tag.
    pub tag: Option<u32>,
}

/// The bytes of a collective's pieces, as far as this rank knows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sizes {
    /// A vector of so many elements of so many bytes, which is cut between elements.
    Vector {
        /// Elements.
        elements: u64,
        /// Bytes of an element.
        width: u32,
    },
    /// Each piece has so many bytes.
    Equal(u64),
    /// The rank's own piece has so many bytes (gatherv, allgatherv; who gets one by scatterv does not know it; a
    /// broadcast's vector where only the root knows its length).
    Own(u64),
    /// The pieces that it sends, by receiver (alltoallv; the root of scatterv).
    Each(Arc<[u64]>),
}

/// A collective that a rank calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Which one.
    pub operation: mpi::Operation,
    /// The ranks that take part.
    pub communicator: CommunicatorNumber,
    /// The root's number in the communicator; 0 where there is none.
    pub root: u32,
    /// The pieces.
    pub sizes: Sizes,
}

/// What a rank's program does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// It has used the CPU for so many nanoseconds of the host.
    Compute {
        /// What for.
        used: TimeUse,
        /// Nanoseconds of the host's CPU.
        nanos: u64,
    },
    /// It has moved bytes to or from the node's disk.
    Spill {
        /// Where on the disk.
        access: Access,
        /// How many.
        bytes: u64,
    },
    /// Sends a message: without a request number it goes on once the data may be overwritten.
    Send {
        /// The communicator.
        communicator: CommunicatorNumber,
        /// The receiver's number in the world.
        to: u32,
        /// The tag.
        tag: u32,
        /// The bytes.
        bytes: u64,
        /// The request that says when it is done.
        request: Option<RequestNumber>,
    },
    /// Receives a message: without a request number it waits for it.
    Receive {
        /// The communicator.
        communicator: CommunicatorNumber,
        /// Which message.
        pattern: Pattern,
        /// The request that says when it is done.
        request: Option<RequestNumber>,
    },
    /// Waits for all of these requests.
    WaitAll(Box<[RequestNumber]>),
    /// Waits for one of these requests: the first that is done.
    WaitAny(Box<[RequestNumber]>),
    /// Looks whether a request is done.
    Test(RequestNumber),
    /// Takes part in a collective.
    Collective(Box<Call>),
    /// Defines its next communicator: the same identity and members at all of these.
    Define {
        /// Equal at all members, and at no others.
        identity: u64,
        /// The members' numbers in the world, by their numbers in it.
        members: Arc<[u32]>,
    },
    /// Waits for all ranks; then all clocks begin at zero.
    Restart,
    /// Asks for the clock.
    Account,
    /// It has ended.
    Finish,
}

/// A message that was received, as its receiver finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// The sender's number in the world.
    pub from: u32,
    /// Which of the sender's point-to-point messages it is, from 0.
    pub number: u64,
}

/// The answer to operations that wait or ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A receive without request.
    Received(Received),
    /// All of the requests are done; for receives, with the message.
    All(Vec<Option<Received>>),
    /// This one of the requests is done, by its index.
    Any(u32, Option<Received>),
    /// Whether the request is done.
    Tested(Option<Option<Received>>),
    /// The clock.
    Account(TimeBreakdown),
    /// All clocks begin at zero.
    Done,
}

/// What a source has of a rank.
#[derive(Debug)]
pub enum Next {
    /// Its next operation, and its call site.
    Operation(Operation, Site),
    /// Its program is running: what it does next is not known yet.
    NotYet,
}

/// The ranks' programs.
pub trait Source {
    /// What `rank` does next. It is not asked before the operation before is done.
    fn next(&mut self, rank: u32) -> Next;

    /// Answers `rank`.
    fn answer_rank(&mut self, rank: u32, answer: Answer);

    /// A call site in `rank`'s program, for people.
    fn call_site(&self, rank: u32, site: Site) -> String;
}
