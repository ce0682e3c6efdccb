"""Layouts of two processes on the CPU: PyTorch's own and ours, in turn.

    peer/bin/python tests/benchmark/compare_parallel.py --ours build/bin/s2s-run \\
        [--models tiny 100m] [--layouts ddp fsdp tp] [--rounds 3] [--steps 10] [--ranks 2]

Each process has one thread. Prints the ratios ours / PyTorch's of each pair of runs: the median
time of a step (slowest rank), and the high-water mark of resident memory while steps run (largest
rank), once above what each process had before it built the model, once in all. See parallel_peer.py
and `s2s-run bench parallel --help` for what a step is. Run it on an idle machine.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

GOALS = {"step_s": 1.0, "steps_above_start": 0.8, "steps": 0.8}
LABELS = {
    "step_s": "step",
    "steps_above_start": "memory above start",
    "steps": "memory in all",
}
PEER = Path(__file__).with_name("parallel_peer.py")


def run(command: list[str]) -> dict:
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return json.loads(lines[-1])


def value(result: dict, key: str) -> float:
    return result["step_s"] if key == "step_s" else result["memory_bytes"][key]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", default="build/bin/s2s-run")
    parser.add_argument("--models", nargs="+", default=["tiny", "100m"])
    parser.add_argument("--layouts", nargs="+", default=["ddp", "fsdp", "tp"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--warm-up", type=int, default=3)
    parser.add_argument("--ranks", type=int, default=2)
    args = parser.parse_args()
    ranks = str(args.ranks)
    theirs = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    theirs += ["--nproc-per-node", ranks, str(PEER)]
    ours = [args.ours, "launch", "local", "-n", ranks, "--", "bench", "parallel"]
    for model in args.models:
        for layout in args.layouts:
            same = ["--layout", layout, "--model", model]
            same += ["--steps", str(args.steps), "--warm-up", str(args.warm_up)]
            pairs = [(run(theirs + same), run(ours + same)) for _ in range(args.rounds)]
            peer, own = pairs[0]
            if peer["num_parameters"] != own["num_parameters"]:
                sys.exit(f"not the same model: {peer['num_parameters']}, {own['num_parameters']}")
            print(f"{model} {layout}, {args.ranks} ranks, {own['num_parameters']} parameters")
            for key, goal in GOALS.items():
                ratios = [value(o, key) / value(p, key) for p, o in pairs]
                middle = statistics.median(ratios)
                verdict = "met" if middle <= goal else "missed"
                rounds = " ".join(f"{ratio:.3f}" for ratio in ratios)
                print(f"  {LABELS[key]:20}{middle:7.3f}  goal {goal:g} {verdict:8}{rounds}")
            print(f"  load average {os.getloadavg()[0]:.1f}", flush=True)


if __name__ == "__main__":
    main()
