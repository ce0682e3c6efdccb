"""usage: lhotse_cuts.py OUT.json [NUMBER] [SEED]

Cuts of every kind, operations on them, and what lhotse makes of these: a JSON list of
{"op", "cuts", "args", "expected"}. An expected {"error": ...} means that lhotse refuses.
Used by lhotse_cuts_check.py, and for the small file in data/.
"""

import copy
import itertools
import json
import logging
import random
import re
import sys
import warnings

from lhotse import MonoCut, MultiCut, Recording, SupervisionSegment
from lhotse.array import Array, TemporalArray
from lhotse.audio import AudioSource
from lhotse.augmentation import LoudnessNormalization, Resample, Speed, Volume
from lhotse.cut import MixedCut, PaddingCut
from lhotse.cut.mixed import MixTrack
from lhotse.cut.set import deserialize_cut, mix
from lhotse.features.base import Features
from lhotse.supervision import AlignmentItem

import reference_file as rf

UUID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
TEXTS = ["hello there", "gr\u00fc\u00df dich", "", 'say "no"', "a\\b\nc", "\u4f60\u597d",
         "it's 3 o'clock"]


def in_order_of_ids(items):
    """Turns that begin at the same time come out of lhotse's interval trees in any order."""
    if not all(isinstance(item, dict) and "start" in item for item in items):
        return items
    groups = itertools.groupby(items, key=lambda item: item["start"])
    return [item for _, group in groups for item in sorted(group, key=lambda item: item["id"])]


def normal(value):
    """Without what lhotse writes or not without a difference, and with random ids masked."""
    if isinstance(value, dict):
        items = {k: normal(v) for k, v in value.items()}
        drop = ("custom", "alignment", "transforms")
        return {k: v for k, v in items.items() if not (k in drop and v in ({}, [], None))}
    if isinstance(value, (list, tuple)):
        return in_order_of_ids([normal(v) for v in value])
    if isinstance(value, str) and UUID.match(value):
        return "UUID"
    if isinstance(value, str) and UUID.match(value[:36]):
        return "UUID" + value[36:]
    return value


