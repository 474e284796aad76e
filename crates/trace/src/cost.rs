//! What the BPF programs cost the machine, counted for a part of the trace.

use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::trace::TracingCost;
use crosstalk_observe::service::{Count, ProgramRuns, RunTimeCounting, Tracer};

/// A stretch of time in which the kernel counts the runs of the BPF programs.
pub struct CostWindow {
    _counting: RunTimeCounting,
    began: Instant,
    runs: ProgramRuns,
    requests: u64,
}

impl CostWindow {
    /// Begins to count.
    ///
    /// # Errors
    /// Where the kernel refuses to count.
    pub fn open(tracer: &Tracer) -> Result<CostWindow, Fault> {
        let requests = tracer.counts()?.of(Count::Begun);
        Ok(CostWindow {
            _counting: RunTimeCounting::begin()?,
            began: Instant::now(),
            runs: tracer.runs(),
            requests,
        })
    }

    /// For how long it has counted.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Ends counting, and returns the cost since it began.
    ///
    /// # Errors
    /// Where the kernel does not give the counts.
    pub fn close(self, tracer: &Tracer) -> Result<TracingCost, Fault> {
        let runs = tracer.runs();
        let seconds = self.began.elapsed().as_secs_f64();
        let requests = tracer.counts()?.of(Count::Begun) - self.requests;
        let run_time = (runs.time.saturating_sub(self.runs.time)).as_secs_f64();
        let each = |whole: f64| (requests > 0).then(|| whole / requests as f64);
        Ok(TracingCost {
            runs_a_request: each((runs.count - self.runs.count) as f64),
            seconds_a_request: each(run_time),
            kernel_cpus: Some(run_time / seconds),
            counted_seconds: seconds,
            ..TracingCost::default()
        })
    }
}
