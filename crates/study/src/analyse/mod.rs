//! Samples in, findings out.
//!
//! ```text
//! Run ─▶ Data ─▶ pairs and claims ─▶ Family (stats) ─▶ Findings
//!        cell × block    a number a block     judged together
//! ```
//!
//! Everything is a pure function of study, catalogues, plan and run: the
//! runner that asks whether to stop and the report made years later conclude
//! the same from the same journal.
use crosstalk_core::record::{Origin, Status};

mod ask;
mod attribution;
mod causes;
mod cells;
mod change;
mod claim;
mod comparison;
mod context;
pub(crate) mod data;
mod datum;
mod detectable;
pub(crate) mod estimate;
mod failures;
mod family;
mod figures;
mod headline;
pub(crate) mod level;
mod lookup;
mod machine;
mod network;
mod noise;
mod overview;
mod scaled;
mod select;
mod shape;
mod sources;
mod statement;
mod summary;
mod tables;
mod verdict;
pub(crate) mod words;

use crosstalk_core::value::{Levels, Value};

use crate::catalogue::Catalogues;
use crate::file::{FromResult, Study};
use crate::findings::{ClaimFinding, ComparisonVerdict, FINDINGS_SCHEMA, Figure, Findings, Table};
use crate::plan::Plan;
use crate::samples::{Attempt, Run};

pub(crate) use causes::TIME;
pub use data::GIVE_UP_AFTER;
pub(crate) use data::{Data, counts};
pub(crate) use family::ALPHA;
pub(crate) use noise::BEYOND;
pub(crate) use summary::{Asked, summary};
pub use words::counted;
pub(crate) use words::list;

use family::judge;
use lookup::Lookup;
use select::View;

/// Everything that a run found.
pub fn analyse(study: &Study, catalogues: &Catalogues, plan: &Plan, run: &Run) -> Findings {
    let data = Data::new(plan, run);
    let family = judge(study, catalogues, &data, data.complete.len());
    let seen = &data.complete[..family.conclusions.blocks.min(data.complete.len())];
    let comparisons: Vec<_> = family
        .pairs
        .iter()
        .map(|(pair, conclusion)| pair.finding(&conclusion.answer, &family, seen, catalogues))
        .collect();
    let view = |name: &str| View::new(&data, &study.experiment, name);
    let claimed: Vec<(ClaimFinding, Option<View>)> = family
        .claims
        .iter()
        .map(|judged| {
            let view = view(&judged.stated.claim.experiment);
            (verdict::finding(judged, &family, view.as_ref(), seen, catalogues), view)
        })
        .collect();
    let headline =
        context::on_a_busy_host(headline::headline(study, catalogues, &family, &comparisons, &data), run);
    let floors = detectable::floors(&family, &comparisons, seen);
    let scaled = scaled::notes(&family, &comparisons, &claimed, seen, catalogues);
    let mut claims: Vec<ClaimFinding> = claimed.into_iter().map(|(claim, _)| claim).collect();
    claims.sort_by_key(|claim| claim.verdict);
    let mut comparisons: Vec<_> = comparisons.into_iter().flatten().collect();
    comparisons.sort_by_key(|comparison| comparison.verdict == ComparisonVerdict::Inconclusive);
    let (sources, caveats) = sources::notes(plan, catalogues);
    Findings {
        schema: FINDINGS_SCHEMA.to_string(),
        study: study.name.clone(),
        title: study.title.clone(),
        headline,
        run: overview::summary(&data, &family, floors),
        claims,
        warnings: [scaled, overview::warnings(study, &data, &family, caveats)].concat(),
        comparisons,
        figures: figures(study, catalogues, &data),
        tables: tables(study, catalogues, &data),
        cells: cells::findings(&data),
        sources,
        provenance: run.provenance.clone(),
    }
}

/// A level in a sentence: `microblade`, but `slaves 6`, `protect none`, and `MODE fast` of an environment variable.
pub fn called(factor: &str, level: &str) -> String {
    level::called(factor, &Value::from_word(level))
}

/// Whether a run may stop, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Nothing that is asked could change, or the budget is used up.
    pub stop: bool,
    /// In a sentence.
    pub why: String,
}

/// At a planned look: stop when everything primary is decided, or the budget is used up.
///
/// `look` is the place in `plan.looks`; blocks beyond it are not looked at.
pub fn decide(study: &Study, catalogues: &Catalogues, plan: &Plan, run: &Run, look: usize) -> Decision {
    let data = Data::new(plan, run);
    let blocks =
        plan.looks.get(look).map_or(data.complete.len(), |planned| data.complete.len().min(*planned));
    overview::decision(&judge(study, catalogues, &data, blocks))
}

/// How many questions a plan judges together, before there are any data.
pub fn questions(study: &Study, catalogues: &Catalogues, plan: &Plan) -> usize {
    let run = Run::default();
    // What is claimed of cells that no attempt was made at is not asked.
    let attempt = Attempt {
        id: 0,
        experiment: String::new(),
        levels: Levels::new(),
        block: 0,
        turn: 1,
        status: Status::Started,
        reason: None,
        fidelity: None,
        at: 0.0,
        readings: Vec::new(),
    };
    judge(study, catalogues, &Data::tried(plan, &run, &attempt), 0).questions
}

/// The block that a run goes on with: the one that was cut short, repeated whole
/// because its cells are to be compared with each other, or the one after the last.
pub fn next_block(plan: &Plan, run: &Run) -> usize {
    Data::new(plan, run).complete.last().map_or(0, |last| last + 1)
}

/// The level at which an earlier experiment's metric peaks: what a factor with
/// `from` takes. `None` where its cells have no data yet.
pub fn peak(study: &Study, plan: &Plan, run: &Run, from: &FromResult) -> Option<Value> {
    let data = Data::new(plan, run);
    let view = View::new(&data, &study.experiment, &from.experiment)?;
    let (levels, rows) = shape::by_level(&view, &from.metric, &from.factor, &Levels::new());
    crosstalk_stats::peak::point(&rows).map(|place| levels[place].clone())
}

fn figures(study: &Study, catalogues: &Catalogues, data: &Data) -> Vec<Figure> {
    let mut specs: Vec<_> = study.figure.iter().collect();
    specs.sort_by_key(|(name, spec)| (spec.order, name.as_str()));
    let drawn = specs.into_iter().filter_map(|(name, spec)| {
        let view = View::new(data, &study.experiment, &spec.experiment)?;
        Some(figures::figure(&view, name, spec, &Lookup(catalogues)))
    });
    // What was published alone is no finding.
    let found = |figure: &Figure| figure.series.iter().any(|series| series.origin != Origin::Published);
    drawn.filter(found).collect()
}

fn tables(study: &Study, catalogues: &Catalogues, data: &Data) -> Vec<Table> {
    let mut specs: Vec<_> = study.table.iter().collect();
    specs.sort_by_key(|(name, spec)| (spec.order, name.as_str()));
    let made = specs.into_iter().filter_map(|(name, spec)| {
        let view = View::new(data, &study.experiment, &spec.experiment)?;
        Some(tables::table(&view, name, spec, &Lookup(catalogues)))
    });
    made.filter(|table| !table.rows.is_empty()).collect()
}
