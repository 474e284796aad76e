#!/usr/bin/env python3
"""What a job of each kind of test uses beside AIM7's own: user and system time, page faults, and system
calls. AIM7 is built from the source that --source or CROSSTALK_AIM7 names, a directory or a git directory
of it. Runs of one user and one kind of test, interleaved in pairs.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from lib import ours
from lib.aim7 import FILE_SIZE, Aim7, Used, calls, measured
from lib.figures import Figures
from lib.pairs import interleaved
from lib.signed_rank import middle, ratio

#: CPU seconds of a run, and the most jobs.
RUN, MOST = 1.0, 20_000
#: Jobs of a run whose system calls are counted.
COUNTED = 4
#: User and system time are split by the kernel's ticks: a part is compared where it is as large a share.
SHARE = 0.25
#: Jobs of less CPU time are too short: what AIM7's driver does around each is as long.
SHORT = 5e-6
#: Less a job is none: faults and calls of a run's first job.
FEW = 2
METRICS = ("user time", "system time", "page faults", "system calls")


def main():
    options = arguments()
    figures = Figures("aim7", part=bool(options.tests), file_size=FILE_SIZE)
    why = lacking(options)
    if why:
        for metric in METRICS:
            figures.missing(f"{metric}, all tests", why)
        figures.finish()
    ours.build()
    # In memory: what a file system on a disk does in between for earlier files meets either side by chance.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="crosstalk-aim7-", dir=memory) as folder:
        aim7 = Aim7(options.source, Path(folder) / "theirs")
        mine = Mine(Path(folder) / "mine")
        found = {metric: {} for metric in METRICS}
        for test in options.tests or kinds():
            compare(test, aim7, mine, options, found)
            report(test, figures, found)
    if not options.tests:
        for metric in METRICS:
            judge(metric, figures, found[metric])
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", default=os.environ.get("CROSSTALK_AIM7"), help="AIM7's source")
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("tests", nargs="*", help="kinds of test; all by default")
    return parser.parse_args()


def lacking(options):
    """Why AIM7 cannot be run here."""
    if not options.source or not Path(options.source).exists():
        return "AIM7's source is not here; name it with CROSSTALK_AIM7"
    return None if shutil.which("gcc") else "there is no gcc"


def kinds():
    """The kinds of test of all bundled mixes. Lines that say what users read, or run, are no kinds of AIM7's."""
    lines = (line for mix in sorted((ours.ROOT / "mixes").glob("*.mix")) for line in mix.read_text().splitlines())
    return sorted({line.split()[1] for line in lines if line[:1].isdigit()} - {"user", "users"})


class Mine:
    """Our own jobs."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()

    def command(self, test, jobs):
        words = [ours.CROSSTALK, "--json", "user-job", test, "--jobs", jobs, "--folder", "user", "--file-size", "10 KiB"]
        return [str(word) for word in words]

    def job(self, test, jobs):
        """What a job uses on average."""
        code, text, _ = measured(self.command(test, jobs), self.folder)
        if code != 0:
            sys.exit(text)
        said = json.loads(text.splitlines()[-1])
        return Used(said["user_time"], said["system_time"], said["minor_faults"])

    def calls(self, test, jobs):
        """The system calls of a job."""
        count = lambda jobs: calls(self.command(test, jobs), self.folder)
        return (count(jobs) - count(0)) / jobs


def compare(test, aim7, mine, options, found):
    """Pairs of what a job of either uses: metric -> test -> pairs, where it can be compared."""
    jobs = fitting(test, mine)
    pairs = interleaved(lambda: mine.job(test, jobs), lambda: aim7.job(test, jobs), options.pairs, f"{options.seed} {test}")
    whole = statistics.median(theirs.user + theirs.system for _, theirs in pairs)
    for index, metric in enumerate(("user time", "system time")):
        part = statistics.median(theirs[index] for _, theirs in pairs)
        if whole >= SHORT and part >= SHARE * whole:
            found[metric][test] = [(one[index], max(other[index], 1e-9)) for one, other in pairs]
    counted = {"page faults": [(one.faults, other.faults) for one, other in pairs]}
    if shutil.which("strace"):
        # They are the same in each run, so that one is enough, and there is no interval.
        counted["system calls"] = [(mine.calls(test, COUNTED), aim7.calls(test, COUNTED))]
    for metric, pairs in counted.items():
        if max(statistics.median(side) for side in zip(*pairs)) >= FEW:
            found[metric][test] = [(max(one, 0.5), max(other, 0.5)) for one, other in pairs]


def fitting(test, mine):
    """So many jobs that a run takes about `RUN` of CPU time."""
    jobs, used = 1, mine.job(test, 1)
    while jobs * (used.user + used.system) < RUN / 10 and jobs < MOST:
        jobs = min(MOST, jobs * 8)
        used = mine.job(test, jobs)
    return max(2, min(MOST, round(RUN / (used.user + used.system))))


def report(test, figures, found):
    for metric in METRICS:
        if test in found[metric]:
            figures.pairs("AIM7", f"{test}: {metric}", found[metric][test])


def judge(metric, figures, tests):
    """The test whose ratio is furthest from one, with the ends of all intervals."""
    name = f"{metric}, all tests"
    if not tests:
        figures.missing(name, "nothing can be counted" if metric != "system calls" else "there is no strace")
        return
    # One count has no interval: it is its own ends.
    ends = lambda pairs: ratio(pairs) if len(pairs) > 1 else (pairs[0][0] / pairs[0][1],) * 3
    ratios = {test: ends(pairs) for test, pairs in tests.items()}
    furthest = max(ratios, key=lambda test: max(ratios[test][0], 1 / ratios[test][0]))
    low, high = min(low for _, low, _ in ratios.values()), max(high for _, _, high in ratios.values())
    outside = sorted(test for test, (point, _, _) in ratios.items() if not 0.8 <= point <= 1.2)
    typical = middle(sorted(point for point, _, _ in ratios.values()))
    more = {"furthest": furthest, "typical": typical, "outside": outside}
    figures.add(name, ratios[furthest][0], "ratio", low, high, len(tests), **more)


if __name__ == "__main__":
    main()
