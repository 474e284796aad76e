//! All findings of a run.

use super::data::Data;
use super::family::judge;
use super::over_ranges::NumbersByCluster;
use super::select::View;
use super::verdict::Evidence;
use super::{
    cells, comparison, detectable, failures, figures, headline, notes, overview, replaced, sources, tables,
    verdict, without_ranges,
};
use crate::catalogue::Catalogues;
use crate::file::Study;
use crate::findings::{ClaimFinding, ClaimVerdict, ComparisonVerdict, FINDINGS_SCHEMA, Findings};
use crate::plan::Plan;
use crate::samples::Run;

/// Analyses a run: returns its findings.
pub fn analyse(study: &Study, catalogues: &Catalogues, plan: &Plan, run: &Run) -> Findings {
    let data = Data::new(plan, run);
    let family = judge(study, catalogues, &data, data.complete.len());
    let seen = &data.complete[..family.conclusions.blocks.min(data.complete.len())];
    let over_ranges = NumbersByCluster::of(study, catalogues, plan, run);
    let comparisons: Vec<_> = family
        .pairs
        .iter()
        .map(|(pair, conclusion)| {
            let over_ranges = over_ranges.as_ref();
            comparison::finding(pair, &conclusion.answer, &family, seen, catalogues, over_ranges)
        })
        .collect();
    let evidence = Evidence { family: &family, blocks: seen, catalogues, over_ranges: over_ranges.as_ref() };
    let view = |name: &str| View::new(&data, &study.experiment, name);
    let claimed: Vec<(ClaimFinding, Option<View>)> = family
        .claims
        .iter()
        .map(|judged| {
            let view = view(&judged.claim.written.experiment);
            (verdict::finding(judged, view.as_ref(), &evidence), view)
        })
        .collect();
    let floors = detectable::noise_floors(&family, &comparisons, seen);
    let summary = overview::summary(&data, &family, floors);
    let measured = !summary.nothing_was_measured();
    let headline = match measured {
        true => {
            let verdicts: Vec<ClaimVerdict> = claimed.iter().map(|(claim, _)| claim.verdict).collect();
            headline::headline(study, catalogues, &family, &comparisons, &verdicts, &data)
        }
        false => failures::nothing_measured(&study.name, run),
    };
    let scaled = notes::scaled_link_notes(&family, &comparisons, &claimed, seen, catalogues);
    let unranged = without_ranges::not_replayed(&family, &comparisons, &claimed, over_ranges.as_ref(), plan);
    let unranged = Vec::from_iter(unranged);
    let mut claims: Vec<ClaimFinding> = claimed.into_iter().map(|(claim, _)| claim).collect();
    claims.sort_by_key(|claim| claim.verdict);
    let mut comparisons: Vec<_> = comparisons.into_iter().flatten().collect();
    let open = [ComparisonVerdict::DependsOn, ComparisonVerdict::Inconclusive];
    comparisons.sort_by_key(|comparison| open.iter().position(|verdict| *verdict == comparison.verdict));
    let replaced = Vec::from_iter(replaced::remark(plan, catalogues));
    let sources::Notes { sources, remarks, caveats } = sources::notes(plan, catalogues);
    Findings {
        schema: FINDINGS_SCHEMA.to_string(),
        study: study.name.clone(),
        title: study.title.clone(),
        headline,
        run: summary,
        claims,
        warnings: [replaced, scaled, unranged, overview::warnings(study, &data, &family, remarks)].concat(),
        caveats,
        comparisons,
        figures: figures::all_figures(study, catalogues, &data),
        tables: if measured { tables::all_tables(study, catalogues, &data) } else { Vec::new() },
        cells: cells::findings(&data),
        sources,
        provenance: run.provenance.clone(),
    }
}
