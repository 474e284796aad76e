"""How a bench ends by a signal: with what it has begun taken away."""

import signal
import sys

ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def by_signals():
    """Has these signals end the bench as `sys.exit` does, so that what it has begun is taken away."""
    for number in ENDS:
        signal.signal(number, end)


def end(number, _):
    # From here on no other may cut short what is taken away.
    for other in ENDS:
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)
