"""Prints the ratios ours / NeMo of the JSON files that compare_with_nemo.sh left in a folder.

    python tests/benchmark/ratios.py FOLDER ROUNDS

Each round is a pair of runs, one after the other; a ratio is taken within its pair, so that a
machine that is busier in one round than in another hurts both sides alike.
"""

import json
import statistics
import sys
from pathlib import Path

GOALS = {
    "start_to_first_step_s": 0.2,
    "step_s": 0.75,
    "generate_frame_ms": 0.4,
    "peak_memory_bytes": 0.5,
}
BF16_STEP_GOAL = 0.45
LABELS = {
    "start_to_first_step_s": "start to first step",
    "step_s": "training step",
    "generate_frame_ms": "generation per frame",
    "peak_memory_bytes": "peak memory",
}


def value(result, key):
    return result[key]["median"] if isinstance(result[key], dict) else result[key]


def row(label, ratios, goal=None):
    rounds = " ".join(f"{ratio:6.3f}" for ratio in ratios)
    middle = statistics.median(ratios)
    verdict = "" if goal is None else f"  goal {goal:4.2f}  {'met' if middle <= goal else 'missed'}"
    print(f"{label:24}{middle:8.3f}{verdict:20}  rounds: {rounds}")


def main() -> None:
    folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
    load = lambda who, i: json.loads((folder / f"{who}.{i}.json").read_text())
    pairs = [(load("nemo", i), load("ours", i)) for i in range(1, rounds + 1)]
    nemo, ours = pairs[0]
    if nemo["num_parameters"] != ours["num_parameters"]:
        sys.exit(f"not the same model: {nemo['num_parameters']} and {ours['num_parameters']}")
    clock = "processor time of the main thread" if nemo["processor_time"] else "wall time"
    print(
        f"ours / NeMo: {ours['num_parameters']} parameters, "
        f"batch {nemo['batch_size']} x {nemo['seconds']:g} s, threads {ours['threads']}, "
        f"precision {ours['precision']}, {clock}"
    )
    for key, goal in GOALS.items():
        if key == "step_s" and ours["precision"] == "bf16-mixed":
            goal = BF16_STEP_GOAL
        row(LABELS[key], [value(o, key) / value(n, key) for n, o in pairs], goal)
    for part in ("forward", "backward", "optimizer"):
        row("  step: " + part, [o["parts_s"][part] / n["parts_s"][part] for n, o in pairs])
    load_average = max(n["load_average"] for n, _ in pairs)
    print(f"load average of the machine while it ran, at most: {load_average:.1f}")


if __name__ == "__main__":
    main()
