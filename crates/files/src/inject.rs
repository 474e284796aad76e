//! Corrupts one write on its way to the servers, so that a user sees that the check finds it.

use crosstalk_core::Fault;

use crate::client::Servers;
use crate::message::{Answer, Request};
use crate::pattern::mixed;

/// What is corrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Corruption {
    /// A bit of the data.
    Data,
    /// Two stripes of one transfer are written in each other's place.
    StripeOrder,
    /// The write to one server is lost: it is answered, and never carried out.
    LostWrite,
}

/// Servers that are reached through a fault, once.
#[derive(Debug)]
pub struct Injected<'i, S> {
    servers: S,
    injection: &'i mut Injection,
}

/// What is added to the seed of a choice, so that choices are independent.
const TRANSFER: u64 = 1 << 32;

/// Which transfer is corrupted, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injection {
    corruption: Corruption,
    /// Transfers before it; `None`: it has happened.
    before: Option<u64>,
    /// Decides which byte, stripe or server it is.
    seed: u64,
}

impl Injection {
    /// Corrupts one of `transfers`, which the seed chooses.
    pub fn new(corruption: Corruption, transfers: u64, seed: u64) -> Self {
        Injection { corruption, before: Some(mixed(seed.wrapping_add(TRANSFER)) % transfers.max(1)), seed }
    }

    /// Whether it has happened.
    pub fn has_happened(&self) -> bool {
        self.before.is_none()
    }

    /// An index below `count`.
    fn choose(&self, count: usize, number: u64) -> usize {
        (mixed(self.seed.wrapping_add(number)) % count.max(1) as u64) as usize
    }

    /// Whether this is the transfer.
    fn is_now(&mut self, requests: &[(usize, Request)]) -> bool {
        let writes = requests.iter().any(|(_, request)| matches!(request, Request::Write { .. }));
        match self.before {
            Some(0) if writes => {
                self.before = None;
                true
            }
            Some(before) if writes => {
                self.before = Some(before - 1);
                false
            }
            _ => false,
        }
    }
}

impl<'i, S: Servers> Injected<'i, S> {
    /// The servers, through a fault.
    pub fn new(servers: S, injection: &'i mut Injection) -> Self {
        Injected { servers, injection }
    }

    fn flip_bit(&mut self, requests: &[(usize, Request)]) -> Result<Vec<Vec<u8>>, Fault> {
        let mut requests = requests.to_vec();
        let chosen = self.injection.choose(requests.len(), 1);
        let Request::Write { data, .. } = &mut requests[chosen].1 else {
            return self.servers.exchange(&requests);
        };
        let mut bytes = data.concat();
        let bit = self.injection.choose(8 * bytes.len(), 2);
        bytes[bit / 8] ^= 1 << (bit % 8);
        *data = vec![&bytes];
        self.servers.exchange(&requests)
    }

    fn swap_stripes(&mut self, requests: &[(usize, Request)]) -> Result<Vec<Vec<u8>>, Fault> {
        let mut requests = requests.to_vec();
        let mut stripes: Vec<&mut &[u8]> = Vec::new();
        for (_, request) in &mut requests {
            if let Request::Write { data, .. } = request {
                stripes.extend(data.iter_mut());
            }
        }
        let one = self.injection.choose(stripes.len(), 1);
        let others = self.injection.choose(stripes.len() - 1, 3);
        let other = (one + 1 + others) % stripes.len();
        let (earlier, later) = stripes.split_at_mut(one.max(other));
        std::mem::swap(&mut *earlier[one.min(other)], &mut *later[0]);
        self.servers.exchange(&requests)
    }

    fn lose(&mut self, requests: &[(usize, Request)]) -> Result<Vec<Vec<u8>>, Fault> {
        let mut requests = requests.to_vec();
        let lost = self.injection.choose(requests.len(), 1);
        requests.remove(lost);
        let mut answers = match requests.is_empty() {
            true => Vec::new(),
            false => self.servers.exchange(&requests)?,
        };
        answers.insert(lost, Answer::Done.encode());
        Ok(answers)
    }
}

impl<S: Servers> Servers for Injected<'_, S> {
    fn count(&self) -> usize {
        self.servers.count()
    }

    fn exchange(&mut self, requests: &[(usize, Request)]) -> Result<Vec<Vec<u8>>, Fault> {
        if !self.injection.is_now(requests) {
            return self.servers.exchange(requests);
        }
        match self.injection.corruption {
            Corruption::Data => self.flip_bit(requests),
            Corruption::StripeOrder => self.swap_stripes(requests),
            Corruption::LostWrite => self.lose(requests),
        }
    }
}
