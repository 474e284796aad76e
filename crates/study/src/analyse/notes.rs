//! Notes on findings over scaled links.

use std::collections::BTreeSet;

use super::contrast::Contrast;
use super::family::Family;
use super::pair::Pair;
use super::select::View;
use super::{comparison, latency_effect};
use crate::catalogue::Catalogues;
use crate::findings::{ClaimFinding, ClaimVerdict, Comparison, ComparisonVerdict};

/// A note on each comparison and claim whose links are scaled, over `blocks`. `claimed` are the claims with the views of
/// their experiments.
pub fn scaled_link_notes(
    family: &Family,
    found: &[Option<Comparison>],
    claimed: &[(ClaimFinding, Option<View>)],
    blocks: &[usize],
    catalogues: &Catalogues,
) -> Vec<String> {
    let note_on = |(pair, found): (&Pair, &Comparison)| {
        let effect = comparison::effect_of_missing_latency(pair, found.ratio.value, blocks, catalogues)?;
        Some(match effect.reason_withheld() {
            Some(why) => format!("{}: no verdict: {why}", pair.title()),
            // An undecided comparison has no number that could hold.
            None if found.verdict == ComparisonVerdict::Inconclusive => return None,
            None => format!("{}: {}", pair.title(), effect.note()),
        })
    };
    let pairs = || family.pairs.iter().map(|(pair, _)| pair);
    let mut all: Vec<String> =
        pairs().zip(found).filter_map(|(pair, found)| note_on((pair, found.as_ref()?))).collect();
    let claims = || {
        family.claims.iter().zip(claimed).filter_map(|(judged, (claim, view))| {
            let view = view.as_ref()?;
            Some((claim, view, judged.claim.contrast(view)?))
        })
    };
    // A withheld claim says so itself, and a comparison of the same cells has its note above.
    all.extend(claims().filter_map(|(claim, view, contrast)| {
        let decided = !matches!(claim.verdict, ClaimVerdict::Inconclusive | ClaimVerdict::NotRun);
        let noted = pairs().any(|pair| contrast.sign_against(&pair.contrast()).is_some());
        let effect = latency_effect::latency_effect(view, &contrast, claim.found?.value, blocks, catalogues)?;
        (decided && !noted && effect.reason_withheld().is_none())
            .then(|| format!("claim {}: {}", claim.name, effect.note()))
    }));
    let uncounted = |view: &View, contrast: &Contrast| {
        let scale = latency_effect::link_scale(contrast, catalogues)?;
        latency_effect::latency_effect(view, contrast, 1.0, blocks, catalogues).is_none().then(|| {
            format!(
                "{}: links run at 1/{scale} of their rates, latency is not scaled, and the messages of this work are not \
                 counted: whether latency would decide is not known",
                view.experiment.name()
            )
        })
    };
    let compared = pairs().zip(found).filter(|(_, found)| found.is_some());
    let compared = compared.filter_map(|(pair, _)| uncounted(&pair.view, &pair.contrast()));
    let claimed = claims().filter(|(claim, ..)| claim.found.is_some());
    let claimed = claimed.filter_map(|(_, view, contrast)| uncounted(view, &contrast));
    let unknown: BTreeSet<String> = compared.chain(claimed).collect();
    all.extend(unknown);
    all
}
