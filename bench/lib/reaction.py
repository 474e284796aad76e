"""How fast the guard reacts, and what it takes itself: the foreground's first second, the return of background
work, the guard's own CPU time."""

import statistics
import time

from lib.guarded import guarded
from lib.loads import CORES, Counter, in_background
from lib.pairs import interleaved
from lib.signed_rank import quantile

#: How often the guard's CPU time is measured.
COSTS = 6


def reaction(figures, bed, options):
    counter, back = Counter(bed), []
    command = in_background("bench", bed.load("compute", t=50 * CORES, c=counter.path))
    foreground = lambda: bed.rate("compute", 1, t=CORES)

    def beside():
        with guarded(command, "1%"):
            before = counter.read()
            time.sleep(1)
            usual = counter.read() - before
            done = foreground()
            back.append(returned(counter, usual))
        return done

    pairs = interleaved(beside, foreground, options.starts, options.seed)
    what = "the foreground's first second, of what it does alone: 95 % of the starts reach"
    starts = [ours / theirs for ours, theirs in pairs]
    figures.add("first second", *reached(starts), n=len(starts), what=what)
    alone = [theirs for _, theirs in pairs]
    chance = [one / next_ for one, next_ in zip(alone, alone[1:])]
    what = "the same of the foreground alone, of what it does alone the next time: what chance makes of it"
    figures.add("first second, by chance", *reached(chance), n=len(chance), what=what)
    figures.pairs("alone", "first second, median", pairs)
    what = "from the foreground's end until background work has 80 % of its rate again, slowest"
    figures.add("background work is back", max(back), "s", n=len(back), what=what)
    for name in ("idle", "at work"):
        costs, itself = [], []
        for _ in range(COSTS):
            # Once it has begun: its memory is made once.
            with guarded(command, "1%") as background:
                guard = background.guard
                used, began = guard.cpu(), time.monotonic()
                if name == "idle":
                    time.sleep(20)
                else:
                    bed.rate("compute", 20)
                costs.append((guard.cpu() - used) / (time.monotonic() - began))
            itself.append(guard.sums["cost"] / guard.sums["seconds"])
        what = f"the guard's CPU time, of one processor, foreground {name}, median"
        point, low, high = quantile(costs, 0.5)
        figures.add(f"guard's CPU time, foreground {name}", point, "share", low, high, COSTS, what, itself=statistics.median(itself))


def reached(shares):
    """What 95 % of these reach, with its unit and interval."""
    point, low, high = quantile(shares, 0.05)
    return point, "share", low, high


def returned(counter, usual):
    """Seconds until background work does four fifths of what it usually does in a tenth of a second; 30 at most."""
    began = at = time.monotonic()
    while at - began < 30:
        before, at = counter.read(), time.monotonic()
        time.sleep(0.1)
        if counter.read() - before >= 0.8 * usual * (time.monotonic() - at):
            break
    return at - began
