//! What a rank's program sends, counted as it asks for it.

use std::collections::BTreeMap;

use crosstalk_core::mpi::Operation;
use crosstalk_model::network::Sizes;

/// A number of calls, and the bytes in them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Calls.
    pub calls: u64,
    /// Bytes of the messages, vectors and pieces that the calls name.
    pub bytes: u64,
}

/// What a rank's program has sent since its clock was restarted. A collective counts as one call, whatever messages carry
/// it out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages from one rank to another.
    pub messages: Counted,
    /// Collectives. Bytes are those of the vector or piece that
    /// each rank names, whether it is the root or not, or of all pieces that it sends.
    pub collectives: BTreeMap<Operation, Counted>,
}

impl Traffic {
    pub(crate) fn count_message(&mut self, bytes: u64) {
        self.messages.calls += 1;
        self.messages.bytes += bytes;
    }

    pub(crate) fn count_collective(&mut self, operation: Operation, sizes: &Sizes, ranks: usize) {
        let counted = self.collectives.entry(operation).or_default();
        counted.calls += 1;
        counted.bytes += match sizes {
            Sizes::Vector { elements, width } => elements * u64::from(*width),
            Sizes::Equal(each) if operation == Operation::Alltoall => each * ranks as u64,
            Sizes::Equal(each) => *each,
            Sizes::Own(own) => *own,
            Sizes::Each(each) => each.iter().sum(),
        };
    }

    /// All calls, and all bytes.
    pub fn total(&self) -> Counted {
        self.collectives.values().fold(self.messages, |sum, one| Counted {
            calls: sum.calls + one.calls,
            bytes: sum.bytes + one.bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_bytes_are_counted_by_kind() {
        let mut traffic = Traffic::default();
        traffic.count_message(100);
        traffic.count_collective(Operation::Alltoall, &Sizes::Equal(8), 4);
        traffic.count_collective(Operation::Allreduce, &Sizes::Vector { elements: 2, width: 8 }, 4);
        traffic.count_collective(Operation::Allreduce, &Sizes::Vector { elements: 1, width: 8 }, 4);
        assert_eq!(traffic.collectives[&Operation::Alltoall], Counted { calls: 1, bytes: 32 });
        assert_eq!(traffic.collectives[&Operation::Allreduce], Counted { calls: 2, bytes: 24 });
        assert_eq!(traffic.total(), Counted { calls: 4, bytes: 156 });
    }
}
