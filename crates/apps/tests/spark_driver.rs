//! The driver of the Spark engine, spoken to as the engine does, on a local master.

#[path = "../../work/tests/cluster/mod.rs"]
mod cluster;
#[path = "../../work/tests/scene/mod.rs"]
mod scene;

use cluster::{emulation, play};
use crosstalk_apps::als::ALS;
use crosstalk_core::scene::Workload;
use crosstalk_core::value::Params;
use scene::value;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than any answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A driver that was started, and its directory for everything temporary.
struct Driver {
    child: Child,
    stream: TcpStream,
    lines: BufReader<TcpStream>,
    scratch: Scratch,
}

enum Scratch {
    /// Goes with its driver.
    Own(TempDir),
    /// Of the driver that nobody drops: always the same, emptied when the next one starts.
    Shared(PathBuf),
}

impl Scratch {
    fn own() -> Self {
        Scratch::Own(tempfile::tempdir().expect("a directory"))
    }

    fn shared() -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shared-spark-driver");
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a directory");
        Scratch::Shared(path)
    }

    fn path(&self) -> &Path {
        match self {
            Scratch::Own(dir) => dir.path(),
            Scratch::Shared(path) => path,
        }
    }
}

impl Driver {
    /// Starts one, where there are Spark and Java.
    fn start(scratch: Scratch) -> Option<Self> {
        let python = workspace().join(".tools/venv-spark/bin/python");
        if !python.is_file() {
            eprintln!("skipped: no Spark (tools/venv spark installs it)");
            return None;
        }
        if Command::new("java").arg("-version").output().is_err() {
            eprintln!("skipped: no Java (apt-get install openjdk-17-jre-headless)");
            return None;
        }
        let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
        let port = listener.local_addr().expect("an address").port().to_string();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine/spark/driver/driver.py");
        let child = Command::new(python)
            .arg("-B")
            .arg(script)
            .args([&port, "a key"])
            .spawn()
            .expect("the driver starts");
        let (stream, _) = listener.accept().expect("the driver connects");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
        let lines = BufReader::new(stream.try_clone().expect("a second handle"));
        let mut driver = Driver { child, stream, lines, scratch };
        let hello = driver.hear();
        assert_eq!(hello["key"], "a key");
        assert!(hello["spark"].is_string() && hello["java"].is_string(), "{hello}");
        Some(driver)
    }

    /// One that has opened an application on a local master.
    fn open(scratch: Scratch) -> Option<Self> {
        let mut driver = Self::start(scratch)?;
        let request = driver.opening("local[2]", 120.0);
        let answer = driver.done(&request);
        assert_eq!(answer["executors"], json!([{"id": "driver", "host": "127.0.0.1"}]));
        assert!(answer["event_log"].is_string(), "{answer}");
        Some(driver)
    }

    fn opening(&self, master: &str, patience: f64) -> Value {
        // What is done once is done sooner without the optimising compiler.
        let conf = json!({
            "spark.local.dir": self.scratch.path(), "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        });
        json!({"do": "open", "master": master, "conf": conf, "executors": 1, "patience": patience})
    }

    fn say(&mut self, line: &str) {
        self.stream.write_all(line.as_bytes()).expect("the driver listens");
        self.stream.write_all(b"\n").expect("the driver listens");
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line in time");
        serde_json::from_str(&line).expect("JSON")
    }

    /// What a line is answered with in the end.
    fn answer(&mut self, line: &str) -> Value {
        self.say(line);
        loop {
            let answer = self.hear();
            if answer["is"] != "progress" {
                return answer;
            }
        }
    }

    fn done(&mut self, request: &Value) -> Value {
        let answer = self.answer(&request.to_string());
        assert_eq!(answer["is"], "done", "{answer}");
        answer
    }

    /// The reason for which a line fails, after which the driver is as before.
    fn reason(&mut self, line: &str) -> String {
        let answer = self.answer(line);
        assert_eq!((&answer["is"], &answer["fatal"]), (&json!("failed"), &Value::Null), "{answer}");
        answer["reason"].as_str().expect("a reason").to_string()
    }

    /// The processes that it has started.
    fn children(&self) -> Vec<String> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("it runs");
        let of = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
        let told: Vec<String> = tasks.flatten().map(of).collect();
        told.iter().flat_map(|pids| pids.split_whitespace()).map(String::from).collect()
    }

    /// Closes the connection; returns how long driver and JVM took to end.
    fn hang_up(mut self) -> Duration {
        let (children, begin) = (self.children(), Instant::now());
        self.stream.shutdown(std::net::Shutdown::Both).expect("closes");
        let ended = |child: &mut Child| child.try_wait().expect("a child").is_some();
        let gone = |pid: &String| !Path::new("/proc").join(pid).exists();
        while !ended(&mut self.child) || !children.iter().all(gone) {
            assert!(begin.elapsed() < PATIENCE, "{children:?} are still there");
            std::thread::sleep(Duration::from_millis(20));
        }
        begin.elapsed()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        let _ = self.child.wait();
    }
}

/// The application in which the tests that want only an answer take turns. It ends
/// when this process does, as its connection then closes.
fn shared() -> Option<MutexGuard<'static, Driver>> {
    static DRIVER: OnceLock<Option<Mutex<Driver>>> = OnceLock::new();
    let driver = DRIVER.get_or_init(|| Driver::open(Scratch::shared()).map(Mutex::new)).as_ref();
    if driver.is_none() {
        eprintln!("skipped: no Spark (see above)");
    }
    driver.map(|driver| driver.lock().unwrap_or_else(PoisonError::into_inner))
}

