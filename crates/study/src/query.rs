//! Metric queries: a metric's name with a quantile, a share or labels, as claims, figures and tables write it.

use crosstalk_core::record::Reading;
use crosstalk_core::value::Levels;

use crate::label;

/// The default quantile of a distribution.
pub(crate) const MEDIAN: f64 = 0.5;

/// A metric query: `latency`, `latency p99`, `share time_wait`; with labels `stage_time[stage=wake-up, way=there]`.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricQuery<'a> {
    /// The metric's name.
    pub metric: &'a str,
    /// The quantile of a distribution, 0 to 1.
    pub quantile: f64,
    /// Whether the query is of the metric's share in its node's time.
    pub share: bool,
    /// Labels that a reading must have, with their values.
    pub labels: Vec<(&'a str, &'a str)>,
    /// Labels in the place of factors that a reading must have, with their levels.
    pub levels: Option<&'a Levels>,
}

impl<'a> MetricQuery<'a> {
    /// Reads a query. Any text is one: without a known form it is a metric's name.
    pub fn new(text: &'a str) -> Self {
        let whole =
            |metric| MetricQuery { metric, quantile: MEDIAN, share: false, labels: Vec::new(), levels: None };
        if let Some(metric) = text.strip_prefix("share ") {
            return MetricQuery { share: true, ..whole(metric) };
        }
        let quantile = text.rsplit_once(' ').and_then(|(metric, quantile)| {
            let percent: f64 = quantile.strip_prefix('p')?.parse().ok()?;
            let quantile = percent / 100.0;
            (0.0..=100.0).contains(&percent).then(|| MetricQuery { quantile, ..whole(metric) })
        });
        quantile.unwrap_or_else(|| whole(text)).labelled()
    }

    /// The query restricted to readings with these labels.
    pub fn at(mut self, levels: &'a Levels) -> Self {
        self.levels = Some(levels);
        self
    }

    /// Takes the labels from the end of the metric's name.
    fn labelled(mut self) -> Self {
        let split = self.metric.strip_suffix(']').and_then(|text| text.split_once('['));
        let pairs = split.and_then(|(metric, labels)| {
            let pair = |text: &'a str| text.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
            Some((metric, labels.split(',').map(pair).collect::<Option<Vec<_>>>()?))
        });
        if let Some((metric, labels)) = pairs {
            (self.metric, self.labels) = (metric, labels);
        }
        self
    }

    /// Whether a reading has the metric and all labels.
    pub fn matches(&self, reading: &Reading) -> bool {
        let label = |name: &str| reading.labels.get(name);
        let has = |(name, value): &(&str, &str)| label(name).is_some_and(|found| found == value);
        reading.metric == self.metric
            && self.labels.iter().all(has)
            && self.levels.is_none_or(|levels| {
                levels
                    .iter()
                    .all(|(name, level)| label(name).is_some_and(|found| label::level(name, found) == *level))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_is_a_query(text in "[a-z_ =,.p0-9\\[\\]]{0,40}") {
            let query = MetricQuery::new(&text);
            prop_assert!((0.0..=1.0).contains(&query.quantile), "{query:?}");
            prop_assert!(text.contains(query.metric));
        }

        #[test]
        fn the_labels_of_a_query_are_those_that_were_written(
            labels in prop::collection::vec(("[a-z]{1,8}", "[a-z][a-z: -]{0,10}[a-z]"), 1..4), percent in 1u32..100,
        ) {
            let written: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let text = format!("stage_time[{}] p{percent}", written.join(", "));
            let query = MetricQuery::new(&text);
            prop_assert_eq!((query.metric, query.quantile), ("stage_time", f64::from(percent) / 100.0));
            let found: Vec<(String, String)> = query.labels.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
            prop_assert_eq!(found, labels);
        }
    }
}
