"""How long `bench/guard.py` takes by its defaults."""

import unittest
from types import SimpleNamespace
from unittest import mock

import guard
from lib import estimate

#: What the table of three arms needs; the others have no arms.
TABLE = ["cpu", "service", "database", "bandwidth", "memory", "disk", "idle", "client"]


class Expected(unittest.TestCase):
    def setUp(self):
        with mock.patch("sys.argv", ["guard.py"]):
            self.options = guard.arguments()

    def test_each_part_has_an_estimate(self):
        self.assertEqual(list(estimate.PARTS), list(guard.PARTS))

    def test_the_table_takes_45_minutes_at_most(self):
        self.assertEqual(self.options.pairs, 12)
        self.assertLessEqual(sum(estimate.PARTS[part](self.options) for part in TABLE), 45 * 60)

    def test_twice_the_blocks_take_twice_as_long_and_more_takes_longer(self):
        options = vars(self.options)
        for part in TABLE:
            seconds = lambda **changed: estimate.PARTS[part](SimpleNamespace(**{**options, **changed}))
            self.assertAlmostEqual(seconds(pairs=36) - seconds(pairs=24), seconds(pairs=24) - seconds(pairs=12))
            self.assertGreaterEqual(seconds(more=True), seconds())


if __name__ == "__main__":
    unittest.main()
