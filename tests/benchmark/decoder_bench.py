"""Decoder of hidden 512 x 8 layers, batch 4 x 125: transformers and ours in turn, both passes.

    python tests/benchmark/decoder_bench.py --ours build/bin/decoder_bench [--threads 2] [--pairs 3]

Prints the ratio ours / transformers of the medians; pairs alternate, so that a busy machine hurts
both alike.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time


def measure(rounds: int) -> None:
    import torch
    from transformers import LlamaConfig, LlamaModel

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    config = LlamaConfig(
        hidden_size=512,
        intermediate_size=1408,
        num_hidden_layers=8,
        num_attention_heads=8,
        num_key_value_heads=8,
        vocab_size=1024,
    )
    model = LlamaModel._from_config(config, attn_implementation="sdpa")
    x = torch.randn(4, 125, 512, requires_grad=True)
    direction = torch.randn(4, 125, 512)
    forward, total = [], []
    for turn in range(rounds + 3):
        model.zero_grad(set_to_none=True)
        x.grad = None
        begin = time.perf_counter()
        y = model(inputs_embeds=x, use_cache=False).last_hidden_state
        middle = time.perf_counter()
        y.backward(direction)
        end = time.perf_counter()
        if turn >= 3:
            forward.append(middle - begin)
            total.append(end - begin)
    facts = {"forward_s": statistics.median(forward), "total_s": statistics.median(total)}
    print(json.dumps({**facts, "best_s": min(total)}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", default="build/bin/decoder_bench")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        return measure(args.rounds)
    env = {**os.environ, "OMP_NUM_THREADS": str(args.threads)}
    theirs_command = [sys.executable, __file__, "--measure", "--rounds", str(args.rounds)]
    ratios = {"forward_s": [], "total_s": [], "best_s": []}
    for _ in range(args.pairs):
        runs = [
            json.loads(subprocess.check_output(command, env=env, stderr=subprocess.DEVNULL))
            for command in (theirs_command, [args.ours, str(args.rounds)])
        ]
        print("transformers", runs[0], "ours", runs[1], flush=True)
        for key, values in ratios.items():
            values.append(runs[1][key] / runs[0][key])
    print({key: round(statistics.median(values), 3) for key, values in ratios.items()})


if __name__ == "__main__":
    main()
