"""The peer's loader: lhotse's Shar, buckets and resampling under torch's DataLoader.

    python lhotse_loader_bench.py make FOLDER [--cuts 400]     write the set
    python lhotse_loader_bench.py run FOLDER --workers 2 ...   measure; one JSON object

compare_with_lhotse.py calls it.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

RATE = 16000


def voice(rng, seconds):
    """Noise in syllables with pauses, so that FLAC has something to do."""
    count = round(seconds * RATE)
    noise = rng.normal(0, 1, count)
    smooth = np.convolve(noise, np.hanning(9), mode="same")
    syllables = np.clip(np.sin(np.arange(count) / RATE * 2 * np.pi * rng.uniform(2, 5)), 0, 1)
    turns = np.sin(np.arange(count) / RATE * 2 * np.pi / rng.uniform(3, 8)) > 0
    return (0.05 * smooth * syllables * turns).astype(np.float32)


def make(arguments):
    import io

    import soundfile
    from lhotse import MonoCut, Recording, SupervisionSegment
    from lhotse.shar import SharWriter

    rng = np.random.default_rng(1)
    fields = {"recording": "flac", "target_audio": "flac"}
    folder = Path(arguments.folder)
    folder.mkdir(parents=True, exist_ok=True)

    def recording(name, seconds):
        stream = io.BytesIO()
        soundfile.write(stream, voice(rng, seconds), RATE, format="flac")
        return Recording.from_bytes(stream.getvalue(), name)

    with SharWriter(folder, fields, shard_size=arguments.shard_size) as writer:
        for i in range(arguments.cuts):
            seconds = round(float(np.clip(rng.lognormal(2.1, 0.5), 2, 25)), 3)
            user, agent = recording(f"d{i}-user", seconds), recording(f"d{i}-agent", seconds)
            cut = MonoCut(f"d{i}", 0.0, user.duration, 0, recording=user)
            half = seconds / 2
            for j, speaker in enumerate(("user", "agent")):
                cut.supervisions.append(
                    SupervisionSegment(f"d{i}-{j}", user.id, j * half, half, text="how are you",
                                       speaker=speaker))
            cut.target_audio = agent
            writer.write(cut)


def run(arguments):
    import torch
    from lhotse import CutSet
    from lhotse.dataset import DynamicBucketingSampler, IterableDatasetWrapper, make_worker_init_fn
    from lhotse.dataset.collation import collate_audio

    warnings.filterwarnings("ignore")
    rate = arguments.rate

    class Pairs(torch.utils.data.Dataset):
        def __getitem__(self, cuts):
            seconds = sum(cut.duration for cut in cuts)
            source, source_lens = collate_audio(cuts.resample(rate))
            target, target_lens = collate_audio(
                cuts.resample(rate, recording_field="target_audio"), recording_field="target_audio")
            return source, source_lens, target, target_lens, len(cuts), seconds

    began = time.monotonic()
    cuts = CutSet.from_shar(in_dir=arguments.folder, shuffle_shards=True, seed="randomized",
                            stateful_shuffle=True).repeat()
    sampler = DynamicBucketingSampler(
        cuts, max_duration=arguments.batch_duration, num_buckets=arguments.num_buckets,
        shuffle=True, seed=0, buffer_size=arguments.buffer_size,
        num_cuts_for_bins_estimate=arguments.buffer_size, rank=0, world_size=1)
    loader = torch.utils.data.DataLoader(
        IterableDatasetWrapper(Pairs(), sampler), batch_size=None, num_workers=arguments.workers,
        worker_init_fn=make_worker_init_fn(seed=0))
    totals = dict(batches=0, cuts=0, audio_hours=0.0)
    first_batch_s, start = None, None
    for *audio, count, seconds in loader:
        now = time.monotonic()
        first_batch_s = first_batch_s or now - began
        if start is None:
            if now - began > first_batch_s + arguments.warm_up:
                start = now
            continue
        totals["batches"] += 1
        totals["cuts"] += count
        totals["audio_hours"] += seconds / 3600
        if now - start > arguments.seconds:
            break
    took = now - start
    print(json.dumps({
        "cuts_per_s": totals["cuts"] / took, "audio_hours_per_s": totals["audio_hours"] / took,
        "first_batch_s": first_batch_s, **totals, "seconds": took}))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["make", "run"])
    parser.add_argument("folder")
    parser.add_argument("--cuts", type=int, default=400)
    parser.add_argument("--shard-size", type=int, default=50)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--warm-up", type=float, default=3)
    parser.add_argument("--batch-duration", type=float, default=120)
    parser.add_argument("--num-buckets", type=int, default=10)
    parser.add_argument("--buffer-size", type=int, default=1000)
    parser.add_argument("--rate", type=int, default=22050)
    arguments = parser.parse_args()
    (make if arguments.what == "make" else run)(arguments)


if __name__ == "__main__":
    main()
