//! How the exchanges that began have ended.

/// What the BPF programs count; as `enum count` of `bpf/service/state.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Count {
    /// Exchanges that began.
    Begun,
    /// Exchanges that were traced to their end.
    Recorded,
    /// Exchanges that were lost because the ring buffer was full.
    Full,
    /// The client sent again before it had read the answer.
    Overlapped,
    /// The connection ended before there was an answer.
    Unanswered,
    /// The connection ended before the client had read the answer.
    Unread,
    /// A process other than those of [`TraceTarget`](super::TraceTarget) read the request.
    Foreign,
    /// Requests on connections beyond the table's 65,536. They, and all below, are not among
    /// [`Count::Begun`].
    NoRoom,
    /// Messages that the server sent without a request.
    Unasked,
    /// Packets of requests that were received again.
    Again,
}

impl Count {
    /// All counts, in the order of the kernel's map.
    pub const ALL: [Count; 10] = [
        Count::Begun,
        Count::Recorded,
        Count::Full,
        Count::Overlapped,
        Count::Unanswered,
        Count::Unread,
        Count::Foreign,
        Count::NoRoom,
        Count::Unasked,
        Count::Again,
    ];
}

/// A number for each [`Count`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts(pub(super) [u64; Count::ALL.len()]);

impl Counts {
    /// The number of one [`Count`].
    pub fn of(&self, count: Count) -> u64 {
        self.0[count as usize]
    }
}
