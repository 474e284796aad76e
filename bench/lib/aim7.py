"""AIM7 itself: built from its source, and run with one kind of test. Its source is under the GPL and is not
part of this project; whoever has it names it.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

#: How it is built here. Floating-point numbers are kept in memory, as its own build asks for.
FLAGS = "-w -O2 -ffloat-store -D_GNU_SOURCE -DSHARED_OFILE -fcommon -Iinclude -I.".split()
#: A test that does nothing, which tells what the driver itself takes for a job.
EMPTY = "test1"
#: Its time limit of a user is so many seconds where files are as small.
FILE_SIZE = "10k"


class Used(NamedTuple):
    """What a run, or a job, used."""

    user: float
    system: float
    faults: float


class Aim7:
    """AIM7 in a folder of its own."""

    def __init__(self, source, folder):
        self.folder = Path(folder)
        self.tree = self.folder / "aim7"
        fetched(source, self.tree)
        self.patch()
        self.compile()
        # Names of files must be short for it: they are relative to this folder.
        (self.folder / "disk").mkdir()
        # It looks for the files of one of its tests in a folder `data` here, and others list this folder.
        (self.folder / "data").symlink_to(self.tree / "data")
        (self.folder / "config").write_text(f"FILESIZE {FILE_SIZE}\nPOOLSIZE 0k\nDISKDIR disk\n")
        # It syncs all disks of the machine between its steps, which is no part of a job.
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "sync").symlink_to("/bin/true")
        self.environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}

    def patch(self):
        """What its source needs today, and shorter waits between its steps."""
        edit(self.tree / "src/creat_clo.c", r"static int (sigcount|error);", r"static volatile int \1;")
        edit(self.tree / "src/driver.c", r"sleep\(SLEEP\)", "usleep(100000)")
        edit(self.tree / "src/suite.h", r'(#define SCRIPTLOCATION\s+)"[^"]*"', rf'\1"{self.tree / "scripts"}"')
        edit(self.tree / "src/files.h", r"\*ram_c\(\)", "*test1_c(), *ram_c()")
        edit(self.tree / "src/files.h", r"\{\s*ram_c,", "{ test1_c, ram_c,")
        for script in (self.tree / "scripts").iterdir():
            script.chmod(0o755)

    def compile(self):
        sources = [path for part in ("src", "lib") for path in sorted((self.tree / part).glob("*.c"))]
        self.program = self.folder / "reaim"
        words = ["gcc", *FLAGS, "-o", str(self.program), *map(str, sources), "-lm"]
        done = subprocess.run(words, cwd=self.tree, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"AIM7 does not build: {done.stderr[-2000:]}")

    def command(self, test, jobs):
        """One user who does so many jobs of one kind, and no syncs between them."""
        mix = self.folder / "data" / f"mix.{test}"
        mix.write_text(f"10 {test}\n")
        words = [self.program, "-f", f"data/{mix.name}", "-c", "config", "-l", "reaim", "-s1", "-e1", "-t", "-y", f"-j{jobs}"]
        return [str(word) for word in words]

    def run(self, test, jobs):
        """What such a run used, all in all."""
        code, text, used = measured(self.command(test, jobs), self.folder, self.environment)
        if code != 0 or "Max Jobs per Minute" not in text or "Failed" in text:
            sys.exit(f"AIM7 failed in {test}: {text[-2000:]}")
        return used

    def job(self, test, jobs):
        """What a job used on average, without the driver's own share."""
        whole, driver = self.run(test, jobs), self.run(EMPTY, jobs)
        return Used(*(max(0.0, (a - b) / jobs) for a, b in zip(whole, driver)))

    def calls(self, test, jobs):
        """The system calls of a job, without the driver's own."""
        count = lambda name: calls(self.command(name, jobs), self.folder, self.environment)
        return (count(test) - count(EMPTY)) / jobs


def fetched(source, to):
    """Copies the source's folder from a directory or a git directory."""
    source = Path(source)
    to.mkdir(parents=True)
    git = subprocess.run(["git", "--git-dir", str(source), "rev-parse", "HEAD"], capture_output=True)
    if git.returncode == 0:
        archive = subprocess.run(
            ["git", "--git-dir", str(source), "archive", "HEAD:osdl-aim-7"], stdout=subprocess.PIPE, check=True
        )
        subprocess.run(["tar", "-x", "-C", str(to)], input=archive.stdout, check=True)
        return
    inside = source / "osdl-aim-7" if (source / "osdl-aim-7").is_dir() else source
    subprocess.run(["cp", "-r", f"{inside}/.", str(to)], check=True)


def edit(path, pattern, replacement):
    text, count = re.subn(pattern, replacement, path.read_text(errors="surrogateescape"))
    if count == 0:
        sys.exit(f"{path.name} is not as expected: no {pattern}")
    path.write_text(text, errors="surrogateescape")


def measured(words, folder, environment=None):
    """Runs a command: its exit code, its output, and what it used with its children."""
    with open(Path(folder) / "output", "w+") as output:
        process = subprocess.Popen(
            words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        return process.returncode, output.read(), Used(used.ru_utime, used.ru_stime, used.ru_minflt)


def calls(words, folder, environment=None):
    """The system calls of a command with its children, by strace(1)."""
    counts = Path(folder) / "calls"
    code, text, _ = measured(["strace", "-f", "-c", "-o", str(counts), *words], folder, environment)
    if code != 0:
        sys.exit(f"strace failed: {text[-2000:]}")
    for line in counts.read_text().splitlines():
        fields = line.split()
        if fields and fields[-1] == "total":
            # share, seconds, microseconds a call, calls, and errors if there were any
            return int(fields[3])
    sys.exit(f"strace counted nothing: {counts.read_text()[-500:]}")
