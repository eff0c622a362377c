#!/usr/bin/env python3
"""Repeats the A/A run: commits without any change, twelve Python micro-benchmarks, one `tidemark run` each.

    cargo build --release -p tidemark
    python3 benches/aa.py [--runs 220] [--busy 2] [--binary target/release/tidemark]

Prints how many runs have a regression, how often each benchmark has one, and how noisy it is. Nothing has changed, so each
regression is a false alarm. `--busy N` runs N processes beside it that load the machine in bursts. Exits with status 1 if
more than two runs in 220 have a regression.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

from load import Load

BENCHMARKS = {
    "append": "values = []\nfor number in range(2000):\n    values.append(number)",
    "comprehension": "[number * number for number in range(2000)]",
    "dictionary": "{number: str(number) for number in range(800)}",
    "format": "[f'{number:08d}' for number in range(800)]",
    "join": "','.join(str(number) for number in range(1000))",
    "json": "json.loads(json.dumps({'values': list(range(400))}))",
    "lookup": "sum(table[number % 97] for number in range(1500))",
    "set": "set(range(3000)) & set(range(1500, 4500))",
    "sort": "sorted(shuffled)",
    "split": "text.split()",
    "sum": "sum(number for number in range(3000))",
    "while": "count = 0\nwhile count < 2500:\n    count += 1",
}

# Number of repeats of a benchmark, and of executions of its code per repeat.
REPEATS, LOOPS = 10, 16


def measure():
    """Prints the mean time of each benchmark, in the format of Tidemark."""
    chance = random.Random(7)
    shuffled = [chance.random() for _ in range(1500)]
    space = {"json": json, "shuffled": shuffled, "table": list(range(97)), "text": "word " * 3000}
    results = {}
    for name, source in BENCHMARKS.items():
        code = compile(source, name, "exec")
        times = []
        # A repeat takes milliseconds. In a shorter repeat, an interruption by the scheduler would multiply the
        # duration.
        for _ in range(REPEATS):
            started = time.perf_counter_ns()
            for _ in range(LOOPS):
                exec(code, dict(space))
            times.append((time.perf_counter_ns() - started) / LOOPS)
        results[name] = {"latency": {"value": statistics.fmean(times)}}
    print(json.dumps(results))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=220)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--binary", default="target/release/tidemark")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        return measure()
    binary = os.path.abspath(arguments.binary)
    with Load(arguments.busy), tempfile.TemporaryDirectory() as folder:
        return repeat(binary, folder, arguments.runs)


def repeat(binary, folder, runs):
    repository = os.path.join(folder, "repository")
    os.mkdir(repository)
    names = {f"GIT_{who}_{what}": "aa@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    clean = {key: value for key, value in os.environ.items() if key != "CI" and not key.startswith("TIDEMARK_")}
    environment = {**clean, **names, "TIDEMARK_DATA_DIR": os.path.join(folder, "data")}

    def call(*command):
        done = subprocess.run(command, cwd=repository, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout

    call("git", "init", "--quiet", "--initial-branch", "main")
    benchmark = f"'{sys.executable}' '{os.path.abspath(__file__)}' --measure"
    alarms, values = [], {name: [] for name in BENCHMARKS}
    for run in range(runs):
        call("git", "commit", "--quiet", "--allow-empty", "--message", f"run {run}")
        target = ("--local", "--quiet", "--json", "--project", "aa", "--create", "--testbed", "here")
        report = json.loads(call(binary, "run", *target, benchmark))
        for result in report["results"][0]:
            values[result["benchmark"]["name"]].append(result["measures"][0]["metric"]["value"])
        verdict = json.loads(call(binary, "report", "verdict", "--local", "--json", "aa", report["uuid"]))
        for one in verdict["comparisons"]:
            if one["direction"] == "regression":
                alarms.append((run, one["benchmark"]["name"]))
                print(f"run {run}: {one['benchmark']['name']} {one['change']:+.1%}", file=sys.stderr)

    print(f"{'benchmark':15} {'noise':>7} {'regressed':>10}")
    for name, measured in values.items():
        noise = statistics.stdev(measured) / statistics.fmean(measured)
        print(f"{name:15} {noise:7.1%} {sum(alarm == name for _, alarm in alarms):10}")
    false = len({run for run, _ in alarms})
    print(f"{false} of {runs} runs have a regression; nothing has changed.")
    return 1 if false * 220 > 2 * runs else 0


if __name__ == "__main__":
    sys.exit(main())
