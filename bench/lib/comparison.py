"""What the guard is worth beside the idle class alone, by blocks in which both were measured.

Pure arithmetic: no clock, no machine. Times are the foreground's, in any unit; background work is its
amount per wall second, in any unit (seconds of CPU time, MiB).
"""

from typing import NamedTuple

from lib.signed_rank import ratio

#: The least background work per wall second that counts, such as a thousandth of a processor. A group that
#: was paused throughout has none, and a ratio to none has no logarithm.
LEAST = 1e-3


class Point(NamedTuple):
    """One arm in one block."""

    time: float
    background: float


class Interval(NamedTuple):
    """A ratio with its 95 % interval; from 0 to infinity where the blocks are too few for one."""

    value: float
    low: float
    high: float


class Comparison(NamedTuple):
    """The guard over exec, paired within blocks."""

    #: The foreground's speed.
    speed: Interval
    #: Background work per wall second.
    background: Interval
    #: The foreground's speed at equal background work: see `paused_exec`.
    equal: Interval

    def beats(self):
        """How the guard beats exec, by 95 % intervals. The first of these that is so:

        - `speed`: it is faster, and background work is not shown to be less;
        - `background work`: it leaves more, and speed is not shown to be less;
        - `trade`: it is faster, and leaves less. One point cannot say at what exchange exec would do the
          same: `equal` says it for exec that is paused for a constant share of the time;
        - `no`: none of these is shown.
        """
        if self.speed.low > 1:
            return "speed" if self.background.high >= 1 else "trade"
        if self.background.low > 1 and self.speed.high >= 1:
            return "background work"
        return "no"


def compare(blocks):
    """The comparison over blocks of (foreground's time alone, exec's point, the guard's point)."""
    counted = lambda point: max(point.background, LEAST)
    at_equal = lambda alone, exec_, guard: (alone / guard.time, paused_exec(alone, exec_, guard))
    return Comparison(
        speed=Interval(*ratio([(exec_.time, guard.time) for _, exec_, guard in blocks])),
        background=Interval(*ratio([(counted(guard), counted(exec_)) for _, exec_, guard in blocks])),
        equal=Interval(*ratio([at_equal(*block) for block in blocks])),
    )


def paused_exec(alone, exec_, guard):
    """The foreground's speed, of that alone, beside exec that is paused for a constant share of the time,
    so that it leaves as much background work as the guard; exec's own speed where it leaves no more.

    Background work that runs for a share `d` of the time leaves `d b` instead of `b`, and the foreground
    has speed `1 − d (1 − s)` instead of `s`: full speed while it is paused, and `s` while it runs.
    """
    runs = min(1.0, max(guard.background, LEAST) / max(exec_.background, LEAST))
    return 1 - runs * (1 - alone / exec_.time)
