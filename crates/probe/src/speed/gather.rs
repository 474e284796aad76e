//! The inner loop of PageRank: for each vertex, the sum of values at the places of its neighbours. 2²⁰ values of 8 bytes, and
//! four neighbours a vertex at random places.

/// Values, a power of two: 8 MiB, more than a core's own cache.
const VALUES: usize = 1 << 20;
/// Neighbours of a vertex.
const DEGREE: usize = 4;

/// Values, and the places of all neighbours.
pub struct Gather {
    values: Vec<f64>,
    places: Vec<u32>,
}

impl Gather {
    /// The same graph each time.
    pub fn new() -> Self {
        let mut state = std::hint::black_box(1_u64);
        let mut place = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u32 & (VALUES as u32 - 1)
        };
        Gather {
            values: (0..VALUES).map(|value| (value % 7) as f64).collect(),
            places: (0..VALUES * DEGREE).map(|_| place()).collect(),
        }
    }

    /// Does all once; returns a checksum, which is the same each time.
    pub fn pass(&mut self) -> u64 {
        let values = std::hint::black_box(&self.values[..]);
        let of_vertex = |places: &[u32]| places.iter().map(|place| values[*place as usize]).sum::<f64>();
        self.places.chunks_exact(DEGREE).map(of_vertex).sum::<f64>() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_all_neighbours() {
        let mut kernel = Gather::new();
        let expected: u64 = kernel.places.iter().map(|place| u64::from(*place) % 7).sum();
        assert_eq!(kernel.pass(), expected);
    }
}
