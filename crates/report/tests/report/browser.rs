//! The page in a real browser: everything drawn and legible, no console messages, no network requests. Skipped without
//! Chromium.

use crosstalk_core::record::Origin;
use crosstalk_study::findings::{Estimate, Findings, Table, TableCell};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

use crate::cdp::Browser;
use crate::fixture;
use crate::hostile::hostile;

/// One browser at a time: they are heavy.
static ONE: Mutex<()> = Mutex::new(());

struct Opened {
    browser: Browser,
    file: PathBuf,
    _folder: TempDir,
    _one: MutexGuard<'static, ()>,
}

/// A browser and the report's file; says why where there is no browser.
fn prepared(findings: &Findings) -> Option<Opened> {
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let browser = match Browser::start() {
        Ok(browser) => browser,
        Err(reason) => {
            eprintln!("skipped: {reason}");
            return None;
        }
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("report.html");
    std::fs::write(&file, crosstalk_report::html(findings)).expect("written");
    Some(Opened { browser, file, _folder: folder, _one: one })
}

/// Measures the page: sizes, drawings, texts that overlap or have too little contrast.
const LOOK: &str = include_str!("look.js");

#[test]
fn everything_is_drawn_and_legible_at_every_width_in_light_and_dark() {
    let findings = fixture::example();
    let Some(mut opened) = prepared(&findings) else { return };
    for (width, scheme) in
        [(1280, "light"), (1280, "dark"), (700, "light"), (375, "light"), (375, "dark"), (320, "light")]
    {
        opened.browser.open(&opened.file, width, scheme);
        let look = opened.browser.eval(LOOK);
        let at = format!("{width} px, {scheme}");
        assert_eq!(look["sideways"], 0, "scrolls sideways at {at}: {}", look["wide"]);
        assert_eq!(look["outside"], json!([]), "text outside its drawing at {at}");
        assert_eq!(look["overlaps"], json!([]), "texts overlap at {at}");
        assert_eq!(look["faintText"], json!([]), "text with too little contrast at {at}");
        assert_eq!(look["faintMarks"], json!([]), "marks with too little contrast at {at}");
        assert_eq!(look["dark"], scheme == "dark", "{at}");
        for (figure, seen) in findings.figures.iter().zip(look["figures"].as_array().expect("figures")) {
            let points: usize = figure.series.iter().map(|s| s.points.len()).sum();
            assert_eq!(seen["drawings"], 1, "{} at {at}", figure.name);
            assert_eq!(seen["marks"], points, "{} at {at}", figure.name);
            assert!(
                seen["width"].as_f64() > Some(280.0) && seen["height"].as_f64() > Some(150.0),
                "{seen} at {at}"
            );
        }
        assert_eq!(look["figures"].as_array().map(Vec::len), Some(findings.figures.len()));
        quiet(&opened.browser, &at);
    }
}

#[test]
fn a_table_of_nine_columns_is_whole_on_a_wide_screen_and_scrolls_visibly_on_a_narrow_one() {
    let mut findings = fixture::example();
    let cell = |value: f64, unit: &str| TableCell::Number {
        estimate: Estimate { value, interval: Some((value / 2.0, value * 2.0)), n: 9 },
        unit: unit.into(),
        origin: Origin::Measured,
    };
    let heads = [
        "threads",
        "tasks",
        "faults",
        "with reads",
        "machine's reads",
        "refaults, files",
        "refaults, others",
        "memory pressure",
        "disk pressure",
    ];
    let numbers = heads[2..]
        .iter()
        .map(|head| if head.ends_with("pressure") { cell(0.12, "%") } else { cell(120.0, "pages") });
    let row: Vec<TableCell> =
        ["all", "100"].map(|name| TableCell::Text(name.into())).into_iter().chain(numbers).collect();
    findings.tables = vec![Table {
        name: "why".into(),
        title: "Why".into(),
        caption: String::new(),
        columns: heads.map(String::from).to_vec(),
        rows: vec![row],
    }];
    let Some(mut opened) = prepared(&findings) else { return };
    let seen = "(() => { const s = document.querySelector('.table .scroll'); return [s.scrollWidth - s.clientWidth, getComputedStyle(s).backgroundAttachment]; })()";
    opened.browser.open(&opened.file, 1200, "light");
    assert_eq!(opened.browser.eval(seen)[0], 0, "nothing is cut off");
    opened.browser.open(&opened.file, 375, "light");
    let narrow = opened.browser.eval(seen);
    // Shadows stay at the edges, and what covers them where the table ends scrolls along.
    assert!(narrow[0].as_f64() > Some(0.0) && narrow[1] == "local, local, scroll, scroll", "{narrow}");
}

/// No message on the console, and no request but for the file itself.
fn quiet(browser: &Browser, at: &str) {
    assert!(browser.complaints().is_empty(), "{at}: {:?}", browser.complaints());
    let requested = browser.requested();
    let foreign: Vec<&String> =
        requested.iter().filter(|url| !url.starts_with("file://") && !url.starts_with("data:")).collect();
    assert!(foreign.is_empty(), "{at}: asked for {foreign:?}");
    assert_eq!(requested.iter().filter(|url| url.starts_with("file://")).count(), 1, "{at}: {requested:?}");
}

const TIP: &str = "document.getElementById('tip').hidden ? null : document.getElementById('tip').innerText";

#[test]
fn values_are_shown_to_pointer_finger_and_keys() {
    let findings = fixture::example();
    let Some(mut opened) = prepared(&findings) else { return };
    let browser = &mut opened.browser;
    browser.open(&opened.file, 1280, "light");
    assert_eq!(browser.eval(TIP), Value::Null);

    // Keys: focus shows the first value, arrows walk, Escape leaves.
    browser.eval(
        "document.querySelector('.claims') && document.querySelector('#figure-1 details summary').focus()",
    );
    browser.eval("document.querySelector('#figure-1 .plots').focus({ focusVisible: true })");
    let first = browser.eval(TIP);
    assert!(
        first.as_str().is_some_and(|t| t.contains("moonshot") && t.contains("emulated, 24 blocks")),
        "{first}"
    );
    browser.key("ArrowRight");
    let second = browser.eval(TIP);
    assert!(second.as_str().is_some_and(|t| t.contains("3.56 ×") && t.contains("published")), "{second}");
    browser.key("Escape");
    assert_eq!(browser.eval(TIP), Value::Null);

    // Pointer and finger: the middle of the last visible mark.
    for (figure, kind) in [(0, "mouse"), (3, "touch")] {
        let middle = browser.eval(&format!(
            "(() => {{ const m = [...document.querySelectorAll('#figure-{figure} svg.wide .mark')].pop().querySelector('.dot, .bar'); m.scrollIntoView({{ block: 'center' }}); const b = m.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }})()"
        ));
        let (x, y) = (&middle[0], &middle[1]);
        if kind == "mouse" {
            browser.call("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": x, "y": y}));
        } else {
            let touch = json!({"type": "touchStart", "touchPoints": [{"x": x, "y": y}]});
            browser.call("Input.dispatchTouchEvent", touch);
        }
        let shown = browser.eval(TIP);
        let series = findings.figures[figure].series.last().expect("series");
        assert!(
            shown.as_str().is_some_and(|t| t.contains(&series.name)),
            "{kind} over {}: {shown}",
            series.name
        );
        let inside = browser.eval("(() => { const b = document.getElementById('tip').getBoundingClientRect(); return b.left >= 0 && b.right <= innerWidth && b.top >= 0 && b.width > 40; })()");
        assert_eq!(inside, true, "the words are on the page");
    }
    quiet(browser, "after pointing");
}

