//! Requests by the CPU and the device's queue that handled them.

use std::collections::BTreeMap;

use crosstalk_core::histogram::Histogram;
use crosstalk_core::trace::QueueRequests;

use super::sums::has_enough_values;

/// The requests' times by CPU and device queue.
#[derive(Debug, Default)]
pub struct TimesByQueue(BTreeMap<(u16, Option<u16>), Histogram>);

impl TimesByQueue {
    /// Adds an exchange with this whole time.
    pub fn add(&mut self, cpu: u16, queue: Option<u16>, whole: u64) {
        self.0.entry((cpu, queue)).or_default().record(whole);
    }

    /// Every CPU and queue with its requests.
    pub fn to_list(&self) -> Vec<QueueRequests> {
        let all: u64 = self.0.values().map(Histogram::count).sum();
        let place = |((cpu, queue), times): (&(u16, Option<u16>), &Histogram)| {
            let requests = times.count();
            let percentile =
                |quantile| has_enough_values(requests, quantile).then(|| times.quantile(quantile)).flatten();
            QueueRequests {
                cpu: *cpu,
                queue: *queue,
                requests,
                share: requests as f64 / all as f64,
                p50: percentile(0.5).map(|ns| ns * 1e-9),
                p99: percentile(0.99).map(|ns| ns * 1e-9),
            }
        };
        self.0.iter().map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_share_all_requests() {
        let mut places = TimesByQueue::default();
        (0..30).for_each(|_| places.add(1, None, 500));
        (0..10).for_each(|_| places.add(0, Some(3), 100));
        let found = places.to_list();
        assert_eq!((found[0].cpu, found[0].queue, found[0].requests), (0, Some(3), 10));
        assert!((found[1].share - 0.75).abs() < 1e-12 && found[1].p99.is_none());
    }
}
