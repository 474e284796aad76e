"""A real BOINC client in a directory of its own."""

import collections
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from hashlib import md5
from pathlib import Path

from lib import ours
from lib.loads import CORES, running, until

OPTIONS = {
    "no_info_fetch": 1, "dont_contact_ref_site": 1, "suppress_net_info": 1, "skip_cpu_benchmarks": 1,
    "max_file_xfers": 200, "max_file_xfers_per_project": 200, "report_results_immediately": 1,
}
PREFERENCES = {
    "run_if_user_active": 1, "suspend_cpu_usage": 0, "max_ncpus_pct": 100, "cpu_usage_limit": 100,
    "ram_max_used_busy_pct": 90, "ram_max_used_idle_pct": 90, "disk_max_used_pct": 100, "disk_max_used_gb": 0,
    "disk_min_free_gb": 0.01, "work_buf_min_days": 0.05, "leave_apps_in_memory": 1,
}


#: The line in a client's log when the project has acknowledged a report.
ACKNOWLEDGED = re.compile(r"got ack for task (\S+)$", re.MULTILINE)
#: The line in its log when it reports.
REPORTED = re.compile(r"Reporting (\d+) completed tasks", re.MULTILINE)


class Client:
    #: Marks its processes, the application's too.
    MARK, PASSWORD = "CROSSTALK_BENCH_BOINC_CLIENT", "bench"

    def __init__(self, folder, ncpus, environment=None, **preferences):
        """One that runs `ncpus` tasks at a time; `preferences` go before the usual ones."""
        self.folder, self.process, self.port = folder, None, ours.free_port()
        self.environment = {**os.environ, **(environment or {}), self.MARK: str(folder)}
        folder.mkdir()
        write = lambda name, text: (folder / name).write_text(text)
        elements = lambda pairs: "".join(f"<{name}>{value}</{name}>\n" for name, value in pairs.items())
        options = elements({"ncpus": ncpus, **OPTIONS})
        preferences = elements({**PREFERENCES, **preferences})
        flags = elements({"sched_op_debug": 1})
        write("cc_config.xml", f"<cc_config>\n<log_flags>\n{flags}</log_flags>\n<options>\n{options}</options>\n</cc_config>\n")
        write("global_prefs_override.xml", f"<global_preferences>\n{preferences}</global_preferences>\n")
        write("gui_rpc_auth.cfg", self.PASSWORD)

    def start(self, before=()):
        """`before` goes before the command."""
        words = [*before, "boinc", "--dir", self.folder, "--gui_rpc_port", self.port, "--allow_multiple_clients", "--no_gpus"]
        words += ["--pers_retry_delay_min", 1, "--pers_retry_delay_max", 3]
        words += ["--sched_retry_delay_min", 1, "--sched_retry_delay_max", 3]
        with open(self.folder.with_suffix(".log"), "ab") as log:
            self.process = subprocess.Popen(
                [str(word) for word in words], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                cwd=self.folder.parent, env=self.environment,
            )
        if until(lambda: self.rpc("<get_cc_status/>") is not None, 60) is None:
            sys.exit("the BOINC client does not answer")

    def attach(self, url, key):
        ask = f"<project_url>{url}</project_url><authenticator>{key}</authenticator>"
        self.rpc(f"<project_attach>\n{ask}\n<project_name>Crosstalk</project_name>\n</project_attach>")

    def urge(self, url):
        """As an owner who presses "update": else a client waits out its back-off."""
        self.rpc("<network_available/>")
        self.rpc(f"<project_update>\n<project_url>{url}</project_url>\n</project_update>")

    def rpc(self, operation):
        """An operation by the client's own interface; None where it does not answer."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 10) as stream:
                nonce = between(exchange(stream, "<auth1/>"), "nonce")
                digest = md5((nonce + self.PASSWORD).encode()).hexdigest()
                exchange(stream, f"<auth2>\n<nonce_hash>{digest}</nonce_hash>\n</auth2>")
                return exchange(stream, operation)
        except (OSError, ValueError, IndexError):
            return None

    def log(self):
        return self.folder.with_suffix(".log").read_text(errors="replace")

    def acknowledged(self):
        """Result -> how often the project acknowledged its report to this client."""
        return collections.Counter(ACKNOWLEDGED.findall(self.log()))

    def reports(self):
        """How many results this client reported, those that it reported again counted again."""
        return sum(map(int, REPORTED.findall(self.log())))

    def computed(self):
        """Result -> the processor seconds that this client itself noted for it when it had ended well.

        Its log of jobs: pairs of a word and a value behind each job's moment."""
        jobs = {}
        for log in self.folder.glob("job_log_*.txt"):
            for line in log.read_text().splitlines():
                words = line.split()
                values = dict(zip(words[1::2], words[2::2]))
                # A line that was being written when the client was killed ends early.
                if values.get("es") == "0":
                    jobs[values["nm"]] = float(values["ct"])
        return jobs

    def computes(self):
        """Whether a task of it is running (`active_task_state` 1 of `lib/common_defs.h`)."""
        return "<active_task_state>1<" in (self.rpc("<get_results/>") or "")

    def set_mode(self, mode):
        """`never` pauses its tasks, `always` resumes them. Waits until they have done so."""
        self.rpc(f"<set_run_mode>\n<{mode}/>\n<duration>0</duration>\n</set_run_mode>")
        if until(lambda: self.computes() == (mode == "always"), 60) is None:
            sys.exit(f"the BOINC client does not enter the mode `{mode}`")

    def has_tasks(self):
        """Whether it has results still; also where it does not answer."""
        reply = self.rpc("<get_results>\n<active_only>0</active_only>\n</get_results>")
        return reply is None or "<result>" in reply

    def processes(self):
        """Of the client and all that it has started."""
        return list(marked(f"{self.MARK}={self.folder}"))

    def end(self):
        """As when a machine goes down."""
        if self.process:
            crash(self.process)
        clear(f"{self.MARK}={self.folder}")


@contextlib.contextmanager
def computing_client(folder, before=(), **preferences):
    """A client at a project of ours while the block runs, with as many tasks as processors, which compute."""
    words = [ours.CROSSTALK, "boinc-project", folder / "project", "--listen", "127.0.0.1:0", "--task", "600 s"]
    with running(words):
        attach = folder / "project" / "attach.json"
        if until(attach.exists, 60) is None:
            sys.exit("the project does not begin")
        account = json.loads(attach.read_text())
        client = Client(folder / "client", CORES, **preferences)
        try:
            client.start(before)
            client.attach(account["url"], account["key"])
            if until(client.computes, 180) is None:
                sys.exit("the BOINC client does not begin")
            yield client
        finally:
            client.end()


def crash(process):
    process.kill()
    process.wait()


def clear(entry):
    """Kills what carries this entry in its environment, until nothing does."""
    for _ in range(200):
        found = list(marked(entry))
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)


def marked(entry):
    """The processes that carry this entry in their environment."""
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                if entry.encode() in (process / "environ").read_bytes().split(b"\0"):
                    yield int(process.name)
            except OSError:
                pass


def exchange(stream, operation):
    request = f"<boinc_gui_rpc_request>\n{operation}\n</boinc_gui_rpc_request>\n\x03"
    stream.sendall(request.encode())
    reply = b""
    while not reply.endswith(b"\x03"):
        chunk = stream.recv(1 << 16)
        if not chunk:
            raise ValueError("cut short")
        reply += chunk
    return reply.decode(errors="replace")


def between(text, tag):
    return text.split(f"<{tag}>", 1)[1].split(f"</{tag}>", 1)[0]
