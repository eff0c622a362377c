#!/usr/bin/env python3
"""Measures comparisons of commits with real processes: false alarms, detected changes, and the precision of each method.

    cargo build --release -p tidemark
    python3 benches/ab.py [aa] [ab] [widths] [--comparisons 500] [--busy 2] [--noise 0.05] [--binary target/release/tidemark]

The benchmarks are in ab.c, which the script compiles. `aa` compares a commit with itself: each change is a false alarm. `ab` makes
one of eight benchmarks 3 % slower. Both run beside `--busy` processes that load the machine in bursts; `--noise` adds normal noise of
this standard deviation to each time. `widths` shows the median width of the confidence intervals of eight equal benchmarks after 40
runs per side, and the median error of the change, which should be 0: one side after the other, interleaved, and as a duet, without
and with the load.

`cargo run --release -p tidemark-stats --example pairs` runs the same test on simulated noise.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from load import Load

# The benchmark that is 3 % slower in `ab`.
SLOWER = "sum"
# Runs per side for the widths.
RUNS = 40


class Repository:
    """A repository with one commit."""

    def __init__(self, folder, binary, noise):
        self.folder, self.binary = os.path.join(folder, "repository"), os.path.abspath(binary)
        os.mkdir(self.folder)
        names = {f"GIT_{who}_{what}": "ab@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        clean = {key: value for key, value in os.environ.items() if key != "CI" and not key.startswith("TIDEMARK_")}
        self.environment = {**clean, **names, "NOISE": str(noise)}
        self.benchmark = os.path.join(folder, "benchmark")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ab.c")
        subprocess.run(("cc", "-O1", "-o", self.benchmark, source, "-lm"), check=True)
        self.call("git", "init", "--quiet", "--initial-branch", "main")
        self.call("git", "commit", "--quiet", "--allow-empty", "--message", "first")

    def call(self, *command, **variables):
        done = subprocess.run(
            command, cwd=self.folder, env={**self.environment, **variables}, check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout

    def compare(self, *flags, **variables):
        command = (self.binary, "run", "--ab", "HEAD", "--json", "--quiet", *flags, self.benchmark)
        return json.loads(self.call(*command, **variables))["comparisons"]

    def separate(self):
        """Measures one side after the other, and compares the files."""
        with tempfile.TemporaryDirectory() as folder:
            for side in ("base", "new"):
                with open(os.path.join(folder, side), "w", encoding="utf-8") as file:
                    for _ in range(RUNS):
                        file.write(self.call("sh", "-c", self.benchmark))
            sides = [os.path.join(folder, side) for side in ("base", "new")]
            compared = self.call(self.binary, "compare", *sides, "--json", "--confidence", "0.99")
            return json.loads(compared)["comparisons"]


def changes(rows):
    return {row["benchmark"] for row in rows if row["verdict"] in ("regression", "improvement", "difference")}


def false_alarms(repository, arguments):
    for flags in ((), ("--duet",)):
        method = " ".join(flags) or "interleaved"
        alarms, rounds, started = 0, [], time.monotonic()
        for _ in range(arguments.comparisons):
            rows = repository.compare(*flags, "--max-time", str(arguments.max_time))
            alarms += bool(changes(rows))
            rounds += [row["base"]["runs"] for row in rows]
        print(
            f"A/A {method}: {alarms} of {arguments.comparisons} comparisons report a change; "
            f"median of {statistics.median(rounds):.0f} rounds per benchmark, {time.monotonic() - started:.0f} s",
            flush=True,
        )


def detected(repository, arguments):
    for flags in ((), ("--duet",)):
        method = " ".join(flags) or "interleaved"
        found, undecided, others, rounds = 0, 0, 0, []
        for _ in range(arguments.comparisons):
            rows = repository.compare(*flags, "--max-time", str(arguments.max_time), SLOWER=SLOWER)
            found += SLOWER in changes(rows)
            undecided += any((row["benchmark"], row["verdict"]) == (SLOWER, "too_few_data") for row in rows)
            others += bool(changes(rows) - {SLOWER})
            rounds += [row["base"]["runs"] for row in rows if row["benchmark"] == SLOWER]
        print(
            f"A/B {method}: {found} of {arguments.comparisons} find +3 % in one of 8 benchmarks; "
            f"{undecided} are inconclusive; median of {statistics.median(rounds):.0f} rounds; {others} report another change",
            flush=True,
        )


def widths(repository, arguments):
    print(f"{RUNS} runs per side of 8 equal benchmarks, {arguments.repeats} times: median width of the 99 % intervals, and")
    print("median error of the change")
    print(f"{'load':15} {'separate':>16} {'interleaved':>16} {'duet':>16}")
    fixed = ("--iter", str(RUNS), "--same-within", "0")
    methods = (
        repository.separate,
        lambda: repository.compare(*fixed),
        lambda: repository.compare(*fixed, "--duet"),
    )
    for name, count in (("none", 0), (f"{arguments.busy} processes", arguments.busy)):
        found = [[] for _ in methods]
        with Load(count):
            for _ in range(arguments.repeats):
                for rows, method in zip(found, methods):
                    rows += method()
        shown = (
            (
                statistics.median(row["upper"] - row["lower"] for row in rows),
                statistics.median(abs(row["change"]) for row in rows),
            )
            for rows in found
        )
        print(f"{name:15}" + "".join(f" {width:8.1%} {error:7.1%}" for width, error in shown), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=["aa", "ab", "widths", []])
    parser.add_argument("--comparisons", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--max-time", type=int, default=120)
    parser.add_argument("--busy", type=int, default=2)
    parser.add_argument("--binary", default="target/release/tidemark")
    parser.add_argument("--noise", type=float, default=0.0)
    arguments = parser.parse_args()
    parts = arguments.parts or ["aa", "ab", "widths"]
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} before the measurement", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        repository = Repository(folder, arguments.binary, arguments.noise)
        if "widths" in parts:
            widths(repository, arguments)
        with Load(arguments.busy):
            if "aa" in parts:
                false_alarms(repository, arguments)
            if "ab" in parts:
                detected(repository, arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
