"""External work under `crosstalk guard`, and own work's time beside it over its time alone."""

import contextlib
import os
import statistics
import time

from lib.loads import Guard, begun, cpu_time, directories, foreign, placed, running
from lib.pairs import interleaved

#: Until external work runs and the guard knows what it does, in seconds.
SETTLE = 2.5
#: Pairs of runs that are long.
LONG_PAIRS = 20


@contextlib.contextmanager
def guarded(command, slowdown, settle=SETTLE, before=()):
    """External work under guard, that has settled; the guard, whose sums are there afterwards.
    `before` has both begin where it says."""
    with running([*before, *command]):
        begun("bench")
        with Guard("bench", slowdown, before) as guard:
            time.sleep(settle)
            guard.folders = directories("bench")
            yield guard


@contextlib.contextmanager
def service_group():
    """A group below another at the top while the block runs: its name and its directories."""
    above = f"crosstalk-bench-{os.getpid()}.slice"
    with foreign(above), foreign(f"{above}/service") as folders:
        yield f"/{above}/service", folders


@contextlib.contextmanager
def guarded_service(command, slowdown):
    """The same of external work in such a group."""
    with service_group() as (name, folders), running(placed(folders, command)):
        with Guard(name, slowdown) as guard:
            time.sleep(SETTLE)
            guard.folders = folders
            yield guard


def slowed(figures, metric, own, begins, slowdown, options):
    """Own work's time beside external work that `begins`, guarded, over its time alone; what is donated
    meanwhile."""
    donated, costs = [], []

    def beside():
        with begins() as guard:
            used, began = cpu_time(guard.folders), time.monotonic()
            taken = own()
            donated.append((cpu_time(guard.folders) - used) / (time.monotonic() - began))
        costs.append(guard.sums["cpu"] / guard.sums["seconds"])
        return taken

    pairs = interleaved(beside, own, options.pairs, options.seed)
    figures.pairs("alone", metric, pairs, agreed=slowdown, cost=max(costs))
    told = f"{metric}: processors donated meanwhile, median"
    figures.add(f"donated, {metric}", statistics.median(donated), "processors", n=len(donated), what=told)
