"""Processes that load the machine in bursts, for measurements beside other work."""

import multiprocessing
import random
import time


def load():
    """Loads the machine in bursts of up to two seconds."""
    while True:
        until = time.monotonic() + random.random() * 2
        while time.monotonic() < until:
            sum(range(10_000))
        time.sleep(random.random() * 2)


class Load:
    """Processes that load the machine."""

    def __init__(self, count):
        self.processes = [multiprocessing.Process(target=load, daemon=True) for _ in range(count)]

    def __enter__(self):
        for process in self.processes:
            process.start()

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
            process.join()
