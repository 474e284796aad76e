"""Parameters of links from times that LogGOPS predicts."""

import tempfile
import tomllib
import unittest
from pathlib import Path

from lib import loggops


def times(costs, count, sizes):
    """What a stream of `count` messages takes: 2o + L + (s-1)G, and the others' gaps before."""
    one = lambda size: 2 * costs.overhead + costs.latency + (size - 1) * costs.gap_per_byte
    each = lambda size: costs.gap + (size - 1) * costs.gap_per_byte
    return {size: one(size) + (count - 1) * each(size) for size in sizes}


class Fit(unittest.TestCase):
    def test_exact_times_give_latency_and_time_a_byte_back(self):
        costs = loggops.Costs(200e-6, 0.0, 0.0, 400e-9)
        found = loggops.fit({1: 200e-6}, times(costs, 8, [16_384, 32_768, 65_536]), 8)
        for value, expected in zip(found, costs):
            self.assertAlmostEqual(value, expected, delta=1e-9)

    def test_the_gap_is_what_streams_take_beside_the_bytes(self):
        costs = loggops.Costs(180e-6, 10e-6, 10e-6, 400e-9)
        found = loggops.fit({1: 200e-6}, times(costs, 800, [16_384, 65_536]), 800)
        self.assertAlmostEqual(found.gap, 10e-6, delta=0.1e-6)
        self.assertAlmostEqual(found.latency + 2 * found.overhead, 200e-6, delta=1e-9)

    def test_one_disturbed_size_does_not_decide(self):
        times = {size: size * 1e-6 for size in (1, 2, 3, 4, 5)}
        self.assertAlmostEqual(loggops.line({**times, 3: 9e-6})[1], 1e-6, delta=1e-7)

    def test_a_bucket_that_shortens_streams_makes_no_negative_gap(self):
        streams = {16_384: 8 * 16_384 * 400e-9 - 1e-3, 65_536: 8 * 65_536 * 400e-9 - 1e-3}
        self.assertEqual(loggops.fit({64: 100e-6}, streams, 8).gap, 0.0)


class Catalogue(unittest.TestCase):
    def test_its_files_have_what_was_fitted_with_a_source_each(self):
        with tempfile.TemporaryDirectory() as directory:
            loggops.write(Path(directory), "slow", 20e6, loggops.nominal(20e6))
            fabric, system = (
                tomllib.loads((Path(directory) / folder / "slow.toml").read_text()) for folder in ("fabrics", "systems")
            )
        self.assertEqual((fabric["rate"], fabric["costs"]["G"]), ("20 Mbit/s", "418.2320 ns"))
        self.assertEqual(set(fabric["costs"]) | {"rate"}, set(fabric["source"]))
        self.assertEqual(system["network"]["ethernet"]["within"], "slow")


if __name__ == "__main__":
    unittest.main()
