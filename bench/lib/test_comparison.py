"""When the guard beats exec: closed forms."""

import unittest

from lib.comparison import LEAST, Comparison, Interval, Point, compare, paused_exec

MORE, SAME, LESS = Interval(1.2, 1.1, 1.3), Interval(1.0, 0.9, 1.1), Interval(0.8, 0.7, 0.9)


def beats(speed, background):
    return Comparison(speed, background, SAME).beats()


class Beats(unittest.TestCase):
    def test_every_case(self):
        self.assertEqual(beats(MORE, MORE), "speed")
        self.assertEqual(beats(MORE, SAME), "speed")
        self.assertEqual(beats(MORE, LESS), "trade")
        self.assertEqual(beats(SAME, MORE), "background work")
        self.assertEqual(beats(LESS, MORE), "no")
        for speed in (SAME, LESS):
            for background in (SAME, LESS):
                self.assertEqual(beats(speed, background), "no")

    def test_an_interval_that_touches_1_shows_nothing(self):
        touching = Interval(1.1, 1.0, 1.2)
        self.assertEqual(beats(touching, touching), "no")


class Compare(unittest.TestCase):
    def test_ratios_of_equal_blocks_are_exact(self):
        blocks = [(1.0, Point(2.0, 0.5), Point(1.25, 1.0))] * 6
        compared = compare(blocks)
        for interval, expected in ((compared.speed, 1.6), (compared.background, 2.0), (compared.equal, 1.6)):
            for end in interval:
                self.assertAlmostEqual(end, expected)
        self.assertEqual(compared.beats(), "speed")

    def test_five_blocks_show_nothing(self):
        compared = compare([(1.0, Point(2.0, 0.5), Point(1.0, 1.0))] * 5)
        self.assertEqual(compared.speed[1:], (0.0, float("inf")))
        self.assertEqual(compared.beats(), "no")

    def test_one_block_of_six_the_other_way_shows_nothing(self):
        point = Point(1.0, 1.0)
        faster, slower = (1.0, Point(1.1, 1.0), point), (1.0, Point(0.8, 1.0), point)
        self.assertEqual(compare([faster] * 5 + [slower]).beats(), "no")

    def test_none_is_the_least_that_counts(self):
        compared = compare([(1.0, Point(1.0, 1.0), Point(1.0, 0.0))] * 6)
        self.assertAlmostEqual(compared.background.value, LEAST)
        self.assertEqual(compare([(1.0, Point(1.0, 0.0), Point(1.0, 0.0))] * 6).background.value, 1.0)


class PausedExec(unittest.TestCase):
    def test_half_the_background_costs_half_the_slowdown(self):
        # Half the speed beside exec: three quarters where that is paused for half of the time.
        self.assertAlmostEqual(paused_exec(1.0, Point(2.0, 1.0), Point(1.0, 0.5)), 0.75)

    def test_where_exec_leaves_no_more_it_is_exec(self):
        for background in (1.0, 2.0):
            self.assertAlmostEqual(paused_exec(1.0, Point(2.0, 1.0), Point(1.0, background)), 0.5)

    def test_a_guard_that_pauses_at_random_wins_nothing_at_equal_background_work(self):
        # A trade along the straight line between alone and exec.
        compared = compare([(1.0, Point(2.0, 1.0), Point(1 / 0.75, 0.5))] * 6)
        self.assertAlmostEqual(compared.equal.value, 1.0)
        self.assertEqual(compared.beats(), "trade")


if __name__ == "__main__":
    unittest.main()
