"""Golden vectors of small functions, as JSON (and one safetensors file).

    python tests/reference/small_functions.py --out tests/reference/data [--only NAME]

  bleu.json               sacrebleu.sentence_bleu and corpus_bleu with their defaults, plain and, as
                          NeMo's BLEU metric has it, after the English normaliser
  frames.json.gz          lhotse.utils.compute_num_frames and compute_num_samples
  token_channels.json     NeMo's build_token_channel and time-stamp stripping, with a table
                          text -> ids in place of a tokenizer
  cosine_annealing.json, inverse_square_root_annealing.json, noam_annealing.json
                          NeMo's schedules of these names: the rate each step uses
  resample.safetensors    torchaudio's default kernel. FROM_TO/functional is functional.resample
                          (its kernel is computed in float32; NeMo's own copy gives the same
                          bits), FROM_TO/transform is transforms.Resample (kernel in float64,
                          then rounded; lhotse's loader gives the same bits)
  english_normalizer.json whisper_normalizer.english.EnglishTextNormalizer
"""

import argparse
import random
from pathlib import Path

import torch

import reference_file as rf
import small_texts

RATES = [8000, 16000, 22050, 24000, 44100, 48000]


def bleu_record(score) -> dict:
    return {
        "score": score.score,
        "counts": list(map(int, score.counts)),
        "totals": list(map(int, score.totals)),
        "precisions": list(map(float, score.precisions)),
        "brevity_penalty": float(score.bp),
        "hypothesis_length": int(score.sys_len),
        "reference_length": int(score.ref_len),
    }


def bleu() -> dict:
    import sacrebleu
    from whisper_normalizer.english import EnglishTextNormalizer

    pairs, normalise = small_texts.BLEU_PAIRS, EnglishTextNormalizer()
    sentences = [
        {"hypothesis": h, "reference": r, **bleu_record(sacrebleu.sentence_bleu(h, [r]))}
        for h, r in pairs
    ]
    everything = list(range(len(pairs)))
    groups = [everything, everything[::2], everything[:6], everything[7:15], everything[-8:]]
    groups += [[3], [5], [4, 5], [12], [8, 39]]
    corpora = []
    for group in groups:
        hypotheses, references = zip(*(pairs[i] for i in group))
        plain = sacrebleu.corpus_bleu(list(hypotheses), [list(references)])
        normalised = sacrebleu.corpus_bleu(
            [normalise(h) for h in hypotheses], [[normalise(r) for r in references]]
        )
        record = {"pairs": group, **bleu_record(plain), "normalised": bleu_record(normalised)}
        corpora.append(record)
    return {"sentences": sentences, "corpora": corpora}


def odd_durations(rng, rate, hop_s) -> list:
    """Random durations and those around the edges of rounding."""
    hop = round(hop_s * rate)
    edges = []
    for _ in range(5):
        frame = rng.randrange(0, 400)
        sample = frame * hop + hop // 2
        edges += [sample / rate, (sample - 1) / rate, (sample + 0.5) / rate, frame * hop_s]
        edges += [frame * hop_s + hop_s / 2, round(sample / rate, 3)]
    return edges + [rng.uniform(0, 40) for _ in range(8)] + [round(rng.uniform(0, 9), 2)]


def frames() -> dict:
    from lhotse.utils import compute_num_frames, compute_num_samples

    rng = random.Random(41)
    hops = [0.08, 0.01, 0.02, 0.0125, 0.0464399092970522, 0.04, 0.005, 0.1]
    by_frame, by_sample = [], []
    for rate in RATES + [11025]:
        for hop in hops:
            for duration in odd_durations(rng, rate, hop):
                by_frame.append([duration, hop, rate, compute_num_frames(duration, hop, rate)])
                by_sample.append([duration, rate, compute_num_samples(duration, rate)])
    return {
        "num_frames_columns": "duration_s frame_length_s rate_hz frames",
        "num_frames": by_frame,
        "num_samples_columns": "duration_s rate_hz samples",
        "num_samples": by_sample,
    }


class TableTokenizer:
    """text -> ids from a table; what build_token_channel needs of a tokenizer."""

    bos, eos, pad = 1, 2, 0

    def __init__(self, table):
        self.text_to_ids = table.__getitem__


def make_cut(spec):
    from lhotse import MonoCut, Recording, SupervisionSegment

    rate = spec["sampling_rate"]
    num_samples = int(spec["duration"] * rate) + 1
    recording = Recording("r", [], rate, num_samples, num_samples / rate)
    supervisions = [
        SupervisionSegment(f"s{i}", "r", turn["start"], turn["duration"], text=turn["text"],
                           speaker=turn["speaker"])
        for i, turn in enumerate(spec["turns"])
    ]
    return MonoCut("c", 0, spec["duration"], 0, supervisions=supervisions, recording=recording)


