"""Golden vectors of the augmentations of NeMo's DuplexSTTDataset.

    python tests/reference/nemo_augmentation.py --out tests/reference/data

stt_augmentation.safetensors.gz: `audio` [B, S] with `lens` [B] at `sample_rate`; `file/PATH` [C, N]
are wave files of 32-bit floats (noise/FOLDER/*.wav, rooms/*.wav, microphones/*.wav). For each
case, its options are in the metadata (`case/NAME`, JSON: `seed` and NeMo's keys) and `output/NAME`
is what AudioAugmenter.augment_batch returns with Python's `random` and torch's generator seeded.
Files are read in the order of their names. pyloudnorm (0.2.0) is needed: without it NeMo restores
the root mean square of a convolved row, whatever the options say.

`turns/...` are calls of DuplexSTTDataset._apply_early_interruption_augmentation: row i was made
with seed i, before and after.
"""

import argparse
import glob
import json
import os
import random
import tempfile
from pathlib import Path

import numpy as np
import soundfile as sf
import torch

from nemo.collections.speechlm2.data.duplex_stt_dataset import DuplexSTTDataset
from nemo.collections.speechlm2.parts import augmentation

import reference_file as rf

RATE, ROWS, SAMPLES = 4000, 3, 2600
NOISE = {"use_noise_aug": True, "noise_prob": 1.0, "noise_min_snr": 3, "noise_max_snr": 9}
ROOM = {"use_room_ir_aug": True, "roomir_prob": 1.0}
MICROPHONE = {"use_mic_ir_aug": True, "micir_prob": 1.0}
CASES = {
    "noise": {"seed": 1, **NOISE, "noise_prob_scale_user": 0.0, "noise_prob_low_pass": 0.0},
    "noise_scaled_users": {"seed": 2, **NOISE, "noise_prob_scale_user": 1.0,
                           "noise_prob_scale_user_min_snr": -5, "snr_measure_dur": 0.1},
    "noise_low_pass": {"seed": 3, **NOISE, "noise_prob_low_pass": 1.0},
    "room_loudness": {"seed": 4, **ROOM},
    "room_power": {"seed": 5, **ROOM, "roomir_use_loudness_norm": False},
    "all": {"seed": 6, **NOISE, "noise_prob": 0.9, **ROOM, "roomir_prob": 0.9, **MICROPHONE,
            "micir_prob": 0.9},
    "none": {"seed": 7, **NOISE, "noise_prob": 0.0, **ROOM, "roomir_prob": 1e-9},
}
LENS = [2600, 2100, 1500]  # the last one is too short for a block of loudness


def files(generator) -> dict:
    def noise(channels, length, gain):
        return gain * torch.randn(channels, length, generator=generator)

    def response(length, decay):
        wave = torch.randn(1, length, generator=generator)
        wave *= torch.exp(-torch.arange(length) / decay)
        wave[0, 0] = 1.0
        return 0.5 * wave

    return {
        "noise/indoor/a.wav": noise(1, 1200, 0.2),
        "noise/indoor/b.wav": noise(2, 700, 0.05),
        "noise/street/c.wav": noise(1, 300, 0.1),  # three of it are shorter than a row
        "rooms/hall.wav": response(400, 90.0),
        "rooms/office.wav": response(150, 30.0),
        "microphones/phone.wav": response(60, 8.0),
    }


def augmented(options, audio, folder) -> torch.Tensor:
    cfg = {"noise_aug_path": f"{folder}/noise", "roomir_aug_path": f"{folder}/rooms",
           "micir_aug_path": f"{folder}/microphones", **options}
    random.seed(options["seed"])
    torch.manual_seed(options["seed"])
    augmenter = augmentation.AudioAugmenter(sample_rate=RATE)
    return augmenter.augment_batch(cfg, audio.clone(), torch.tensor(LENS))


BOS, EOS, PAD, WORD = 1, 2, 0, 9
FRAMES, PER_FRAME, OVERLAP, NUM_TURNS = 40, 5, 4, 40


class Tokenizer:
    bos, eos, pad = BOS, EOS, PAD


def interruptions() -> dict:
    dataset = object.__new__(DuplexSTTDataset)
    dataset.tokenizer, dataset.cfg = Tokenizer(), {"early_interruption_overlap_tokens": OVERLAP}
    dataset.frame_length, dataset.source_sample_rate = 0.08, round(PER_FRAME / 0.08)
    rng = random.Random(11)
    density = [rng.choice([0.2, 0.5, 0.9]) for _ in range(NUM_TURNS)]

    def channel(share):
        return [rng.choice([BOS, EOS] + [WORD] * 6) if rng.random() < share else PAD
                for _ in range(FRAMES)]

    target = torch.tensor([channel(d) for d in density])
    source = torch.tensor([channel(d) for d in density])
    lens = torch.tensor([rng.randrange(FRAMES * PER_FRAME // 2, FRAMES * PER_FRAME + 1)
                         for _ in density])
    audio = torch.arange(1, FRAMES * PER_FRAME + 1).float().repeat(NUM_TURNS, 1)
    audio = audio * (torch.arange(audio.shape[1]) < lens[:, None])
    before = {"target_tokens": target, "source_tokens": source, "source_audio": audio}
    after = {name: tensor.clone() for name, tensor in before.items()}
    for row in range(NUM_TURNS):
        random.seed(row)
        dataset._apply_early_interruption_augmentation(
            after["target_tokens"], after["source_tokens"], after["source_audio"], lens, row)
    changed = (after["target_tokens"] != target).any(1).sum().item()
    assert 15 < changed < NUM_TURNS, changed
    return ({f"turns/before/{n}": t for n, t in before.items()}
            | {f"turns/after/{n}": t for n, t in after.items()} | {"turns/source_audio_lens": lens})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    assert augmentation.PYLOUDNORM_AVAILABLE
    in_any_order = glob.glob
    glob.glob = lambda pattern: sorted(in_any_order(pattern))
    generator = torch.Generator().manual_seed(3)
    time = torch.arange(SAMPLES) / RATE
    pitches = [2 * np.pi * (150 + 40 * row) for row in range(ROWS)]
    audio = torch.stack([0.3 * torch.sin(pitch * time) for pitch in pitches])
    audio = (audio + 0.02 * torch.randn(ROWS, SAMPLES, generator=generator)) * (
        torch.arange(SAMPLES) < torch.tensor(LENS)[:, None])
    waves = files(generator)
    tensors = {"audio": audio, "lens": torch.tensor(LENS), "sample_rate": torch.tensor([RATE])}
    tensors |= {f"file/{path}": wave for path, wave in waves.items()}
    with tempfile.TemporaryDirectory() as folder:
        for path, wave in waves.items():
            os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
            sf.write(f"{folder}/{path}", wave.T.numpy(), RATE, subtype="FLOAT")
        for name, options in CASES.items():
            tensors[f"output/{name}"] = augmented(options, audio, folder)
            same = torch.equal(tensors[f"output/{name}"], audio)
            assert same == (name == "none"), name
    path = arguments.out / "stt_augmentation.safetensors.gz"
    metadata = {f"case/{name}": json.dumps(options) for name, options in CASES.items()}
    size = rf.write_safetensors(path, tensors | interruptions(), metadata)
    print(path, size, "bytes")


if __name__ == "__main__":
    main()
