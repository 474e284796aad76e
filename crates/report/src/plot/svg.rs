//! The SVG elements of figures, as text.

use crosstalk_core::record::Origin;
use unicode_width::UnicodeWidthStr;

use crate::html::escape::Text;

/// The width of a character at the figures' 12 px, in pixels. It is an upper estimate for all system fonts.
const ADVANCE: f64 = 6.9;

/// The estimated width of a text, in pixels.
pub fn text_width(text: &str) -> f64 {
    text.width() as f64 * ADVANCE
}

/// A text cut to `room` pixels, with an ellipsis where it is cut.
pub fn cut_to_width(text: &str, room: f64) -> String {
    if text_width(text) <= room {
        return text.to_string();
    }
    let mut kept = String::new();
    for c in text.chars() {
        if text_width(&kept) + 2.0 * ADVANCE > room {
            break;
        }
        kept.push(c);
    }
    kept.trim_end().to_string() + "…"
}

/// A coordinate, rounded to a tenth of a pixel.
pub fn round_coordinate(v: f64) -> f64 {
    (v * 10.0).round() / 10.0
}

/// Draws a straight line.
pub fn line(class: &str, x1: f64, y1: f64, x2: f64, y2: f64) -> String {
    format!(
        r#"<line class="{class}" x1="{}" y1="{}" x2="{}" y2="{}"/>"#,
        round_coordinate(x1),
        round_coordinate(y1),
        round_coordinate(x2),
        round_coordinate(y2)
    )
}

/// Draws text; `anchor` is `start`, `middle` or `end`.
pub fn text(class: &str, anchor: &str, x: f64, y: f64, words: &str) -> String {
    format!(
        r#"<text class="{class}" text-anchor="{anchor}" x="{}" y="{}">{}</text>"#,
        round_coordinate(x),
        round_coordinate(y),
        Text(words)
    )
}

/// A point's shape, with its tooltip.
pub fn draw_point(colour: &str, origin: Origin, tip: &str, shape: &str) -> String {
    format!(r#"<g class="mark {colour} {}"><title>{}</title>{shape}</g>"#, origin.word(), Text(tip))
}

/// The whisker of an interval from `low` to `high`, at `at` on the other axis.
pub struct Whisker {
    /// Pixel of the lower end.
    pub low: f64,
    /// Pixel of the upper end.
    pub high: f64,
    /// Pixel on the other axis.
    pub at: f64,
    /// Half the length of the caps, in pixels.
    pub cap: f64,
}

impl Whisker {
    /// The whisker along the upright axis.
    pub fn draw_upright(&self) -> String {
        let Whisker { low, high, at, cap } = *self;
        format!(
            r#"<path class="whisker" d="M{l} {a}H{r}M{x} {a}V{b}M{l} {b}H{r}"/>"#,
            l = round_coordinate(at - cap),
            r = round_coordinate(at + cap),
            x = round_coordinate(at),
            a = round_coordinate(low),
            b = round_coordinate(high)
        )
    }

    /// The whisker along the horizontal axis.
    pub fn draw_horizontal(&self) -> String {
        let Whisker { low, high, at, cap } = *self;
        format!(
            r#"<path class="whisker" d="M{a} {t}V{b}M{a} {y}H{c}M{c} {t}V{b}"/>"#,
            t = round_coordinate(at - cap),
            b = round_coordinate(at + cap),
            y = round_coordinate(at),
            a = round_coordinate(low),
            c = round_coordinate(high)
        )
    }
}

/// A point's marker. Its shape identifies the series without colour.
pub fn marker(shape: usize, x: f64, y: f64) -> String {
    sized_marker(shape, x, y, 1.0)
}

/// Draws a point's marker, `size` times as large as usual.
pub fn sized_marker(shape: usize, x: f64, y: f64, size: f64) -> String {
    let of = |length: f64| round_coordinate(length * size);
    let at = |v: f64, length: f64| round_coordinate(v + length * size);
    let (x0, y0) = (round_coordinate(x), round_coordinate(y));
    match shape % 5 {
        0 => format!(r#"<circle class="dot" cx="{x0}" cy="{y0}" r="{}"/>"#, of(3.6)),
        1 => {
            let side = of(6.6);
            let (left, top) = (at(x, -3.3), at(y, -3.3));
            format!(r#"<rect class="dot" x="{left}" y="{top}" width="{side}" height="{side}"/>"#)
        }
        2 => {
            format!(r#"<path class="dot" d="M{x0} {}l{} {}h{}z"/>"#, at(y, -4.6), of(4.2), of(7.4), of(-8.4))
        }
        3 => {
            let (out, back) = (of(4.6), of(-4.6));
            format!(
                r#"<path class="dot" d="M{x0} {}l{out} {out}l{back} {out}l{back} {back}z"/>"#,
                at(y, -4.6)
            )
        }
        _ => {
            format!(r#"<path class="dot" d="M{x0} {}l{} {}h{}z"/>"#, at(y, 4.6), of(4.2), of(-7.4), of(-8.4))
        }
    }
}

/// The whole picture. `id` must be unique on the page.
pub fn svg_picture(
    id: &str,
    class: &str,
    size: (f64, f64),
    title: &str,
    description: &str,
    inside: &str,
) -> String {
    let (w, h) = (round_coordinate(size.0), round_coordinate(size.1));
    format!(
        r#"<svg id="{id}" class="plot {class}" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img" aria-labelledby="{id}-t {id}-d"><title id="{id}-t">{}</title><desc id="{id}-d">{}</desc>{inside}</svg>"#,
        Text(title),
        Text(description)
    )
}

/// The fill pattern of published bars of a colour, and its id.
pub fn hatching(picture: &str, colour: &str) -> (String, String) {
    let id = format!("{picture}-{colour}");
    let pattern = format!(
        r#"<pattern id="{id}" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="hatch {colour}" x1="0" y1="0" x2="0" y2="5"/></pattern>"#
    );
    (pattern, id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_labels_are_cut_to_their_room() {
        assert_eq!(cut_to_width("kosmos-srio", 200.0), "kosmos-srio");
        let cut = cut_to_width(&"x".repeat(500), 100.0);
        assert!(cut.ends_with('…') && text_width(&cut) <= 100.0, "{cut}");
        assert_eq!(cut_to_width("", 0.0), "");
    }
}