/// What Python prints, or nothing where its packages are not there.
fn reference(script: &str, arguments: &[&str]) -> Option<String> {
    let python = workspace().join(".tools/venv/bin/python");
    if !python.is_file() {
        eprintln!("skipped: no {script} (tools/venv installs what it needs)");
        return None;
    }
    let output = Command::new(python)
        .arg(workspace().join("tools").join(script))
        .args(arguments)
        .output()
        .expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("text"))
}

/// A file of the real data, in `CROSSTALK_DATA` or beside the workspace.
fn data(name: &str) -> Option<PathBuf> {
    let data = std::env::var_os("CROSSTALK_DATA").map(PathBuf::from);
    let path = data.unwrap_or(workspace().join("../shared/data")).join(name);
    path.is_file().then_some(path)
}

/// The lines of all of an answer's parts, each split at its tabs.
fn written(directory: &Path) -> Vec<Vec<String>> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut parts: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    parts.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("part-")));
    parts.sort();
    let text: String = parts.iter().map(|path| fs::read_to_string(path).expect("text")).collect();
    text.lines().map(|line| line.split('\t').map(String::from).collect()).collect()
}

/// Numbers that look random, from 0 to below `bound`.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}

/// Every pass has a time, and every node of the last pass its tasks.
fn accounted(answer: &Value) {
    let times = answer["times"].as_array().expect("times");
    assert!((1..=2).contains(&times.len()), "{answer}");
    assert!(times.iter().all(|time| time.as_f64().is_some_and(|s| s > 0.0)), "{answer}");
    assert!(answer["loading"].as_f64().is_some_and(|s| s > 0.0), "{answer}");
    let node = &answer["nodes"]["driver"];
    let figure = |name: &str| node[name].as_f64().unwrap_or_else(|| panic!("no {name}: {answer}"));
    assert!(figure("tasks") >= 2.0 && figure("compute") > 0.0 && figure("shuffle_bytes") > 0.0, "{node}");
    assert!(figure("wait") >= 0.0 && figure("serialise") > 0.0 && figure("gc") >= 0.0, "{node}");
    // Two tasks at a time, within the pass.
    let last = times[times.len() - 1].as_f64().expect("a number");
    assert!(figure("run") <= 2.0 * last + 1.0, "{node} in {last} s");
    assert_eq!(figure("spill_bytes"), 0.0);
}

