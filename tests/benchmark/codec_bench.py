"""Codecs of their published sizes with random weights: transformers and ours in turn, on the same
weights and threads. Prints the ratios ours / transformers, and how long ours takes for 80 ms.

    python tests/benchmark/codec_bench.py --ours build/bin/codec_bench [--threads 2] [--pairs 3]
        [--seconds 10] [--codecs mimi encodec dac] [--processor-time]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def made(name):
    import torch
    from transformers import (DacConfig, DacModel, EncodecConfig, EncodecModel, MimiConfig,
                              MimiModel)

    torch.manual_seed(1)
    model = {"mimi": lambda: MimiModel(MimiConfig()), "encodec": lambda: EncodecModel(
        EncodecConfig()), "dac": lambda: DacModel(DacConfig(
            sampling_rate=44100, downsampling_ratios=[2, 4, 8, 8]))}[name]()
    with torch.no_grad():
        for key, tensor in model.state_dict().items():  # codebooks are zeros at first
            if key.endswith(("embed_sum", "codebook.embed")):
                tensor.normal_()
            elif key.endswith("cluster_usage"):
                tensor.fill_(1)
    return model.eval()


def measure(folder: str, name: str, seconds: float, rounds: int, now) -> None:
    import torch
    from transformers import AutoModel

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    model = AutoModel.from_pretrained(folder).eval()
    audio = 0.1 * torch.randn(1, 1, int(seconds * model.config.sampling_rate))
    encode = {"mimi": lambda: model.encode(audio).audio_codes,
              "encodec": lambda: model.encode(audio).audio_codes,
              "dac": lambda: model.encode(audio).audio_codes}[name]
    with torch.inference_mode():
        codes = encode()
        scales = [None]
        decode = {"mimi": lambda: model.decode(codes), "dac": lambda: model.decode(
            audio_codes=codes), "encodec": lambda: model.decode(codes, scales)}[name]

        def median(work):
            work()
            times = []
            for _ in range(rounds):
                begin = now()
                work()
                times.append(now() - begin)
            return statistics.median(times)

        print(json.dumps({"encode_s": median(encode), "decode_s": median(decode)}))


def compare(args, name: str, folder: str) -> None:
    env = {**os.environ, "OMP_NUM_THREADS": str(args.threads)}
    theirs = [sys.executable, __file__, "--measure", folder, name, "--seconds", str(args.seconds),
              "--rounds", str(args.rounds)]
    ours = [args.ours, name, folder, str(args.seconds), str(args.rounds)]
    if args.processor_time:
        theirs.append("--processor-time")
        ours.append("processor")
    ratios, frames = {"encode_s": [], "decode_s": []}, []
    for _ in range(args.pairs):
        runs = [json.loads(subprocess.check_output(command, env=env, stderr=subprocess.DEVNULL)
                           .splitlines()[-1]) for command in (theirs, ours)]
        print(name, "transformers", runs[0], "ours", runs[1], flush=True)
        for key, values in ratios.items():
            values.append(runs[1][key] / runs[0][key])
        frames.append(runs[1]["frame_ms"])
    for key, values in ratios.items():
        print(f"{name} {key}: {statistics.median(values):.2f} "
              f"({min(values):.2f}-{max(values):.2f}) of transformers")
    print(f"{name} 80 ms as a stream: {statistics.median(frames):.1f} ms", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", default="build/bin/codec_bench")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--codecs", nargs="+", default=["mimi", "encodec", "dac"])
    parser.add_argument("--processor-time", action="store_true",
                        help="of one thread, where other programs run")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        return measure(*args.measure, args.seconds, args.rounds,
                       time.process_time if args.processor_time else time.perf_counter)
    for name in args.codecs:
        with tempfile.TemporaryDirectory() as folder:
            made(name).save_pretrained(folder)
            compare(args, name, str(Path(folder)))


if __name__ == "__main__":
    main()
