"""The foreground whose pages background work displaces: both in one group of v1 that has too little for both."""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

from lib.arms import measured, slowed
from lib.guarded import held, unguarded
from lib.loads import GROUPS, MIB, Counter, in_background, until
from lib.wire import run_quietly

#: What a group has in which memory is short, and the foreground's part of it.
PARENT, OWN_PAGES = 1 << 30, 600 * MIB
#: What background work may have there that takes no page from the foreground.
OTHERS_PAGES = "256 MiB"


def memory(figures, bed, options):
    tree = GROUPS / "memory"
    if not (tree / "memory.limit_in_bytes").exists():
        for metric in ("file pages", "pages of memory", "killed for memory"):
            # On v2 groups of background work stand at the top, below no group that has a limit.
            figures.missing(metric, "no memory controller of v1 here, below whose groups those of background work stand")
        return
    for left in tree.glob("crosstalk-bench-*"):
        # One that a killed bench left; others are busy.
        with contextlib.suppress(OSError):
            left.rmdir()
    before = kills_for_memory()
    with Parent(tree / f"crosstalk-bench-{os.getpid()}") as parent:
        small, large = bed.file("small", OWN_PAGES), bed.file("large", 2 * PARENT)
        if small and large:
            displaced(figures, "file pages", parent, bed, ("pages", small), ("scan", large), options)
        else:
            figures.missing("file pages", "the disk has no room for 2.6 GB")
        with swap() as why:
            if why:
                figures.missing("pages of memory", why)
            else:
                displaced(figures, "pages of memory", parent, bed, ("touch", None), ("sweep", None), options)
    what = "processes that the kernel killed meanwhile for want of memory"
    figures.add("killed for memory", kills_for_memory() - before, "count", what=what)


def kills_for_memory():
    """How many processes the kernel has killed for want of memory since it runs."""
    lines = (line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return next(int(number) for key, number in lines if key == "oom_kill")


def displaced(figures, metric, parent, bed, foreground, background, options):
    """The foreground whose pages background work displaces, both in one group that has too little for both."""
    (kind, file), (theirs, their_file) = foreground, background
    more = {"f": file} if file else {}
    command = bed.load(theirs, b=2 * PARENT, **({"f": their_file} if their_file else {}))

    def timed(**watched):
        if file:
            # Whoever reads a page first has it on its account.
            bed.forget(file)
        return bed.pace(kind, options.seconds, parent.enter(), b=OWN_PAGES, **more, **watched)

    def without_traces(begins):
        """The pages of a group that has gone are its parent's, and would be in the way of whoever comes next."""

        @contextlib.contextmanager
        def begun():
            with begins() as it:
                yield it
            if their_file:
                bed.forget(their_file)

        return begun

    def ways(command):
        # Its group of memory stands below that of whoever starts it, where the guard looks for it, too.
        both = held(in_background("bench", command), "5%", before=parent.enter())
        return {way: without_traces(begins) for way, begins in both.items()}

    slowed(figures, metric, timed, ways(command), "5%", options)
    counter = Counter(bed)

    def timed_first():
        try:
            return timed(c=counter.path)
        finally:
            counter.reset()

    # Background work begins once the foreground's pages are there and it works on them.
    works = f'[ "$(od -An -tu8 -N8 {counter.path})" -gt 0 ]'
    waits = ["sh", "-c", f'until {works}; do sleep 0.02; done; exec "$@"', "sh", *command]
    slowed(figures, f"{metric}, foreground first", timed_first, ways(waits), "5%", options)
    if not options.more:
        return

    @contextlib.contextmanager
    def paused():
        with unguarded(in_background("bench", command), parent.enter()) as background, frozen(background.folders):
            yield background

    limited = lambda: unguarded(in_background("bench", command, "--memory", OTHERS_PAGES), parent.enter())
    # What no guard of memory can spare the foreground: what background work had before, and all that is
    # not memory.
    controls = {"runs": without_traces(paused), **({"takes any": without_traces(limited)} if file else {})}
    blocks = measured(f"{metric}, controls", timed, controls, options)
    for none in controls:
        pairs = [(block[none].foreground, block["alone"].foreground) for block in blocks]
        figures.pairs("alone", f"{metric}, beside none that {none}", pairs)


@contextlib.contextmanager
def frozen(folders):
    """A group that is paused while the block runs."""
    ways = [("freezer.state", "FROZEN", "THAWED"), ("cgroup.freeze", "1", "0")]
    files = [(folder / name, *words) for folder in folders for name, *words in ways]
    file, stop, go_on = next(way for way in files if way[0].exists())
    file.write_text(stop)
    try:
        yield
    finally:
        file.write_text(go_on)


class Parent:
    """A group of v1's memory controller that has 1 GB, of pages and of swap as they come."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        self.path.mkdir()
        (self.path / "memory.limit_in_bytes").write_text(str(PARENT))
        return self

    def __exit__(self, *_):
        # What was in it has ended; its pages go with it.
        until(lambda: not (self.path / "cgroup.procs").read_text(), 10)
        with contextlib.suppress(OSError):
            (self.path / "memory.force_empty").write_text("0")
        self.path.rmdir()

    def enter(self):
        """The words that have a command begin in it."""
        return ["sh", "-c", f'echo $$ > {self.path}/cgroup.procs; exec "$@"', "sh"]


@contextlib.contextmanager
def swap():
    """Swap in compressed memory (zram) while the block runs; why there is none."""
    run_quietly("modprobe zram")
    made = None
    if Path("/sys/class/zram-control").exists() and shutil.which("zramctl"):
        done = subprocess.run(["zramctl", "--find", "--size", "4G"], capture_output=True, text=True)
        made = done.stdout.strip() if done.returncode == 0 else None
    if not made or not (run_quietly(f"mkswap {made}") and run_quietly(f"swapon -p 100 {made}")):
        if made:
            run_quietly(f"zramctl --reset {made}")
        yield "no zram here: its module, or zramctl and mkswap, are missing"
        return
    try:
        yield None
    finally:
        subprocess.run(["swapoff", made], check=True)
        run_quietly(f"zramctl --reset {made}")