#[test]
fn pagerank_is_that_of_the_reference() {
    let Some(mut driver) = shared() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let (graph, output) = (directory.path().join("graph.txt"), directory.path().join("ranks"));
    // Parallel edges, loops, sources and sinks, and a hub.
    let (mut dice, mut text) = (Dice(1), String::from("# a comment\n"));
    for _ in 0..5000 {
        let (from, among) = (dice.below(900), 1 + dice.below(200));
        let to = 7 * dice.below(among);
        writeln!(text, "{from}\t{to}").expect("writes");
    }
    fs::write(&graph, text).expect("writes");
    for (normalised, variant) in [(false, "graphx"), (true, "graphx-normalised")] {
        let arguments = [graph.to_str().expect("UTF-8"), "3", "0.15", variant];
        let Some(expected) = reference("pagerank_reference.py", &arguments) else { return };
        let expected: BTreeMap<u64, f64> = expected
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|(label, rank)| (label.parse().expect("a label"), rank.parse().expect("a rank")))
            .collect();
        let answer = driver.done(&json!({
            "do": "pagerank", "edges": graph, "partitions": 2, "normalised": normalised, "output": output,
            "passes": {"least": 2, "most": 2},
        }));
        accounted(&answer);
        assert_eq!((&answer["vertices"], &answer["edges"]), (&json!(expected.len()), &json!(5000)));
        let rows = written(&output);
        assert_eq!(rows.len(), expected.len(), "an earlier answer's parts stay, or some are missing");
        for row in &rows {
            let (label, rank): (u64, f64) =
                (row[0].parse().expect("a label"), row[1].parse().expect("a rank"));
            assert!(
                (rank / expected[&label] - 1.0).abs() <= 1e-9,
                "{label}: {rank}, not {}",
                expected[&label]
            );
        }
        let sum: f64 = expected.values().sum();
        assert!((answer["sum"].as_f64().expect("a sum") / sum - 1.0).abs() <= 1e-9, "{answer}");
        let mut highest: Vec<(u64, f64)> = expected.into_iter().collect();
        highest.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        let top = answer["top"].as_array().expect("the highest");
        assert_eq!(top.len(), 10);
        for (found, (label, rank)) in top.iter().zip(&highest) {
            assert_eq!(found[0], *label);
            assert!((found[1].as_f64().expect("a rank") / rank - 1.0).abs() <= 1e-9, "{found}");
        }
    }
}

/// MovieLens's ratings, or some of the same form: a product of vectors and noise.
fn ratings(directory: &Path) -> PathBuf {
    if let Some(path) = data("movielens/ratings.csv") {
        return path;
    }
    let (mut dice, mut text) = (Dice(1), String::from("userId,movieId,rating,timestamp\n"));
    for user in 1..=400 {
        for item in (1..=200).filter(|item| (item * user) % 5 < 2) {
            let alike = ((user % 3) as f64 - 1.0) * ((item % 5) as f64 - 2.0);
            let half_stars = (6.0 + alike + dice.below(5) as f64 - 2.0).clamp(1.0, 10.0);
            writeln!(text, "{user},{item},{},{}", half_stars / 2.0, dice.below(1000)).expect("writes");
        }
    }
    let path = directory.join("ratings.csv");
    fs::write(&path, text).expect("writes");
    path
}

#[test]
fn als_errs_as_ours_does() {
    let Some(mut driver) = shared() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let (ratings, output) = (ratings(directory.path()), directory.path().join("model"));
    let params = Params::default()
        .with("ratings", ratings.display().to_string())
        .with("rank", 8)
        .with("lambda", 0.1)
        .with("iterations", 10);
    let nodes = ALS.deploy(&params).expect("deploys").nodes;
    let ours = play(&ALS, &params, nodes, Some(emulation(nodes))).expect("runs");
    let answer = driver.done(&json!({
        "do": "als", "ratings": ratings, "partitions": 2, "rank": 8, "lambda": 0.1, "iterations": 10,
        "output": output, "passes": {"least": 1, "most": 1},
    }));
    accounted(&answer);
    for (theirs, metric, tolerance) in [
        ("rmse_validation", "rmse_validation", 0.01),
        ("rmse_test", "rmse_test", 0.01),
        ("rmse_mean", "rmse_baseline", 1e-12),
    ] {
        let off = answer[theirs].as_f64().expect("an error") / value(&ours, metric) - 1.0;
        println!("{{\"metric\":\"{metric}\",\"spark_over_ours_less_1\":{off:e}}}");
        assert!(off.abs() <= tolerance, "{theirs}: {} against {}", answer[theirs], value(&ours, metric));
    }
    assert_eq!(answer["best"], json!([8, 0.1, 10]));
    // The recommendations are the best of the written model's predictions.
    let vector = |row: &Vec<String>| -> (u64, Vec<f64>) {
        let numbers = row[1..].iter().map(|x| x.parse().expect("a number")).collect();
        (row[0].parse().expect("an id"), numbers)
    };
    let users: BTreeMap<_, _> = written(&output.join("users")).iter().map(vector).collect();
    let items: BTreeMap<_, _> = written(&output.join("items")).iter().map(vector).collect();
    let predicted = |item: u64| -> f64 { users[&0].iter().zip(&items[&item]).map(|(x, y)| x * y).sum() };
    let recommended = answer["recommendations"].as_array().expect("recommendations");
    assert_eq!(recommended.len(), 50);
    for one in recommended {
        let (item, told) = (one[0].as_u64().expect("an item"), one[1].as_f64().expect("a prediction"));
        assert!((predicted(item) - told).abs() < 1e-5, "{item}: {told}, not {}", predicted(item));
    }
    let last = recommended[49][1].as_f64().expect("a prediction");
    let better = items.keys().filter(|item| predicted(**item) > last + 1e-5).count();
    assert!(better <= 49 + 11, "{better} items are better than the last recommendation");
}

