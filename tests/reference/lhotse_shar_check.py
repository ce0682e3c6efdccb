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
    from lhotse import CutSet, MonoCut, Recording, SupervisionSegment
    from lhotse.cut import PaddingCut
    from lhotse.shar import SharWriter
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import lhotse_shar as reference  # noqa: E402

NEMO = pathlib.Path(__file__).parent / "data/nemo_loader"
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


def check_inputs(program, folder):
    """NeMo's manifests, plain and tarred, and a list of sources become a set that Lhotse reads."""
    shar(program, NEMO / "plain.json", folder / "nemo", "--shard-size", 3)
    lines = [json.loads(line) for line in (NEMO / "plain.json").read_text().splitlines()]
    lines = [line for line in lines if not line.get("_skipme")]
    cuts = list(CutSet.from_shar(in_dir=folder / "nemo"))
    assert len(cuts) == len(lines), (len(cuts), len(lines))
    for cut, line in zip(cuts, lines):
        path = NEMO / line["audio_filepath"]
        begin, count = line.get("offset", 0.0), line["duration"]
        rate = Recording.from_file(path).sampling_rate
        expected = Recording.from_file(path).load_audio(offset=begin, duration=count)
        samples = cut.load_audio()
        assert cut.supervisions[0].text == line["text"] and cut.sampling_rate == rate, cut
        assert samples.shape == expected.shape, (cut.id, samples.shape, expected.shape)
        assert np.abs(samples - expected).max() <= 1 / 32768, cut.id
    config = [
        {"type": "nemo_tarred", "weight": 0.9,
         "manifest_filepath": str(NEMO / "tarred/manifest_{0..3}.json"),
         "tarred_audio_filepaths": str(NEMO / "tarred/audio_{0..3}.tar")},
        {"type": "lhotse_shar", "weight": 0.1, "shar_path": str(folder / "theirs")},
    ]
    (folder / "input.yaml").write_text(json.dumps(config))
    shar(program, folder / "input.yaml", folder / "mixed", "--shuffle", "--num-jobs", 2)
    ids = [cut.id for cut in CutSet.from_shar(in_dir=folder / "mixed")]
    tarred = [json.loads(line)["audio_filepath"] for i in range(4) for line in
              (NEMO / f"tarred/manifest_{i}.json").read_text().splitlines()]
    theirs = [cut.id for cut in CutSet.from_shar(in_dir=folder / "theirs")]
    assert set(theirs) < set(ids) and len(ids) > len(theirs), ids
    assert len(ids) - len(theirs) <= len(tarred), (ids, tarred)
    return f"{len(cuts)} of NeMo's, {len(ids)} of a list"


def writes(folder, cut):
    """Whether this lhotse's own writer takes the cut."""
    try:
        with SharWriter(str(folder), fields={"recording": "wav"}) as writer:
            writer.write(cut)
    except (AttributeError, TypeError):
        return False
    return True


def check_mixes(program, folder):
    """Lhotse writes no mixes: a mix becomes what its `to_mono` is, with `target_audio` in step.
    Padding alone is refused there and here; one message says so."""
    one, other = (Recording.from_file(p) for p in sorted((NEMO / "wavs").iterdir())[:2])
    cut = one.to_cut()
    cut.target_audio, cut.note = other, "kept"
    cut.supervisions = [SupervisionSegment("turn", one.id, 0.0, 0.1, text="hello")]
    shorter = cut.truncate(offset=0.02, preserve_id=True)
    mixes = [shorter.pad(duration=0.3, direction="both", preserve_id=True),
             cut.mix(other.to_cut(), offset_other_by=0.05, snr=6, preserve_id="left")]
    for i, mix in enumerate(mixes):
        mix.id = f"mix-{i}"
        assert not writes(folder / f"theirs-{i}", mix)
    CutSet.from_cuts(mixes).to_file(folder / "mixes.jsonl")
    fields = "recording=wav,target_audio=wav"
    shar(program, folder / "mixes.jsonl", folder / "mixes", "--fields", fields)
    for mix, ours in zip(mixes, CutSet.from_shar(in_dir=folder / "mixes")):
        theirs = mix.to_mono(encoding="wav")
        assert isinstance(ours, MonoCut) and ours.id == mix.id and ours.note == "kept"
        assert ours.duration == theirs.duration and ours.start == 0
        assert [s.to_dict() for s in ours.supervisions] == [s.to_dict() for s in
                                                            theirs.supervisions]
        assert np.abs(ours.load_audio() - theirs.load_audio()).max() <= 1 / 32768
        assert ours.load_target_audio().shape == ours.load_audio().shape
    padding = PaddingCut("silence", 1.0, 16000, 0.0, num_samples=16000)
    assert not writes(folder / "theirs-silence", padding)
    CutSet.from_cuts([padding]).to_file(folder / "silence.jsonl")
    words = [folder / "silence.jsonl", folder / "silence", "--fields", "recording=wav"]
    done = subprocess.run([program, "data", "shar", *map(str, words)], capture_output=True,
                          text=True)
    assert done.returncode == 5 and "[data/shar-value]" in done.stderr, done
    assert "silence.jsonl:1" in done.stderr, done.stderr


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
        print("other sources:", check_inputs(program, folder))
        check_mixes(program, folder)
        print("mixes as recordings; padding alone is refused")


if __name__ == "__main__":
    main()
