"""Loads random cuts of every kind with lhotse and with ours and compares the samples.

    python tests/reference/lhotse_cut_audio_check.py build/bin [--seed 1] [--rounds 2]

The cuts are those of lhotse_cut_audio.py on other audio, and parts of their recordings with random
beginnings and durations, mixed at random ratios and offsets. Exit code 77 without lhotse.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

try:
    import lhotse  # noqa: F401
    import numpy as np
    import torchaudio  # noqa: F401
    from lhotse import CutSet
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

sys.path.insert(0, str(Path(__file__).resolve().parent))
import lhotse_cut_audio as sets  # noqa: E402

NUM_SAMPLES = 20000
TOLERANCE = 1e-5
# Codecs that the two libsndfile were built with differ: encoders choose other bits, and MP3's and
# Opus's decoders round differently. What is compared is that the signal is the same.
LOOSE = 0.05

# The data made here holds commands of ours.
os.environ["S2S_ALLOW_COMMANDS"] = "1"


def random_cuts(rng, recordings):
    """Parts of all transformed recordings, and mixes of those that have one rate."""
    parts = []
    for name, recording in sets.transformed_recordings(recordings):
        if "loose" in name or "random" in name or recording.num_channels > 1:
            continue
        start = round(rng.uniform(0, 0.6) * recording.duration, rng.choice([2, 4, 8]))
        duration = round(rng.uniform(0.1, 0.39) * recording.duration, rng.choice([3, 6]))
        cut = sets.mono(recording, f"random {name}", start, duration)
        yield cut
        if recording.sampling_rate == sets.RATE:
            parts.append(cut)
    for i in range(20):
        one, other = rng.sample(parts, 2)
        snr = rng.choice([None, rng.uniform(-10, 20)])
        mix = one.mix(other, offset_other_by=round(rng.uniform(0, one.duration), 4), snr=snr)
        if rng.random() < 0.5:
            mix = mix.pad(mix.duration + rng.uniform(0.01, 0.3),
                          direction=rng.choice(["left", "right", "both"]))
        borders = " of narrowband" if "narrowband" in one.id + other.id else ""
        yield sets.MixedCut(f"random mix {i}{borders}", mix.tracks)


def theirs(cuts):
    loaded = {}
    for cut in cuts:
        try:
            loaded.update(sets.load(cut))
        except ImportError as error:  # pyloudnorm
            print(f"left out {cut.id}: {error}")
    return loaded


def ours(program, manifest, out):
    subprocess.run([program, manifest, "22050", out], check=True)
    samples = np.fromfile(f"{out}.f32", dtype=np.float32)
    loaded, at = {}, 0
    for entry in json.loads(Path(f"{out}.json").read_text()):
        if len(entry) == 2:
            loaded[entry[0]] = entry[1]
            continue
        name, channels, length = entry
        loaded[name] = samples[at : at + channels * length].reshape(channels, length)
        at += channels * length
    return loaded


def difference(one, other):
    if isinstance(other, str):
        return other
    if one.shape != other.shape:
        return f"shapes {one.shape} and {other.shape}"
    return float(np.abs(one - other).max()) if one.size else 0.0


def within(name, audio, loaded, found):
    """The largest difference is small; a sample on the border of two codes of mu-law may take the
    other one."""
    if isinstance(found, str):
        return False
    if "loose" in name:
        return found <= LOOSE
    if found <= TOLERANCE or "narrowband" not in name:
        return found <= TOLERANCE
    return found <= LOOSE and (np.abs(audio - loaded) > TOLERANCE).mean() < 0.005


def compare(folder, program, cuts):
    CutSet.from_cuts(cuts).to_file(folder / "cuts.jsonl")
    os.chdir(folder)
    os.environ["S2S_AUDIO"] = str(folder)
    expected = theirs(CutSet.from_file("cuts.jsonl"))
    loaded = ours(program, "cuts.jsonl", "ours")
    wrong, largest = [], 0.0
    for name, audio in expected.items():
        found = difference(audio, loaded[name])
        if not within(name, audio, loaded[name], found):
            wrong.append(f"{name}: {found}")
        elif "loose" not in name and "narrowband" not in name:
            largest = max(largest, found)
    return len(expected), wrong, largest


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    program = args.bin.resolve() / "cut_audio_dump"
    failed = False
    for seed in range(args.seed, args.seed + args.rounds):
        rng = random.Random(seed)
        with tempfile.TemporaryDirectory() as folder:
            recordings = sets.make_files(Path(folder), seed, NUM_SAMPLES)
            cuts = list(sets.make_cuts(recordings)) + list(random_cuts(rng, recordings))
            compared, wrong, largest = compare(Path(folder), program, cuts)
            os.chdir("/")
        print(f"seed {seed}: {compared} compared, largest difference {largest:.2e}")
        print("\n".join(wrong))
        failed = failed or bool(wrong) or compared < 100
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