/// Articles with what is easily read wrong: escapes, redirects, letters whose lower
/// case is unlike others, words too long or too short, titles beyond ASCII.
fn export() -> String {
    let (mut dice, mut text) = (Dice(1), String::from("<mediawiki version=\"0.10\">\n<siteinfo/>\n"));
    let odd = [
        "ΣΑΣ",
        "ÇAĞİ İ",
        "a\u{212a}b",
        "x &amp;lt; y",
        "caf\u{e9}&#233;s",
        "&lt;ref name=&quot;a&quot;/&gt;",
        "日本",
    ];
    let kinds = ["People from", "State law of", "Sports in", "Churches of"];
    for page in 0..120 {
        let kind = dice.below(4);
        let mut words = String::new();
        for _ in 0..60 {
            let word = if dice.below(6) == 0 { 100 * kind + dice.below(40) } else { dice.below(400) };
            write!(words, "w{word} ").expect("writes");
        }
        let (odd, long) = (odd[page % odd.len()], "ö".repeat(120 + page % 20));
        let link = format!("[[Category:{} {page}]]", kinds[kind as usize]);
        let redirect = if page % 10 == 9 { "<redirect title=\"Elsewhere\" />" } else { "" };
        writeln!(
            text,
            "<page><title>Página {page} &amp; İ</title>{redirect}<revision><text bytes=\"1\" \
             xml:space=\"preserve\">{words}{odd} {long} q [[Category:Stubs]] {link}</text></revision></page>"
        )
        .expect("writes");
    }
    text + "</mediawiki>\n"
}

fn decides_as_the_reference(corpus: &Path, norm: bool, remove_labels: bool) {
    let mut arguments = vec![corpus.to_str().expect("UTF-8"), "--test-percent", "50"];
    arguments.extend(norm.then_some("--norm"));
    arguments.extend(remove_labels.then_some("--remove-labels"));
    let Some(expected) = reference("bayes_reference.py", &arguments) else { return };
    let Some(mut driver) = shared() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let (features, expected) = expected.split_once('\n').expect("a line");
    let answer = driver.done(&json!({
        "do": "bayes", "corpus": corpus, "partitions": 2, "test_percent": 50, "norm": norm,
        "remove_labels": remove_labels, "output": directory.path(), "passes": {"least": 1, "most": 1},
    }));
    accounted(&answer);
    assert_eq!(answer["features"].to_string(), features);
    let expected: Vec<Vec<&str>> = expected.lines().map(|line| line.split('\t').collect()).collect();
    let right = expected.iter().filter(|row| row[1] == row[2]).count() as f64 / expected.len() as f64;
    let off = (answer["accuracy"].as_f64().expect("a share") - right).abs();
    let found = written(directory.path());
    let differing = found.iter().zip(&expected).filter(|(one, other)| *one != *other).count();
    println!(
        "{{\"accuracy\":{right},\"accuracy_off\":{off},\"differing\":{differing},\"tested\":{}}}",
        expected.len()
    );
    assert_eq!((&answer["test"], found.len()), (&json!(expected.len()), expected.len()));
    assert!(off <= 0.01, "{} against {right}", answer["accuracy"]);
    assert_eq!(differing, 0);
    let counts = answer["confusion"].as_array().expect("a matrix").iter();
    assert_eq!(counts.filter_map(|row| row[2].as_u64()).sum::<u64>(), expected.len() as u64);
}

