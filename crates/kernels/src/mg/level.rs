//! How the points of each level are divided among ranks (NAS-95-020: axes are halved one after the
//! other, from z on, until there is a part for each rank).
//!
//! Coarse levels may have fewer points along an axis than there are ranks. Then some ranks have none, and the others'
//! neighbours are further away. When finer levels follow, they get their points from ranks that have some.

/// A rank's part of a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Level {
    /// Points along each axis, both ghosts included.
    pub(super) extents: [usize; 3],
    /// By axis, the ranks whose points come before this rank's, and after them.
    pub(super) neighbours: [[usize; 2]; 3],
    /// It has no points of its own.
    pub(super) idle: bool,
    /// By axis, whether it hands points to its neighbours when the level is entered from the coarser one.
    pub(super) gives: [bool; 3],
    /// By axis, whether it gets them.
    pub(super) takes: [bool; 3],
}

/// How many ranks there are along each axis, of so many.
pub(super) fn ranks_by_axis(ranks: usize) -> [usize; 3] {
    let exponent = ranks.trailing_zeros();
    let x = exponent / 3;
    let y = (exponent - x) / 2;
    [1 << x, 1 << y, 1 << (exponent - x - y)]
}

/// Where a rank is among them.
pub(super) fn coordinates(rank: usize, by_axis: [usize; 3]) -> [usize; 3] {
    let [x, y, _] = by_axis;
    [rank % x, rank / x % y, rank / (x * y)]
}

/// All levels of a rank, from the coarsest, which has two points along each axis, to the finest, which has two to the
/// power of `depth`.
pub(super) fn levels(depth: usize, rank: usize, ranks: usize) -> Vec<Level> {
    let by_axis = ranks_by_axis(ranks);
    let own = coordinates(rank, by_axis);
    let mut distance = [1; 3];
    let mut levels: Vec<Level> = Vec::with_capacity(depth);
    for exponent in (1..=depth).rev() {
        let points = 1usize << exponent;
        let mut level = Level {
            extents: [0; 3],
            neighbours: [[0; 2]; 3],
            idle: false,
            gives: [false; 3],
            takes: [false; 3],
        };
        for axis in 0..3 {
            let share = |at: usize| (at + 1) * points / by_axis[axis] - at * points / by_axis[axis];
            let (mine, next) = (share(own[axis]), share(own[axis] + distance[axis]));
            if mine == 0 || next == 0 {
                distance[axis] *= 2;
            }
            if let Some(finer) = levels.last_mut() {
                finer.gives[axis] = mine == 1 && next == 0;
                finer.takes[axis] = mine == 0 && next == 1;
            }
            level.extents[axis] = mine + 2;
            level.idle |= mine == 0;
        }
        level.neighbours = neighbours(own, by_axis, distance);
        levels.push(level);
    }
    levels.reverse();
    levels
}

/// By axis, the ranks at these distances before and after.
fn neighbours(own: [usize; 3], by_axis: [usize; 3], distance: [usize; 3]) -> [[usize; 2]; 3] {
    let rank = |[x, y, z]: [usize; 3]| x + by_axis[0] * (y + by_axis[1] * z);
    [0, 1, 2].map(|axis| {
        let (at, count) = (own[axis], by_axis[axis]);
        let apart = distance[axis] % count;
        [(at + count - apart) % count, (at + apart) % count].map(|there| {
            let mut coordinates = own;
            coordinates[axis] = there;
            rank(coordinates)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_halved_from_the_last_on() {
        let all: Vec<_> = (0..7).map(|exponent| ranks_by_axis(1 << exponent)).collect();
        assert_eq!(all, [[1, 1, 1], [1, 1, 2], [1, 2, 2], [2, 2, 2], [2, 2, 4], [2, 4, 4], [4, 4, 4]]);
    }

    #[test]
    fn ranks_have_each_point_once_on_every_level() {
        for ranks in [1, 2, 8, 64, 512] {
            for level in 0..5 {
                let parts = (0..ranks).map(|rank| levels(5, rank, ranks).swap_remove(level).extents);
                let points: usize =
                    parts.map(|extents| extents.map(|extent| extent - 2).iter().product::<usize>()).sum();
                assert_eq!(points, 8 << (3 * level), "{ranks} ranks, level {level}");
            }
        }
    }

    #[test]
    fn neighbours_are_mutual_and_have_points() {
        for ranks in [2, 16, 64] {
            let all: Vec<Vec<Level>> = (0..ranks).map(|rank| levels(3, rank, ranks)).collect();
            for (rank, own) in all.iter().enumerate() {
                for (at, level) in own.iter().enumerate().filter(|(_, level)| !level.idle) {
                    for axis in 0..3 {
                        let [before, after] = level.neighbours[axis];
                        assert_eq!(all[before][at].neighbours[axis][1], rank);
                        assert_eq!(all[after][at].neighbours[axis][0], rank);
                        assert!(!all[before][at].idle && !all[after][at].idle);
                    }
                }
            }
        }
    }

    #[test]
    fn whoever_gets_points_gets_them_from_a_rank_that_gives() {
        let ranks = 64;
        let all: Vec<Vec<Level>> = (0..ranks).map(|rank| levels(3, rank, ranks)).collect();
        // Four ranks along each axis, and two points on the coarsest level: every other rank has one.
        assert_eq!(all.iter().filter(|own| own[0].idle).count(), ranks - 8);
        for own in &all {
            for axis in (0..3).filter(|axis| own[1].takes[*axis]) {
                assert!(own[1].neighbours[axis].iter().all(|from| all[*from][1].gives[axis]));
            }
        }
        assert_eq!(all.iter().filter(|own| own[1].takes[0]).count(), ranks / 2);
    }
}
