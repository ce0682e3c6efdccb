"""Prints the ratios ours / NeMo of the JSON files that compare_with_nemo.sh left in a folder."""

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


def value(result, key):
    return result[key]["median"] if isinstance(result[key], dict) else result[key]


def main() -> None:
    folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
    load = lambda who, i: json.loads((folder / f"{who}.{i}.json").read_text())
    pairs = [(load("nemo", i), load("ours", i)) for i in range(1, rounds + 1)]
    nemo, ours = pairs[0]
    print(f"parameters {nemo['num_parameters']} and {ours['num_parameters']}, "
          f"threads {ours['threads']}, precision {ours['precision']}, rounds {rounds}")
    print(f"{'figure':24}{'NeMo':>16}{'ours':>16}{'ratio':>8}{'goal':>8}")
    for key, goal in GOALS.items():
        theirs = statistics.median(value(n, key) for n, _ in pairs)
        own = statistics.median(value(o, key) for _, o in pairs)
        shown = 0.45 if key == "step_s" and ours["precision"] == "bf16-mixed" else goal
        print(f"{key:24}{theirs:16.4g}{own:16.4g}{own / theirs:8.3f}{shown:8.2f}")
    for part in ("forward", "backward", "optimizer"):
        theirs = statistics.median(n["parts_s"][part] for n, _ in pairs)
        own = statistics.median(o["parts_s"][part] for _, o in pairs)
        print(f"{'step: ' + part:24}{theirs:16.4g}{own:16.4g}{own / theirs:8.3f}")


if __name__ == "__main__":
    main()
