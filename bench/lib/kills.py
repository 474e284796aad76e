"""`kill -9` of the guard at random moments: what stays frozen or changed."""

import os
import random
import time
from contextlib import ExitStack
from pathlib import Path

from lib.loads import CORES, GROUPS, Guard, begun, foreign, in_background, knobs, placed, running, until


def kills(figures, bed, options):
    """Background work in a group of ours, in one that somebody else has made, and without a group, by
    turns. Foreground work uses all processors, so that it is frozen and thawed again and again."""
    load = bed.load("compute", t=CORES)
    with ExitStack() as over:
        over.enter_context(running(in_background("bench", load)))
        ours_, theirs = begun("bench"), over.enter_context(foreign(f"crosstalk-bench-{os.getpid()}"))
        over.enter_context(running(placed(theirs, load)))
        lone = over.enter_context(running(load)).pid
        over.enter_context(running(load))
        kinds = [
            ("bench", lambda: knobs(ours_)),
            (theirs[0].name, lambda: knobs(theirs)),
            (lone, lambda: (Path(f"/proc/{lone}/cgroup").read_text(), guests())),
        ]
        order, found, undone = random.Random(options.seed), 0, []
        for number in range(options.kills):
            target, state = kinds[number % len(kinds)]
            before = state()
            guard = Guard(target, "1%").start()
            time.sleep(order.uniform(0, 3))
            found += state() != before
            guard.kill()
            undone.append(until(lambda: state() == before, 10))
    changed = undone.count(None)
    figures.add("kills", options.kills, "count", what="kills of the guard at random moments")
    figures.add("kills that mattered", found, "count", what="of these, at which something was changed")
    what = "kills of the guard after which a knob is changed or something frozen 10 s later"
    figures.add("changed after kill -9", changed, "count", n=options.kills, what=what)
    if changed < options.kills:
        slowest = max(time_ for time_ in undone if time_ is not None)
        figures.add("undone after kill -9", slowest, "s", n=options.kills - changed, what="until all is as before, slowest")


def guests():
    """The groups in which a guard has processes that had none."""
    return sorted(str(path) for path in GROUPS.glob("*/crosstalk-guests-*"))