def turn(speaker, start, duration, text) -> dict:
    return {"speaker": speaker, "start": start, "duration": duration, "text": text}


def written_cuts() -> list:
    """Cuts that each show one rule."""
    golden = [turn("user", 0.0, 0.1, "hi"), turn("assistant", 0.3, 0.1, "hello"),
              turn("user", 0.5, 0.1, "ok"), turn("assistant", 0.6, 0.4, "okay")]
    return [
        (1.0, golden, "every rule at once"),
        (2.0, [turn("agent", 0.4, 0.24, "six")], "EOS replaces text, text runs on"),
        (2.0, [turn("agent", 0.4, 1.2, "three")], "EOS long after the text"),
        (1.0, [turn("agent", 0.6, 0.3, "nine")], "text clipped at the end of the cut"),
        (1.0, [turn("agent", 0.6, 5.0, "three")], "turn ends beyond the cut: no EOS"),
        (1.0, [turn("agent", 1.04, 0.5, "three")], "starts at the very end: nothing is written"),
        (1.0, [turn("agent", 3.0, 0.5, "three")], "starts beyond the end: skipped"),
        (2.0, [turn("agent", 0.0, 0.8, "three"), turn("agent", 0.8, 0.8, "two")],
         "adjacent turns: BOS replaces EOS"),
        (2.0, [turn("agent", 0.8, 0.8, "two"), turn("agent", 0.0, 0.8, "three")],
         "the same in the other order: EOS replaces BOS"),
        (2.0, [turn("agent", 0.0, 0.24, "nine"), turn("agent", 0.4, 0.8, "two")],
         "long text is overwritten by the next turn"),
        (1.0, [turn("agent", 0.3, 0.0, "one")], "a turn of no length"),
        (1.0, [turn("agent", 0.3, 0.4, "")], "no text"),
        (1.0, [turn("agent", 0.1, 0.6, "<|0|> hello <|3|> <|4|> okay  there <|9|>")],
         "time stamps"),
        (0.03, [turn("agent", 0.0, 0.03, "one")], "shorter than a frame"),
    ]


def random_cuts(rng, texts) -> list:
    cuts = []
    for _ in range(60):
        duration = round(rng.uniform(0.3, 6.0), rng.choice([1, 2, 3, 6]))
        turns, now = [], 0.0
        while now < duration + 0.3:
            length = round(rng.uniform(0.05, 2.0), 3)
            speaker = rng.choice(["user", "User", "agent", "Assistant", "other"])
            turns.append(turn(speaker, round(now, 3), length, rng.choice(texts)))
            now += length + rng.choice([0.0, -0.3, 0.1, 0.7])
            now = max(0.0, now)
        cuts.append((duration, turns, "random"))
    return cuts


def token_channels() -> dict:
    from nemo.collections.speechlm2.data import s2s_dataset

    words = {"one": 1, "two": 2, "three": 3, "six": 6, "nine": 9, "hi": 1, "hello": 1, "ok": 1}
    words.update({"okay": 1, "": 0, "hello okay there": 3})
    table, next_id = {}, 10
    for text, count in words.items():
        table[text] = list(range(next_id, next_id + count))
        next_id += 10
    rng = random.Random(42)
    roles = {"output_roles": ["agent", "Assistant", "assistant"], "input_roles": ["user", "User"]}
    cases = []
    plain = [t for t in words if t]
    for number, (duration, turns, about) in enumerate(written_cuts() + random_cuts(rng, plain)):
        rates = [16000, 22050] if about != "random" else [RATES[number % len(RATES)]]
        for rate in rates:
            spec = {"about": about, "duration": duration, "sampling_rate": rate, "turns": turns}
            cut = make_cut(spec).map_supervisions(
                lambda s: s.transform_text(s2s_dataset._strip_timestamps)
            )
            for key, names in roles.items():
                channel = s2s_dataset.build_token_channel(
                    cut, TableTokenizer(table), 0.08, set(names), pad_id=TableTokenizer.pad
                )
                spec[key.replace("roles", "tokens")] = channel.tolist()
            spoken = [s.text for s in cut.supervisions if s.speaker in roles["output_roles"]]
            cases.append({**spec, "target_text": " ".join(spoken)})
    facts = {"frame_length": 0.08, "bos": 1, "eos": 2, "pad": 0, "table": table}
    return {**facts, **roles, "cuts": cases}


