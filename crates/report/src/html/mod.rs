//! The report for the browser: one file that requests nothing from the network. It is readable without scripts, in dark mode,
//! on a phone and on paper.
//!
//! Without its script it is well-formed XML, as which the tests read it.

mod claims;
pub mod escape;
mod evidence;
mod figure;
mod table;

use base64ct::{Base64, Encoding};
use crosstalk_study::findings::Findings;
use sha2::{Digest, Sha256};

use crate::claims::claims_run;
use crate::plot::Palette;
use crate::{readable, summary};
use escape::{Prose, Text};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The content security policy: nothing may be fetched, and no script runs but this one, named by its digest (Content Security
/// Policy Level 3, 2.3.1).
fn policy(script: Option<&str>) -> String {
    let script = script.map(|text| format!("script-src 'sha256-{}'; ", digest(text))).unwrap_or_default();
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; {script}img-src data:; base-uri 'none'; form-action 'none'"
    )
}

fn digest(text: &str) -> String {
    Base64::encode_string(&Sha256::digest(text))
}

/// Two bars of unequal length.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect x='1' y='3' width='14' height='4' fill='%230072b2'/%3E%3Crect x='1' y='9' width='8' height='4' fill='%23d55e00'/%3E%3C/svg%3E";

/// A page's head. `style` is added to the common style; `script` is the text of the page's only script.
pub(crate) fn head(title: &str, description: &str, style: &str, script: Option<&str>) -> String {
    format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="{policy}"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<meta name="referrer" content="no-referrer"/>
<meta name="description" content="{description}"/>
<link rel="icon" href="{ICON}"/>
<title>{title}</title>
<style>
{STYLE}{style}</style>
</head>
"#,
        policy = policy(script),
        description = Text(description),
        title = Text(title),
    )
}

/// The report as one self-contained HTML page.
pub fn html(findings: &Findings) -> String {
    let sections: String = sections(findings).iter().map(Section::html).collect();
    let script = format!("\n{SCRIPT}");
    format!(
        r#"{head}<body>
<main>
{header}{sections}
<footer><p>Made by Crosstalk {version} from <code>findings.json</code>. This page is self-contained: it requests nothing from the network.</p></footer>
</main>
<div id="tip" role="status" aria-live="polite" hidden="hidden"></div>
<script>{script}</script>
</body>
</html>
"#,
        head = head(&findings.title, &findings.headline.text, "", Some(&script)),
        header = header(findings),
        version = Text(&findings.run.version),
    )
}

/// A section of the page, which links can point to.
struct Section {
    id: &'static str,
    title: String,
    body: String,
}

impl Section {
    fn html(&self) -> String {
        let Section { id, title, body } = self;
        format!(
            r#"<section id="{id}" aria-labelledby="{id}-h"><h2 id="{id}-h">{}</h2>{body}</section>"#,
            Text(title)
        ) + "\n"
    }
}

/// The sections in reading order, without empty ones.
fn sections(findings: &Findings) -> Vec<Section> {
    let palette = Palette::of_figures(&findings.figures);
    let figures = findings.figures.iter().enumerate().map(|(i, f)| figure::figure(f, &palette, i)).collect();
    let tables = findings.tables.iter().map(table::table).collect();
    [
        ("compared", "What was compared", evidence::comparisons(&findings.comparisons)),
        ("claims", "Claims", claims::claims(findings)),
        ("figures", "Figures", figures),
        ("tables", "Tables", tables),
        ("warnings", "Before you believe it", evidence::warnings(&findings.warnings, "warnings")),
        ("caveats", "What is not emulated", evidence::warnings(&findings.caveats, "properties")),
        ("rests", "What it rests on", evidence::methods(findings)),
        ("fidelity", "Fidelity, cell by cell", evidence::cells(&findings.cells)),
        ("sources", "Where parameters come from", evidence::sources(&findings.sources)),
        ("provenance", "What the machines were", evidence::provenance(&findings.provenance)),
        ("run", "The run", evidence::run(findings)),
    ]
    .into_iter()
    .filter(|(.., body)| !body.is_empty())
    .map(|(id, title, body)| Section { id, title: title.into(), body })
    .collect()
}

