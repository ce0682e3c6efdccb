"""Our loader beside lhotse under torch's DataLoader, on one FLAC Shar set; prints the ratios.

    S2S_PEER_PYTHON=peer/bin/python python3 tests/benchmark/compare_with_lhotse.py [options]

Both read the same shards in random order, fill the same number of buckets, decode both speakers'
audio, resample it from 16 to 22.05 kHz and pad it, with the same number of workers. Runs alternate;
a ratio is taken within a pair. Memory is the highest sum of the proportional set sizes of all
processes of a side. Needs a built tree and a Python with lhotse, torch and soundfile.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
GOALS = {"cuts_per_s": 4.0, "audio_hours_per_s": 4.0, "peak_pss_bytes": 0.25}
LABELS = {"cuts_per_s": "cuts a second", "audio_hours_per_s": "audio hours a second",
          "peak_pss_bytes": "peak memory of all processes", "first_batch_s": "start to first batch"}


def family(pid):
    """A process and its descendants."""
    pids = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            for child in (task / "children").read_text().split():
                pids += family(int(child))
        except OSError:
            pass
    return pids


def memory(pid):
    total = 0
    for member in family(pid):
        try:
            for line in Path(f"/proc/{member}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += 1024 * int(line.split()[1])
        except OSError:
            pass
    return total


def measured(command):
    """The command's last line as JSON, with the peak of its memory."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=environment, cwd=tempfile.gettempdir())
    peak, ended = 0, threading.Event()

    def watch():
        nonlocal peak
        while not ended.is_set():
            peak = max(peak, memory(process.pid))
            ended.wait(1)  # looking at a process's memory halts it for a moment

    watcher = threading.Thread(target=watch)
    watcher.start()
    out, errors = process.communicate()
    ended.set()
    watcher.join()
    if process.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{errors[-2000:]}")
    return {**json.loads(out.splitlines()[-1]), "peak_pss_bytes": peak}


def block_text(arguments, folder):
    """Our data set's block with the peer's settings. DataLoader holds two batches a worker."""
    return "\n".join([
        "name: cuts", f"shar_path: {folder}", "shuffle: true", "shard_seed: randomized",
        "shuffle_buffer_size: null",  # as many more cuts would wait
        "use_bucketing: true", f"num_buckets: {arguments.num_buckets}",
        f"batch_duration: {arguments.batch_duration:g}",
        f"bucket_buffer_size: {arguments.buffer_size}",
        f"num_cuts_for_bins_estimate: {arguments.buffer_size}",
        f"prefetch_batches: {2 * arguments.workers}", ""])


def row(key, pairs):
    ratios = [ours[key] / theirs[key] for theirs, ours in pairs]
    middle = statistics.median(ratios)
    verdict = ""
    if key in GOALS:
        met = middle >= GOALS[key] if GOALS[key] > 1 else middle <= GOALS[key]
        verdict = f"  goal {GOALS[key]:4.2f}  {'met' if met else 'missed'}"
    rounds = " ".join(f"{ratio:6.2f}" for ratio in ratios)
    print(f"{LABELS[key]:30}{middle:8.2f}{verdict:20}  rounds: {rounds}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=os.environ.get("S2S_PEER_PYTHON", sys.executable))
    parser.add_argument("--binary", default=ROOT / "build/bin/s2s-run", type=Path)
    parser.add_argument("--set", type=Path, help="folder of the set; made when missing")
    parser.add_argument("--cuts", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--batch-duration", type=float, default=120)
    parser.add_argument("--num-buckets", type=int, default=10)
    parser.add_argument("--buffer-size", type=int, default=10000,
                        help="cuts that wait in buckets (NeMo's default)")
    parser.add_argument("--keep", type=Path, help="leave each run's figures (JSON) there")
    arguments = parser.parse_args()
    if not arguments.binary.exists():
        sys.exit("error: [benchmark/build] no build/bin/s2s-run; run bash core/setup.sh first")
    peer = [arguments.python, str(HERE / "lhotse_loader_bench.py")]
    check = [arguments.python, "-c", "import lhotse, soundfile, torch"]
    if subprocess.run(check, stderr=subprocess.DEVNULL, cwd=tempfile.gettempdir()).returncode != 0:
        sys.exit(f"error: [benchmark/peer] {arguments.python} cannot import lhotse; "
                 "set S2S_PEER_PYTHON (see tests/reference/README.md)")
    with tempfile.TemporaryDirectory() as scratch:
        folder = str((arguments.set or Path(scratch) / "set").resolve())
        if not list(Path(folder).glob("cuts.*")):
            subprocess.run([*peer, "make", folder, "--cuts", str(arguments.cuts)], check=True,
                           cwd=scratch)
        block = Path(scratch) / "block.yaml"
        block.write_text(block_text(arguments, folder))
        common = ["--workers", str(arguments.workers), "--seconds", str(arguments.seconds)]
        theirs = [*peer, "run", folder, *common, "--batch-duration", str(arguments.batch_duration),
                  "--num-buckets", str(arguments.num_buckets), "--buffer-size",
                  str(arguments.buffer_size)]
        ours = [str(arguments.binary.resolve()), "bench", "data", str(block), "--json",
                "--source-rate", "22050", "--target-rate", "22050", *common]
        pairs = []
        for number in range(arguments.rounds):
            pairs.append((measured(theirs), measured(ours)))
            print(f"round {number + 1}: lhotse {pairs[-1][0]['cuts_per_s']:.1f} cuts/s, "
                  f"ours {pairs[-1][1]['cuts_per_s']:.1f} cuts/s", file=sys.stderr)
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
        (arguments.keep / "rounds.json").write_text(json.dumps(pairs, indent=1))
    print(f"ours / lhotse with torch's DataLoader: {arguments.workers} workers, batches of "
          f"{arguments.batch_duration:g} s, {arguments.num_buckets} buckets, "
          f"{arguments.buffer_size} cuts waiting")
    for key in LABELS:
        row(key, pairs)
    print(f"load average of the machine after it: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
