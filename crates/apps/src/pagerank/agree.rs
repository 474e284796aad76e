//! How all parts agree on the labels of a graph's vertices.

use crosstalk_core::Fault;
use rustc_hash::FxHashSet;

use super::name::{Name, for_each_name};
use super::names::Names;
use super::source::{Extent, Source};
use super::table::Table;
use crate::exchange::Exchange;
use crate::random::mix;

/// Exchanges that [`agree_on_names`] makes where names get labels.
pub const EXCHANGES: u64 = 2;

/// The names of a graph's vertices: each part reads its chunks, and all parts learn the same.
///
/// # Errors
/// Where the file cannot be read, or a message is cut short.
pub fn agree_on_names(source: &Source, extent: Extent, exchange: &mut dyn Exchange) -> Result<Names, Fault> {
    if let Some(labels) = extent.labels {
        return Ok(Names::Same(labels));
    }
    let parts = exchange.parts();
    let mut found = Set::default();
    source.for_each_name(exchange.part(), parts, |name| found.insert(name))?;
    // Each name goes to one part, which sends it to all parts once.
    let mut outgoing = vec![Vec::new(); parts];
    found.drain(|name| name.append_to(&mut outgoing[(mix(name.key()) % parts as u64) as usize]));
    let mut own = Set::default();
    exchange
        .exchange(outgoing)?
        .iter()
        .try_for_each(|buffer| for_each_name(buffer, |name| own.insert(name)))?;
    let mut buffer = Vec::new();
    own.drain(|name| name.append_to(&mut buffer));
    let arrived = exchange.exchange(vec![buffer; parts])?;
    Table::new(&arrived).map(Names::Table)
}

/// Names, each once.
#[derive(Default)]
struct Set {
    numbers: FxHashSet<u64>,
    texts: FxHashSet<Box<str>>,
}

impl Set {
    fn insert(&mut self, name: Name) {
        match name {
            Name::Number(number) => {
                self.numbers.insert(number);
            }
            Name::Text(text) if !self.texts.contains(text) => {
                self.texts.insert(text.into());
            }
            Name::Text(_) => {}
        }
    }

    fn drain(self, mut take: impl FnMut(Name)) {
        self.numbers.into_iter().for_each(|number| take(Name::Number(number)));
        self.texts.into_iter().for_each(|text| take(Name::Text(&text)));
    }
}
