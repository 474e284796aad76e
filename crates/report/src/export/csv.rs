//! Rows as CSV (RFC 4180): a line for each row, after a line with the columns' names.

use crosstalk_study::row::Row;
use std::collections::BTreeSet;

/// Rows as CSV. `median_low` and `median_high` are the ends of the median's interval. `hodges_lehmann` and its interval are
/// the report's estimate. `origin` says how the values were obtained: measured, emulated, … Levels are in columns `parameter_NAME`, percentiles in columns of their names. A missing value is
/// an empty field.
pub fn csv(rows: &[Row]) -> String {
    let percentiles: BTreeSet<&str> = names(rows, |row| row.percentiles.keys());
    let parameters: BTreeSet<&str> = names(rows, |row| row.parameters.keys());
    let fixed = "command,mean,stddev,median,min,max,median_low,median_high,hodges_lehmann,hodges_lehmann_low,hodges_lehmann_high,n,metric,unit,origin".split(',');
    let head = fixed
        .map(String::from)
        .chain(percentiles.iter().map(|name| (*name).to_string()))
        .chain(parameters.iter().map(|name| format!("parameter_{name}")));
    let body = rows.iter().map(|row| {
        let optional = |number: Option<f64>| number.map(|n| n.to_string()).unwrap_or_default();
        let mut fields = vec![
            row.command.clone(),
            row.mean.to_string(),
            optional(row.stddev),
            row.median.to_string(),
            row.min.to_string(),
            row.max.to_string(),
            optional(row.interval.map(|ends| ends.0)),
            optional(row.interval.map(|ends| ends.1)),
            optional(row.hodges_lehmann.map(|found| found.value)),
            optional(row.hodges_lehmann.and_then(|found| found.interval).map(|ends| ends.0)),
            optional(row.hodges_lehmann.and_then(|found| found.interval).map(|ends| ends.1)),
            row.n.to_string(),
            row.metric.clone(),
            row.unit.clone(),
            row.origin.map(|origin| origin.word().to_string()).unwrap_or_default(),
        ];
        fields.extend(percentiles.iter().map(|name| optional(row.percentiles.get(*name).copied())));
        fields.extend(parameters.iter().map(|name| row.parameters.get(*name).cloned().unwrap_or_default()));
        line(fields.into_iter())
    });
    std::iter::once(line(head)).chain(body).collect()
}

fn names<'a, I: Iterator<Item = &'a String>>(
    rows: &'a [Row],
    of: impl Fn(&'a Row) -> I,
) -> BTreeSet<&'a str> {
    rows.iter().flat_map(of).map(String::as_str).collect()
}

fn line(fields: impl Iterator<Item = String>) -> String {
    fields.map(|field| quoted(&field)).collect::<Vec<_>>().join(",") + "\n"
}

fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::record::Origin;

    #[test]
    fn a_field_is_quoted_where_it_would_end_early() {
        let row = Row::of_values("sh -c \"a, b\"", "run_time", "s", vec![0.5]).expect("has a value");
        let parameters = [("N".to_string(), "1".to_string())].into();
        let text = csv(&[Row { parameters, origin: Some(Origin::Measured), ..row }]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "command,mean,stddev,median,min,max,median_low,median_high,hodges_lehmann,hodges_lehmann_low,\
             hodges_lehmann_high,n,metric,unit,origin,parameter_N"
        );
        assert_eq!(lines[1], "\"sh -c \"\"a, b\"\"\",0.5,,0.5,0.5,0.5,,,0.5,,,1,run_time,s,measured,1");
    }
}
