"""The driver of the Spark engine: opens a Spark application and does in it what
the program asks for. Usage: driver.py PORT KEY

It connects to 127.0.0.1:PORT and says {"key", "spark", "java"} (KEY, and both
versions; `java` is null where there is none). Then every line that it reads is a
request, a JSON object whose `do` is one of

  open       master, conf, executors, patience             cluster.py
  pagerank   edges, partitions, iterations, reset, …       pagerank.py
  als        ratings, rank, lambda, iterations, …          als.py
  bayes      corpus, ngrams, min_support, …                bayes.py
  close

and is answered by any number of {"is": "progress", "what"} and then one
{"is": "done", …} or {"is": "failed", "reason", "remedy"?, "fatal"?}. After a fatal
failure the application is gone: the next request must be `open` or `close`. When
the connection closes, driver and JVM end, whatever they are doing then.

Times are in seconds, sizes in bytes. Nothing is written to standard output.
"""

import os
import sys

import als
import bayes
import pagerank
from cluster import Cluster
from conversation import Conversation
from failure import Failure, told
from request import Request


def main():
    # What Spark's scripts print must not disturb who reads our standard output.
    os.dup2(2, 1)
    port, key = sys.argv[1:]
    cluster = Cluster()
    conversation = Conversation(int(port), key, at_end=cluster.end)
    for line in conversation.lines():
        try:
            conversation.say({"is": "done", **answered(Request.read(line), cluster, conversation)})
        except Exception as exception:
            conversation.say({"is": "failed", **told(exception, cluster)})


def answered(request, cluster, conversation):
    """What the request asks for, done."""
    what = request.choice("do", ["open", "pagerank", "als", "bayes", "close"])
    if what == "open":
        return cluster.open(request)
    if what == "close":
        return cluster.close()
    if cluster.context is None:
        raise Failure(f"`{what}` needs an open application", remedy="send `open` first")
    do = {"pagerank": pagerank.run, "als": als.run, "bayes": bayes.run}[what]
    with cluster.watched():
        return do(request, cluster, conversation.progress)


if __name__ == "__main__":
    main()