def cosine_annealing() -> list:
    from nemo.core.optim.lr_scheduler import CosineAnnealing

    settings = [
        dict(lr=3e-4, max_steps=20, min_lr=1e-6, warmup_steps=0),
        dict(lr=3e-4, max_steps=20, min_lr=1e-6),
        dict(lr=1e-3, max_steps=30, min_lr=0.0, warmup_steps=5),
        dict(lr=1e-3, max_steps=30, min_lr=1e-5, warmup_ratio=0.11),
        dict(lr=1e-3, max_steps=30, min_lr=1e-4, warmup_steps=1),
        dict(lr=1e-3, max_steps=30, min_lr=1e-4, warmup_steps=30),
        dict(lr=1e-3, max_steps=40, min_lr=1e-4, warmup_steps=4, constant_steps=10),
        dict(lr=1e-3, max_steps=40, min_lr=1e-4, warmup_steps=0, constant_steps=10),
        dict(lr=1e-3, max_steps=40, min_lr=1e-4, warmup_steps=3, constant_ratio=0.3),
        dict(lr=1e-3, max_steps=1, min_lr=0.0, warmup_steps=0),
        dict(lr=5e-4, max_steps=1000000, min_lr=1e-6, warmup_steps=1000),
    ]
    return scheduled_rates(CosineAnnealing, settings)


def inverse_square_root_annealing() -> list:
    from nemo.core.optim.lr_scheduler import InverseSquareRootAnnealing

    return scheduled_rates(InverseSquareRootAnnealing, [
        dict(lr=4e-5, max_steps=40, min_lr=1e-6, warmup_steps=5),
        dict(lr=1e-3, max_steps=20, min_lr=1e-4),
        dict(lr=1e-3, max_steps=30, min_lr=0.0, warmup_steps=1),
        dict(lr=1e-3, max_steps=30, min_lr=1e-2, warmup_ratio=0.11),
        dict(lr=1e-3, max_steps=3, min_lr=1e-5, warmup_steps=5),
    ])


def noam_annealing() -> list:
    from nemo.core.optim.lr_scheduler import NoamAnnealing

    return scheduled_rates(NoamAnnealing, [
        dict(lr=5e-2, d_model=64, max_steps=12, min_lr=1e-6, warmup_steps=5),
        dict(lr=1e-2, d_model=16, max_steps=8, min_lr=1e-3),
        dict(lr=1e-2, d_model=16, max_steps=12, min_lr=1e-3, warmup_ratio=0.3),
    ])


def scheduled_rates(schedule, settings) -> list:
    records = []
    for setting in settings:
        options = dict(setting)
        parameter = torch.nn.Parameter(torch.zeros(1))
        optimizer = torch.optim.SGD([parameter], lr=options.pop("lr"))
        scheduler = schedule(optimizer, **options)
        rates = []
        for _ in range(min(setting["max_steps"], 60) + 6):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
        records.append({"settings": setting, "rates": rates})
    return records


def resample() -> dict:
    import torchaudio

    tensors = {}
    generator = torch.Generator().manual_seed(43)
    for source in RATES:
        for target in RATES:
            if source == target:
                continue
            length = int(torch.randint(90, 160, (1,), generator=generator))
            wave = torch.randn(1, length, generator=generator)
            name = f"{source}_{target}"
            tensors[f"{name}/input"] = wave
            tensors[f"{name}/functional"] = torchaudio.functional.resample(wave, source, target)
            tensors[f"{name}/transform"] = torchaudio.transforms.Resample(source, target)(wave)
    return tensors


def english_normalizer() -> list:
    from whisper_normalizer.english import EnglishTextNormalizer

    normalise = EnglishTextNormalizer()
    return [[text, normalise(text)] for text in small_texts.sentences()]


MAKERS = {
    "bleu": bleu,
    "frames": frames,
    "token_channels": token_channels,
    "cosine_annealing": cosine_annealing,
    "inverse_square_root_annealing": inverse_square_root_annealing,
    "noam_annealing": noam_annealing,
    "resample": resample,
    "english_normalizer": english_normalizer,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=str(Path(__file__).parent / "data"))
    parser.add_argument("--only", action="append", choices=sorted(MAKERS))
    args = parser.parse_args()
    for name in args.only or MAKERS:
        value = MAKERS[name]()
        if name == "resample":
            path = Path(args.out) / "resample.safetensors"
            size = rf.write_safetensors(path, value, {"method": "sinc_interp_hann"})
        else:
            path = Path(args.out) / (f"{name}.json.gz" if name == "frames" else f"{name}.json")
            size = rf.write_json(path, value)
        rf.report(path, size)


if __name__ == "__main__":
    main()
