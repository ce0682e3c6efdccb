"""Golden vectors of the text channels and prompts of NeMo's DuplexSTTDataset.

    python tests/reference/nemo_stt_channels.py --out tests/reference/data

nemo_stt_channels.json: `table` gives the ids of each text in place of a tokenizer; each cut has its
turns, the options, and `tokens` of collate_token_channel. Turns are random: longer and shorter than
their texts, without any frame, over the end of the cut, over one another; words with time marks lie
between them, over them, beyond the turn.
"""

import argparse
import random
from pathlib import Path

import reference_file as rf

WORDS = {"hi": 1, "hello": 1, "okay": 2, "there": 1, "lights": 3, "kitchen": 5}
RATES = [16000, 22050, 44100]
NUM_CUTS = 150


class TableTokenizer:
    bos, eos, pad, unk_id = 1, 2, 0, 3

    def __init__(self, table):
        self.table = table

    def text_to_ids(self, text):
        if text in self.table:
            return self.table[text]
        return [i for word in text.split() for i in self.table[word]]


def make_table() -> dict:
    table, next_id = {"": []}, 10
    for prefix in ("", " "):
        for word, count in WORDS.items():
            table[prefix + word] = list(range(next_id, next_id + count))
            next_id += 10
    return table


def text_of(rng, has_marks) -> str:
    words = [rng.choice(list(WORDS)) for _ in range(rng.randrange(0, 5))]
    if not has_marks or not words:
        return "  ".join(words)
    parts, mark = [], rng.randrange(0, 3)
    for word in words:
        end = mark + rng.randrange(0, 7)
        parts.append(f"<|{mark}|> {word} <|{end}|>")
        mark = end + rng.randrange(0, 3)
    return " ".join(parts)


def make_case(rng) -> dict:
    duration = round(rng.uniform(0.4, 4.0), 3)
    turns, start = [], rng.uniform(0, 0.5)
    has_marks = rng.random() < 0.6
    for _ in range(rng.randrange(1, 4)):
        length = rng.choice([0.0, 0.01, rng.uniform(0.05, 0.5), rng.uniform(0.5, 2.0)])
        turns.append({"speaker": rng.choice(["user", "agent"]), "start": round(start, 3),
                      "duration": round(length, 3), "text": text_of(rng, has_marks)})
        start += rng.uniform(0.0, 1.2)
    return {
        "duration": duration,
        "sampling_rate": rng.choice(RATES),
        "word_align_position": rng.choice(["left", "right"]),
        "prepend_word_space": rng.random() < 0.7,
        "turns": turns,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=str(Path(__file__).parent / "data"))
    args = parser.parse_args()
    from lhotse import CutSet, MonoCut, Recording, SupervisionSegment
    from nemo.collections.speechlm2.data import duplex_stt_dataset as stt

    table, rng, cases = make_table(), random.Random(77), []
    for number in range(NUM_CUTS):
        case = make_case(rng)
        rate = case["sampling_rate"]
        samples = round(case["duration"] * rate)
        cut = MonoCut(
            id=str(number), start=0, duration=case["duration"], channel=0,
            recording=Recording(id="r", sources=[], sampling_rate=rate, num_samples=samples,
                                duration=case["duration"]),
            supervisions=[
                SupervisionSegment(id=f"{number}-{i}", recording_id="r", start=t["start"],
                                   duration=t["duration"], speaker=t["speaker"], text=t["text"])
                for i, t in enumerate(case["turns"])
            ],
        )
        tokens, _ = stt.collate_token_channel(
            CutSet.from_cuts([cut]), TableTokenizer(table), 0.08, roles={"user"},
            bos_id=TableTokenizer.bos, eos_id=TableTokenizer.eos,
            word_align_position=case["word_align_position"],
            prepend_word_space=case["prepend_word_space"],
        )
        cases.append({**case, "tokens": tokens[0].tolist()})
    path = Path(args.out) / "nemo_stt_channels.json"
    size = rf.write_json(path, {"table": table, "cuts": cases})
    rf.report(path, size, cuts=len(cases))


if __name__ == "__main__":
    main()
