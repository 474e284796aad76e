//! What became of the exchanges that were seen to begin.

/// Counted by the programs; as `enum count` of `bpf/service.bpf.c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Count {
    /// They began.
    Begun,
    /// They were followed to their end.
    Recorded,
    /// They were, but were taken out of the kernel too slowly.
    Full,
    /// The client sent again before it had read the answer.
    Overlapped,
    /// The connection ended before there was an answer.
    Unanswered,
    /// The connection ended before the client had read the answer.
    Unread,
    /// A process read them that was not asked about.
    Foreign,
    /// Requests on connections that there was no room for; they are not among [`Count::Begun`].
    NoRoom,
    /// What the server sent without having been asked; not among them either.
    Unasked,
    /// Packets of requests that had been there before; nor are these.
    Again,
}

impl Count {
    /// All of them.
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

/// How often each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts(pub(super) [u64; Count::ALL.len()]);

impl Counts {
    /// How often.
    pub fn of(&self, count: Count) -> u64 {
        self.0[count as usize]
    }
}
