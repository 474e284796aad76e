//! The page for the browser: self-contained, in the style of a run's report.

use crosstalk_core::trace::{LabelledCount, QueueRequests, TimeAccount, Trace};
use crosstalk_core::units::human;

use super::picture::{Band, draw};
use super::sentences::{cost, grouped, headline, longest_stages, requests, scope, share, shown, times};
use crate::html::escape::{Prose, Text};
use crate::html::head;

/// Added to the reports' style.
const PAGE_STYLE: &str = "svg.waterfall { width: 100%; } table .n { text-align: right; }";

/// A trace as a self-contained HTML page.
pub fn page(trace: &Trace) -> String {
    let title = headline(trace);
    let ended = trace
        .ended
        .as_deref()
        .map_or(String::new(), |why| format!(r#"<p class="badge open">ended early: {}</p>"#, Text(why)));
    let accounts: String = shown(trace).enumerate().map(|(i, a)| account(a, i)).collect();
    let remarks: String = trace.remarks.iter().map(|r| format!("<li>{}</li>", Prose(r))).collect();
    let sections = [
        section("places", "Which CPU, which queue", &places(trace)),
        section("counts", "What was not followed, and what else was counted", &counts(trace)),
        section("cost", "What tracing cost", &format!("<p>{}</p>", Prose(&cost(&trace.cost)))),
        section(
            "notes",
            "Before you believe it",
            &if remarks.is_empty() { remarks } else { format!("<ul>{remarks}</ul>") },
        ),
    ];
    format!(
        r#"{head}<body>
<main>
<header>
<h1 class="long">{heading}</h1>
{ended}<p class="byline">measured · by the kernel's tracepoints; the service was not touched</p>
</header>
{accounts}{sections}
<footer><p>Made by <code>crosstalk trace</code>. This page is self-contained: it requests nothing from the network.</p></footer>
</main>
</body>
</html>
"#,
        head = head(&title, "Where the time of its requests goes", PAGE_STYLE, None),
        heading = Prose(&title),
        sections = sections.concat(),
    )
}

fn section(id: &str, title: &str, body: &str) -> String {
    if body.is_empty() {
        return String::new();
    }
    format!(r#"<section id="{id}" aria-labelledby="{id}-h"><h2 id="{id}-h">{title}</h2>{body}</section>"#)
        + "\n"
}

fn account(account: &TimeAccount, number: usize) -> String {
    let picture = |band: Band| {
        if account.percentiles.is_empty() {
            return String::new();
        }
        let svg = draw(account, band, &format!("w{number}-{}", band.in_words().replace(' ', "-")));
        if svg.is_empty() {
            return svg;
        }
        format!("<figure><h3>A request {}</h3>{svg}</figure>", band.in_words())
    };
    let body = format!(
        "<p>{}: {}. Most of it: {}.</p>{}{}{}",
        scope(account.scope),
        Prose(&times(account).join(" · ")),
        Prose(&longest_stages(account)),
        picture(Band::P50),
        picture(Band::P99),
        stages(account)
    );
    section(&format!("account{number}"), &requests(account.requests), &body)
}

fn stages(account: &TimeAccount) -> String {
    let row = |stage: &crosstalk_core::trace::StageTimes| {
        format!(
            r#"<tr><th scope="row">{}: {}</th><td class="n">{}</td><td class="n">{}</td><td class="n">{}</td><td class="n">{}</td></tr>"#,
            stage.side.word(),
            Text(&stage.name),
            human(stage.around_p50, "s"),
            stage.around_p99.map_or("–".into(), |time| human(time, "s")),
            human(stage.mean, "s"),
            share(stage.share)
        )
    };
    let rows: String = account.stages.iter().map(row).collect();
    table("Stages", &["stage", "around p50", "around p99", "mean", "share"], &rows)
}

fn places(trace: &Trace) -> String {
    let time = |time: Option<f64>| time.map_or("–".into(), |time| human(time, "s"));
    let row = |what: &str, place: &QueueRequests| {
        format!(
            r#"<tr><th scope="row">{what} CPU {}</th><td>{}</td><td class="n">{}</td><td class="n">{}</td><td class="n">{}</td></tr>"#,
            place.cpu,
            place.queue.map_or("–".into(), |queue| queue.to_string()),
            share(place.share),
            time(place.p50),
            time(place.p99)
        )
    };
    let taken_in = trace.taken_in.iter().map(|place| row("received on", place));
    let rows: String = taken_in.chain(trace.read_on.iter().map(|place| row("read on", place))).collect();
    if rows.is_empty() {
        rows
    } else {
        table("Requests by place", &["", "queue", "share", "p50", "p99"], &rows)
    }
}

fn counts(trace: &Trace) -> String {
    let row = |tally: &LabelledCount| {
        format!(
            r#"<tr><th scope="row">{}</th><td class="n">{}</td></tr>"#,
            Text(&tally.what),
            grouped(tally.count)
        )
    };
    let list = |title: &str, tallies: &[LabelledCount]| {
        let rows: String = tallies.iter().map(row).collect();
        if rows.is_empty() { rows } else { table(title, &["", "count"], &rows) }
    };
    list("Not followed", &trace.not_followed) + &list("Also counted", &trace.counted)
}

fn table(title: &str, heads: &[&str], rows: &str) -> String {
    let head = |(column, head): (usize, &&str)| {
        let class = if column > 0 { r#" class="n""# } else { "" };
        format!(r#"<th scope="col"{class}>{head}</th>"#)
    };
    let heads: String = heads.iter().enumerate().map(head).collect();
    format!(
        r#"<div class="table"><h3>{title}</h3><div class="scroll" tabindex="0" role="region" aria-label="{title}"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div></div>"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::tests::traced;

    #[test]
    fn the_page_is_whole_and_shows_names_without_running_them() {
        let page = page(&traced());
        roxmltree::Document::parse_with_options(
            &page,
            roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() },
        )
        .expect("is well-formed");
        assert!(page.contains("&lt;redis&gt;") && !page.contains("<redis>"));
        assert_eq!(page.matches("<svg").count(), 2);
        for expected in
            ["around the 99th percentile", "under way when tracing ended", "a remark", "ended early"]
        {
            assert!(page.contains(expected), "{expected}");
        }
    }
}
