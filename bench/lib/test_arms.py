"""Blocks of arms, the rows that they make, and the table of these, without a machine."""

import unittest
from types import SimpleNamespace

from lib.arms import Run, interleaved, row
from lib.arms_table import table

BLOCK = {"alone": Run(1.0), "exec": Run(2.0, 0.5), "guard": Run(1.25, 1.0)}


def figure(blocks):
    """The row that these blocks make."""
    kept = []

    def add(metric, value, unit, low, high, n, what, **more):
        kept.append({"metric": metric, "value": value, "low": low, "high": high, "n": n, **more})

    row(SimpleNamespace(add=add), "computing", blocks)
    return kept[0]


class Arms(unittest.TestCase):
    def test_each_arm_comes_once_a_block_in_an_order_that_the_seed_decides(self):
        def order(seed):
            came = []
            arms = {name: lambda name=name: came.append(name) or Run(name) for name in "abc"}
            blocks = interleaved(arms, 20, seed)
            for block in blocks:
                self.assertEqual(block, {name: Run(name) for name in "abc"})
            return [tuple(came[at:at + 3]) for at in range(0, 60, 3)]

        self.assertTrue(all(sorted(block) == ["a", "b", "c"] for block in order("1")))
        self.assertEqual(order("1"), order("1"))
        self.assertGreater(len(set(order("1"))), 1)


class Rows(unittest.TestCase):
    def test_a_row_has_each_arm_over_alone_and_what_each_leaves(self):
        found = figure([BLOCK] * 6)
        self.assertAlmostEqual(found["value"], 1.6)
        self.assertAlmostEqual(found["exec"]["value"], 2.0)
        self.assertAlmostEqual(found["guard"]["high"], 1.25)
        self.assertEqual((found["background_exec"], found["background_guard"]), (0.5, 1.0))
        self.assertEqual((found["n"], found["beats"]), (6, "speed"))

    def test_what_the_foreground_returns_may_be_no_time(self):
        blocks = [{arm: run._replace(foreground={"rate": 1 / run.foreground}) for arm, run in BLOCK.items()}] * 6
        kept = []
        add = lambda *positional, **more: kept.append(more)
        row(SimpleNamespace(add=add), "transactions", blocks, seconds=lambda run: 1 / run["rate"])
        self.assertAlmostEqual(kept[0]["exec"]["value"], 2.0)

    def test_too_few_blocks_have_no_interval(self):
        self.assertEqual([figure([BLOCK] * 2)["exec"][end] for end in ("low", "high")], [None, None])


class Table(unittest.TestCase):
    def test_rows_that_compare_arms_are_lines(self):
        lines = table([{"metric": "kills"}, figure([BLOCK] * 6)])
        self.assertEqual(len(lines), 3)
        for cell in ("computing", "2.000 (2.000–2.000)", "0.500 processors", "| 6 ", "speed"):
            self.assertIn(cell, lines[2])
        self.assertEqual(len({len(line) for line in lines}), 1)

    def test_others_are_none(self):
        self.assertEqual(table([{"metric": "kills"}]), [])


if __name__ == "__main__":
    unittest.main()
