"""What `s2s-run data convert` makes of generated sources, against lhotse.

    python tests/reference/lhotse_convert_check.py BIN_FOLDER

Kaldi directories and recordings with supervisions: the same cuts as lhotse's own import. Every
kind: lhotse reads and validates the cuts and loads the audio of both speakers.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import soundfile
    from lhotse import CutSet, Recording, RecordingSet, SupervisionSegment, SupervisionSet, validate
    from lhotse.kaldi import load_kaldi_data_dir
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

RANDOM = random.Random(7)

# The data made here holds commands of ours.
os.environ["S2S_ALLOW_COMMANDS"] = "1"


def write_audio(path: Path, rate: int, seconds: float, channels: int = 1) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(len(str(path)))
    samples = noise.normal(0, 0.1, (round(rate * seconds), channels))
    soundfile.write(path, samples, rate)


def convert(binaries: Path, source: Path, out: Path, *options: str) -> CutSet:
    command = [binaries / "s2s-run", "data", "convert", source, out, "--force", *options]
    subprocess.run(command, check=True)
    cuts = CutSet.from_file(out)
    validate(cuts, read_data=True)
    return cuts


def check_equal(ours: CutSet, theirs: CutSet, what: str) -> None:
    a, b = [c.to_dict() for c in ours], [c.to_dict() for c in theirs]
    assert len(a) == len(b) > 0, f"{what}: {len(a)} cuts, lhotse has {len(b)}"
    for x, y in zip(a, b):
        assert x == y, f"{what}:\n ours {json.dumps(x)}\n lhotse {json.dumps(y)}"
    print(f"{what}: {len(a)} cuts equal")


def write_kaldi(folder: Path, with_segments: bool, with_reco2dur: bool) -> None:
    folder.mkdir()
    names = "wav.scp segments text utt2spk spk2gender utt2lang reco2dur".split()
    files = {name: [] for name in names}
    for i in range(20):
        seconds = RANDOM.uniform(1, 3)
        path = folder / f"r{i}.wav"
        write_audio(path, 16000, seconds)
        command = with_reco2dur and i % 3 == 0
        files["wav.scp"].append(f"rec{i:02}  cat {path} |" if command else f"rec{i:02} {path}")
        files["reco2dur"].append(f"rec{i:02} {soundfile.info(path).duration:.4f}")
        utterances = [f"rec{i:02}-{j}" for j in range(i % 4)] if with_segments else [f"rec{i:02}"]
        for utterance in utterances:
            start = round(RANDOM.uniform(0, seconds / 2), 3)
            end = "-1" if RANDOM.random() < 0.2 else f"{RANDOM.uniform(start + 0.1, seconds):.3f}"
            files["segments"].append(f"{utterance} rec{i:02} {start} {end}")
            files["text"].append(f"{utterance} w{i}   hello \u00e9 world ")
            files["utt2spk"].append(f"{utterance} spk{i % 3}")
            files["utt2lang"].append(f"{utterance} en")
    files["spk2gender"] = ["spk0 f", "spk1 m", "spk2 f"]
    for name, lines in files.items():
        wanted = {"segments": with_segments, "reco2dur": with_reco2dur}.get(name, True)
        if wanted:
            (folder / name).write_text("\n".join(lines) + "\n")


def check_kaldi(binaries: Path, folder: Path) -> None:
    for with_segments in (True, False):
        for with_reco2dur in (True, False):
            what = f"kaldi, segments {with_segments}, reco2dur {with_reco2dur}"
            source = folder / what.replace(" ", "")
            write_kaldi(source, with_segments, with_reco2dur)
            recordings, supervisions, _ = load_kaldi_data_dir(source, sampling_rate=16000)
            theirs = CutSet.from_manifests(recordings=recordings, supervisions=supervisions)
            options = ["--sample-rate", "16000"] if with_segments else []
            check_equal(convert(binaries, source, folder / "kaldi.jsonl", *options), theirs, what)


def check_manifests(binaries: Path, folder: Path) -> None:
    recordings, supervisions = [], []
    for i in range(8):
        write_audio(folder / f"m{i}.wav", 8000, 1 + i / 7)
        recordings.append(Recording.from_file(folder / f"m{i}.wav"))
        supervisions += [
            SupervisionSegment(f"s{i}-{j}", f"m{i}", j * 0.3, duration=0.25, text="t", speaker="x")
            for j in range(i % 3)
        ]
    RANDOM.shuffle(supervisions)
    recordings = RecordingSet.from_recordings(recordings)
    supervisions = SupervisionSet.from_segments(supervisions)
    for ending in (".jsonl", ".jsonl.gz"):
        recordings.to_file(folder / f"recordings_a{ending}")
        supervisions.to_file(folder / f"supervisions_a{ending}")
        ours = convert(binaries, folder / f"recordings_a{ending}", folder / f"m{ending}")
        theirs = CutSet.from_manifests(recordings=recordings, supervisions=supervisions)
        check_equal(ours, theirs, f"recordings and supervisions, {ending}")


def check_duplex(binaries: Path, folder: Path) -> None:
    for i in range(3):
        write_audio(folder / f"pairs/user/{i}.wav", 16000, 2)
        write_audio(folder / f"pairs/agent/{i}.wav", 22050, 2)
        write_audio(folder / f"stereo/{i}.wav", 24000, 2, channels=2)
        words = [["hello", [0.1, 0.4], "SPEAKER_MAIN"], ["you", [0.5, 0.8], "SPEAKER_MAIN"]]
        words.append(["yes", [1.0, 1.5], "B"])
        for name in (f"pairs/user/{i}.json", f"stereo/{i}.json"):
            (folder / name).write_text(json.dumps({"alignments": words}))
    sources = {"pairs": 16000, "stereo": 24000}
    for name, rate in sources.items():
        for paths in ("absolute", "relative"):
            out = folder / f"{name}.{paths}.jsonl.gz"
            command = [binaries / "s2s-run", "data", "convert", folder / name, out]
            subprocess.run([*command, "--paths", paths], check=True)
            cuts = CutSet.from_file(out)
            if paths == "relative":
                assert not Path(next(iter(cuts)).recording.sources[0].source).is_absolute()
                continue
            validate(cuts, read_data=True)
            for cut in cuts:
                user, agent = cut.load_audio(), cut.load_target_audio()
                assert user.shape == (1, 2 * rate), user.shape
                assert agent.shape[0] == 1 and agent.shape[1] == 2 * cut.target_audio.sampling_rate
                if name == "stereo":
                    both, _ = soundfile.read(cut.recording.sources[0].source, dtype="float32")
                    assert np.array_equal(user[0], both[:, 1])
                    assert np.array_equal(agent[0], both[:, 0])
                    assert [s.speaker for s in cut.supervisions] == ["agent", "user"]
                    assert cut.supervisions[0].alignment["word"][1].symbol == "you"
            print(f"{name}: {len(list(cuts))} cuts, audio of both speakers read by lhotse")


def main() -> None:
    binaries = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for check in (check_kaldi, check_manifests, check_duplex):
            part = Path(folder) / check.__name__
            part.mkdir()
            check(binaries, part)


if __name__ == "__main__":
    main()
