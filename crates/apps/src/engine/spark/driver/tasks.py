"""Where the time of the tasks went, by executor, from Spark's event log.

Every figure is a sum over tasks, not wall time: on a node with two cores they grow
by up to two seconds a second. Spark defines them in
org.apache.spark.executor.TaskMetrics, ShuffleReadMetrics and ShuffleWriteMetrics:

  run            s  executorRunTime: from when a task's code starts to its end
  compute        s  executorCpuTime: processor time of the task's own thread, so
                    without the collector's threads, and without deserialising it
  wait           s  fetchWaitTime: blocked on blocks that come from another node
  serialise      s  executorDeserializeTime + resultSerializationTime: the task's
                    code and its result. Spark does not tell apart what it spends
                    on the records of a shuffle: that is in `compute`
  write          s  shuffleWriteTime: blocked on writing a shuffle's blocks
  gc             s  jvmGCTime: the JVM collected garbage while the task ran; tasks
                    at the same time on the same executor count the same pause
  spill_bytes       memoryBytesSpilled's and diskBytesSpilled's second: bytes on disk
  shuffle_bytes     bytes read from shuffles, wherever they were
  remote_bytes      the part of them that came from another node
  result_bytes      resultSize: what came to the driver
  tasks             how many, failed ones too

Beside them, `host` is where the executor runs.
"""

import gzip
import json
import os
from collections import defaultdict

#: The local property that names what a job belongs to; stages inherit it.
PROPERTY = "crosstalk.counted"
FIGURES = ["run", "compute", "wait", "serialise", "write", "gc",
           "spill_bytes", "shuffle_bytes", "remote_bytes", "result_bytes", "tasks"]
MILLI, NANO = 1e-3, 1e-9


class EventLog:
    """Reads the log of one application while that runs and the log grows. Spark
    gives it the name `path` when the application ends. What was read is kept in
    `kept`, packed, if that is given: a log is a twentieth of its size then, and its
    unpacked text is what Spark's history server reads."""

    def __init__(self, path, kept=None):
        self.path, self.kept, self.read, self.stages = path, kept, 0, {}
        #: What → executor → sums.
        self.sums, self.hosts = defaultdict(lambda: defaultdict(lambda: dict.fromkeys(FIGURES, 0))), {}

    def of(self, what):
        """The sums of all tasks so far of the jobs that belong to `what`."""
        with open(f"{self.path}.inprogress", "rb") as file, self._packed() as packed:
            file.seek(self.read)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self.read += len(line)
                packed.write(line)
                self._take(line)
        return {name: sums | {"host": self.hosts[name]} for name, sums in self.sums[what].items()}

    def _packed(self):
        # A file of gzip may consist of several, one after the other.
        return gzip.open(self.kept, "ab") if self.kept else open(os.devnull, "wb")

    def _take(self, line):
        if line.startswith(b'{"Event":"SparkListenerStageSubmitted"'):
            event = json.loads(line)
            properties = event.get("Properties") or {}
            self.stages[event["Stage Info"]["Stage ID"]] = properties.get(PROPERTY)
        elif line.startswith(b'{"Event":"SparkListenerTaskEnd"'):
            event = json.loads(line)
            what = self.stages.get(event["Stage ID"])
            if what is not None:
                task = event["Task Info"]
                self.hosts[task["Executor ID"]] = task["Host"]
                sums = self.sums[what][task["Executor ID"]]
                for name, value in figures(event.get("Task Metrics") or {}).items():
                    sums[name] += value


def figures(task):
    """One task's figures. Spark counts some in milliseconds, some in nanoseconds."""
    read, write = task.get("Shuffle Read Metrics") or {}, task.get("Shuffle Write Metrics") or {}
    millis = lambda *names: sum(task.get(name, 0) for name in names) * MILLI
    remote = read.get("Remote Bytes Read", 0)
    return {
        "run": millis("Executor Run Time"),
        "compute": task.get("Executor CPU Time", 0) * NANO,
        "wait": read.get("Fetch Wait Time", 0) * MILLI,
        "serialise": millis("Executor Deserialize Time", "Result Serialization Time"),
        "write": write.get("Shuffle Write Time", 0) * NANO,
        "gc": millis("JVM GC Time"),
        "spill_bytes": task.get("Disk Bytes Spilled", 0),
        "shuffle_bytes": remote + read.get("Local Bytes Read", 0),
        "remote_bytes": remote,
        "result_bytes": task.get("Result Size", 0),
        "tasks": 1,
    }
