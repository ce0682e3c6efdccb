"""Prints the ratios theirs / ours of the time to decode FLAC and to resample, one thread each.

    python tests/benchmark/audio_bench.py build/bin/audio_bench [--rounds 3] [--seconds 10]

Theirs: soundfile's read of the bytes and torchaudio's Resample (what lhotse uses for both), in turn
with ours. Processor time, the best of 20 passes; a ratio is taken within its round.
"""

import argparse
import io
import json
import os
import statistics
import subprocess
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import soundfile as sf
import torch
from torchaudio.transforms import Resample

PASSES = 20
PAIRS = [(16000, 22050), (22050, 16000), (48000, 16000), (16000, 24000), (17600, 16000)]


def best_of(work):
    best = float("inf")
    for _ in range(PASSES):
        start = time.thread_time()
        result = work()
        best = min(best, time.thread_time() - start)
    return best, result


def speech(rate, seconds):
    t = np.arange(int(rate * seconds)) / rate
    rng = np.random.default_rng(0)
    beat = np.clip(np.sin(2 * np.pi * 3.1 * t), 0, 1)
    wave = beat * (0.3 * np.sin(2 * np.pi * 170 * t) + 0.1 * np.sin(2 * np.pi * 1900 * t))
    return (wave + beat * 0.03 * rng.standard_normal(t.size)).astype(np.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10)
    args = parser.parse_args()
    torch.set_num_threads(1)
    for source, target in PAIRS:
        with tempfile.NamedTemporaryFile(suffix=".flac") as file:
            sf.write(file.name, speech(source, args.seconds), source)
            data = open(file.name, "rb").read()
            resample = Resample(source, target)
            rows = []
            for _ in range(args.rounds):
                ours = json.loads(subprocess.check_output(
                    [args.program, file.name, str(target), str(PASSES)]))
                decode, audio = best_of(lambda: sf.read(io.BytesIO(data), dtype="float32")[0])
                wave = torch.from_numpy(audio)[None]
                rows.append((decode / ours["decode_s"],
                             best_of(lambda: resample(wave))[0] / ours["resample_s"],
                             ours["resample_s"] / ours["decode_s"]))
        decode, resampling, share = (statistics.median(column) for column in zip(*rows))
        print(f"{source} -> {target}: decoding {decode:.2f}, resampling {resampling:.2f} times as "
              f"fast; resampling takes {share:.2f} of decoding")


if __name__ == "__main__":
    main()
