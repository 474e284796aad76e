"""Keeps a queue full: sends datagrams of 1,400 B as fast as they leave, with a send buffer that
holds a few. Usage: python -m lib.flood ADDRESS PORT."""

import socket
import sys


def main():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flood:
        flood.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
        flood.connect((sys.argv[1], int(sys.argv[2])))
        while True:
            try:
                flood.send(bytes(1400))
            except ConnectionRefusedError:
                pass


if __name__ == "__main__":
    main()
