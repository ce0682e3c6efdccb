"""What lhotse (1.33.0, torchaudio's resampler) loads for cuts that do not fit their files exactly.

    python tests/reference/lhotse_audio.py --out tests/reference/data

lhotse_audio.safetensors: input/NAME are the file's samples; output/CASE what `cut.load_audio()`
gives. The metadata key `cases` is a JSON list of [case, input, rate_hz, manifest_duration_s,
start_s, duration_s, target_rate_hz].
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import soundfile as sf
from lhotse import AudioSource, MonoCut, Recording
from safetensors.numpy import save_file

FILES = {"a16": (16000, 4000), "a22": (22050, 5000)}
CASES = [
    ["whole", "a16", 16000, 0.25, 0.0, 0.25, 22050],
    ["inside", "a16", 16000, 0.25, 0.05, 0.1, 22050],
    ["odd_length", "a22", 22050, 5000 / 22050, 0.01, 0.12345, 16000],
    ["short_file", "a16", 16000, 0.3, 0.0, 0.3, 24000],
    ["short_file_inside", "a16", 16000, 0.3, 0.1, 0.2, 16000],
    ["long_file", "a22", 22050, 0.2, 0.0, 0.2, 16000],
    ["nearly_whole", "a22", 22050, 5000 / 22050, 0.0, 0.2265, 24000],
]


def samples(rate, count):
    t = np.arange(count) / rate
    wave = 0.4 * np.sin(2 * np.pi * (200 + 900 * t) * t) + 0.1 * np.sin(2 * np.pi * 3100 * t)
    return (np.round(wave * 32768) / 32768).astype(np.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    tensors = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (rate, count) in FILES.items():
            tensors[f"input/{name}"] = samples(rate, count)
            sf.write(f"{folder}/{name}.wav", tensors[f"input/{name}"], rate, subtype="PCM_16")
        for case, name, rate, manifest_s, start, duration, to in CASES:
            source = AudioSource("file", [0], f"{folder}/{name}.wav")
            recording = Recording("r", [source], rate, round(manifest_s * rate), manifest_s)
            cut = MonoCut("c", start, duration, 0, recording=recording)
            tensors[f"output/{case}"] = cut.resample(to).load_audio()[0].copy()
    save_file(tensors, out / "lhotse_audio.safetensors", metadata={"cases": json.dumps(CASES)})


if __name__ == "__main__":
    main()
