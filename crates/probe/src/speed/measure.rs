//! Timing the kernels, and what they say of this machine.

use crosstalk_core::Fault;
use crosstalk_host::clock::thread_cpu_ns;
use crosstalk_host::cpu::{PinnedThread, fastest_allowed};
use crosstalk_stats::Interval;
use crosstalk_stats::quantile::estimate;

use super::gather::Gather;
use super::integer::Integer;
use super::triad::Triad;
use crosstalk_work::peer::Deadline;

/// Passes of each kernel; kernels take turns, so that all see the same disturbances.
const PASSES: usize = 21;
/// The largest distance of the quartiles of a kernel's times, over their median, at which a machine counts as quiet.
const QUIET: f64 = 0.1;
/// The two-sided error of intervals.
const ALPHA: f64 = 0.05;
/// A core of the machine of the recorded studies over the reference core of systems' speeds, estimated: 1.16 times a Zen 4
/// core's work a clock (AMD's announcement of Zen 5, 2024), at 4.0 GHz (measured) over 3.1 GHz. See
/// `docs/explanation/calibration.md`.
pub const RECORDED_OVER_REFERENCE: f64 = 1.5;

/// Seconds of a pass on the machine of the recorded studies: two virtual processors of an AMD EPYC of family 26 (Zen 5).
struct Recorded {
    integer: f64,
    /// Of a byte.
    triad: f64,
    gather: f64,
}

const RECORDED: Recorded = Recorded { integer: 0.0021, triad: 2.75e-11, gather: 0.0043 };

/// How fast a kernel is.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelSpeed {
    /// `integer`, `triad` or `gather`.
    pub kernel: &'static str,
    /// Passes a second.
    pub passes: f64,
    /// The same over the recorded machine's, with its interval at 95 %.
    pub relative: Interval,
}

/// How fast a core of this machine is.
#[derive(Debug, Clone, PartialEq)]
pub struct HostSpeed(pub Vec<KernelSpeed>);

impl HostSpeed {
    /// The geometric mean of all kernels, and the outermost ends of their intervals: where kernels disagree, it is as wide as
    /// they differ.
    pub fn all(&self) -> Interval {
        let each = |of: fn(&Interval) -> f64| self.0.iter().map(move |kernel| of(&kernel.relative));
        let logs: f64 = each(|interval| interval.point).map(f64::ln).sum();
        Interval {
            point: (logs / self.0.len() as f64).exp(),
            low: each(|interval| interval.low).fold(f64::INFINITY, f64::min),
            high: each(|interval| interval.high).fold(0.0, f64::max),
            count: self.0.len(),
        }
    }
}

/// Measures this machine; takes about a second.
///
/// # Errors
/// An attempt fault where the machine is too busy for it; where a kernel computes something else than before; interrupted.
pub fn host_speed(until: &Deadline) -> Result<HostSpeed, Fault> {
    let (mut integer, mut triad, mut gather) = (Integer::new(), Triad::new(), Gather::new());
    let of_triad = RECORDED.triad * triad.bytes();
    let mut kernels = [
        Timed::new("integer", RECORDED.integer, Box::new(move || integer.pass())),
        Timed::new("triad", of_triad, Box::new(move || triad.pass())),
        Timed::new("gather", RECORDED.gather, Box::new(move || gather.pass())),
    ];
    let _pinned = fastest_allowed().and_then(|cpu| PinnedThread::begin(cpu).ok());
    // The first pass fetches pages and fills caches.
    for pass in 0..=PASSES {
        for kernel in &mut kernels {
            until.check("its speed to be measured")?;
            let seconds = kernel.seconds()?;
            if pass > 0 {
                kernel.times.push(seconds);
            }
        }
    }
    kernels.iter().map(Timed::speed).collect::<Result<_, _>>().map(HostSpeed)
}

/// A kernel and the CPU seconds of its passes.
struct Timed {
    name: &'static str,
    recorded: f64,
    pass: Box<dyn FnMut() -> u64>,
    checksum: Option<u64>,
    times: Vec<f64>,
}

impl Timed {
    fn new(name: &'static str, recorded: f64, pass: Box<dyn FnMut() -> u64>) -> Self {
        Timed { name, recorded, pass, checksum: None, times: Vec::new() }
    }

    fn seconds(&mut self) -> Result<f64, Fault> {
        let begin = thread_cpu_ns();
        let checksum = (self.pass)();
        let seconds = (thread_cpu_ns() - begin) as f64 * 1e-9;
        match self.checksum.replace(checksum) {
            Some(earlier) if earlier != checksum => Err(Fault::attempt(format!(
                "the kernel `{}` computed {checksum}, and {earlier} before",
                self.name
            ))
            .remedy("test this machine's memory and processor")),
            _ => Ok(seconds),
        }
    }

