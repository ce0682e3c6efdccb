"""Moshi's text channel, as kyutai-labs/moshi-finetune builds it, for tests/core/duplex.

    python tests/reference/moshi_monologue.py MOSHI_FINETUNE [--out tests/reference/data]

MOSHI_FINETUNE: a checkout of the repository (2acc879); it is no package. moshi_monologue.json has
random words with times, a table word -> ids in place of a tokenizer, and the channel that
`Interleaver` makes of the main speaker's words: words that overlap, that last for no time, that
begin together, and that do not fit.
"""

import argparse
import random
import sys
import types
from pathlib import Path

import reference_file as rf

PAD, END_OF_PADDING, RATE = 0, 9, 12.5  # Moshi: 3, 0
WORDS = {"a": 1, "one": 1, "two": 2, "three": 3, "six": 6}
SPEAKERS = ("SPEAKER_MAIN", "SPEAKER_USER")


def random_words(rng, duration) -> list:
    words, now = [], rng.random()
    while now < duration:
        # Two decimals, and now and then a border between frames.
        start = round(now, 2) if rng.random() < 0.8 else round(now / 0.08) * 0.08
        length = rng.choice([0.0, 0.05, 0.1, 0.2, 0.3])
        words.append([rng.choice(list(WORDS)), [start, round(start + length, 2)],
                      rng.choice(SPEAKERS)])
        now += rng.choice([0.0, 0.05, 0.1, 0.3, 0.8])
    return words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("moshi_finetune")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "data")
    args = parser.parse_args()
    sys.path.insert(0, args.moshi_finetune)
    for name, kind in (("moshi.conditioners", "ConditionAttributes"),
                       ("sentencepiece", "SentencePieceProcessor")):
        sys.modules[name] = types.ModuleType(name)  # only the names of types are asked of them
        setattr(sys.modules[name], kind, object)
    from finetune.data.interleaver import Interleaver

    table = {word: list(range(10 * i + 10, 10 * i + 10 + n))
             for i, (word, n) in enumerate(WORDS.items())}
    maker = Interleaver(None, RATE, PAD, END_OF_PADDING, -1, keep_main_only=True, device="cpu")
    maker._tokenize = lambda words: [(table[w], ts, who) for w, ts, who in words]
    rng, cases = random.Random(5), []
    for _ in range(60):
        duration = rng.choice([0.8, 2.0, 4.0, 8.0])
        words = random_words(rng, duration)
        cases.append({"duration": duration, "words": words,
                      "tokens": maker.prepare_item(words, duration).flatten().tolist()})
    size = rf.write_json(args.out / "moshi_monologue.json", {
        "pad": PAD, "end_of_padding": END_OF_PADDING, "frame_length": 1 / RATE, "table": table,
        "cases": cases})
    rf.report(args.out / "moshi_monologue.json", size)


if __name__ == "__main__":
    main()
