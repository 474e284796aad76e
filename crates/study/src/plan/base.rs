//! Whether the base of an experiment's comparison is run.

use super::PlannedExperiment;
use crate::file::Experiment;
use crosstalk_core::value::Value;

/// Says that nothing is compared because the base is not run, with the remedy. `None` where the base is run, nothing is
/// to be compared, or the cells are not known yet.
pub fn missing_base(written: &Experiment, planned: &PlannedExperiment) -> Option<String> {
    let compare = written.compare.as_ref()?;
    let (factor, base) = (&compare.factor, &compare.base);
    let mut levels: Vec<&Value> = vec![base];
    for level in planned.cells.iter().filter_map(|cell| cell.id.levels.get(factor)) {
        if level == base {
            return None;
        }
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    let levels: Vec<String> = levels.into_iter().map(ToString::to_string).collect();
    planned.pending.is_none().then(|| {
        format!(
            "{factor} = {base}, the base of the comparison, is not run: nothing is compared with it (try: --set \
             {}.{factor}={})",
            planned.name,
            levels.join(",")
        )
    })
}
