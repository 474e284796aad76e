"""The thinnest form of `bench/truth_patterns.py`: each pattern once by each clock. A minute, so with CROSSTALK_LONG=1 only."""

import os
import subprocess
import sys
import unittest

from lib import ours
from lib.wire import ROOT


def obstacle():
    """Why it cannot run here; empty if it can."""
    if not os.environ.get("CROSSTALK_LONG"):
        return "takes a minute: CROSSTALK_LONG is not set"
    if not ours.CROSSTALK.exists():
        return f"needs {ours.CROSSTALK}: cargo build --release builds it"
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    tried = subprocess.run(["unshare", *user, "--net", "true"], capture_output=True, text=True)
    return f"no network namespace can be made: {tried.stderr.strip()}" if tried.returncode else ""


class Thin(unittest.TestCase):
    def test_each_pattern_runs_once_by_each_clock(self):
        if why := obstacle():
            # On a line of its own, as tools/test counts it.
            print(f"\nskipped: {why}", file=sys.stderr)
            self.skipTest(why)
        command = [sys.executable, ROOT / "bench" / "truth_patterns.py", "--thin"]
        environment = {**os.environ, "CROSSTALK_PROGRAM": str(ours.CROSSTALK)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        ratios = {name: float(value) for name, value in (line.split(": ") for line in done.stdout.splitlines())}
        self.assertEqual(len(ratios), 18, ratios)
        # One round on any machine: no truth, but a wrong unit or a wrong pattern would be seen.
        self.assertTrue(all(0.2 < one < 3 for one in ratios.values()), ratios)


if __name__ == "__main__":
    unittest.main()