#[test]
fn the_command_is_copied_and_the_page_works_without_scripts() {
    let findings = fixture::example();
    let Some(mut opened) = prepared(&findings) else { return };
    let browser = &mut opened.browser;
    browser.open(&opened.file, 1280, "light");
    browser.eval("document.querySelector('.copy').click(); new Promise((done) => setTimeout(done, 300))");
    let label = browser.eval("document.querySelector('.copy').textContent");
    assert!(label == "Copied" || label == "Selected", "{label}");

    browser.call("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    browser.open(&opened.file, 1280, "light");
    let look = browser.eval(LOOK);
    assert_eq!(look["figures"].as_array().map(Vec::len), Some(findings.figures.len()));
    assert_eq!(browser.eval("document.querySelector('.copy').hidden"), true);
    assert_eq!(browser.eval("document.querySelectorAll('svg.plot .mark > title').length > 100"), true);
}

#[test]
fn markup_in_names_is_never_run() {
    let findings = hostile(
        r#"</style></script><script>document.title='run'</script><img src="x" onerror="document.title='run'">"#,
    );
    let Some(mut opened) = prepared(&findings) else { return };
    for width in [1280, 320] {
        opened.browser.open(&opened.file, width, "light");
        let title = opened.browser.eval("document.title");
        assert!(title.as_str().is_some_and(|t| t != "run" && t.contains("<script>")), "{title}");
        assert_eq!(opened.browser.eval("document.scripts.length + document.images.length"), 1);
        let look = opened.browser.eval(LOOK);
        assert_eq!(look["sideways"], 0, "{}", look["wide"]);
        assert_eq!(look["outside"], json!([]));
        assert_eq!(look["overlaps"], json!([]));
        quiet(&opened.browser, "hostile names");
    }
}

#[test]
fn the_page_s_policy_blocks_network_requests() {
    let Some(mut opened) = prepared(&fixture::example()) else { return };
    opened.browser.open(&opened.file, 1280, "light");
    let refused = opened.browser.eval(
        "new Promise((done) => { const seen = []; document.addEventListener('securitypolicyviolation', (e) => { seen.push(e.effectiveDirective); if (seen.length === 2) done(seen.sort()); }); fetch('http://127.0.0.1:9/').catch(() => {}); const i = new Image(); i.src = 'http://127.0.0.1:9/x.png'; document.body.append(i); setTimeout(() => done(seen), 5000); })",
    );
    assert_eq!(refused, json!(["connect-src", "img-src"]));
}

#[test]
fn no_script_but_the_page_s_own_runs() {
    let Some(mut opened) = prepared(&fixture::example()) else { return };
    opened.browser.open(&opened.file, 1280, "light");
    assert_eq!(opened.browser.eval("document.querySelector('.copy').hidden"), false, "its own has run");
    let refused = opened.browser.eval(
        "new Promise((done) => { document.addEventListener('securitypolicyviolation', (e) => done([e.effectiveDirective, document.title !== 'run'])); const s = document.createElement('script'); s.textContent = \"document.title = 'run'\"; document.body.append(s); setTimeout(() => done([]), 5000); })",
    );
    assert_eq!(refused, json!(["script-src-elem", true]));
}

#[test]
fn it_prints_with_every_detail_open() {
    let Some(mut opened) = prepared(&fixture::example()) else { return };
    let browser = &mut opened.browser;
    browser.open(&opened.file, 1280, "dark");
    browser.call(
        "Emulation.setEmulatedMedia",
        json!({"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]}),
    );
    assert_eq!(browser.eval("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)");
    browser.eval("dispatchEvent(new Event('beforeprint'))");
    assert_eq!(browser.eval("[...document.querySelectorAll('details')].every((d) => d.open)"), true);
    let pdf = browser.call("Page.printToPDF", json!({"printBackground": true}));
    assert!(pdf["data"].as_str().is_some_and(|data| data.len() > 20_000), "a document of some pages");
}
