"""Background work as the arms hold it: `exec` in the idle class only, or under `crosstalk guard`."""

import contextlib
import os
import sys
import time

from lib.loads import Guard, begun, cpu_time, foreign, placed, running

#: Until background work runs and the guard knows what it does, in seconds.
SETTLE = 2.5


class Background:
    """Background work that has settled."""

    def __init__(self, folders, used=None, guard=None):
        """`used` returns how much it has done so far [default: its CPU time, in seconds]."""
        self.folders, self.guard = folders, guard
        self.used = used or (lambda: cpu_time(folders))

    def cost(self):
        """The guard's CPU time in processors, once it has ended; 0 without one."""
        return self.guard.sums["cpu"] / self.guard.sums["seconds"] if self.guard else 0.0


def held(command, slowdown, before=(), used=None):
    """The two ways of what `crosstalk exec --background` starts: as it is, and under guard."""
    return {
        "exec": lambda: unguarded(command, before, used),
        "guard": lambda: guarded(command, slowdown, before, used),
    }


@contextlib.contextmanager
def unguarded(command, before=(), used=None):
    """Background work that `exec` has started, without a guard. The command `before` has it begin elsewhere."""
    with running([*before, *command]):
        folders = begun("bench")
        time.sleep(SETTLE)
        yield Background(folders, used)


@contextlib.contextmanager
def guarded(command, slowdown, before=(), used=None):
    """The same under guard, which begins at the same place."""
    with running([*before, *command]):
        folders = begun("bench")
        with Guard("bench", slowdown, before) as guard:
            time.sleep(SETTLE)
            yield Background(folders, used, guard)


def in_service(command, slowdown):
    """The two ways of background work in a group below another at the top, where services stand: in the
    idle class from there, which counts within the group above it only; and under guard."""

    @contextlib.contextmanager
    def in_idle_class():
        with service_group() as (_, folders), idle_class(folders), running(placed(folders, command)):
            time.sleep(SETTLE)
            yield Background(folders)

    @contextlib.contextmanager
    def under_guard():
        with service_group() as (name, folders), running(placed(folders, command)):
            with Guard(name, slowdown) as guard:
                time.sleep(SETTLE)
                yield Background(folders, guard=guard)

    return {"exec": in_idle_class, "guard": under_guard}


@contextlib.contextmanager
def service_group():
    """A group below another at the top while the block runs: its name and its directories."""
    above = f"crosstalk-bench-{os.getpid()}.slice"
    with foreign(above), foreign(f"{above}/service") as folders:
        yield f"/{above}/service", folders


@contextlib.contextmanager
def idle_class(folders):
    """A group in the idle class while the block runs, as one line sets it."""
    file = next((folder / "cpu.idle" for folder in folders if (folder / "cpu.idle").exists()), None)
    if not file:
        sys.exit(f"{folders[0]} has no cpu.idle, which Linux 5.15 and later have")
    file.write_text("1")
    try:
        yield
    finally:
        file.write_text("0")
