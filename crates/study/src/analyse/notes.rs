//! What a reader must know of numbers over scaled links.

use std::collections::BTreeSet;

use super::contrast::Contrast;
use super::family::Family;
use super::pair::Pair;
use super::select::View;
use super::{comparison, scaled};
use crate::catalogue::Catalogues;
use crate::findings::{ClaimFinding, ClaimVerdict, Comparison, ComparisonVerdict};

/// What a reader must know of comparisons and claims whose links are scaled, in `blocks`. `claimed` are the claims
/// with the experiment of each.
pub fn of_scaled_links(
    family: &Family,
    found: &[Option<Comparison>],
    claimed: &[(ClaimFinding, Option<View>)],
    blocks: &[usize],
    catalogues: &Catalogues,
) -> Vec<String> {
    let about = |(pair, found): (&Pair, &Comparison)| {
        let scaled = comparison::scaled(pair, found.ratio.value, blocks, catalogues)?;
        Some(match scaled.doubt() {
            Some(doubt) => format!("{}: no verdict: {doubt}", pair.title()),
            // Of what is not decided there is no number that could hold.
            None if found.verdict == ComparisonVerdict::Inconclusive => return None,
            None => format!("{}: {}", pair.title(), scaled.note()),
        })
    };
    let pairs = || family.pairs.iter().map(|(pair, _)| pair);
    let mut all: Vec<String> =
        pairs().zip(found).filter_map(|(pair, found)| about((pair, found.as_ref()?))).collect();
    let claims = || {
        family.claims.iter().zip(claimed).filter_map(|(judged, (claim, view))| {
            let view = view.as_ref()?;
            Some((claim, view, judged.stated.contrast(view)?))
        })
    };
    // A claim's doubt is in its own sentence, and what holds for a comparison of the same cells is said already.
    all.extend(claims().filter_map(|(claim, view, contrast)| {
        let decided = !matches!(claim.verdict, ClaimVerdict::Inconclusive | ClaimVerdict::NotRun);
        let again = pairs().any(|pair| contrast.sign(&pair.contrast()).is_some());
        let scaled = scaled::of(view, &contrast, claim.found?.value, blocks, catalogues)?;
        (decided && !again && scaled.doubt().is_none())
            .then(|| format!("claim {}: {}", claim.name, scaled.note()))
    }));
    let uncounted = |view: &View, contrast: &Contrast| {
        let scale = scaled::scale(contrast, catalogues)?;
        scaled::of(view, contrast, 1.0, blocks, catalogues).is_none().then(|| {
            format!(
                "{}: links run at 1/{scale} of their rates, latency is not scaled, and what this work sends is not \
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
