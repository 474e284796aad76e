//! The resources of a slave's stages.

use crosstalk_core::Fault;
use crosstalk_core::units::Seconds;

use super::config::Settings;
use crate::mapreduce::budget::{Memory, Room};
use crate::mapreduce::cluster::Cluster;
use crate::mapreduce::combine::Combiner;
use crate::mapreduce::list::{Aggregate, Numeric, OccurrenceList};
use crate::mapreduce::record::{Key, Value};
use crate::mapreduce::runs::SortedRecords;
use crate::mapreduce::share::{Shared, Totals};
use crate::mapreduce::shuffle::shuffle;
use crate::mapreduce::sorted::{ListWriter, SortedList};
use crate::mapreduce::spool::Spool;
use crate::spill::{Disk, Scratch};

/// A slave's resources during the computation: memory, disk, cluster and clock.
pub struct Node<'a, C> {
    /// What is computed.
    pub settings: &'a Settings,
    /// The other slaves.
    pub cluster: &'a mut C,
    /// The directory for spilled data.
    pub scratch: Scratch,
    /// Its memory.
    pub memory: Memory,
    /// Bytes that were sent to other slaves.
    pub sent: u64,
    /// The stages that have ended, in order.
    pub ended: Vec<Stage>,
    /// The number of segments of each of [`TABLES`].
    pub segments: [u64; TABLES.len()],
}

/// The tables that every slave needs whole, and has in memory a segment at a time.
pub const TABLES: [&str; 3] = ["dictionary", "features", "model"];

/// A table of [`TABLES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// The number of each word.
    Dictionary,
    /// The number and the weight of each feature.
    Features,
    /// The weights of each feature by label.
    Model,
}

/// The stages, in the order in which they run.
pub const STAGES: [Stage; 8] = [
    Stage::Label,
    Stage::CountWords,
    Stage::ShareWords,
    Stage::CountPairs,
    Stage::SharePairs,
    Stage::Weigh,
    Stage::Train,
    Stage::Test,
];

/// A stage of the computation, whose time is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Pages become labelled documents.
    Label,
    /// Words are separated and counted.
    CountWords,
    /// Counts of words are shuffled, and become a dictionary on every slave.
    ShareWords,
    /// Neighbouring words are counted.
    CountPairs,
    /// Counts of pairs are shuffled, and become features on every slave.
    SharePairs,
    /// Documents become vectors.
    Weigh,
    /// Weights are added up by label, and become a model on every slave.
    Train,
    /// The test documents get labels.
    Test,
}

impl Stage {
    /// Its name, for labels and people.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Label => "label",
            Stage::CountWords => "count words",
            Stage::ShareWords => "share words",
            Stage::CountPairs => "count pairs",
            Stage::SharePairs => "share pairs",
            Stage::Weigh => "weigh",
            Stage::Train => "train",
            Stage::Test => "test",
        }
    }
}

impl<'a, C: Cluster> Node<'a, C> {
    /// Resources whose first stage starts now.
    pub fn new(settings: &'a Settings, memory: Memory, scratch: Scratch, cluster: &'a mut C) -> Self {
        cluster.mark_time();
        Node { settings, cluster, scratch, memory, sent: 0, ended: Vec::new(), segments: [0; TABLES.len()] }
    }

    /// An empty spool.
    pub fn spool(&self) -> Spool {
        Spool::new(&self.scratch, self.memory.budget().spool_memory())
    }

    /// An empty table of words.
    pub fn combiner<V: Value>(&self) -> Combiner<V> {
        Combiner::new(self.memory.budget(), &self.scratch)
    }

    /// An empty list of numbers.
    pub fn list<K: Numeric, V: Aggregate>(&self) -> OccurrenceList<K, V> {
        OccurrenceList::new(self.memory.budget(), &self.scratch)
    }

    /// A sorted list to be shared, or to be read beside shared ones.
    pub fn list_writer<K: Key, V: Value>(&self, room: Room) -> ListWriter<K, V> {
        ListWriter::new(&self.scratch, room, self.memory.budget().block_bytes())
    }

    /// Holds `bytes` of the next segment of a table until they are released: buffers get what is left, those of
    /// `spools` at once.
    pub fn hold_segment<'s>(
        &mut self,
        table: Table,
        bytes: u64,
        spools: impl IntoIterator<Item = &'s mut Spool>,
    ) -> Result<(), Fault> {
        self.segments[table as usize] += 1;
        self.memory.hold(bytes);
        let room = self.memory.budget().spool_memory();
        self.cluster.parallel(|disk| spools.into_iter().try_for_each(|spool| spool.set_memory(disk, room)))
    }

    /// Shuffles the records of `finish`; `reduce` gets the sum of each key's values.
    pub fn shuffle<K: Key, V: Value>(
        &mut self,
        finish: impl FnOnce(&mut dyn Disk) -> Result<SortedRecords<K, V>, Fault>,
        reduce: impl FnMut(&mut dyn Disk, K, V) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.sent += shuffle(finish, self.memory.budget(), &self.scratch, self.cluster, reduce)?;
        Ok(())
    }

    /// Sends `list` to every slave, and receives theirs. So many `what` were emitted here, so many arrived: sums
    /// over all slaves must be equal.
    pub fn share<K: Key, V: Value>(
        &mut self,
        what: &str,
        list: SortedList<K, V>,
        emitted: u64,
        arrived: u64,
    ) -> Result<Shared<K, V>, Fault> {
        let budget = self.memory.budget();
        let (shared, sent) = Shared::new(list, (emitted, arrived), budget, &self.scratch, self.cluster)?;
        self.sent += sent;
        let Totals { emitted, arrived, .. } = shared.totals();
        if emitted == arrived {
            return Ok(shared);
        }
        Err(Fault::attempt(format!("wrong answer: {emitted} {what} were counted, {arrived} arrived")))
    }

    /// Ends a stage, which took the time since the one before.
    pub fn end_stage(&mut self, stage: Stage) {
        self.cluster.mark_time();
        self.ended.push(stage);
    }
}

/// The time of each of [`STAGES`]. `marked` are the times at the start and at the end of each that has `ended`.
pub fn stage_times(ended: &[Stage], marked: &[Seconds]) -> [Seconds; STAGES.len()] {
    let mut times = [Seconds(0.0); STAGES.len()];
    for (stage, between) in ended.iter().zip(marked.windows(2)) {
        times[*stage as usize] = Seconds(between[1].0 - between[0].0);
    }
    times
}
