"""A training run with all loggers and without, in turn.

    python tests/benchmark/compare_loggers.py --ours build/bin/s2s-run \\
        [--config configs/demo.yaml] [--rounds 5] [--steps 40] [--before OTHER/s2s-run] \\
        [OVERRIDE ...]

Prints, for each pair of runs and as their median, how much longer the run with tensorboard, wandb,
mlflow and csv takes per step, as a ratio: wall time and processor time of the whole process, less
those of a run of two steps. Run it on an idle machine; the data set has to exist. With --before,
the run without loggers is that program's: an older one shows what else has been added to a step.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOGGERS = "exp_manager.loggers=[{name: tensorboard}, {name: wandb}, {name: mlflow}, {name: csv}]"
GOAL = 1.01


def run(program, arguments, folder, steps, more):
    """Wall and processor time of a run, in seconds."""
    command = [program, "train", arguments.config, f"exp_manager.explicit_log_dir={folder}",
               f"trainer.max_steps={steps}", "model.lr_scheduler.max_steps=100000",
               "~trainer.val_check_interval",
               "exp_manager.checkpoint_callback_params={every_n_train_steps: 1000000}",
               *arguments.overrides, *more]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT,
                          env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE"})
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ours", required=True)
    parser.add_argument("--config", default="configs/demo.yaml")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--before", help="program of the runs without loggers")
    parser.add_argument("overrides", nargs="*")
    arguments = parser.parse_args()
    ours = str(Path(arguments.ours).resolve())
    before = str(Path(arguments.before).resolve()) if arguments.before else ours
    ratios = []
    with tempfile.TemporaryDirectory() as scratch:
        starts = {program: run(program, arguments, f"{scratch}/start.{i}", 2, [])
                  for i, program in enumerate({before, ours})}
        for i in range(arguments.rounds):
            without = run(before, arguments, f"{scratch}/without.{i}", arguments.steps, [])
            with_all = run(ours, arguments, f"{scratch}/with.{i}", arguments.steps, [LOGGERS])
            pair = [(b - s) / (a - r)
                    for a, b, r, s in zip(without, with_all, starts[before], starts[ours])]
            ratios.append(pair)
            print(f"round {i + 1}: wall time {pair[0]:.4f}, processor time {pair[1]:.4f}")
    for label, column in zip(("wall time", "processor time"), zip(*ratios)):
        middle = statistics.median(column)
        print(f"{label:15} {middle:.4f}  goal {GOAL}  {'met' if middle <= GOAL else 'missed'}")
    print(f"load average of the machine: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
