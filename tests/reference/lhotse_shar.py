"""What core_files_test, core_shar_test and core_streams_test read: a small Shar set with every kind
of field by Lhotse's SharWriter and what Lhotse (1.33.0) reads from it, orders of shards, and single
files (tar, arrays) by the writers that Lhotse uses; with --indexes, by Lhotse 2 (2.0.0a7), the
files that came with it.

    python tests/reference/lhotse_shar.py tests/reference/data/lhotse_shar [--indexes]
"""

import io
import json
import pathlib
import random
import shutil
import sys
import tarfile
import warnings

import numpy as np
from lhotse import CutSet, MonoCut, MultiCut, Recording, SupervisionSegment
from lhotse.array import Array, TemporalArray
from lhotse.audio import AudioSource
from lhotse.features import Features
from lhotse.shar import SharWriter
from lhotse.shar.readers.lazy import LazySharIterator

RATE = 8000


def wave(seed, samples, channels=1):
    noise = np.random.RandomState(seed).randn(channels, samples).astype(np.float32)
    return np.clip(0.2 * noise, -0.9, 0.9)


def recording(name, seed, duration, rate=RATE, channels=1):
    import soundfile
    stream = io.BytesIO()
    samples = round(duration * rate)
    soundfile.write(stream, wave(seed, samples, channels).T, rate, format="WAV", subtype="PCM_16")
    source = AudioSource("memory", list(range(channels)), stream.getvalue())
    return Recording(id=name, sources=[source], sampling_rate=rate, num_samples=samples,
                     duration=samples / rate, channel_ids=list(range(channels)))


def array(values):
    stream = io.BytesIO()
    np.save(stream, values, allow_pickle=False)
    return Array("memory_npy", "", stream.getvalue(), list(values.shape))


def features(values, duration):
    stream = io.BytesIO()
    np.save(stream, values, allow_pickle=False)
    return Features("fbank", len(values), values.shape[1], 0.01, RATE, 0.0, duration, "memory_npy",
                    "", stream.getvalue(), channels=0)


def cut(i):
    kinds = ["plain", "folder/na.me", "gr\u00fc\u00df-" + "n" * 110, "empty"]
    name = f"{kinds[i % 4]}-{i}"
    duration = 0.2 + 0.01 * i
    if i % 5 == 4:
        made = MultiCut(name, 0.05, duration, [0, 1], [])
        made.recording = recording(f"r{i}", i, 0.6, channels=2)
    else:
        made = MonoCut(name, 0.05, duration, 0, [], recording=recording(f"r{i}", i, 0.6))
    made.supervisions = [SupervisionSegment(f"s{i}", f"r{i}", 0.01, 0.1, 0, text="ein W\u00f6rt",
                                            speaker="user")]
    if i % 3 != 2:
        made.target_audio = recording(f"t{i}", 100 + i, 0.6, rate=11025)
        made.meta = {"turns": i, "note": "\u00e4"}
    if i % 4 == 3:
        made.recording = None
    made.embedding = array(np.arange(4, dtype=np.float32) + i)
    if i % 2 == 0:
        steps = np.arange(20, dtype=np.int64).reshape(10, 2) + i
        made.steps = TemporalArray(array(steps), 0, 0.05, 0.0)
        values = np.full((int(duration * 100), 2), i, dtype=np.float32)
        made.features = features(values, duration)
    return made


STORED = ("source", "storage_key", "storage_path", "storage_type", "type")


def without_bytes(value):
    if isinstance(value, dict):
        return {k: without_bytes(v) for k, v in value.items() if k not in STORED}
    return [without_bytes(v) for v in value] if isinstance(value, list) else value


def as_text(item):
    data = item.to_dict()
    data["custom"].pop("shard_origin")
    return without_bytes(data)


def write_shar(folder):
    fields = {"recording": "flac", "target_audio": "wav", "embedding": "numpy", "steps": "numpy",
              "features": "numpy", "meta": "jsonl"}
    folder.mkdir(parents=True)
    with SharWriter(folder, fields, shard_size=4, warn_unused_fields=False) as writer:
        for i in range(10):
            writer.write(cut(i))
    expected = []
    for item in CutSet.from_shar(in_dir=folder):
        line = as_text(item)
        if item.has_recording:
            line["samples"] = item.load_audio()[0, :5].tolist()
        if item.has_custom("target_audio"):
            line["target_samples"] = item.load_target_audio()[0, :5].tolist()
        line["embedding_values"] = item.load_embedding().tolist()
        expected.append(line)
    (folder.parent / "shar_expected.json").write_text(json.dumps(expected))


# Shards, seed, slice_length, cuts of a shard.
ORDERS = [(7, 0, None, 3), (20, 42, None, 2), (5, 123456789012, 2, 6), (4, 7, 9, 5)]


def write_orders(path):
    orders = []
    for shards, seed, slice_length, length in ORDERS:
        folder = path.parent / "orders"
        folder.mkdir()
        for shard in range(shards):
            lines = [MonoCut(f"{shard}-{row}", 0, 1, 0).to_dict() for row in range(length)]
            text = "".join(json.dumps(x) + "\n" for x in lines)
            (folder / f"cuts.{shard:06d}.jsonl").write_text(text)
        cuts = LazySharIterator(in_dir=folder, shuffle_shards=True, seed=seed,
                                slice_length=slice_length)
        passes = [[c.id for c in cuts] for _ in range(3)]
        orders.append({"shards": shards, "length": length, "seed": seed,
                       "slice_length": slice_length, "passes": passes})
        shutil.rmtree(folder)
    path.write_text(json.dumps(orders))


def write_files(folder):
    folder.mkdir()
    with tarfile.open(folder / "members.tar", "w|") as tar:
        long_name = "f/" + "n" * 130
        for name, data in [("a.flac", b"x" * 700), ("a.json", b"{}\n"),
                           ("gr\u00fc\u00df.npy", b"12345"), ("gr\u00fc\u00df.json", b"{}\n"),
                           (long_name + ".wav", b"y" * 512), (long_name + ".json", b""),
                           ("z.nodata", b""), ("z.nometa", b"")]:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    lines = [json.dumps({"id": i, "x": "\u00e4" * (i % 7)}, ensure_ascii=i % 2 == 0)
             for i in range(50)]
    (folder / "lines.jsonl").write_bytes("\n".join(lines).encode())
    for kind in "f4", "f8", ">f4", "i8", "u1":
        name = kind.replace(">", "big_") + ".npy"
        np.save(folder / name, np.arange(12).reshape(3, 4).astype(kind))
    np.save(folder / "fortran.npy", np.asfortranarray(np.arange(12, dtype="<f4").reshape(3, 4)))
    np.save(folder / "scalar.npy", np.float64(2.5))
    np.save(folder / "wide.npy", np.zeros((2, 100000000000, 0), dtype="<i2"))


def write_indexes(folder):
    try:
        from lhotse.indexing import create_jsonl_index, create_tar_index
    except ImportError:
        print("lhotse has no indexes yet (they came with 2.0): they are left as they are")
        return
    create_jsonl_index(folder / "lines.jsonl")
    create_tar_index(folder / "members.tar")


def main():
    out = pathlib.Path(sys.argv[1])
    warnings.simplefilter("ignore")
    if len(sys.argv) > 2 and sys.argv[2] == "--indexes":
        return write_indexes(out / "files")
    for name in ("shar", "files"):
        shutil.rmtree(out / name, ignore_errors=True)
    random.seed(0)
    write_shar(out / "shar")
    write_orders(out / "shar_orders.json")
    write_files(out / "files")


if __name__ == "__main__":
    main()
