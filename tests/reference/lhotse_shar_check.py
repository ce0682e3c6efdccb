"""usage: lhotse_shar_check.py BIN_FOLDER

What Lhotse's SharWriter wrote, `s2s-run data shar` reads and writes again, and Lhotse reads: every
field of every cut has to be what it was. Exit code 77 without lhotse.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    from lhotse import CutSet
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import lhotse_shar as reference  # noqa: E402

FIELDS = "recording=flac,target_audio=wav,embedding=numpy,steps=numpy,features=numpy,meta=jsonl"
# Where the data is differs. Of arrays in time Lhotse writes the stretch of the cut and leaves the
# sizes of all; ours are those of what is written. The rest of a manifest has to be equal.
PLACES = ("shard_origin", "shar_epoch")
SIZES = ("num_frames", "shape")


def shar(program, *words):
    command = [program, "data", "shar", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def without_sizes(value):
    if isinstance(value, dict):
        return {k: without_sizes(v) for k, v in value.items() if k not in SIZES}
    return [without_sizes(v) for v in value] if isinstance(value, list) else value


def manifest_of(cut):
    data = cut.to_dict()
    for name in PLACES:
        data["custom"].pop(name, None)
    return without_sizes(reference.without_bytes(data))


def values_of(cut):
    values = {"embedding": cut.load_embedding()}
    if cut.has_recording:
        values["recording"] = cut.load_audio()
    if cut.has_custom("target_audio"):
        values["target_audio"] = cut.load_target_audio()
    if cut.has_custom("steps"):
        values["steps"] = cut.load_steps()
    if cut.has_features:
        values["features"] = cut.load_features()
    return values


def check_equal(theirs, ours, tolerance=0.0):
    ours, theirs = list(ours), list(theirs)
    assert len(ours) == len(theirs), (len(ours), len(theirs))
    largest = 0.0
    for a, b in zip(theirs, ours):
        assert manifest_of(a) == manifest_of(b), f"\n{manifest_of(a)}\n{manifest_of(b)}"
        before, after = values_of(a), values_of(b)
        assert before.keys() == after.keys()
        for name, values in before.items():
            assert values.shape == after[name].shape, (a.id, name)
            largest = max(largest, float(np.abs(values - after[name]).max()))
    assert largest <= tolerance, largest
    return f"{len(ours)} cuts, largest difference {largest:g}"


# Power of the difference to the power of the samples, which are noise; of opus, which has another
# rate, lengths are compared.
TOLERANCES = {"wav": 0.0, "original": 0.0, "mp3": 0.5, "ogg": 0.5, "opus": None}


def check_formats(program, source, folder):
    """Other formats: samples close to what they were, the manifest the same (opus: 48 kHz)."""
    theirs = [c for c in CutSet.from_shar(in_dir=source) if c.has_recording]
    for kind, tolerance in TOLERANCES.items():
        out = folder / kind
        shar(program, source, out, "--fields", f"recording={kind}")
        ours = [c for c in CutSet.from_shar(in_dir=out) if c.has_recording]
        assert [c.id for c in ours] == [c.id for c in theirs]
        for a, b in zip(theirs, ours):
            if kind == "opus":
                assert b.recording.sampling_rate == 48000 and b.duration == a.duration
                assert b.load_audio().shape[1] == b.recording.num_samples
                continue
            assert b.recording.to_dict()["num_samples"] == a.recording.num_samples
            before, after = a.load_audio(), b.load_audio()
            assert before.shape == after.shape, (kind, a.id)
            share = np.square(before - after).sum() / np.square(before).sum()
            assert share <= tolerance, (kind, a.id, share)


def main():
    program = str(pathlib.Path(sys.argv[1]) / "s2s-run")
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        reference.write_shar(folder / "theirs")
        theirs = list(CutSet.from_shar(in_dir=folder / "theirs"))

        shar(program, folder / "theirs", folder / "ours", "--fields", FIELDS, "--shard-size", 3)
        print("every field:", check_equal(theirs, CutSet.from_shar(in_dir=folder / "ours")))

        shar(program, folder / "theirs", folder / "plain", "--fields", FIELDS, "--shard-size", 0,
             "--plain-jsonl")
        print("one shard:", check_equal(theirs, CutSet.from_shar(in_dir=folder / "plain")))

        shar(program, folder / "theirs", folder / "drawn", "--fields", FIELDS, "--shuffle",
             "--seed", 5)
        order = list(range(len(theirs)))
        reference.random.Random(5).shuffle(order)
        drawn = CutSet.from_shar(in_dir=folder / "drawn")
        print("shuffled:", check_equal([theirs[i] for i in order], drawn))

        check_formats(program, folder / "theirs", folder)
        print("other formats: wav, original, mp3, ogg, opus")


if __name__ == "__main__":
    main()
