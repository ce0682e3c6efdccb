"""Whisper's log-mel features, of transformers' WhisperFeatureExtractor.

    python tests/reference/whisper_mel.py --out tests/reference/data

  whisper_mel.safetensors   input/audio [2, S]: noise that fades in, and the same beside silence;
                               output/MELS [2, T, MELS] float32 for 80 and 128 bands
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from transformers import WhisperFeatureExtractor

import reference_file as rf

SAMPLES = 4000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    rng = np.random.default_rng(11)
    fading = rng.uniform(-1, 1, SAMPLES) * np.linspace(0, 0.5, SAMPLES) ** 2
    beside_silence = np.where(np.arange(SAMPLES) < SAMPLES // 2, fading, 0)
    audio = np.stack([fading, beside_silence]).astype(np.float32)
    tensors = {"input/audio": torch.from_numpy(audio)}
    for mels in (80, 128):
        extractor = WhisperFeatureExtractor(feature_size=mels)
        features = extractor(list(audio), sampling_rate=16000, padding="longest", truncation=False,
                             return_tensors="pt").input_features
        tensors[f"output/{mels}"] = features.transpose(1, 2).float()
    size = rf.write_safetensors(args.out / "whisper_mel.safetensors", tensors, {})
    print(f"whisper_mel.safetensors: {size} bytes")


if __name__ == "__main__":
    main()
