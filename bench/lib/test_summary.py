"""What the sum over all benches says of figures that are not as promised."""

import contextlib
import io
import unittest
from unittest import mock

from kosmos_whole import tables
from lib import summary

PROMISES = {"bench": {"a": {"must": "<= 1", "what": "a"}, "b": {"must": ">= 2", "what": "b"}}}


def row(metric, value, reached, low=None, high=None, must="<= 1"):
    return {
        "metric": metric, "what": metric, "unit": "ratio", "value": value, "low": low, "high": high, "n": 3,
        "must": must, "reached": reached, "why": "no peer",
    }


def summed(*rows):
    """What is printed, and the exit code."""
    out = io.StringIO()
    with (
        mock.patch.object(summary, "PROMISES", PROMISES),
        mock.patch.object(summary, "rows", lambda name: list(rows)),
        mock.patch("sys.argv", ["summary", "bench"]),
        contextlib.redirect_stdout(out),
    ):
        try:
            summary.main()
        except SystemExit as end:
            return out.getvalue(), end.code


class Sum(unittest.TestCase):
    def test_all_reached(self):
        text, code = summed(row("a", 0.9, True), row("b", 3, True))
        self.assertIn("2 of 2 reached, 0 not reached, 0 without a figure", text)
        self.assertEqual(code, 0)

    def test_what_a_bench_says_is_not_reached_is_not(self):
        # The end of its interval, which was without end, is not written down.
        text, code = summed(row("a", 0.9, False), row("b", 3, True))
        self.assertIn("1 of 2 reached, 1 not reached", text)
        self.assertIn("not reached: bench: a", text)
        self.assertEqual(code, 1)

    def test_the_worst_counts_of_what_was_measured_twice(self):
        text, code = summed(row("a", 0.9, True), row("a", 1.2, False), row("b", 3, True))
        self.assertIn("not reached: bench: a", text)
        self.assertEqual(code, 1)

    def test_what_is_promised_now_counts(self):
        text, code = summed(row("a", 1.5, True, must="<= 2"), row("b", 3, True, low=1.5))
        self.assertIn("0 of 2 reached, 2 not reached", text)
        self.assertEqual(code, 1)

    def test_without_a_figure(self):
        text, code = summed(row("a", None, None))
        self.assertIn("0 of 2 reached, 0 not reached, 2 without a figure", text)
        self.assertIn("not measured here: no peer", text)
        self.assertEqual(code, 1)

    def test_what_is_not_promised_any_more_is_shown_all_the_same(self):
        text, code = summed(row("a", 0.9, True), row("b", 3, True), row("c", 7, False))
        self.assertRegex(text, r"also measured\n  c +7")
        self.assertEqual(code, 0)


class Tables(unittest.TestCase):
    def test_a_heading_is_no_table(self):
        title = "Graph analytics across boards: completion time over that of KOSMOS over SRIO"
        number = lambda origin: {"estimate": {}, "unit": "ratio", "origin": origin}
        shown = lambda *rows: len(tables({"tables": [{"title": title, "rows": list(rows)}]}))
        self.assertEqual(shown(), 0)
        self.assertEqual(shown(["microblade", number("published"), "not measured"]), 0)
        self.assertEqual(shown(["microblade", number("published"), number("emulated")]), 1)


if __name__ == "__main__":
    unittest.main()
