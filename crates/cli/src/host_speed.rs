//! How fast this machine is, for the record of a run that emulates on it.

use std::sync::atomic::AtomicBool;

use crosstalk_core::units::Seconds;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_probe::Deadline;
use crosstalk_probe::speed::{RECORDED_OVER_REFERENCE, host_speed};
use crosstalk_study::host_speed::{HostSpeed, MeasuredSpeed};
use crosstalk_study::plan::{Place, Plan};

/// The longest it may take: about a second on a quiet machine. One that takes longer is too busy for it.
const LIMIT: Seconds = Seconds(5.0);

/// Measures it if the plan emulates nodes, whose computing depends on it.
///
/// # Errors
/// Interrupted. A machine that is too busy is no error: that is noted.
pub fn of_plan(plan: &Plan, interrupted: &AtomicBool) -> Result<Option<HostSpeed>, Fault> {
    if !plan.runnable().any(|cell| matches!(cell.scene.place, Place::Virtual { .. })) {
        return Ok(None);
    }
    // The recorded machine's times are those of an optimised program.
    if cfg!(debug_assertions) {
        let why = "this program was built for development, and its kernels are not optimised".into();
        return Ok(Some(HostSpeed::Unknown(why)));
    }
    let until = Deadline::new(LIMIT, interrupted);
    match host_speed(&until) {
        Ok(speed) => {
            let [over_reference, low, high] =
                [speed.all().point, speed.all().low, speed.all().high].map(|of| of * RECORDED_OVER_REFERENCE);
            let kernels =
                speed.0.iter().map(|kernel| (kernel.kernel.to_string(), kernel.relative.point)).collect();
            Ok(Some(HostSpeed::Measured(MeasuredSpeed {
                over_reference,
                low,
                high,
                assumed: RECORDED_OVER_REFERENCE,
                kernels,
            })))
        }
        Err(fault) if fault.kind == FaultKind::Interrupted => Err(fault),
        Err(_) if until.is_over() => Ok(Some(HostSpeed::Unknown(format!(
            "other programs left its kernels so little of the processors that they did not end within {} s; stop them, \
             and run again",
            LIMIT.0
        )))),
        Err(fault) => Ok(Some(HostSpeed::Unknown(fault.sentence()))),
    }
}
