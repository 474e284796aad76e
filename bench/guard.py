#!/usr/bin/env python3
"""`crosstalk guard` at work: own work beside external work that is guarded, and alone, in
interleaved pairs of one run.

| part | what |
|---|---|
| cpu | computing on one, all and twice as many threads as processors, beside 50 and 100 spinning threads a processor |
| database | sysbench's transactions on MariaDB beside 50 spinning threads a processor |
| service | the same beside 50 a processor that stand in a group below another at the top, as services do: the idle class does not reach from there |
| bandwidth | loads that depend on each other, and copying, both beyond any cache, beside copying |
| memory | in a parent group of 1 GB: 600 MB of file pages or of memory, beside reading or writing twice the parent's memory |
| idle | what is donated of the processors that own work leaves, by 1, 50 and 100 threads a processor |
| reaction | own work's first second, external work's return, the guard's own CPU time |
| client | computing on all processors beside a real BOINC client that stands where a service does and never suspends by itself: unguarded, and under guard |
| kills | `kill -9` of the guard at random moments: what stays frozen or changed |

External work is started by `crosstalk exec --external`. Own work is fixed (rounds of peers/load.c),
or of a fixed time (transactions). Needs root.
"""

import argparse
import shutil
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from lib.boinc import donating
from lib.database import database
from lib.guarded import LONG_PAIRS, SETTLE, guarded, guarded_service, service_group, slowed
from lib.kills import kills
from lib.loads import CORES, MIB, Bed, Guard, begin, cpu_time, external, placed
from lib.memory import memory
from lib.pairs import interleaved
from lib.reaction import reaction

#: Own threads, by name.
OWN = {"one thread": 1, "all processors": CORES, "twice the processors": 2 * CORES}
#: Beyond the cache of any machine.
BEYOND = 512 * MIB


def main():
    options = arguments()
    wanted, figures = begin("guard", options.only, PARTS, "part")
    bed = Bed()
    for part in wanted:
        PARTS[part](figures, bed, options)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="some of the parts, with commas")
    parser.add_argument("--pairs", type=int, default=60, help=f"of transactions {LONG_PAIRS} at most")
    parser.add_argument("--seconds", type=float, default=2, help="that own work takes alone")
    parser.add_argument("--transactions", type=int, default=30, help="seconds of them, at a time")
    parser.add_argument("--starts", type=int, default=100, help="of own work, in `reaction`")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def cpu(figures, bed, options):
    for name, threads in OWN.items():
        rounds = bed.rounds("compute", options.seconds, t=threads)
        for each in (50, 100):
            own = lambda: bed.timed("compute", rounds, t=threads)
            begins = lambda: guarded(external("bench", bed.load("compute", t=each * CORES)), "1%")
            slowed(figures, f"computing, {name}, beside {each} a processor", own, begins, "1%", options)


def service(figures, bed, options):
    for name, threads in OWN.items():
        rounds = bed.rounds("compute", options.seconds, t=threads)
        own = lambda: bed.timed("compute", rounds, t=threads)
        begins = lambda: guarded_service(bed.load("compute", t=50 * CORES), "1%")
        slowed(figures, f"computing, {name}, beside 50 a processor in a service", own, begins, "1%", options)


def bandwidth(figures, bed, options):
    command = external("bench", bed.load("stream", t=CORES, b=64 * MIB))
    for name, kind in (("loads", "chase"), ("copying", "stream")):
        rounds = bed.rounds(kind, options.seconds, b=BEYOND)
        own = lambda: bed.timed(kind, rounds, b=BEYOND)
        slowed(figures, f"{name}, beside copying", own, lambda: guarded(command, "5%"), "5%", options)


def idle(figures, bed, options):
    if CORES < 2:
        for by in ("", ", by 50 threads a processor", ", by 100 threads a processor"):
            figures.missing(f"donated of idle processors{by}", "one processor leaves none")
        return
    rounds = bed.rounds("compute", 3 * options.seconds)
    for each, number in ((1, options.pairs), (50, min(options.pairs, LONG_PAIRS)), (100, min(options.pairs, LONG_PAIRS))):
        command, pairs = external("bench", bed.load("compute", t=each * CORES)), []
        for _ in range(number):
            with guarded(command, "1%") as guard:
                used, began = cpu_time(guard.folders), time.monotonic()
                # One thread of own work leaves all processors but one.
                bed.timed("compute", rounds)
                pairs.append((cpu_time(guard.folders) - used, (time.monotonic() - began) * (CORES - 1)))
        beside = "" if each == 1 else f", by {each} threads a processor"
        figures.pairs("idle", f"donated of idle processors{beside}", pairs)


def client(figures, bed, options):
    metrics = {"beside a BOINC client": None, "beside a BOINC client that is guarded": "1%"}
    if not shutil.which("boinc"):
        for metric in metrics:
            figures.missing(metric, "no BOINC client here: apt-get install --no-install-recommends boinc-client")
        return
    rounds = bed.rounds("compute", options.seconds, t=CORES)
    own = lambda: bed.timed("compute", rounds, t=CORES)
    with ExitStack() as over:
        folder = over.enter_context(tempfile.TemporaryDirectory(prefix="crosstalk-"))
        _, folders = over.enter_context(service_group())
        donor = over.enter_context(donating(Path(folder), placed(folders, [])))

        def alone():
            donor.set_mode("never")
            return own()

        def beside(slowdown):
            donor.set_mode("always")
            with ExitStack() as over:
                if slowdown:
                    address = f"127.0.0.1:{donor.port}"
                    over.enter_context(Guard(["boinc", "--boinc-address", address], slowdown))
                time.sleep(SETTLE)
                return own()

        for metric, slowdown in metrics.items():
            pairs = interleaved(lambda: beside(slowdown), alone, min(options.pairs, LONG_PAIRS), options.seed)
            figures.pairs("alone", metric, pairs, agreed=slowdown)


PARTS = {
    "cpu": cpu, "service": service, "database": database, "bandwidth": bandwidth, "memory": memory,
    "idle": idle, "reaction": reaction, "client": client, "kills": kills,
}


if __name__ == "__main__":
    main()