class Maker:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.count = 0

    def id(self, what):
        self.count += 1
        return f"{what}{self.count}"

    def maybe(self, make, share=0.5):
        return make() if self.rng.random() < share else None

    def seconds(self, low, high):
        value = self.rng.uniform(low, high)
        return round(value, self.rng.choice([0, 1, 2, 3, 5, 8, 12])) or low or 0.5

    def transforms(self, rate):
        kinds = [Speed(factor=1.1), Volume(factor=0.5), LoudnessNormalization(target=-20.0),
                 Resample(source_sampling_rate=8000, target_sampling_rate=rate)]
        return self.rng.sample(kinds, self.rng.randint(0, 2))

    def recording(self, duration, rate, num_channels=1, plain=False):
        rid = self.id("rec-")
        samples = round(duration * rate)
        kind = self.rng.choice(["file"] if plain else ["file", "file", "command", "url", "shar"])
        channels = list(range(num_channels))
        groups = [channels] if self.rng.random() < 0.7 else [[c] for c in channels]
        sources = [AudioSource(kind, g, "" if kind == "shar" else f"audio/{rid}-{i}.wav")
                   for i, g in enumerate(groups)]
        return Recording(id=rid, sources=sources, sampling_rate=rate, num_samples=samples,
                         duration=samples / rate, channel_ids=channels,
                         transforms=None if plain else self.maybe(lambda: self.transforms(rate)))

    def custom_value(self, duration, rate):
        rng = self.rng
        array = Array("numpy_files", "arrays", f"{self.id('a')}.npy", [3, 7])
        return rng.choice([
            lambda: rng.randint(-5, 10**12), lambda: rng.uniform(-1, 1), lambda: rng.choice(TEXTS),
            lambda: None, lambda: True, lambda: [1, 2.5, "x", None, {"deep": [[]]}],
            lambda: {"nested": {"a": [1, {"b": 1e-7}]}, "shape": "round"},
            lambda: {"id": "not a recording"}, lambda: 1e22, lambda: array,
            lambda: TemporalArray(array, 1, 0.1, 0.0),
            lambda: TemporalArray(Array("lilcom_chunky", "x.lca", "0,5", [9000, 2]), 0, 0.01, 0),
            lambda: self.recording(duration, rng.choice([rate, 24000])),
        ])()

    def custom(self, duration, rate):
        custom = {}
        if self.rng.random() < 0.7:
            custom["target_audio"] = self.recording(duration, self.rng.choice([22050, 24000]))
        names = ["tag", "score", "x y", "emb", "extra"]
        for name in self.rng.sample(names, self.rng.randint(0, 3)):
            custom[name] = self.custom_value(duration, rate)
        return custom

    def plain_custom(self):
        values = [1, 2.5, "text", True, None, "gr\u00fc\u00df", [1, "a'b", None],
                  {"k": 1e-5}]
        names = self.rng.sample(["mood", "score", "take"], self.rng.randint(0, 3))
        return {name: self.rng.choice(values) for name in names}

    def alignment(self, start, duration):
        def items():
            n = self.rng.randint(0, 4)
            return [AlignmentItem(self.rng.choice(["hi", "you", "", "\u00df"]),
                                  round(start + duration * i / max(n, 1), 4),
                                  round(duration / max(n, 1), 4),
                                  self.maybe(lambda: round(self.rng.random(), 3)))
                    for i in range(n)]
        kinds = self.rng.sample(["word", "phone", "subword"], self.rng.randint(1, 3))
        return {kind: items() for kind in kinds}

    def supervisions(self, duration, channels, multi, recording_id):
        turns = []
        for _ in range(self.rng.randint(0, 5)):
            start = self.seconds(-0.2 * duration if self.rng.random() < 0.1 else 0, 0.9 * duration)
            length = self.seconds(0.05 * duration, 0.5 * duration)
            channel = self.rng.choice(channels)
            if multi and self.rng.random() < 0.6:
                channel = sorted(self.rng.sample(channels, self.rng.randint(1, len(channels))))
            turns.append(SupervisionSegment(
                id=self.id("sup-"), recording_id=recording_id, start=start, duration=length,
                channel=channel, text=self.maybe(lambda: self.rng.choice(TEXTS), 0.8),
                language=self.maybe(lambda: "English", 0.3),
                speaker=self.maybe(lambda: self.rng.choice(["user", "agent"]), 0.8),
                gender=self.maybe(lambda: "F", 0.2), custom=self.maybe(self.plain_custom, 0.4),
                alignment=self.maybe(lambda: self.alignment(start, length), 0.4)))
        return turns

    def features(self, recording, rate):
        return Features("kaldi-fbank", round(recording.duration * 100), 80, 0.01, rate, 0.0,
                        recording.duration, "lilcom_chunky", "feats.lca", "0,100", recording.id,
                        self.rng.choice([0, [0, 1], None]))

    def data_cut(self, multi=None, rate=None):
        rng = self.rng
        multi = rng.random() < 0.3 if multi is None else multi
        rate = rate or rng.choice([8000, 16000, 16000, 22050, 44100, 48000])
        whole = self.seconds(2, 60)
        recording = self.recording(whole, rate, rng.randint(2, 4) if multi else 1)
        start = 0.0 if rng.random() < 0.4 else self.seconds(0, whole / 2)
        duration = recording.duration if start == 0 else self.seconds(whole / 8, whole / 2)
        channels = recording.channel_ids
        picked = channels[0]
        if multi:
            picked = sorted(rng.sample(channels, rng.randint(1, len(channels))))
        return (MultiCut if multi else MonoCut)(
            id=self.id("cut-"), start=start, duration=duration, channel=picked,
            supervisions=self.supervisions(duration, channels, multi, recording.id),
            features=self.maybe(lambda: self.features(recording, rate), 0.25),
            recording=recording, custom=self.maybe(lambda: self.custom(whole, rate), 0.7))

    def padding(self, rate):
        duration = self.seconds(0.5, 5)
        frames = self.rng.random() < 0.2
        return PaddingCut(
            id=self.id("pad-"), duration=duration, sampling_rate=rate, feat_value=-23.0258509,
            num_frames=round(duration * 100) if frames else None,
            num_features=80 if frames else None, frame_shift=0.01 if frames else None,
            num_samples=round(duration * rate), custom=self.maybe(lambda: {"emb": 0}, 0.2))

    def mixed(self):
        rng = self.rng
        rate = rng.choice([16000, 22050])
        parts = [self.data_cut(rate=rate, multi=False) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.4:
            parts.insert(rng.randint(0, len(parts)), self.padding(rate))
        tracks = []
        for i, cut in enumerate(parts):
            audible = i == 0 or rng.random() < 0.85
            tracks.append(MixTrack(
                cut=cut, offset=0.0 if i == 0 else self.seconds(0, 10),
                snr=self.maybe(lambda: rng.choice([10, -3.5, 0]), 0.4) if i else None,
                tag=self.maybe(lambda: "noise", 0.2),
                is_snr_reference=i == 0 and rng.random() < 0.3, mute=not audible))
        return MixedCut(id=self.id("mix-"), tracks=tracks,
                        transforms=self.maybe(lambda: self.transforms(rate) or None, 0.25))

    def cut(self):
        kind = self.rng.random()
        if kind < 0.5:
            return self.data_cut()
        if kind < 0.6:
            return self.padding(self.rng.choice([16000, 22050]))
        made = self.mixed()
        if self.rng.random() < 0.1:  # a mix inside of a mix
            other = self.data_cut(rate=made.sampling_rate, multi=False)
            try:
                return mix(made, other, offset=1.0, preserve_id="left", snr=5)
            except Exception:
                return made
        return made

    def arguments(self, op, cut):
        rng = self.rng
        some = lambda: self.seconds(0, cut.duration)
        flag = lambda: rng.random() < 0.5
        return {
            "truncate": lambda: {"offset": some() if flag() else 0.0,
                                 "duration": self.maybe(lambda: some() or 1.0, 0.7),
                                 "keep_excessive_supervisions": flag(), "preserve_id": flag()},
            "pad": lambda: {rng.choice(["duration"] * 3 + ["num_samples", "num_frames"]): None,
                            "direction": rng.choice(["left", "right", "both"]),
                            "preserve_id": flag(), "pad_value_dict": {"emb": 0.5}},
            # allow_padding: our mix does not have it. The draw keeps the stored cases.
            "mix": lambda: {"offset": some() * (1.5 if flag() else 1),
                            "allow_padding": flag() and False,
                            "snr": self.maybe(lambda: rng.choice([10, -2.5])),
                            "preserve_id": rng.choice([None, "left", "right"]),
                            "tag": self.maybe(lambda: "tag")},
            "append": lambda: {"snr": self.maybe(lambda: 7.5, 0.3),
                               "preserve_id": rng.choice([None, "left", "right"])},
            "resample": lambda: {"sampling_rate": rng.choice([8000, 16000, 22050, 24000, 44100]),
                                 "affix_id": flag(),
                                 **rng.choice([{}] * 4 + [{"recording_field": "target_audio"}])},
            "perturb_speed": lambda: {"factor": rng.choice([0.9, 1.1, 1.05, 1.0, 0.75]),
                                      "affix_id": flag()},
            "normalize_loudness": lambda: {"target": rng.choice([-20.0, -25.5]), "affix_id": flag(),
                                           "mix_first": flag()},
            "reverb_rir": lambda: {"normalize_output": flag(), "early_only": flag(),
                                   "affix_id": flag(), "room_rng_seed": 7, "source_rng_seed": 9,
                                   "rir_channels": rng.choice([[0], [0], [0, 1]]),
                                   **({} if isinstance(cut, (MonoCut, MultiCut, PaddingCut))
                                      else {"mix_first": flag()})},
            "merge_supervisions": lambda: {
                "merge_policy": rng.choice(["keep_first", "delimiter"]),
                # Our merge does not have merge_channels=False. The draw keeps the stored cases.
                **({"merge_channels": flag() or True} if isinstance(cut, MultiCut) else {})},
            "cut_into_windows": lambda: {"duration": self.seconds(1, 10),
                                         "hop": self.maybe(lambda: self.seconds(1, 5)) or 0,
                                         "keep_excessive_supervisions": flag()},
        }.get(op, dict)()


OPERATIONS = ["truncate", "truncate", "truncate", "pad", "pad", "mix", "mix", "append", "resample",
              "perturb_speed", "perturb_speed", "normalize_loudness", "reverb_rir", "reverb_rir",
              "merge_supervisions", "merge_supervisions", "cut_into_windows", "read"]


def apply(op, cuts, arguments):
    """What lhotse makes of the cuts: one, or several."""
    cut, arguments = cuts[0], dict(arguments)
    if op == "read":
        return cuts
    if op == "mix":
        return [mix(cut, cuts[1], **arguments)]
    if op == "append":
        return [cut.append(cuts[1], **arguments)]
    if op == "reverb_rir" and len(cuts) > 1:
        return [cut.reverb_rir(rir_recording=cuts[1].recording, **arguments)]
    result = getattr(cut, op)(**arguments)
    return list(result) if op == "cut_into_windows" else [result]


def derived(cut):
    made = json.loads(json.dumps(cut.to_dict()))
    made["derived"] = {"duration": cut.duration,
                       "supervisions": [s.to_dict() for s in cut.supervisions]}
    return json.loads(json.dumps(made))


def make_case(maker):
    op = maker.rng.choice(OPERATIONS)
    cut = maker.cut()
    cuts = [cut]
    if op in ("mix", "append"):
        other = maker.cut()
        if other.sampling_rate != cut.sampling_rate and maker.rng.random() < 0.8:
            other = maker.data_cut(rate=cut.sampling_rate)
        cuts.append(other)
    if op == "reverb_rir" and maker.rng.random() < 0.6:
        rate = cut.recording.sampling_rate if hasattr(cut, "recording") else cut.sampling_rate
        rir = maker.recording(0.5, rate, 2, plain=True)
        cuts.append(MultiCut(id="rir", start=0, duration=0.5, channel=[0, 1], supervisions=[],
                             recording=rir))
    arguments = maker.arguments(op, cut)
    if op == "pad":
        key = next(iter(arguments))
        if key == "duration":
            arguments[key] = maker.seconds(0, 2 * cut.duration)
        else:
            arguments[key] = int(maker.seconds(0, 2 * cut.duration) *
                                 (100 if key == "num_frames" else cut.sampling_rate))
    stored = [json.loads(json.dumps(c.to_dict())) for c in cuts]
    case = {"op": op, "cuts": stored, "args": arguments}
    try:
        fresh = [deserialize_cut(copy.deepcopy(c)) for c in stored]
        made = apply(op, fresh, arguments)
        if any(c.duration <= 0 for c in made):
            raise ValueError("a cut of no duration, which ours refuses")
        case["expected"] = normal([derived(c) for c in made])
    except (AssertionError, ValueError) as error:
        case["expected"] = {"error": f"{type(error).__name__}: {error}"[:200]}
    except Exception as error:  # a mistake of lhotse's: what ours does is not compared
        case["expected"] = {"broken": f"{type(error).__name__}: {error}"[:200]}
    return case


def make_cases(number, seed):
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    maker = Maker(seed)
    return [make_case(maker) for _ in range(number)]


def main():
    number = int(sys.argv[2]) if len(sys.argv) > 2 else 120
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    cases = make_cases(number, seed)
    lines = (json.dumps(c, ensure_ascii=False, separators=(",", ":")) for c in cases)
    rf.write_json_gz(sys.argv[1], "[\n" + ",\n".join(lines) + "\n]\n")
    print(f"{len(cases)} cases, {sum('error' in c['expected'] for c in cases)} refused, "
          f"{sum('broken' in c['expected'] for c in cases)} broken")


if __name__ == "__main__":
    main()
