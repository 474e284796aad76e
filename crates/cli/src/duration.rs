//! Estimated times in words.

/// An estimated time: `about 5 min 24 s`.
pub fn about_in_words(seconds: f64) -> String {
    about_text(&text(seconds))
}

/// From the least to the most: `between 24 s and 48 s`.
pub fn range_in_words(least: f64, most: f64) -> String {
    match (text(least), text(most)) {
        (least, most) if least == most => about_text(&most),
        (least, most) => format!("between {least} and {most}"),
    }
}

fn about_text(time: &str) -> String {
    if time.starts_with("under") { time.into() } else { format!("about {time}") }
}

/// Seconds, in the units that people use.
fn text(seconds: f64) -> String {
    if seconds < 1.0 {
        return "under a second".into();
    }
    let whole = seconds.round() as u64;
    match (whole / 3600, whole % 3600 / 60, whole % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) if m < 10 => format!("{m} min {s} s"),
        (0, m, _) => format!("{m} min"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_estimates_are_no_range() {
        assert_eq!(range_in_words(324.0, 324.0), "about 5 min 24 s");
        assert_eq!(range_in_words(24.0, 48.0), "between 24 s and 48 s");
        assert_eq!(about_in_words(0.2), "under a second");
    }
}
