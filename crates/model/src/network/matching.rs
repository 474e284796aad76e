//! Which message belongs to which receive. A receive takes the earliest message that it matches, and a message
//! goes to the earliest receive that it matches, as in MPI. Exact receives and messages are found by key, in
//! constant time, however many wait.

use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

use super::operation::Pattern;

/// No list entry.
pub(super) const NONE: u32 = u32::MAX;

/// What a message is matched by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// The sender's number in the world.
    pub(super) from: u32,
    /// The communicator, in the network's numbering; its highest bit says that it is a collective's message.
    pub(super) communicator: u32,
    /// The tag, or the number of the collective.
    pub(super) tag: u32,
}

/// Marks a collective's messages in [`Key::communicator`].
pub(super) const COLLECTIVE: u32 = 1 << 31;

/// The first and the last of those that wait under one key, in the order in which they came. The links are in
/// the entries themselves.
#[derive(Debug, Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

/// What waits under keys: receives for messages, or messages for receives.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    lists: FxHashMap<Key, List>,
}

impl Waiting {
    /// Adds `entry` at the end of its list. Returns the entry before it, which is to link to it.
    pub(super) fn add(&mut self, key: Key, entry: u32) -> Option<u32> {
        match self.lists.entry(key) {
            Entry::Vacant(vacant) => {
                vacant.insert(List { first: entry, last: entry });
                None
            }
            Entry::Occupied(mut list) => Some(std::mem::replace(&mut list.get_mut().last, entry)),
        }
    }

    /// The first entry of a list.
    pub(super) fn first(&self, key: Key) -> Option<u32> {
        self.lists.get(&key).map(|list| list.first)
    }

    /// Takes the first entry of a list; `next` gives the entry after it.
    pub(super) fn take(&mut self, key: Key, next: impl Fn(u32) -> u32) -> Option<u32> {
        let Entry::Occupied(mut list) = self.lists.entry(key) else { return None };
        let first = list.get().first;
        match next(first) {
            NONE => _ = list.remove(),
            next => list.get_mut().first = next,
        }
        Some(first)
    }

    /// The first entry of each list, in no order.
    pub(super) fn firsts(&self) -> impl Iterator<Item = u32> {
        self.lists.values().map(|list| list.first)
    }
}

/// A receive that takes messages of any sender, or with any tag.
#[derive(Debug, Clone, Copy)]
struct AnyReceive {
    communicator: u32,
    pattern: Pattern,
    /// How many receives the rank had posted before.
    posted: u64,
    entry: u32,
}

impl AnyReceive {
    fn takes(&self, key: Key) -> bool {
        takes(self.communicator, self.pattern, key)
    }
}

fn takes(communicator: u32, pattern: Pattern, key: Key) -> bool {
    key.communicator == communicator
        && pattern.from.is_none_or(|from| from == key.from)
        && pattern.tag.is_none_or(|tag| tag == key.tag)
}

/// The posted receives of a rank.
#[derive(Debug, Default)]
pub(super) struct Posted {
    exact: Waiting,
    any: Vec<AnyReceive>,
    count: u64,
    /// For exact receives, when they were posted; kept while there are others.
    order: BTreeMap<u32, u64>,
}

impl Posted {
    /// Posts a receive of one sender and tag. Returns the entry that is to link to it.
    pub(super) fn add(&mut self, key: Key, entry: u32) -> Option<u32> {
        self.count += 1;
        if !self.any.is_empty() {
            self.order.insert(entry, self.count);
        }
        self.exact.add(key, entry)
    }

    /// Posts a receive of any sender or tag.
    pub(super) fn add_any(&mut self, communicator: u32, pattern: Pattern, entry: u32) {
        self.count += 1;
        self.any.push(AnyReceive { communicator, pattern, posted: self.count, entry });
    }

    /// Takes the earliest receive that a message of this key belongs to; `next` gives the entry after one.
    pub(super) fn take(&mut self, key: Key, next: impl Fn(u32) -> u32) -> Option<u32> {
        if self.any.is_empty() {
            return self.exact.take(key, next);
        }
        let any = self.any.iter().position(|receive| receive.takes(key));
        // An exact receive without a number was posted before all of the others.
        let exact = self.exact.first(key).map(|entry| self.order.get(&entry).copied().unwrap_or(0));
        match (any, exact) {
            (Some(any), exact) if exact.is_none_or(|exact| self.any[any].posted < exact) => {
                let entry = self.any.remove(any).entry;
                if self.any.is_empty() {
                    self.order.clear();
                }
                Some(entry)
            }
            _ => {
                let entry = self.exact.take(key, next)?;
                self.order.remove(&entry);
                Some(entry)
            }
        }
    }
}

/// The messages that have arrived at a rank before a receive was posted for them.
#[derive(Debug, Default)]
pub(super) struct Arrived {
    by_key: Waiting,
    /// All of them in the order of arrival; kept from the first receive of any sender or tag on.
    in_order: Option<BTreeMap<u64, (Key, u32)>>,
}

impl Arrived {
    /// Adds a message; `order` grows with each. Returns the entry that is to link to it.
    pub(super) fn add(&mut self, key: Key, order: u64, entry: u32) -> Option<u32> {
        if let Some(in_order) = &mut self.in_order {
            in_order.insert(order, (key, entry));
        }
        self.by_key.add(key, entry)
    }

    /// Takes the earliest message of a key; `next` gives the entry after one, and `order` its order.
    pub(super) fn take(
        &mut self,
        key: Key,
        next: impl Fn(u32) -> u32,
        order: impl Fn(u32) -> u64,
    ) -> Option<u32> {
        let entry = self.by_key.take(key, next)?;
        if let Some(in_order) = &mut self.in_order {
            in_order.remove(&order(entry));
        }
        Some(entry)
    }

    /// Takes the earliest message that a receive of any sender or tag takes. `each` gives an entry's key, its
    /// order and the entry after it.
    pub(super) fn take_any(
        &mut self,
        communicator: u32,
        pattern: Pattern,
        each: impl Fn(u32) -> (Key, u64, u32),
    ) -> Option<u32> {
        let in_order = match &mut self.in_order {
            Some(in_order) => in_order,
            None => {
                let lists = self.by_key.firsts().flat_map(|first| {
                    let link = |entry: &u32| Some(each(*entry).2).filter(|next| *next != NONE);
                    std::iter::successors(Some(first), link)
                });
                let all = lists.map(|entry| {
                    let (key, order, _) = each(entry);
                    (order, (key, entry))
                });
                self.in_order.insert(all.collect())
            }
        };
        let (order, key) = in_order
            .iter()
            .find(|(_, (key, _))| takes(communicator, pattern, *key))
            .map(|(order, (key, _))| (*order, *key))?;
        in_order.remove(&order);
        // The earliest of all that match is the earliest of its key, too.
        self.by_key.take(key, |entry| each(entry).2)
    }

    /// A message that nobody has received.
    pub(super) fn any(&self) -> Option<u32> {
        self.by_key.firsts().min()
    }
}
