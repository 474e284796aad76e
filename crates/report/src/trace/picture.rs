//! The waterfall of a request: a row for each stage, from the end of the one before.

use crosstalk_core::record::Origin;
use crosstalk_core::trace::{Side, StageTimes, TimeAccount};
use crosstalk_core::units::human;

use crate::plot::svg::{draw_point, line, round_coordinate, svg_picture, text};

const WIDTH: f64 = 752.0;
const LABELS: f64 = 236.0;
const VALUES: f64 = 84.0;
const ROW: f64 = 21.0;
const BAR: f64 = 13.0;

/// Which requests a picture of a trace shows.
#[derive(Clone, Copy)]
pub enum Band {
    /// Those around the median.
    P50,
    /// Those around the 99th percentile.
    P99,
}

impl Band {
    /// The band in words.
    pub fn in_words(self) -> &'static str {
        match self {
            Band::P50 => "around the median",
            Band::P99 => "around the 99th percentile",
        }
    }

    fn of(self, stage: &StageTimes) -> f64 {
        match self {
            Band::P50 => stage.around_p50,
            Band::P99 => stage.around_p99.unwrap_or(0.0),
        }
    }
}

/// The colour class of a side.
pub fn side_colour(side: Side) -> &'static str {
    match side {
        Side::Client => "p5",
        Side::Between => "p0",
        Side::Server => "p1",
        Side::Unexplained => "p7",
    }
}

/// Draws an account; empty where all times are zero.
pub fn draw(account: &TimeAccount, band: Band, id: &str) -> String {
    let whole: f64 = account.stages.iter().map(|stage| band.of(stage)).sum();
    if whole <= 0.0 {
        return String::new();
    }
    let room = WIDTH - LABELS - VALUES;
    let (mut inside, mut since) = (String::new(), 0.0);
    let height = account.stages.len() as f64 * ROW + 8.0;
    for (row, stage) in account.stages.iter().enumerate() {
        let (taken, middle) = (band.of(stage), row as f64 * ROW + ROW / 2.0);
        let (from, width) = (LABELS + since / whole * room, (taken / whole * room).max(0.8));
        let name = format!("{}: {}", stage.side.word(), stage.name);
        let time = human(taken, "s");
        inside += &text("name", "end", LABELS - 8.0, middle + 4.0, &name);
        let bar = format!(
            r#"<rect class="bar" x="{}" y="{}" width="{}" height="{BAR}"/>"#,
            round_coordinate(from),
            round_coordinate(middle - BAR / 2.0),
            round_coordinate(width)
        );
        inside += &draw_point(side_colour(stage.side), Origin::Measured, &format!("{name}: {time}"), &bar);
        inside += &text("name quiet", "end", WIDTH, middle + 4.0, &time);
        since += taken;
    }
    inside += &line("axis", LABELS, 0.0, LABELS, height);
    let title = format!("Where a request's time goes, {}", band.in_words());
    svg_picture(id, "waterfall", (WIDTH, height), &title, &format!("{} in all", human(whole, "s")), &inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::tests::traced;

    #[test]
    fn bars_follow_one_another_to_the_whole() {
        let svg = draw(&traced().accounts[0], Band::P99, "w");
        let numbers = |name: &str| -> Vec<f64> {
            let after = svg.split(r#"<rect class="bar""#).skip(1);
            let value =
                |part: &str| part.split_once(&format!(" {name}=\"")).map(|(_, rest)| rest.to_string());
            after.filter_map(|part| value(part)?.split('"').next()?.parse().ok()).collect()
        };
        let (x, width) = (numbers("x"), numbers("width"));
        assert_eq!((x.len(), width.len()), (3, 3), "{svg}");
        assert!((x[0] - LABELS).abs() < 0.1 && (x[2] + width[2] - (WIDTH - VALUES)).abs() < 0.3);
        assert!((x[1] - x[0] - width[0]).abs() < 0.3);
    }

    #[test]
    fn no_time_is_no_picture() {
        let mut account = traced().accounts[0].clone();
        account.stages.iter_mut().for_each(|stage| stage.around_p99 = None);
        assert!(draw(&account, Band::P99, "w").is_empty());
    }
}
