"""Processes that start programs when they are asked to, in a mount namespace, as a user, in a control group:
each a fork of the bench's, so that starting one program costs nothing but that.
"""

import ctypes
import os
import subprocess
import time
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
NOTHING = "/bin/true"
SHOWS_ITS_GROUPS = ["/bin/cat", "/proc/self/cgroup"]


class Namespace:
    """A mount namespace: what is started in it meets no mark of a mount elsewhere."""

    def __init__(self):
        words = ["unshare", "--mount", "--propagation", "private", "sleep", "infinity"]
        self.holder = subprocess.Popen(words)
        path, own = f"/proc/{self.holder.pid}/ns/mnt", os.readlink("/proc/self/ns/mnt")
        while os.readlink(path) == own:
            time.sleep(0.01)
        self.file = os.open(path, os.O_RDONLY)

    def enter(self):
        if LIBC.setns(self.file, 0) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        os.chdir("/")

    def command(self, words):
        return ["nsenter", f"--mount=/proc/{self.holder.pid}/ns/mnt", "--", *map(str, words)]

    def close(self):
        self.holder.kill()
        self.holder.wait()
        os.close(self.file)


class Starter:
    """A process that starts programs. `user`: they belong to that user. `inherits`: so does it itself; else each
    program changes its user first. `group`: directories of the groups that it is in."""

    def __init__(self, namespace, user, inherits, group=()):
        (theirs, self.ask), (self.hear, ours) = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self.ask), os.close(self.hear)
                namespace.enter()
                for directory in group:
                    (Path(directory) / "cgroup.procs").write_text(str(os.getpid()))
                if inherits:
                    become(user)
                serve(theirs, ours, None if inherits else user)
            finally:
                os._exit(0)
        os.close(theirs), os.close(ours)
        self.answers = os.fdopen(self.hear)

    def send(self, *words):
        os.write(self.ask, (" ".join(map(str, words)) + "\n").encode())

    def answer(self):
        return [float(word) for word in self.answers.readline().split()]

    def start(self):
        """Seconds from the start of a program that does nothing to its end."""
        self.send("start", 1)
        return self.answer()[0]

    def close(self):
        # Those that were forked later have this end of the pipe, too.
        self.send("end")
        os.waitpid(self.pid, 0)
        os.close(self.ask)
        self.answers.close()


def become(user):
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def serve(asked, answers, user):
    """`start N`: N programs in a row, and the seconds of each. `placed N NAME TREES`: how many of N programs see
    themselves in that group, in so many trees. `followed N NAME TREES`: N programs that stay, and of each that comes
    into that group the seconds from its first output to there. `until SECONDS`: programs in a row for so long; how many, and the
    longest. `end`: no more."""
    for line in os.fdopen(asked):
        words = line.split()
        if words[0] == "end":
            return
        if words[0] == "start":
            said = [timed(user) for _ in range(int(words[1]))]
        elif words[0] == "placed":
            said = [sum(is_placed(user, words[2], int(words[3])) for _ in range(int(words[1])))]
        elif words[0] == "followed":
            late = (followed(user, words[2], int(words[3])) for _ in range(int(words[1])))
            said = [seconds for seconds in late if seconds is not None]
        else:
            until, taken = time.perf_counter() + float(words[1]), []
            while time.perf_counter() < until:
                taken.append(timed(user))
            said = [len(taken), max(taken)]
        os.write(answers, (" ".join(map(str, said)) + "\n").encode())


def timed(user):
    began = time.perf_counter()
    started([NOTHING], user, [])
    return time.perf_counter() - began


def is_placed(user, name, trees):
    read, write = os.pipe()
    started(SHOWS_ITS_GROUPS, user, [(write, 1)])
    os.close(write)
    with os.fdopen(read) as output:
        return is_in(output.read(), name, trees)


def is_in(groups, name, trees):
    """Whether a text of `/proc/PID/cgroup` has that group in so many trees."""
    return sum(line.endswith(f"/{name}") for line in groups.splitlines()) == trees


def followed(user, name, trees):
    """A program that shows its groups and stays: the seconds from then until it is in that group, 0 if it is there
    already; None if it is not there within a second."""
    (read, output), (stdin, hold) = os.pipe(), os.pipe()
    pid = begun([*SHOWS_ITS_GROUPS, "-"], user, [(output, 1), (stdin, 0)])
    os.close(output), os.close(stdin)
    groups, since, seconds = os.read(read, 1 << 16).decode(), time.perf_counter(), 0
    while not is_in(groups, name, trees) and seconds is not None:
        groups = Path(f"/proc/{pid}/cgroup").read_text()
        seconds = time.perf_counter() - since
        seconds = seconds if seconds < 1 else None
    os.close(hold), os.close(read)
    os.waitpid(pid, 0)
    return seconds


def started(words, user, moved):
    """Starts a program and waits for its end, which must be 0."""
    _, status = os.waitpid(begun(words, user, moved), 0)
    if status != 0:
        raise RuntimeError(f"{words[0]} ended with {status}")


def begun(words, user, moved):
    """Starts a program, with descriptors of ours in place of its own."""
    if user is None:
        actions = [(os.POSIX_SPAWN_DUP2, one, other) for one, other in moved]
        pid = os.posix_spawn(words[0], words, {}, file_actions=actions)
    else:
        pid = os.fork()
        if pid == 0:
            try:
                for one, other in moved:
                    os.dup2(one, other)
                become(user)
                os.execve(words[0], words, {})
            finally:
                os._exit(127)
    return pid
