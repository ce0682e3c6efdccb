"""Loading weights: ours, plain reading of the bytes, and safetensors' Python reader in turn.

    python tests/benchmark/weights_bench.py --ours build/bin/weights_bench [--mib 1024] [--pairs 5]

Once with the file in the page cache, where the work is compared and not the disk, and once with
the file put out of it before every run. Every run fills a model that has its memory already.
Prints ratios of the medians of wall and processor time, and how much memory a run needed beside
the model, as a share of the largest tensor. Rounds alternate, so that a busy machine hurts all
alike.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time


def make_file(path: str, mib: int) -> None:
    """A decoder's tensors in bfloat16, as many layers as fit."""
    import torch
    from safetensors.torch import save_file

    hidden, inner, tensors = 2048, 5632, {}
    tensors["model.embed_tokens.weight"] = torch.randn(32000, hidden)
    size, layer = 2 * 32000 * hidden, 0
    while size < mib * 2**20:
        prefix = f"model.layers.{layer}."
        for name, rows, columns in (
            ("self_attn.q_proj", hidden, hidden),
            ("self_attn.o_proj", hidden, hidden),
            ("mlp.gate_proj", inner, hidden),
            ("mlp.up_proj", inner, hidden),
            ("mlp.down_proj", hidden, inner),
        ):
            tensors[prefix + name + ".weight"] = torch.randn(rows, columns)
            size += 2 * rows * columns
        layer += 1
    save_file({name: tensor.bfloat16() for name, tensor in tensors.items()}, path)


def peak_bytes() -> int:
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def measure(path: str) -> None:
    """safetensors' reader, tensor by tensor into memory that is there."""
    import torch
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        model = {name: torch.ones_like(file.get_tensor(name)) for name in file.keys()}
    with open("/proc/self/clear_refs", "w") as control:
        control.write("5")
    before, begin, processor = peak_bytes(), time.perf_counter(), time.process_time()
    with safe_open(path, framework="pt") as file:
        for name, parameter in model.items():
            parameter.copy_(file.get_tensor(name))
    seconds, processor = time.perf_counter() - begin, time.process_time() - processor
    result = {"seconds": seconds, "processor_s": processor, "extra_bytes": peak_bytes() - before}
    print(json.dumps(result))


def put_out_of_cache(path: str) -> None:
    """What the disk holds already leaves the page cache; other files stay."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def run_rounds(commands: dict, rounds: int, path: str, is_cold: bool) -> dict:
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    runs = {name: [] for name in commands}
    for round_number in range(rounds + 1):
        for name, command in commands.items():
            if is_cold:
                put_out_of_cache(path)
            result = json.loads(subprocess.check_output(command, env=env))
            if round_number > 0:  # the first fills the page cache
                runs[name].append(result)
    return runs


def report(runs: dict, title: str) -> None:
    median = lambda name, key: statistics.median(run[key] for run in runs[name])
    largest = runs["ours"][0]["largest_bytes"]
    print(f"{title}: wall, processor / reading the bytes; memory beside the model / largest tensor")
    for name in runs:
        time = [median(name, key) / median("bytes", key) for key in ("seconds", "processor_s")]
        memory = median(name, "extra_bytes") / largest
        print(f"{name:28}{time[0]:8.2f}{time[1]:8.2f}{memory:8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", default="build/bin/weights_bench")
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        return measure(args.measure)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        make_file(path, args.mib)
        commands = {
            "bytes": [args.ours, path, "bytes"],
            "ours": [args.ours, path, "load"],
            "safetensors": [sys.executable, __file__, "--measure", path],
            "ours, half of the rows": [args.ours, path, "rows"],
            "ours, half of the columns": [args.ours, path, "columns"],
        }
        print(f"{args.mib} MiB of bfloat16, {args.pairs} rounds")
        report(run_rounds(commands, args.pairs, path, False), "in the page cache")
        report(run_rounds(commands, args.pairs, path, True), "from the disk")


if __name__ == "__main__":
    main()
