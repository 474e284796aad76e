//! The example with hostile names.

use crosstalk_study::findings::{Findings, TableCell};

use crate::fixture::example;

/// The example with `text` in front of every name, so that names still differ.
pub fn hostile(text: &str) -> Findings {
    let mut findings = example();
    let name = |what: &mut String| *what = format!("{text} {what}");
    name(&mut findings.study);
    name(&mut findings.title);
    name(&mut findings.headline.text);
    name(&mut findings.headline.command);
    name(&mut findings.run.ended);
    name(&mut findings.run.version);
    for noise in &mut findings.run.noise {
        name(&mut noise.metric);
        noise.cells.iter_mut().for_each(name);
    }
    findings.run.absences.iter_mut().for_each(name);
    findings.warnings.iter_mut().for_each(name);
    for claim in &mut findings.claims {
        [&mut claim.name, &mut claim.statement, &mut claim.why, &mut claim.unit].into_iter().for_each(name);
    }
    for c in &mut findings.comparisons {
        [&mut c.experiment, &mut c.metric, &mut c.factor, &mut c.base, &mut c.other]
            .into_iter()
            .for_each(name);
        c.at.insert(text.into(), text.into());
    }
    let claims = findings.claims.iter_mut().map(|claim| &mut claim.attribution);
    let comparisons = findings.comparisons.iter_mut().map(|c| &mut c.attribution);
    for known in claims.chain(comparisons).flatten() {
        [&mut known.slower, &mut known.faster, &mut known.text].into_iter().for_each(name);
        known.points.insert(text.into(), f64::NAN);
    }
    for figure in &mut findings.figures {
        let axes = [&mut figure.x.label, &mut figure.y.label, &mut figure.y.unit, &mut figure.by];
        [&mut figure.name, &mut figure.title, &mut figure.caption].into_iter().chain(axes).for_each(name);
        for series in &mut figure.series {
            name(&mut series.name);
            name(&mut series.group);
            series.points.iter_mut().for_each(|point| name(&mut point.label));
        }
    }
    for table in &mut findings.tables {
        [&mut table.name, &mut table.title, &mut table.caption]
            .into_iter()
            .chain(&mut table.columns)
            .for_each(name);
        for cell in table.rows.iter_mut().flatten() {
            match cell {
                TableCell::Text(words) => name(words),
                TableCell::Number { unit, .. } => name(unit),
            }
        }
    }
    for cell in &mut findings.cells {
        name(&mut cell.id.experiment);
        cell.reasons.push(text.into());
        cell.id.levels.insert(text.into(), text.into());
        cell.fidelity.counters.insert(text.into(), f64::NAN);
    }
    for source in &mut findings.sources {
        [&mut source.what, &mut source.text].into_iter().for_each(name);
    }
    let host = findings.provenance.remove("host").unwrap_or_default();
    findings.provenance.insert(text.into(), host);
    findings
}
