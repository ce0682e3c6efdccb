"""Are the metrics of two runs the same?

usage: compare_metrics.py RUN OTHER TOLERANCE

Every number of every line of metrics.jsonl, relative to its size; times and memory aside.
"""

import json
import sys

OF_THE_MACHINE = {"utilization", "peak_memory_bytes"}  # and what ends in seconds


def lasts(key):
    return key not in OF_THE_MACHINE and not key.endswith("_s")


def lines(folder):
    with open(folder + "/metrics.jsonl") as file:
        found = [json.loads(line) for line in file]
    return [{k: v for k, v in line.items() if lasts(k)} for line in found]


def difference(a, b):
    if not isinstance(a, (int, float)):
        return 0.0 if a == b else float("inf")
    return abs(a - b) / max(abs(a), abs(b), 1e-3)


def main():
    expected, found = lines(sys.argv[1]), lines(sys.argv[2])
    tolerance = float(sys.argv[3])
    assert expected, "no metrics"
    assert len(expected) == len(found), f"{len(expected)} lines and {len(found)}"
    largest = 0.0
    for a, b in zip(expected, found):
        assert a.keys() == b.keys(), f"{sorted(a)} and {sorted(b)}"
        for key in a:
            one = difference(a[key], b[key])
            assert one <= tolerance, f"step {a['step']}, {key}: {a[key]} and {b[key]}"
            largest = max(largest, one)
    print(f"{len(found)} lines, largest relative difference {largest:.2g}")


main()
