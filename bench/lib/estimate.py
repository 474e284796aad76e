"""How long the parts of `bench/guard.py` take, in seconds, by its options. Measured on two processors: what
else a machine is decides little, since the foreground's work is scaled to a time."""

from lib.guarded import SETTLE

#: To begin and end background work; the same with a guard.
BEGINS, GUARDED = 0.3, 0.6
#: How many times `seconds` the foreground of `idle` takes.
IDLE = 2


def block(seconds, slowed=1.0, more=0.0):
    """A block of three arms: the foreground takes `seconds` alone and under guard, `slowed` times as long
    beside exec, and `more` seconds each time that are not timed."""
    return seconds * (2 + slowed) + 3 * more + 2 * SETTLE + BEGINS + GUARDED


def cpu(options):
    return options.pairs * 3 * (2 if options.more else 1) * block(options.seconds)


def service(options):
    return options.pairs * (3 if options.more else 2) * block(options.seconds, slowed=2)


def database(options):
    # The server begins, its tables are made, and it warms up.
    return 10 + options.transactions + options.pairs * block(options.transactions, more=0.1)


def bandwidth(options):
    return options.pairs * 2 * block(options.seconds, slowed=1.4, more=0.5)


def memory(options):
    # A file of 600 MB, or as much memory, is read or made each time.
    each, controls = block(options.seconds, more=0.7), 2 * (options.seconds + 0.7) + SETTLE + BEGINS
    return 10 + options.pairs * (4 * each + (2.5 * controls if options.more else 0))


def disk(options):
    return 5 + options.pairs * 2 * block(options.seconds)


def idle(options):
    return options.pairs * (3 if options.more else 2) * block(IDLE * options.seconds)


def client(options):
    # To begin, and until it obeys: twice in each way.
    as_it_comes = options.seconds * 2 + SETTLE + 2 if options.more else 0
    return 20 + options.pairs * (block(options.seconds) + 4 + as_it_comes)


def reaction(options):
    # 12 times the guard's cost in 20 s.
    return options.starts * (SETTLE + GUARDED + 3.7) + 12 * (SETTLE + GUARDED + 20)


def kills(options):
    return options.kills * 1.6


PARTS = {
    "cpu": cpu, "service": service, "database": database, "bandwidth": bandwidth, "memory": memory, "disk": disk,
    "idle": idle, "client": client, "reaction": reaction, "kills": kills,
}
