"""A language model's training step: ours and the peers', in turn, on one device.

    peer/bin/python tests/benchmark/compare_llm.py --preset tiny --device cpu
    peer/bin/python tests/benchmark/compare_llm.py --preset 1.1b --device gpu \\
        --precision bf16-true --positions 2048 --batch-size 8

Runs `s2s-run bench llm`, which exports its weights and batch once, and gpu_peer.py on them: each
round runs ours and then every variant. A variant that fails is left out of the other rounds. The
figures of all runs are in --keep after each run, so a kill loses none. Prints a table (Markdown)
of the medians of the rounds with their spread, and the ratio ours / theirs, round by round. A
difference of less than twice the spread says nothing, and is marked so. Run it on an idle machine.

Times are comparable only if all trained the same: the first step's loss within 1e-2 and the
gradient norm within 1 % of ours. Exit code: 0; 1 if that is not so or a variant failed, and the
table has the times all the same.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PEER = Path(__file__).with_name("gpu_peer.py")
MOST_LOSS_DIFFERENCE = 1e-2
MOST_NORM_DIFFERENCE = 1e-2


class Failed(Exception):
    """A run that gave no figures."""


def run(command: list[str], limit_s: float) -> dict:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise Failed(
            f"[benchmark/timeout] {' '.join(command)} took more than {limit_s:g} s"
        ) from None
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        text = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        raise Failed(f"[benchmark/run] {' '.join(command)} ended with {done.returncode}:\n{text}")
    return json.loads(lines[-1])


def keep(folder: str | None, results: dict) -> None:
    """Replaces the file in one go: who is killed while it writes leaves the earlier figures."""
    if folder is None:
        return
    path = Path(folder) / "compare_llm.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(results, indent=1))
    os.replace(part, path)


def relative(theirs: float, ours: float) -> float:
    return abs(theirs - ours) / max(abs(ours), 1e-30)


def inequalities(results: dict) -> list[str]:
    """Prints every first step; what differs from ours by too much."""
    ours = results["ours"][0]
    findings = []
    print("first step: loss, gradient norm")
    for name, rounds in results.items():
        for number, one in enumerate(rounds, 1):
            loss = relative(one["losses"][0], ours["losses"][0])
            norm = relative(one["gradient_norm"], ours["gradient_norm"])
            if number == 1:
                print(f"  {name:14}{one['losses'][0]:.6f}  {one['gradient_norm']:.6f}")
            for what, value, most in (
                ("loss", loss, MOST_LOSS_DIFFERENCE),
                ("gradient norm", norm, MOST_NORM_DIFFERENCE),
            ):
                if not value <= most:
                    findings.append(
                        f"{name}, round {number}: {what} differs by {value:.2g}, at most {most:g}"
                    )
            if one["num_parameters"] != ours["num_parameters"]:
                findings.append(f"{name}: {one['num_parameters']} parameters, not ours")
    return findings


def memory_gb(result: dict) -> float:
    memory = result["memory_bytes"]
    return 1e-9 * memory.get("allocated_peak", memory["resident_peak"])


def row(name: str, rounds: list[dict], ours: list[dict], peak: float) -> str:
    times = [1000 * one["step_s"]["median"] for one in rounds]
    middle = statistics.median(times)
    spread = max(times) - min(times)
    own = [1000 * one["step_s"]["median"] for one in ours]
    ratios = [a / b for a, b in zip(own, times)]
    verdict = f"{statistics.median(ratios):.3f} ({min(ratios):.3f}-{max(ratios):.3f})"
    widest = max(spread, max(own) - min(own))
    if name == "ours":
        verdict = "1"
    elif abs(statistics.median(own) - middle) < 2 * widest:
        verdict += ", no difference"
    tokens = statistics.median(one["tokens_per_s"] for one in rounds)
    mfu = lambda key: 100 * statistics.median(one["mfu"][key] for one in rounds) / peak
    memory = max(memory_gb(one) for one in rounds)
    return (
        f"| {name} | {middle:.3f} ({min(times):.3f}-{max(times):.3f}) | {tokens:.0f} "
        f"| {mfu('teraflops_full'):.1f} % | {mfu('teraflops_causal'):.1f} % "
        f"| {memory:.2f} GB | {verdict} |"
    )


def measure(args) -> tuple[dict, list[str]]:
    ours = [args.ours, "bench", "llm", "--json"]
    for name in ("preset", "device", "precision", "positions", "batch_size", "steps", "warm_up",
                 "recompute", "init"):
        ours += ["--" + name.replace("_", "-"), str(getattr(args, name))]
    if args.clip > 0:
        ours += ["--clip", str(args.clip)]
    results = {name: [] for name in ["ours", *args.variants]}
    failures, left = {}, list(args.variants)
    with tempfile.TemporaryDirectory() as folder:
        exported = str(Path(folder) / "exported")
        for number in range(args.rounds):
            # The ceilings, which the peers are held against, too, are measured in the first round.
            more = ["--export", exported] if number == 0 else ["--no-ceilings"]
            try:
                results["ours"].append(run(ours + more, args.limit))
            except Failed as failure:
                if number == 0:
                    sys.exit(f"error: {failure}")
                failures["ours"] = str(failure)
                break
            keep(args.keep, results)
            device = "cpu" if results["ours"][0]["device"] == "cpu" else "auto"
            for variant in list(left):
                peer = [sys.executable, str(PEER), exported, "--variant", variant]
                try:
                    results[variant].append(run(peer + ["--device", device], args.limit))
                except Failed as failure:
                    failures[variant] = str(failure)
                    left.remove(variant)
                keep(args.keep, results)
    return results, list(failures.values())


def show(args, results: dict) -> list[str]:
    """Prints the table; what is not equal."""
    results = {name: rounds for name, rounds in results.items() if rounds}
    first = results["ours"][0]
    peak = args.peak_tflops or first["mfu"]["peak_teraflops"]
    print(
        f"{args.preset}, {first['num_parameters']} parameters, {args.batch_size} x "
        f"{args.positions} tokens, {args.precision}, {first['device']}, {first['threads']} threads"
    )
    unequal = inequalities(results)
    attention = next((one[0]["attention"] for name, one in results.items() if name != "ours"), "?")
    print(f"attention of the peers: {attention}; peak "
          f"{peak:.4g} TFLOP/s; copy {first['ceilings']['copy_gigabytes_per_s']:.1f} GB/s; "
          f"products and attention alone {first['ceilings']['attainable_share']:.2f} of our step\n")
    print("| | step, ms: median (range) of the rounds | tokens a second | MFU, full "
          "| MFU, causal | memory | ours / this |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, rounds in results.items():
        print(row(name, rounds, results["ours"], peak))
    print(f"\nload average {os.getloadavg()[0]:.1f}")
    return unequal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", default="build/bin/s2s-run")
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "gpu"])
    parser.add_argument("--precision", default="32-true")
    parser.add_argument("--positions", type=int, default=512)
    parser.add_argument("--batch-size", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=5)
    parser.add_argument("--recompute", default="none")
    parser.add_argument("--clip", type=float, default=0)
    parser.add_argument("--init", default="seeded", choices=["seeded", "fast"])
    parser.add_argument("--peak-tflops", type=float, help="default: as ours measured it")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--variants", nargs="+", default=["eager", "compile", "plain"])
    parser.add_argument("--limit", type=float, default=600, help="of one run, in seconds")
    parser.add_argument("--keep", help="folder for every run's figures (JSON)")
    args = parser.parse_args()
    results, failures = measure(args)
    unequal = show(args, results)
    for failure in failures:
        print(f"error: {failure}", file=sys.stderr)
    if unequal:
        print("error: [benchmark/unequal] the times are not of the same training\n  " +
              "\n  ".join(unequal), file=sys.stderr)
    sys.exit(1 if failures or unequal else 0)


if __name__ == "__main__":
    main()
