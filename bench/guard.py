#!/usr/bin/env python3
"""`crosstalk guard` at work. In each block the same foreground work comes three times, in random order:
alone; beside background work that `crosstalk exec` has put into the idle class, without a guard (exec);
and beside the same under `crosstalk guard`. The table at the end has the foreground's time and the
background work that each leaves, and says whether the guard beats exec.

| part | what |
|---|---|
| cpu | computing on one, all and twice as many threads as processors, beside 50 spinning threads a processor |
| service | the same with one thread and with one a processor, beside 50 a processor in a group below another at the top, where services stand: exec is the idle class from there, which does not reach |
| database | sysbench's transactions on MariaDB beside 50 spinning threads a processor |
| bandwidth | loads that depend on each other, and copying, both beyond any cache, beside copying |
| memory | in a parent group of 1 GB: 600 MB of file pages or of memory, beside reading or writing twice the parent's memory |
| disk | synced writes, and reads from the device, beside synced writes |
| idle | what background work gets of the processors that one thread leaves, by 1 and 50 threads a processor |
| client | computing on all processors beside a real BOINC client where a service stands: with its group at the top in the idle class by one line (exec), and under guard |
| reaction | the foreground's first second, the return of background work, the guard's own CPU time |
| kills | `kill -9` of the guard at random moments: what stays paused or changed |

The foreground is a fixed number of rounds of peers/load.c; for memory, the disk and transactions, whatever is
done in a fixed time. Needs root.
`CROSSTALK_PROGRAM` names a program to measure in the place of this tree's.
"""

import argparse
import json
import time

from lib import estimate
from lib.arms import measured, row, slowed
from lib.arms_table import table
from lib.client import client
from lib.comparison import LEAST
from lib.database import database
from lib.disk import disk
from lib.figures import RESULTS
from lib.guarded import held, in_service
from lib.kills import kills
from lib.loads import CORES, MIB, Bed, begin, in_background
from lib.memory import memory
from lib.reaction import reaction

#: The foreground's threads, by name.
THREADS = {"one thread": 1, "all processors": CORES, "twice the processors": 2 * CORES}
#: What is measured by `--more` only.
MORE = (
    "also beside 100 threads a processor, in a service with twice the processors, beside background work that"
    " takes no memory, and beside a BOINC client without a guard"
)
#: Beyond the cache of any machine.
BEYOND = 512 * MIB


def main():
    options = arguments()
    if options.table:
        stored = json.loads((RESULTS / "guard.json").read_text())
        return print("\n".join(table(stored) or ["none of the stored figures compares arms: run bench/guard.py"]))
    wanted, figures = begin("guard", options.only, PARTS, "part")
    expected = {part: estimate.PARTS[part](options) for part in wanted}
    print(f"takes about {minutes(sum(expected.values()))}: ", end="")
    print(", ".join(f"{part} {minutes(seconds)}" for part, seconds in expected.items()), flush=True)
    bed = Bed()
    for part in wanted:
        began = time.monotonic()
        PARTS[part](figures, bed, options)
        print(f"-- {part}: took {minutes(time.monotonic() - began)}", flush=True)
    print("\n".join(["", *table(figures.rows), ""]))
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="only these parts, with commas [default: all]")
    parser.add_argument("--pairs", type=int, default=12, help="blocks of a load; 6 have an interval [default: 12]")
    parser.add_argument("--seconds", type=float, default=1.5, help="that the foreground takes alone [default: 1.5]")
    parser.add_argument("--transactions", type=int, default=6, help="seconds of each run of transactions [default: 6]")
    parser.add_argument("--starts", type=int, default=100, help="of the foreground, in `reaction` [default: 100]")
    parser.add_argument("--kills", type=int, default=200, help="of the guard, in `kills` [default: 200]")
    parser.add_argument("--seed", type=int, default=1, help="of the orders of arms [default: 1]")
    parser.add_argument("--more", action="store_true", help=MORE)
    parser.add_argument("--table", action="store_true", help="print the stored table, and measure nothing")
    options = parser.parse_args()
    if options.pairs < 1:
        parser.error(f"--pairs: expected 1 or more, found {options.pairs}")
    return options


def minutes(seconds):
    return f"{seconds / 60:.1f} min"


def beside(options):
    """Background threads a processor."""
    return (50, 100) if options.more else (50,)


def cpu(figures, bed, options):
    for name, threads in THREADS.items():
        rounds = bed.rounds("compute", options.seconds, t=threads)
        foreground = lambda: bed.timed("compute", rounds, t=threads)
        for each in beside(options):
            ways = held(in_background("bench", bed.load("compute", t=each * CORES)), "1%")
            slowed(figures, f"computing, {name}, beside {each} a processor", foreground, ways, "1%", options)


def service(figures, bed, options):
    ways = in_service(bed.load("compute", t=50 * CORES), "1%")
    for name, threads in list(THREADS.items())[: None if options.more else 2]:
        rounds = bed.rounds("compute", options.seconds, t=threads)
        foreground = lambda: bed.timed("compute", rounds, t=threads)
        slowed(figures, f"computing, {name}, beside 50 a processor in a service", foreground, ways, "1%", options)


def bandwidth(figures, bed, options):
    ways = held(in_background("bench", bed.load("stream", t=CORES, b=64 * MIB)), "5%")
    for name, kind in (("loads", "chase"), ("copying", "stream")):
        rounds = bed.rounds(kind, options.seconds, b=BEYOND)
        foreground = lambda: bed.timed(kind, rounds, b=BEYOND)
        slowed(figures, f"{name}, beside copying", foreground, ways, "5%", options)


def idle(figures, bed, options):
    # One thread leaves all processors but one.
    left = CORES - 1
    rounds = bed.rounds("compute", estimate.IDLE * options.seconds)
    foreground = lambda: bed.timed("compute", rounds)
    for each in (1, *beside(options)):
        by = "" if each == 1 else f", by {each} threads a processor"
        metric = f"background CPU time of idle processors{by}"
        if not left:
            figures.missing(metric, "one processor leaves none")
            continue
        ways = held(in_background("bench", bed.load("compute", t=each * CORES)), "1%")
        blocks = measured(metric, foreground, ways, options)
        figures.pairs("idle", metric, [(max(block["guard"].background, LEAST), left) for block in blocks])
        row(figures, f"one thread, beside {each} a processor, for longer", blocks)


PARTS = {
    "cpu": cpu, "service": service, "database": database, "bandwidth": bandwidth, "memory": memory, "disk": disk,
    "idle": idle, "client": client, "reaction": reaction, "kills": kills,
}


if __name__ == "__main__":
    main()
