"""Foreground work that is timed beside background work, and how that is held: the groups and the guard of
our program, and everything else that can be done to a process.

Loads are `peers/load.c`, rounds of one kind of work.
"""

import atexit
import contextlib
import itertools
import json
import mmap
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lib import ending
from lib.figures import Figures
from lib.ours import CROSSTALK, build, given
from lib.wire import ROOT, output

CORES = len(os.sched_getaffinity(0))
GROUPS = Path("/sys/fs/cgroup")
MIB = 1 << 20
#: What may be set of a group.
KNOBS = [
    "cpu.idle", "cpu.weight", "cpu.shares", "cpu.max", "cpu.cfs_quota_us", "cpuset.cpus", "memory.high",
    "memory.max", "memory.limit_in_bytes", "io.weight", "io.bfq.weight", "blkio.bfq.weight", "blkio.weight",
    "cgroup.freeze", "freezer.state",
]
numbers = itertools.count()


def begin(bench, only, there, what):
    """The parts of a bench that were asked for (`only`, with commas; all of `there` without), and where
    their figures go. Such a bench makes groups at the top of the tree."""
    if os.geteuid() != 0:
        sys.exit("groups at the top of the tree are root's")
    build()
    wanted = only.split(",") if only else list(there)
    if unknown := set(wanted) - set(there):
        sys.exit(f"no such {what}: {', '.join(unknown)}; there are: {', '.join(there)}")
    load = round(os.getloadavg()[0], 1)
    return wanted, Figures(bench, part=bool(only), processors=CORES, machine_load=load, **given())


