//! The plain recurrence, as a reference for the answer.

/// The x that minimises Σ (r − x·f)² + λ n |x|² over a row's n (column, rating)
/// pairs, by Gaussian elimination.
pub fn solve_row(
    (columns, ratings): (&[u32], &[f32]),
    factor: impl Fn(u32) -> Vec<f32>,
    lambda: f64,
) -> Vec<f64> {
    let vectors: Vec<Vec<f64>> =
        columns.iter().map(|column| factor(*column).into_iter().map(f64::from).collect()).collect();
    let rank = vectors.first().map_or(0, Vec::len);
    let mut system: Vec<Vec<f64>> = (0..rank)
        .map(|i| {
            let mut row: Vec<f64> =
                (0..rank).map(|j| vectors.iter().map(|f| f[i] * f[j]).sum::<f64>()).collect();
            row[i] += lambda * ratings.len() as f64;
            row.push(vectors.iter().zip(ratings).map(|(f, r)| f64::from(*r) * f[i]).sum());
            row
        })
        .collect();
    for i in 0..rank {
        let (above, below) = system.split_at_mut(i + 1);
        for row in below {
            let share = row[i] / above[i][i];
            row.iter_mut().zip(&above[i]).for_each(|(mine, pivot)| *mine -= share * pivot);
        }
    }
    let mut x = vec![0.0; rank];
    for i in (0..rank).rev() {
        let known: f64 = (i + 1..rank).map(|j| system[i][j] * x[j]).sum();
        x[i] = (system[i][rank] - known) / system[i][i];
    }
    x
}
