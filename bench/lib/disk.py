"""The foreground at a device beside background work that writes to it."""

from lib.arms import slowed
from lib.guarded import held
from lib.loads import CORES, MIB, Counter, in_background

#: More than what a device's own cache holds of a file that is read at random.
READ = 1024 * MIB


def disk(figures, bed, options):
    counter = Counter(bed)
    command = bed.load("disk", t=2 * CORES, f=bed.folder / "background", c=counter.path)
    # CPU time says little of work that waits for a device: what it writes is counted, 1 MiB a round.
    ways = held(in_background("bench", command), "1%", used=counter.read)
    loads = {
        "synced writes": ("disk", {"f": bed.folder / "foreground"}),
        "reads from the device": ("fetch", {"f": bed.file("read", READ), "b": READ}),
    }
    for name, (kind, more) in loads.items():
        metric = f"{name}, beside synced writes"
        if not more["f"]:
            figures.missing(metric, "the disk has no room for 2 GB")
            continue
        foreground = lambda: bed.pace(kind, options.seconds, **more)
        slowed(figures, metric, foreground, ways, "1%", options, unit="MiB/s")
