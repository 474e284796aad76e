#!/usr/bin/env python3
"""A program on several nodes, as `crosstalk run` starts it: compute, fetch, and again.

    crosstalk run --nodes 2 --scale 50 --vary fabric=ethernet-1g,ethernet-10g -- examples/job.py

Usage: job.py [BYTES [ROUNDS [NUMBERS]]]

Node 0 fetches BYTES from every other node in each of ROUNDS rounds, and computes with NUMBERS numbers in
all. The run ends when node 0 ends; the other nodes serve until they are asked to end.
"""

import os
import socket
import sys
import time

BYTES, ROUNDS, NUMBERS = (int(given or default) for given, default in zip(
    sys.argv[1:] + [""] * 3, (200_000, 4, 5_000_000)))

# What Crosstalk says: the addresses of all nodes, separated by commas, and this node's place among them.
hosts = os.environ.get("CROSSTALK_HOSTS", "127.0.0.1").split(",")
node = int(os.environ.get("CROSSTALK_NODE", "0"))


def port(of):
    """Where a node listens: another port for each, should all be on one machine."""
    return 7000 + of


def connect(to):
    """All nodes start together, so the other one may not listen yet: try again until it does."""
    until = time.monotonic() + 30
    while True:
        try:
            return socket.create_connection((hosts[to], port(to)))
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.005)


def serve():
    """Answers each byte with a block."""
    with socket.create_server((hosts[node], port(node))) as listener:
        client, _ = listener.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while client.recv(1):
            client.sendall(bytes(BYTES))


def fetch(peer):
    """Asks for a block, and reads it whole."""
    peer.sendall(b"?")
    left = BYTES
    while left:
        got = len(peer.recv(min(left, 1 << 16)))
        if got == 0:
            sys.exit("a node has gone")
        left -= got


def work():
    """Node 0's part."""
    peers = [connect(other) for other in range(1, len(hosts))]
    for peer in peers:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    total = 0
    for _ in range(ROUNDS):
        total += sum(number * number for number in range(NUMBERS // ROUNDS))
        for peer in peers:
            fetch(peer)
    print(total)


if node == 0:
    work()
else:
    serve()
