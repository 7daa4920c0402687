"""Busy neighbours of what is timed: neighbours.py PROCESSORS is one, which adds up in a loop on these processors until who
started it ends."""

import ctypes
import os
import signal
import subprocess
import sys


class Neighbours:
    """So many of them, while the context lasts."""

    def __init__(self, count, processors):
        self.count, self.processors, self.processes = count, ",".join(map(str, processors)), []

    def __enter__(self):
        command = [sys.executable, __file__, self.processors]
        self.processes = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(self.count)]
        for process in self.processes:
            if not process.stdout.readline():  # it would say so
                raise RuntimeError("a busy neighbour does not run")
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.communicate()


def main():
    library = ctypes.CDLL(None)
    library.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    library.prctl(15, b"kgen_bench", 0, 0, 0)  # PR_SET_NAME: as worker.name_process() says what belongs to a bench
    os.sched_setaffinity(0, map(int, sys.argv[1].split(",")))
    print(flush=True)
    total = 0
    while True:
        total += 1


if __name__ == "__main__":
    main()
