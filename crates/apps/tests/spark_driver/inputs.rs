//! Inputs that are easily read wrong, made up from numbers that look random.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::data::find;

/// Numbers that look random, from 0 to below `bound`.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}

/// 5,000 edges: some parallel, loops, sources and sinks, and a hub.
pub fn edges() -> String {
    let (mut random, mut text) = (Random(1), String::from("# a comment\n"));
    for _ in 0..5000 {
        let (from, among) = (random.below(900), 1 + random.below(200));
        let to = 7 * random.below(among);
        writeln!(text, "{from}\t{to}").expect("writes");
    }
    text
}

/// MovieLens's ratings, or some of the same form: a product of vectors and noise.
pub fn ratings(directory: &Path) -> PathBuf {
    if let Some(path) = find("movielens/ratings.csv") {
        return path;
    }
    let (mut random, mut text) = (Random(1), String::from("userId,movieId,rating,timestamp\n"));
    for user in 1..=400 {
        for item in (1..=200).filter(|item| (item * user) % 5 < 2) {
            let alike = ((user % 3) as f64 - 1.0) * ((item % 5) as f64 - 2.0);
            let half_stars = (6.0 + alike + random.below(5) as f64 - 2.0).clamp(1.0, 10.0);
            writeln!(text, "{user},{item},{},{}", half_stars / 2.0, random.below(1000)).expect("writes");
        }
    }
    let path = directory.join("ratings.csv");
    fs::write(&path, text).expect("writes");
    path
}

/// Articles with what is easily read wrong: escapes, redirects, letters whose lower
/// case is unlike others, words too long or too short, titles beyond ASCII.
pub fn export() -> String {
    let (mut random, mut text) = (Random(1), String::from("<mediawiki version=\"0.10\">\n<siteinfo/>\n"));
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
        let kind = random.below(4);
        let mut words = String::new();
        for _ in 0..60 {
            let word = if random.below(6) == 0 { 100 * kind + random.below(40) } else { random.below(400) };
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
