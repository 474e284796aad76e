//! Positions for the names of points. Names touch neither each other nor a point, and lines only where there is no other room.

use super::svg::{self, line, text};

/// The height of a line of text, and the part of it below the base line, in pixels.
const HEIGHT: f64 = 14.0;
const DESCENT: f64 = 3.0;
/// The distance from a point to its name, in pixels.
const GAP: f64 = 8.0;
/// Further distances in pixels, each but 0 with a leader line to the point.
const LEADER_LENGTHS: [f64; 6] = [0.0, 14.0, 28.0, 44.0, 64.0, 88.0];
/// The directions from a point to its name, the best first: right, left, above, below, and diagonal.
const SIDES: [(f64, f64); 8] =
    [(1.0, 0.0), (-1.0, 0.0), (0.0, -1.0), (0.0, 1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, -1.0), (-1.0, 1.0)];

/// A rectangle of a picture, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Area {
    /// A square about a point, of which `half` is half a side.
    pub fn about((x, y): (f64, f64), half: f64) -> Area {
        Area { left: x - half, top: y - half, right: x + half, bottom: y + half }
    }

    /// The area of a text whose near side is at a position in the direction `side` of its point.
    fn of_text(width: f64, (x, y): (f64, f64), side: (f64, f64)) -> Area {
        let left = x - width * (1.0 - side.0) / 2.0;
        let top = y - HEIGHT * (1.0 - side.1) / 2.0;
        Area { left, top, right: left + width, bottom: top + HEIGHT }
    }

    /// The area of a horizontal or upright line, and two pixels about it.
    pub fn along((x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> Area {
        Area { left: x1.min(x2), top: y1.min(y2), right: x1.max(x2), bottom: y1.max(y2) }.widened(2.0)
    }

    fn widened(self, by: f64) -> Area {
        Area { left: self.left - by, top: self.top - by, right: self.right + by, bottom: self.bottom + by }
    }

    fn overlaps(&self, other: &Area) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn within(&self, other: &Area) -> bool {
        self.left >= other.left
            && self.right <= other.right
            && self.top >= other.top
            && self.bottom <= other.bottom
    }
}

/// Places the names of points where nothing else is: it knows the occupied areas of a plot.
pub struct NamePlacer {
    plot: Area,
    occupied: Vec<Area>,
    lines: Vec<Area>,
}

impl NamePlacer {
    /// A plot with occupied areas, and with lines that names may cross.
    pub fn new(plot: Area, occupied: Vec<Area>, lines: Vec<Area>) -> NamePlacer {
        NamePlacer { plot, occupied, lines }
    }

    /// Draws the name of the point at `at`. Without room it draws nothing: the tooltip and the table have the name.
    pub fn draw_name(&mut self, name: &str, at: (f64, f64)) -> String {
        let Some((area, end)) = self.room(svg::text_width(name), at) else { return String::new() };
        self.occupied.push(area);
        let leader = end.map_or(String::new(), |(x, y)| line("leader ink", at.0, at.1, x, y));
        leader + &text("name halo", "start", area.left, area.bottom - DESCENT, name)
    }

    /// The nearest free area for a text, and the end of its leader line if it needs one; `None` without room.
    fn room(&self, width: f64, at: (f64, f64)) -> Option<(Area, Option<(f64, f64)>)> {
        let candidate = |farther: &f64, side: &(f64, f64)| {
            let reach = GAP + farther;
            let near = (at.0 + side.0 * reach, at.1 + side.1 * reach);
            (Area::of_text(width, near, *side), (*farther > 0.0).then_some(near))
        };
        let candidates =
            LEADER_LENGTHS.iter().flat_map(|farther| SIDES.iter().map(move |side| candidate(farther, side)));
        let free = |area: &Area| {
            area.within(&self.plot) && !self.occupied.iter().any(|occupied| occupied.overlaps(area))
        };
        let candidates: Vec<_> = candidates.filter(|(area, _)| free(area)).collect();
        let clear = |area: &Area| !self.lines.iter().any(|line| line.overlaps(area));
        candidates.iter().find(|(area, _)| clear(area)).or(candidates.first()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot() -> Area {
        Area { left: 0.0, top: 0.0, right: 300.0, bottom: 200.0 }
    }

    #[test]
    fn a_name_is_at_the_right_where_there_is_room_and_else_at_the_left() {
        let names = NamePlacer::new(plot(), Vec::new(), Vec::new());
        let (area, leader) = names.room(50.0, (100.0, 100.0)).expect("has room");
        assert_eq!((area.left, area.top, leader), (108.0, 93.0, None));
        let (area, _) = names.room(50.0, (290.0, 100.0)).expect("has room");
        assert_eq!(area.right, 282.0);
        assert_eq!(names.room(400.0, (100.0, 100.0)), None, "wider than the plot");
    }

    #[test]
    fn a_line_is_crossed_only_where_there_is_no_other_room() {
        let (at, whole) = ((100.0, 100.0), Area { left: 0.0, top: 0.0, right: 300.0, bottom: 200.0 });
        let level = Area::along((60.0, 100.0), (140.0, 100.0));
        let crossed = NamePlacer::new(plot(), Vec::new(), vec![level]);
        let (area, _) = crossed.room(50.0, at).expect("has room");
        assert_eq!((area.left, area.bottom), (75.0, 92.0), "above it");
        let full = NamePlacer::new(plot(), Vec::new(), vec![whole]);
        assert_eq!(full.room(50.0, at).expect("has room").0.left, 108.0);
    }

    #[test]
    fn names_of_points_at_the_same_position_do_not_touch() {
        let at = (150.0, 100.0);
        let mut names = NamePlacer::new(plot(), vec![Area::about(at, 6.0)], Vec::new());
        let drawn: Vec<String> = (0..9).map(|_| names.draw_name("sched-idle", at)).collect();
        assert!(drawn.iter().all(|name| name.contains("sched-idle")), "{drawn:?}");
        assert!(!drawn[0].contains("leader") && drawn[8].contains("leader"), "{drawn:?}");
        for (index, area) in names.occupied.iter().enumerate() {
            assert!(area.within(&plot()), "{area:?}");
            assert!(!names.occupied[..index].iter().any(|other| other.overlaps(area)), "{area:?}");
        }
    }
}
