#!/usr/bin/env python3
"""The foreground's speed against the background work that is done meanwhile: background work as it comes,
under BOINC's own settings (a real client, at a project of ours), nice, SCHED_IDLE, `cpu.idle`, fixed quotas,
and the guard with several agreed slowdowns.

Each block has all of these once, in random order, and the foreground alone. The foreground has a thread for
every second processor, background work two for each. *Speed* is the foreground's time alone over its time
beside background work. The *share of background work* is its rate over its rate alone on the machine. For
BOINC it is its tasks' CPU time over that of all processors: the tasks compute, so they are in that mix only.

An alternative is compared with the guard at the same share of background work: on a straight line between the
guard's points of the same block. Some alternatives leave more than the guard at any slowdown. They are
compared with the guard where it leaves most; the figure has the number of such blocks, and both shares. If
the foreground is slower with such an alternative than with the guard, neither replaces the other. If it is as
fast, the alternative beats the guard.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from lib import ours
from lib.boinc import computing_client
from lib.loads import CORES, MIB, Bed, Counter, Guard, begin, begun, in_background, running
from lib.signed_rank import middle, ratio

#: Mix -> foreground work and background work, each a kind of load and what it takes.
MIXES = {
    "cpu": (("compute", {}), ("compute", {})),
    "memory": (("chase", {"b": 256 * MIB}), ("stream", {"b": 64 * MIB})),
    "disk": (("disk", {"f": "foreground"}), ("disk", {"f": "background"})),
}
GUARDS = ["1%", "5%", "20%", "50%", "100%"]
QUOTAS = [10, 25, 50]
#: BOINC's preferences: of the time, and of the processors.
BOINC = {"BOINC, half of the time": {"cpu_usage_limit": 50}, "BOINC, half of the processors": {"max_ncpus_pct": 50}}
FOREGROUND_THREADS = max(1, CORES // 2)
#: Until background work is as it will be.
SETTLE = 3.0


def main():
    options = arguments()
    wanted, figures = begin("guard_pareto", options.only, MIXES, "mix")
    bed = Bed()
    for name in wanted:
        Mix(bed, name, options).measure(figures)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="some of the mixes, with commas")
    parser.add_argument("--blocks", type=int, default=20, help="at least 6")
    parser.add_argument("--seconds", type=float, default=3, help="that the foreground takes alone")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.blocks < 6:
        parser.error("an interval of 95 % needs 6 blocks")
    return options


class Mix:
    def __init__(self, bed, name, options):
        self.bed, self.name, self.options = bed, name, options
        (self.kind, self.foreground_options), (self.theirs, self.their_options) = map(self.placed, MIXES[name])
        self.rounds = bed.rounds(self.kind, options.seconds, t=FOREGROUND_THREADS, **self.foreground_options)

    def placed(self, load):
        """The same with files in the bench's own folder."""
        kind, more = load
        return kind, {letter: self.bed.folder / value if letter == "f" else value for letter, value in more.items()}

    def measure(self, figures):
        order, blocks = random.Random(self.options.seed), []
        ways = {**self.alternatives(), **{f"guard {slowdown}": self.guard(slowdown) for slowdown in GUARDS}}
        missing = {}
        if self.name == "cpu":
            if shutil.which("boinc"):
                ways |= {name: self.boinc(settings) for name, settings in BOINC.items()}
            else:
                missing = dict.fromkeys(BOINC, "no BOINC client here: apt-get install --no-install-recommends boinc-client")
        for block in range(self.options.blocks):
            found = {}
            for name in order.sample(["alone", *ways], len(ways) + 1):
                found[name] = self.alone() if name == "alone" else ways[name]()
            blocks.append(found)
            if sys.stderr.isatty():
                print(f"\r  {self.name}: block {block + 1} of {self.options.blocks}", end="", file=sys.stderr, flush=True)
        self.report(figures, ways, blocks)
        for name, why in missing.items():
            figures.missing(f"{self.name}: guard / {name}", why)

    def foreground(self):
        return self.bed.timed(self.kind, self.rounds, t=FOREGROUND_THREADS, **self.foreground_options)

    def alone(self):
        """The foreground's seconds alone, and the rate of background work alone."""
        return self.foreground(), self.bed.rate(self.theirs, 2, t=2 * CORES, **self.their_options)

    def beside(self, command, guard=None):
        """The foreground's seconds beside background work, and the rate of the latter meanwhile. `command` makes
        the command of background work from a load."""
        counter = Counter(self.bed)
        load = self.bed.load(self.theirs, t=2 * CORES, c=counter.path, **self.their_options)
        with ExitStack() as over:
            over.enter_context(running(command(load)))
            if guard:
                begun("bench")
                over.enter_context(guard)
            counter.await_more()
            time.sleep(SETTLE)
            before, began = counter.read(), time.monotonic()
            taken = self.foreground()
            return taken, (counter.read() - before) / (time.monotonic() - began)

    def alternatives(self):
        """Name -> what measures it."""
        ways = {
            "nothing": lambda load: load,
            "nice": lambda load: ["nice", "-n", "19", *load],
            "SCHED_IDLE": lambda load: ["chrt", "--idle", "0", *load],
            "cpu.idle": lambda load: in_background("bench", load),
        }
        for share in QUOTAS:
            quota = ["exec", "--foreground", "--quota", share / 100 * CORES]
            ways[f"quota {share} %"] = lambda load, quota=quota: [ours.CROSSTALK, *quota, "--", *load]
        return {name: lambda command=command: self.beside(command) for name, command in ways.items()}

    def guard(self, slowdown):
        return lambda: self.beside(lambda load: in_background("bench", load), Guard("bench", slowdown))

    def boinc(self, settings):
        """The same with a client's tasks, whose rate is in processors."""

        def measure():
            with tempfile.TemporaryDirectory(prefix="crosstalk-") as folder, computing_client(Path(folder), **settings) as client:
                time.sleep(SETTLE)
                before, began = cpu_time(client.processes()), time.monotonic()
                taken = self.foreground()
                processors = (cpu_time(client.processes()) - before) / (time.monotonic() - began)
            return taken, processors / CORES

        return measure

    def report(self, figures, ways, blocks):
        points = [{name: self.point(name, block) for name in ways} for block in blocks]
        for name in ways:
            background, speed = (middle(sorted(values)) for values in zip(*(block[name] for block in points)))
            what = f"{self.name}, {name}: the foreground's speed, of that alone, median"
            figures.add(f"{self.name}, {name}: speed", speed, "share", n=len(points), what=what, background=background)
        for name in (name for name in ways if not name.startswith("guard ")):
            pairs, most = [], []
            for block in points:
                background, speed = block[name]
                guarded = [block[f"guard {slowdown}"] for slowdown in GUARDS]
                pairs.append((between(guarded, background), speed))
                most.append((background, max(guarded)[0]))
            point, low, high = ratio(pairs)
            what = f"{self.name}: the foreground's speed with the guard / with {name}, at as much background work, or the most that the guard leaves"
            beyond = sum(theirs > ours for theirs, ours in most)
            theirs, ours = (middle(sorted(side)) for side in zip(*most))
            more = {"blocks_beyond": beyond, "background": theirs, "background_with_guard_at_most": ours}
            figures.add(f"{self.name}: guard / {name}", point, "ratio", low, high, len(pairs), what, **more)

    def point(self, name, block):
        """The share of background work and the foreground's speed, each of that alone."""
        (alone, rate), (taken, theirs) = block["alone"], block[name]
        return theirs if name in BOINC else theirs / rate, alone / taken


def between(points, background):
    """The speed at such a share of background work, on straight lines between points; beyond them, that of
    the first or last point."""
    points = sorted(points)
    if background <= points[0][0]:
        return points[0][1]
    for (less, speed), (more, then) in zip(points, points[1:]):
        if background <= more:
            return speed + (then - speed) * (background - less) / (more - less)
    return points[-1][1]


def cpu_time(processes):
    """Seconds of CPU time that these took, and those that they have waited for (proc_pid_stat(5))."""
    ticks = 0
    for pid in processes:
        with suppress(OSError):
            stat = Path(f"/proc/{pid}/stat").read_text()
            ticks += sum(map(int, stat.rsplit(")", 1)[1].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
