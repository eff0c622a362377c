#!/usr/bin/env python3
"""Measures comparisons of commits with real processes: false alarms, detected changes, and the precision of each method.

    cargo build --release -p tidemark
    python3 benches/ab.py [aa] [ab] [widths] [--comparisons 500] [--methods interleaved duet] [--busy 2] [--noise 0.05]

The benchmarks are in ab.c, which the script compiles. `aa` compares a commit with itself: each change is a false alarm. `ab` makes
one of eight benchmarks 3 % slower, and computes from the measured noise how many rounds a test with a fixed number of rounds
requires for the same error rates. Both run beside `--busy` processes that load the machine in bursts; `--noise` adds normal noise of
this standard deviation to each time. `widths` shows the median width of the confidence intervals of eight equal benchmarks after 40
runs per side, and the median error of the change, which should be 0: one side after the other, interleaved, and as a duet, without
and with the load.

`cargo run --release -p tidemark-stats --example pairs` runs the same test on simulated noise.
"""

import argparse
import functools
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

from load import Load

# Flags of the methods.
METHODS = {"interleaved": (), "duet": ("--duet",)}
# The benchmark that is 3 % slower in `ab`.
SLOWER = "sum"
# Runs per side for the widths.
RUNS = 40
# Defaults of the comparisons, and number of benchmarks in ab.c.
CONFIDENCE = 0.99
BENCHMARKS = 8
# Simulated comparisons for each number of rounds of a fixed design, and maximum number of rounds.
SIMULATIONS = 1_200
MAX_ROUNDS = 1 << 14


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
    for method in arguments.methods:
        alarms, rounds, started = 0, [], time.monotonic()
        for _ in range(arguments.comparisons):
            rows = repository.compare(*METHODS[method], "--max-time", str(arguments.max_time))
            alarms += bool(changes(rows))
            rounds += [row["base"]["runs"] for row in rows]
        print(
            f"A/A {method}: {alarms} of {arguments.comparisons} comparisons report a change; "
            f"median of {statistics.median(rounds):.0f} rounds per benchmark, {time.monotonic() - started:.0f} s",
            flush=True,
        )


def detected(repository, arguments):
    """Measures the methods alternately, so that a slower or noisier hour affects both."""
    methods = [Detection(method) for method in arguments.methods]
    for index in range(arguments.comparisons):
        for method in methods:
            method.measure(repository, arguments.max_time)
        if (index + 1) % 10 == 0 or index + 1 == arguments.comparisons:
            for method in methods:
                print(method, flush=True)
    for method in methods:
        print(f"A/B {method.method}: {method.fixed_design()}", flush=True)


class Detection:
    """Comparisons by one method in which one benchmark is slower."""

    def __init__(self, method):
        self.method = method
        self.found = self.inconclusive = self.others = 0
        # Rounds of the slower benchmark, and its differences of logarithms, for each comparison.
        self.rounds, self.differences = [], []

    def measure(self, repository, max_time):
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as record:
            rows = repository.compare(*METHODS[self.method], "--max-time", str(max_time), SLOWER=SLOWER, RECORD=record.name)
            values = {"base": [], "new": []}
            for side, name, value in map(str.split, record):
                if name == SLOWER:
                    values[side].append(float(value))
        row = next(row for row in rows if row["benchmark"] == SLOWER)
        self.found += SLOWER in changes(rows)
        self.inconclusive += row["verdict"] == "too_few_data"
        self.others += bool(changes(rows) - {SLOWER})
        self.rounds.append(row["base"]["runs"])
        # In each round of a duet, a side runs twice, and the mean counts.
        runs = 2 if self.method == "duet" else 1
        base, new = (
            [math.log(statistics.mean(values[side][at : at + runs])) for at in range(0, runs * row["base"]["runs"], runs)]
            for side in ("base", "new")
        )
        self.differences.append([after - before for before, after in zip(base, new)])

    def __str__(self):
        return (
            f"A/B {self.method}: {self.found} of {len(self.rounds)} find +3 % in one of 8 benchmarks; {self.inconclusive} are "
            f"inconclusive; {self.others} report another change; median of {statistics.median(self.rounds):.0f} rounds"
        )

    def fixed_design(self):
        """Returns the rounds that a test with a fixed number of rounds requires for the same error rates and the same noise."""
        count = len(self.rounds)
        # The power is below 1, even if every change was found.
        power = min(self.found / count, 1 - 0.5 / count)
        quartiles = [statistics.quantiles(one) for one in self.differences]
        noise = statistics.median((upper - lower) / 1.349 for lower, _, upper in quartiles)
        rounds = fixed_rounds(self.differences, power) or f"more than {MAX_ROUNDS}"
        return (
            f"a signed-rank test with a fixed number of rounds and a power of {power:.1%} requires {rounds}; noise of the "
            f"differences {noise:.1%} (from the quartiles)"
        )


def center(differences):
    """Returns the Hodges-Lehmann estimate: the median of the means of all pairs."""
    return statistics.median((one + other) / 2 for index, one in enumerate(differences) for other in differences[index:])


def signed_rank(differences):
    """Returns the statistic of Wilcoxon's signed-rank test, which is a standard normal value without a change."""
    count = len(differences)
    ranks = enumerate(sorted(differences, key=abs), start=1)
    total = sum(math.copysign(rank, difference) for rank, difference in ranks)
    return total / math.sqrt(count * (count + 1) * (2 * count + 1) / 6)


def fixed_rounds(differences, power):
    """Returns the number of rounds with which a signed-rank test finds +3 % with this power, or None.

    Each simulated comparison draws its noise from one measured comparison. Draws are independent, which favors the fixed design.
    """
    noises = []
    for measured in differences:
        shift = math.log(1.03) - center(measured)
        noises.append([one + shift for one in measured])
    limit = statistics.NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / BENCHMARKS / 2)

    def is_enough(rounds):
        draw = random.Random(rounds)
        draws = (draw.choices(noises[index % len(noises)], k=rounds) for index in range(SIMULATIONS))
        return sum(signed_rank(one) > limit for one in draws) >= power * SIMULATIONS

    enough = 16
    while not is_enough(enough):
        enough *= 2
        if enough > MAX_ROUNDS:
            return None
    few = enough // 2
    while enough - few > enough // 50:
        middle = (few + enough) // 2
        few, enough = (few, middle) if is_enough(middle) else (middle, enough)
    return enough


def widths(repository, arguments):
    print(f"{RUNS} runs per side of 8 equal benchmarks, {arguments.repeats} times: median width of the 99 % intervals, and")
    print("median error of the change")
    print(f"{'load':15} {'separate':>16} {'interleaved':>16} {'duet':>16}")
    fixed = ("--iter", str(RUNS), "--same-within", "0")
    methods = (
        repository.separate,
        *(functools.partial(repository.compare, *fixed, *flags) for flags in METHODS.values()),
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
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
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