#[test]
fn bayes_decides_about_odd_articles_as_the_reference() {
    let directory = tempfile::tempdir().expect("a directory");
    let corpus = directory.path().join("made.xml");
    fs::write(&corpus, export()).expect("writes");
    decides_as_the_reference(&corpus, true, true);
}

#[test]
fn bayes_decides_about_wikipedia_as_the_reference() {
    match data("wikipedia/enwiki-pages-articles1-sample.xml.bz2") {
        Some(corpus) => decides_as_the_reference(&corpus, false, false),
        None => eprintln!("skipped: no sample of Wikipedia (CROSSTALK_DATA names the directory)"),
    }
}

#[test]
fn what_is_wrong_is_said_and_the_driver_goes_on() {
    let Some(mut driver) = Driver::start(Scratch::own()) else { return };
    assert!(driver.reason("PageRank, please").starts_with("a request is not JSON"));
    assert_eq!(driver.reason("[1]"), "a request must be a JSON object, found [1]");
    assert!(driver.reason(r#"{"do": "sort"}"#).starts_with("`do`: expected one of open, pagerank,"));
    assert_eq!(driver.reason(r#"{"do": "als"}"#), "`als` needs an open application");
    driver.done(&json!({"do": "close"}));

    let nobody = TcpListener::bind("127.0.0.1:0").expect("listens").local_addr().expect("an address");
    let (begin, master) = (Instant::now(), format!("spark://{nobody}"));
    let request = driver.opening(&master, 1.0).to_string();
    assert_eq!(driver.reason(&request), format!("no Spark master listens at {master}: Connection refused"));
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
    assert!(
        driver.reason(&driver.opening("mesos", 1.0).to_string()).contains("spark://HOST:PORT or local[N]")
    );

    // Who listens and is no master.
    let mute = TcpListener::bind("127.0.0.1:0").expect("listens");
    let (begin, master) = (Instant::now(), format!("spark://{}", mute.local_addr().expect("an address")));
    let request = driver.opening(&master, 8.0).to_string();
    assert_eq!(
        driver.reason(&request),
        format!("the master {master} did not take the application within 8 s")
    );
    assert!(begin.elapsed() < Duration::from_secs(14), "{:?}", begin.elapsed());
    // The answer does not wait for Java to have ended.
    let begin = Instant::now();
    while !driver.children().is_empty() {
        assert!(begin.elapsed() < PATIENCE, "{:?} are still there", driver.children());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_bad_file_fails_its_request_alone_and_hanging_up_ends_a_job() {
    let Some(mut driver) = Driver::open(Scratch::own()) else { return };
    let request = json!({"do": "pagerank", "edges": "/no/such/file", "partitions": 2}).to_string();
    assert_eq!(driver.reason(&request), "`edges`: there is no file /no/such/file");
    let directory = tempfile::tempdir().expect("a directory");
    let graph = directory.path().join("graph.txt");
    fs::write(&graph, "1 2\n2 three\n").expect("writes");
    let request = |least: u64, partitions: u64| {
        let passes = json!({"least": least, "most": least});
        json!({"do": "pagerank", "edges": graph, "partitions": partitions, "passes": passes}).to_string()
    };
    assert_eq!(driver.reason(&request(1, 0)), "`partitions`: expected a whole number of at least 1, found 0");
    assert_eq!(driver.reason(&request(1, 2)), "NumberFormatException: For input string: \"three\"");
    fs::write(&graph, "1 2\n2 3\n").expect("writes");
    driver.say(&request(10_000, 2));
    while !driver.hear()["what"].as_str().is_some_and(|what| what.starts_with("pass 1 ")) {}
    assert_eq!(driver.children().len(), 1, "a JVM");
    driver.hear();
    let took = driver.hang_up();
    assert!(took < Duration::from_secs(10), "{took:?}");
}
