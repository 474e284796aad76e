"""The floor of A/A runs, of known ones."""

import unittest

from aa import ENOUGH, distances_of
from lib.signed_rank import quantile


class Floor(unittest.TestCase):
    def test_a_distance_is_the_same_on_both_sides(self):
        slower, faster = distances_of([[1.25, 1.2, 1.3], None, [0.8]])
        self.assertAlmostEqual(slower, 1.25)
        self.assertAlmostEqual(faster, 1.25)

    def test_the_floor_of_sixty_runs_has_an_upper_end(self):
        distances = [1 + run / 1000 for run in range(60)]
        point, low, high = quantile(distances, 0.95)
        self.assertEqual((point, high), (1.057, 1.059))
        self.assertLess(low, point)
        self.assertGreater(1 - 0.95**ENOUGH, 0.95)
        self.assertLess(1 - 0.95 ** (ENOUGH - 1), 0.95)


if __name__ == "__main__":
    unittest.main()