    fn speed(&self) -> Result<KernelSpeed, Fault> {
        let mut times = self.times.clone();
        times.sort_unstable_by(f64::total_cmp);
        let time = estimate(&times, 0.5, ALPHA).filter(|time| time.low > 0.0);
        let time = time.ok_or_else(|| Fault::attempt("too few passes for a median"))?;
        let spread = (times[times.len() * 3 / 4] - times[times.len() / 4]) / time.point;
        if spread > QUIET {
            return Err(Fault::attempt(format!(
                "this machine is too busy to be calibrated: the middle half of the passes of `{}` differ by {:.1} %, and {:.0} % is allowed",
                self.name,
                spread * 100.0,
                QUIET * 100.0
            ))
            .remedy("stop other programs (find them with `top`), or ask the machine's operator for processors of its own"));
        }
        let [point, low, high] = [time.point, time.high, time.low].map(|seconds| self.recorded / seconds);
        Ok(KernelSpeed {
            kernel: self.name,
            passes: 1.0 / time.point,
            relative: Interval { point, low, high, ..time },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(times: &[f64]) -> Timed {
        let mut timed = Timed::new("test", 0.02, Box::new(|| 1));
        timed.times = times.to_vec();
        timed
    }

    #[test]
    fn this_machine_is_measured_or_too_busy() {
        let never = std::sync::atomic::AtomicBool::new(false);
        match host_speed(&Deadline::new(crosstalk_core::units::Seconds(60.0), &never)) {
            Ok(speed) => {
                let names: Vec<&str> = speed.0.iter().map(|kernel| kernel.kernel).collect();
                assert_eq!(names, ["integer", "triad", "gather"]);
                let all = speed.all();
                assert!(0.0 < all.low && all.low <= all.point && all.point <= all.high, "{speed:?}");
            }
            Err(fault) => assert!(fault.message.contains("too busy to be calibrated"), "{fault}"),
        }
        let cancelled = std::sync::atomic::AtomicBool::new(true);
        let fault = host_speed(&Deadline::new(crosstalk_core::units::Seconds(60.0), &cancelled));
        assert_eq!(fault.expect_err("was cancelled").kind, crosstalk_core::FaultKind::Interrupted);
    }

    #[test]
    fn a_core_that_takes_half_as_long_is_twice_as_fast() {
        let speed = timed(&[0.01; PASSES]).speed().expect("is quiet");
        assert_eq!((speed.passes, speed.relative.point), (100.0, 2.0));
        let times: Vec<f64> = (0..PASSES).map(|pass| 0.01 + 1e-5 * pass as f64).collect();
        let Interval { point, low, high, .. } = timed(&times).speed().expect("is quiet").relative;
        assert!(low < point && point < high && low > 1.9 && high < 2.0, "{low} {point} {high}");
    }

    #[test]
    fn a_busy_machine_is_not_calibrated() {
        let times: Vec<f64> = (0..PASSES).map(|pass| if pass % 2 == 0 { 0.01 } else { 0.013 }).collect();
        let fault = timed(&times).speed().expect_err("is busy");
        assert!(fault.message.contains("differ by 30.0 %") && fault.remedy.is_some(), "{fault}");
        // Less than a quarter of passes that were disturbed change nothing.
        let few: Vec<f64> = (0..PASSES).map(|pass| if pass % 6 == 0 { 0.05 } else { 0.01 }).collect();
        assert_eq!(timed(&few).speed().expect("is quiet").relative.point, 2.0);
    }

    #[test]
    fn a_kernel_that_computes_something_else_is_a_fault() {
        let mut next = 0;
        let mut timed = Timed::new(
            "test",
            1.0,
            Box::new(move || {
                next += 1;
                next / 3
            }),
        );
        assert!(timed.seconds().is_ok() && timed.seconds().is_ok());
        assert!(timed.seconds().expect_err("differs").message.contains("computed 1, and 0 before"));
    }

    #[test]
    fn where_kernels_disagree_the_interval_holds_all() {
        let kernel = |point: f64| KernelSpeed {
            kernel: "test",
            passes: 1.0,
            relative: Interval { point, low: point * 0.9, high: point * 1.1, count: PASSES },
        };
        let all = HostSpeed(vec![kernel(0.5), kernel(2.0)]).all();
        assert!(
            (all.point - 1.0).abs() < 1e-12
                && (all.low - 0.45).abs() < 1e-12
                && (all.high - 2.2).abs() < 1e-12
        );
    }
}