class Bed:
    """A folder of ours for files and counters, with the program that makes loads in it; on the disk
    of the project, since files in memory are no pages that could be pushed out."""

    def __init__(self):
        ending.by_signals()
        self.folder = ROOT / "target" / f"bench-{os.getpid()}"
        self.folder.mkdir(parents=True)
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.program = self.folder / "load"
        if not shutil.which("cc"):
            sys.exit("there is no C compiler here: apt-get install gcc libc6-dev")
        subprocess.run(["cc", "-O2", "-pthread", ROOT / "bench/peers/load.c", "-o", self.program], check=True)

    def load(self, kind, **options):
        """The command that makes a load; `options` by their letters, as in `t=4`."""
        words = [word for letter, value in options.items() for word in (f"-{letter}", value)]
        return [str(word) for word in (self.program, kind, *words)]

    def timed(self, kind, rounds, before=(), **options):
        """Seconds that so many rounds take; `before` goes before the command."""
        return json.loads(output([*before, *self.load(kind, r=rounds, **options)], 600))["seconds"]

    def rate(self, kind, seconds=1, before=(), **options):
        """Rounds a second."""
        found = json.loads(output([*before, *self.load(kind, s=seconds, **options)], seconds + 120))
        return found["rounds"] / found["seconds"]

    def pace(self, kind, seconds, before=(), **options):
        """Seconds a round, of those done in so many seconds: for work that others may slow without bound."""
        return 1 / max(self.rate(kind, seconds, before, **options), 1 / seconds)

    def rounds(self, kind, seconds, **options):
        """How many rounds take about so long where nothing else runs."""
        return max(1, int(self.rate(kind, **options) * seconds))

    def file(self, name, size):
        """A file of so many bytes, on the disk and not in memory."""
        path = self.folder / name
        if not path.exists():
            if shutil.disk_usage(self.folder).free < 2 * size:
                return None
            with path.open("wb") as out:
                block = os.urandom(MIB)
                for _ in range(size // MIB):
                    out.write(block)
                os.fsync(out.fileno())
        self.forget(path)
        return path

    @staticmethod
    def forget(path):
        """Has the kernel drop a file's pages, so that they are of whoever reads it next."""
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Counter:
    """Rounds of a load as they are done."""

    def __init__(self, bed):
        self.path = bed.folder / f"counter-{next(numbers)}"
        self.path.write_bytes(bytes(8))
        with self.path.open("r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 8)

    def read(self):
        return struct.unpack("Q", self.memory[:8])[0]

    def reset(self):
        self.memory[:8] = bytes(8)

    def await_more(self, seconds=60):
        """Until it counts."""
        before = self.read()
        until(lambda: self.read() > before, seconds)


@contextlib.contextmanager
def running(command):
    """A program that runs while the block does, its process given. It is asked to end (SIGTERM), and
    then made to."""
    words = ["setpriv", "--pdeathsig", "TERM", *map(str, command)]
    process = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def in_background(name, command, *options):
    """The command that runs another as background work, with more options of `exec`."""
    return [CROSSTALK, "exec", "--background", "--name", name, *options, "--", *command]


class Guard:
    """`crosstalk guard` of a group, a process, or what words say, while the block runs; `sums` when it
    has ended: what it reports itself, and `cpu`, the CPU time that the kernel counts for it."""

    def __init__(self, target, slowdown, before=()):
        words = {int: ["--pid", target], str: ["--background", target], list: target}[type(target)]
        self.command = [*before, CROSSTALK, "--json", "guard", *words, "--slowdown", slowdown]

    def start(self):
        words = ["setpriv", "--pdeathsig", "TERM", *map(str, self.command)]
        self.said = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=self.said)
        return self

    def __enter__(self):
        self.start()
        # It guards once it has said something.
        until(lambda: os.fstat(self.said.fileno()).st_size or self.process.poll() is not None, 30)
        if self.process.poll() is not None or not os.fstat(self.said.fileno()).st_size:
            self.process.kill()
            sys.exit("the guard does not begin")
        return self

    def cpu(self):
        """Seconds of CPU time that it has used so far (proc_pid_schedstat of the kernel's sched-stats.rst)."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) * 1e-9

    def kill(self):
        """As a crash does."""
        self.process.kill()
        self.process.wait()
        self.said.close()

    def __exit__(self, *_):
        status = used = None

        def has_ended():
            nonlocal status, used
            number, status, used = os.wait4(self.process.pid, os.WNOHANG)
            return number

        # Popen's own way would take the status of one that Ctrl-C has ended already, and what it used.
        os.kill(self.process.pid, signal.SIGTERM)
        if until(has_ended, 30) is None:
            self.process.kill()
            sys.exit("the guard does not end")
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.said.seek(0)
        lines = self.said.read().splitlines()
        self.said.close()
        self.sums = {**json.loads(lines[-1])["sums"], "cpu": used.ru_utime + used.ru_stime}


def directories(name):
    """The directories of the group that `crosstalk exec --name` has made."""
    found = []
    for path, below, _ in os.walk(GROUPS):
        for folder in below:
            if folder.startswith(f"crosstalk-background-{name}-"):
                found.append(Path(path) / folder)
    return sorted(found)


def begun(name):
    """The directories of such a group, once its work stands in all of them: it enters one tree after
    another, and is in the idle class from the first on."""

    def inside():
        try:
            return all((folder / "cgroup.procs").read_text() for folder in directories(name) or [Path()])
        except FileNotFoundError:
            return False

    if until(inside, 30) is None:
        sys.exit("the background work does not begin")
    return directories(name)


@contextlib.contextmanager
def foreign(name):
    """A group that neither `exec` nor the guard has made, in every tree, while the block runs; its directories."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    trees = [Path(at) for _, at, kind, *_ in mounts if kind in ("cgroup", "cgroup2")]
    folders = []
    try:
        for tree in trees:
            folder = tree / name
            with contextlib.suppress(OSError):
                folder.mkdir()
                folders.append(folder)
                # v1's new groups have no processors and no memory, and admit no process without.
                for file in ("cpuset.cpus", "cpuset.mems"):
                    if (folder / file).exists() and (text := (tree / file).read_text().strip()):
                        (folder / file).write_text(text)
        yield folders
    finally:
        for folder in folders:
            until(lambda: not (folder / "cgroup.procs").read_text(), 10)
            folder.rmdir()


def placed(folders, command):
    """The command, which begins in these groups."""
    enters = "; ".join(f"echo $$ > {folder}/cgroup.procs" for folder in folders)
    return ["sh", "-c", f'{enters}; exec "$@"', "sh", *command]


def cpu_time(folders):
    """Seconds of CPU time that a group has used, from whichever tree counts it."""
    for folder in folders:
        if (folder / "cpuacct.usage").exists():
            return int((folder / "cpuacct.usage").read_text()) * 1e-9
    stat = next((folder / "cpu.stat" for folder in folders if (folder / "cpu.stat").exists()), None)
    if not stat:
        raise RuntimeError(f"the group is gone: background work has ended, or was killed ({folders[0]})")
    return int(stat.read_text().split()[1]) * 1e-6


def knobs(folders):
    """All that is set of groups: file -> what it says."""
    paths = [folder / knob for folder in folders for knob in KNOBS]
    return {str(path): path.read_text() for path in paths if path.exists()}


def until(so, seconds):
    """Waits until it is so; how long that took, and None where it did not come."""
    began = time.monotonic()
    while not so():
        if time.monotonic() - began > seconds:
            return None
        time.sleep(0.005)
    return time.monotonic() - began