/// The deciding sentence, the study's title, the command that repeats the run, and links.
fn header(findings: &Findings) -> String {
    let headline = &findings.headline;
    let undecided =
        if summary::is_undecided(findings) { r#"<p class="badge open">undecided</p>"# } else { "" };
    let class = if headline.text.chars().count() > 140 { " class=\"long\"" } else { "" };
    let origins = summary::origins(findings);
    let origins: String = origins.iter().map(|o| o.word()).collect::<Vec<_>>().join(", ");
    let origins = if origins.is_empty() { String::new() } else { format!(" · {origins}") };
    let quick = if findings.run.quick { " · quick run" } else { "" };
    format!(
        r#"<header>
<h1{class}>{sentence}</h1>
{undecided}{context}{bars}<p class="byline"><strong>{title}</strong> · {date}{quick}{origins}</p>
{links}{command}</header>
"#,
        sentence = Prose(&headline.text),
        context = context(&headline.context),
        bars = bars(findings),
        title = Prose(&findings.title),
        date = readable::date(findings.run.began),
        command = command(&headline.command),
        links = links(findings),
    )
}

fn context(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(r#"<p class="context">{}</p>"#, Prose(text)) }
}

/// The bars of the deciding sentence.
fn bars(findings: &Findings) -> String {
    let bars = summary::bars(findings);
    let palette = Palette::of_figures(&findings.figures);
    // The figures' colour for the level, if they have it.
    let colour =
        |index: usize, name: &str| palette.level_class(name).unwrap_or_else(|| format!("s{}", index % 8));
    let bar = |(index, (name, share, value)): (usize, &(&str, f64, String))| {
        format!(
            r#"<li><span>{}</span><span class="track"><i class="{}" style="width:{:.1}%"></i></span><span>{}</span></li>"#,
            Text(name),
            colour(index, name),
            share * 100.0,
            Prose(value)
        )
    };
    let bars: String = bars.iter().enumerate().map(bar).collect();
    if bars.is_empty() { bars } else { format!(r#"<ul class="answer">{bars}</ul>"#) }
}

/// The command that repeats the run.
fn command(command: &str) -> String {
    if command.trim().is_empty() {
        return String::new();
    }
    format!(
        r#"<div class="command"><p id="repeat">Repeat it</p><div class="line"><pre tabindex="0" aria-labelledby="repeat"><code>{}</code></pre><button type="button" class="copy" hidden="hidden">Copy</button></div></div>"#,
        Text(command)
    )
}

/// Links to sections, with the number of their entries.
fn links(findings: &Findings) -> String {
    let count = |n: usize, one: &str, many: &str| match n {
        1 => format!("1 {one}"),
        n => format!("{n} {many}"),
    };
    let link = |id: &str, n: usize, words: String| {
        if n == 0 { String::new() } else { format!(r##"<li><a href="#{id}">{words}</a></li>"##) }
    };
    let warnings = summary::merge_similar(&findings.warnings).len();
    let (compared, claims) = (findings.comparisons.len(), claims_run(&findings.claims).len());
    let items = [
        link("compared", compared, count(compared, "comparison", "comparisons")),
        link("claims", claims, count(claims, "claim", "claims")),
        link("figures", findings.figures.len(), count(findings.figures.len(), "figure", "figures")),
        link("tables", findings.tables.len(), count(findings.tables.len(), "table", "tables")),
        link("warnings", warnings, count(warnings, "warning", "warnings")),
    ]
    .concat();
    if items.is_empty() { items } else { format!(r#"<nav aria-label="On this page"><ul>{items}</ul></nav>"#) }
}
