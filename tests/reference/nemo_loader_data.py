"""The small data sets of nemo_loader.py: a set of every kind that NeMo's Lhotse loader reads."""

import io
import json
import random
import tarfile
from pathlib import Path

import numpy as np
import soundfile as sf
from lhotse import MonoCut, Recording, SupervisionSegment
from lhotse.shar import SharWriter
from omegaconf import OmegaConf

RATE = 8000


def tone(rng, seconds):
    count = int(round(seconds * RATE))
    pitch = rng.uniform(100, 400)
    return (0.2 * np.sin(2 * np.pi * pitch * np.arange(count) / RATE)).astype(np.float32)


def write_tone(path, rng, seconds):
    sf.write(path, tone(rng, seconds), RATE, subtype="PCM_16")


def write_lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def make_waves(rng):
    Path("wavs").mkdir()
    lengths = {}
    for i in range(16):
        lengths[f"wavs/a{i}.flac"] = round(0.1 + 0.05 * i + rng.random() * 0.04, 3)
        write_tone(f"wavs/a{i}.flac", rng, lengths[f"wavs/a{i}.flac"])
    return lengths


def make_nemo(lengths):
    rows = []
    for i, (name, seconds) in enumerate(lengths.items()):
        row = {"audio_filepath": name, "duration": seconds, "text": f"text {i}", "lang": "en"}
        if i % 5 == 1:
            row.update(offset=0.05, duration=round(seconds - 0.07, 3))
        if i % 5 == 2:
            row.update(sampling_rate=RATE, speaker=f"s{i}", answer=f"other {i}")
        if i == 7:
            row["_skipme"] = True
        rows.append(row)
    write_lines(Path("plain.json"), rows)
    for part in range(4):
        write_lines(Path(f"parts/manifest_{part}.json"),
                    [dict(r, audio_filepath=f"../{r['audio_filepath']}") for r in rows[part::4]])
    Path("questions.txt").write_text("".join(f"question {i} \n" for i in range(40)))


def add_member(tar, name, audio):
    with io.BytesIO() as buffer:
        sf.write(buffer, audio, RATE, format="flac", subtype="PCM_16")
        member = tarfile.TarInfo(name)
        member.size = len(buffer.getvalue())
        buffer.seek(0)
        tar.addfile(member, buffer)


def make_tarred(rng):
    every = []
    for shard in range(4):
        rows = []
        Path("tarred").mkdir(exist_ok=True)
        with tarfile.open(f"tarred/audio_{shard}.tar", "w") as tar:
            for i in range(5):
                seconds = round(0.2 + 0.1 * i + 0.01 * shard, 3)
                name = f"t{shard}_{i}.flac"
                add_member(tar, name, tone(rng, seconds))
                row = {"audio_filepath": name, "duration": seconds, "text": f"t {shard} {i}",
                       "lang": "en", "shard_id": shard}
                if i == 4:  # two parts of one recording
                    for part, begin in ((2, 0.3), (1, 0.05)):
                        rows.append(dict(row, audio_filepath=f"t{shard}_{i}-sub{part}.flac",
                                         offset=begin, duration=0.2, text=f"part {part}"))
                else:
                    rows.append(dict(row, _skipme=True) if (shard, i) == (2, 1) else row)
        rng.shuffle(rows)
        write_lines(Path(f"tarred/manifest_{shard}.json"), rows)
        every += rows
    write_lines(Path("tarred/tarred_audio_manifest.json"), every)
    for shard in range(4):  # one entry is missing
        lines = Path(f"tarred/manifest_{shard}.json").read_text().splitlines(True)
        Path("fewer").mkdir(exist_ok=True)
        kept = [line for line in lines if "_2.flac" not in line]
        Path(f"fewer/manifest_{shard}.json").write_text("".join(kept))


def recording_of(name, path):
    info = sf.info(path)
    return Recording.from_dict({
        "id": name, "sampling_rate": info.samplerate, "num_samples": info.frames,
        "duration": info.duration, "channel_ids": [0],
        "sources": [{"type": "file", "channels": [0], "source": str(path)}]})


def dialogue(name, user, agent, turns):
    cut = MonoCut(id=name, start=0, duration=sf.info(user).duration, channel=0,
                  recording=recording_of(f"{name}-user", user), supervisions=turns)
    cut.target_audio = recording_of(f"{name}-agent", agent)
    return cut


