import math
import random
import unittest

from lib.groupings import by_block, difference, half_width, is_other, kinds, pairs_needed, residual_spread
from lib.signed_rank import ratio


def grouping(*groups):
    return {"groups": [{"users": users, "memory_limit": limit} for users, limit in groups]}


class Groupings(unittest.TestCase):
    def test_a_mix_says_what_each_user_does(self):
        text = "# A mix.\n2  users reread 4%\n\n1 user  stream  200%  # last\n"
        self.assertEqual(kinds(text), ["stream 200%", "reread 4%", "reread 4%"])

    def test_the_same_groups_are_the_same_in_any_order(self):
        ours, theirs = grouping(([0, 2], 100), ([1], None)), grouping(([1], None), ([2, 0], 108))
        self.assertAlmostEqual(difference(ours["groups"], theirs["groups"], "abc"), 0.08)
        self.assertFalse(is_other(ours, theirs, "abc"))
        self.assertFalse(is_other(ours, ours, "abc"))

    def test_users_of_one_kind_are_the_same(self):
        ours, theirs = grouping(([0, 1], 100), ([2, 3], 50)), grouping(([0, 3], 100), ([2, 1], 50))
        self.assertFalse(is_other(ours, theirs, "abcb"))
        self.assertTrue(is_other(ours, theirs, "abcd"))

    def test_other_users_other_limits_and_none_are_others(self):
        ours = grouping(([0, 2], 100), ([1], 50))
        for theirs in [
            grouping(([0, 1], 100), ([2], 50)), grouping(([0, 2], 100), ([1], 60)),
            grouping(([0, 2], 100), ([1], None)), grouping(([0, 1, 2], None)),
        ]:
            self.assertTrue(is_other(ours, theirs, "abc"))

    def test_blocks_have_what_ended_well(self):
        run = lambda block, grouping, makespan: {"block": block, "grouping": grouping, "makespan": makespan}
        runs = [run(1, "a", 2.0), run(1, "b", None), run(2, "b", 3.0), run(2, "a", 1.0)]
        self.assertEqual(by_block(runs), [{"a": 2.0}, {"b": 3.0, "a": 1.0}])

    def test_the_spread_is_that_without_groupings_and_blocks(self):
        self.assertAlmostEqual(residual_spread([[1.0, 2.0, 4.0], [2.0, 3.0, 5.0]]), 0.0)
        noise = random.Random(1)
        rows = [[row + column + noise.gauss(0, 0.07) for column in range(5)] for row in range(200)]
        self.assertAlmostEqual(residual_spread(rows), 0.07, delta=0.006)
        rows = [[row + column + noise.gauss(0, 0.07) for column in range(3)] for row in range(15)]
        rows[4][1] += 2.0
        self.assertLess(residual_spread(rows), 0.14, "one of 45 runs was disturbed")

    def test_so_many_pairs_of_equals_are_within_the_margin_as_often_as_planned(self):
        noise = random.Random(2)
        pairs = pairs_needed(0.07, 1.05, 0.9)
        makespan = lambda: math.exp(noise.gauss(0, 0.07))
        intervals = [ratio([(makespan(), makespan()) for _ in range(pairs)]) for _ in range(150)]
        within = sum(high <= 1.05 for _, _, high in intervals)
        self.assertGreaterEqual(within, 120, f"of 150, with {pairs} pairs")
        mean = sum(math.log(high / low) / 2 for _, low, high in intervals) / len(intervals)
        self.assertAlmostEqual(mean, half_width(0.07, pairs), delta=0.1 * mean)


if __name__ == "__main__":
    unittest.main()
