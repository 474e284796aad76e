"""Passes over the same data until the JVM is warm."""

import time

from request import Request

#: Two passes in a row that differ by less than this share are warm.
ALIKE = 0.05


def until_warm(request, cluster, progress, once, drop):
    """Calls `once()` at least and at most as often as the request's `passes` say,
    and no more once the last two calls took nearly the same time. What a call
    returned goes to `drop` before the next one. Returns every call's time, whether they tell
    that the JVM is warm, and what the last one returned; `cluster` has counted the tasks of the last."""
    passes = Request(request.object("passes"))
    least = passes.whole("least", 2, least=1)
    most = passes.whole("most", max(8, least), least=least)
    times = []
    while True:
        with cluster.counting():
            begin = time.perf_counter()
            found = once()
            times.append(time.perf_counter() - begin)
        progress(f"pass {len(times)} of at most {most}: {times[-1]:.3f} s")
        if len(times) == most or len(times) >= least and warm(times):
            return {"times": times, "warm": warm(times)}, found
        drop(found)


def warm(times):
    """Whether the last two are alike."""
    return len(times) > 1 and abs(times[-1] - times[-2]) < ALIKE * min(times[-2:])