def make_dialogues(lengths):
    names = list(lengths)
    for folder, count in (("first", 10), ("second", 6)):
        cuts = []
        for i in range(count):
            path = names[i if folder == "first" else 15 - i]
            name = f"{folder}-{i}"
            half = round(lengths[path] / 2, 3)
            turns = [SupervisionSegment(id=f"{name}-u", recording_id=name, start=0, duration=half,
                                        text=f"ask {i}", speaker="user"),
                     SupervisionSegment(id=f"{name}-a", recording_id=name, start=half,
                                        duration=half, text=f"say {i} now", speaker="agent",
                                        custom={"cer": 0.01 * i})]
            cut = dialogue(name, path, path, turns)
            if i % 4 == 3:
                cut.validation_status = "fail"
            first, second = ("agent", "user") if i % 3 == 0 else ("user", "agent")
            cut.custom[f"{first}_segments"] = [{"start": 0.0, "end": half, "text": "one"},
                                               {"start": half, "end": 2 * half, "text": "three"}]
            cut.custom[f"{second}_segments"] = [{"start": 0.5 * half, "end": half, "text": "two"}]
            cuts.append(cut)
        write_lines(Path(f"{folder}.jsonl"), [cut.to_dict() for cut in cuts])
        Path(f"shar/{folder}").mkdir(parents=True)
        with SharWriter(f"shar/{folder}", {"recording": "flac", "target_audio": "flac"},
                        shard_size=3) as writer:
            for cut in cuts:
                writer.write(cut)


def make_translations(lengths):
    """Cuts, and lines of a manifest, with their text in other languages, too."""
    cuts, rows = [], []
    for i, (path, seconds) in enumerate(list(lengths.items())[:6]):
        texts = {name: {"text": f"{name} {i}", "lang": name, "rank": i, "why": None}
                 for name in ("de", "fr")[:i % 3]}
        cut = MonoCut(id=f"alt-{i}", start=0, duration=sf.info(path).duration, channel=0,
                      recording=recording_of(f"alt-{i}", path), supervisions=[
                          SupervisionSegment(id=f"alt-{i}-0", recording_id=f"alt-{i}", start=0,
                                             duration=0.1, text=f"en {i}", language="en")])
        cut.custom = {"kept": i, "alt_text": texts if i != 3 else None}
        cuts.append(cut.to_dict())
        rows.append({"audio_filepath": path, "duration": seconds, "text": f"en {i}", "lang": "en",
                     "sampling_rate": RATE, "alt_text": texts})
    write_lines(Path("translated.jsonl"), cuts)
    write_lines(Path("translated.json"), rows)


def make_responses(lengths):
    """Recordings that make echoes: any will do."""
    names = list(lengths)[:4]
    write_lines(Path("rooms.jsonl"), [recording_of(f"room{i}", name).to_dict()
                                      for i, name in enumerate(names)])


def make_conversations(lengths):
    names = list(lengths)
    rows, shared = [], []
    for i in range(6):
        heard = {"type": "audio", "from": "User", "value": names[i],
                 "duration": sf.info(names[i]).duration}
        said = {"type": "text", "from": "Assistant", "value": f"answer {i}"}
        more = dict(heard, value=names[i + 1], offset=0.05, duration=0.08)
        rows.append({"id": f"talk-{i}", "conversations": [heard, said] + [more, said] * (i % 2)})
        shared.append({"id": f"share-{i}", "sound": names[i], "conversations": [
            {"from": "human", "value": f"<sound> what is it {i}"},
            {"from": "gpt", "value": f"this {i}"}]})
    write_lines(Path("talks.jsonl"), rows)
    write_lines(Path("shared.jsonl"), shared)


def make_data():
    rng = random.Random(5)
    lengths = make_waves(rng)
    make_nemo(lengths)
    make_tarred(rng)
    make_dialogues(lengths)
    make_conversations(lengths)
    make_translations(lengths)
    make_responses(lengths)
    nested = [{"type": "lhotse_shar", "shar_path": "shar/first", "weight": 3},
              {"type": "lhotse_shar", "shar_path": "shar/second", "weight": 1,
               "tags": {"origin": "nested"}}]
    Path("nested.yaml").write_text(OmegaConf.to_yaml(OmegaConf.create(nested)))
    weighted = [{"type": "nemo_tarred", "weight": 2, "shuffle": True,
                 "manifest_filepath": "tarred/manifest__OP_0..3_CL_.json",
                 "tarred_audio_filepaths": "tarred/audio__OP_0..3_CL_.tar"},
                {"type": "group", "weight": 5, "input_cfg": "nested.yaml"},
                {"type": "lhotse_shar", "shar_path": "shar/second", "weight": 1}]
    Path("weighted.yaml").write_text(OmegaConf.to_yaml(OmegaConf.create(weighted)))
