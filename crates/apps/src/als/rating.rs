//! Ratings, and CloudSuite's split of them.

/// The id of the new user, for whom items are recommended; no other user has it.
pub const NEW_USER: u32 = 0;

/// A user's rating of an item, in stars.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rating {
    /// The user.
    pub user: u32,
    /// The item.
    pub item: u32,
    /// The number of stars.
    pub stars: f32,
}

/// The ratings, split by time into those for training, validation and test.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Split {
    /// For training: the last digit of the time stamp is below 6; and the new user's.
    pub training: Vec<Rating>,
    /// For validation, which chooses the best model: the digit is 6 or 7.
    pub validation: Vec<Rating>,
    /// For the test of the best model: the digit is 8 or 9.
    pub test: Vec<Rating>,
}

impl Split {
    /// Adds a rating to a part, by its time stamp.
    pub fn add(&mut self, rating: Rating, timestamp: u64) {
        let part = match timestamp % 10 {
            0..6 => &mut self.training,
            6..8 => &mut self.validation,
            _ => &mut self.test,
        };
        part.push(rating);
    }

    /// The root mean squared error of the simplest prediction: the mean of all
    /// ratings for training and validation, for every rating of the test.
    pub fn baseline_error(&self) -> f64 {
        let known = self.training.iter().chain(&self.validation);
        let sum: f64 = known.map(|rating| f64::from(rating.stars)).sum();
        let mean = sum / (self.training.len() + self.validation.len()) as f64;
        let squares: f64 = self.test.iter().map(|rating| (mean - f64::from(rating.stars)).powi(2)).sum();
        (squares / self.test.len() as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rating(stars: f32) -> Rating {
        Rating { user: 1, item: 2, stars }
    }

    #[test]
    fn the_last_digit_of_the_time_stamp_decides() {
        let mut split = Split::default();
        (100..120).for_each(|timestamp| split.add(rating(3.0), timestamp));
        let sizes = [split.training.len(), split.validation.len(), split.test.len()];
        assert_eq!(sizes, [12, 4, 4]);
    }

    #[test]
    fn the_baseline_by_hand() {
        // The mean of 1, 2 and 6 is 3; it misses 2 and 5 by 1 and 2.
        let split = Split {
            training: vec![rating(1.0), rating(2.0)],
            validation: vec![rating(6.0)],
            test: vec![rating(2.0), rating(5.0)],
        };
        assert!((split.baseline_error() - 2.5_f64.sqrt()).abs() < 1e-15);
    }
}
