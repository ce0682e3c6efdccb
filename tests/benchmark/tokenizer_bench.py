"""Prints the ratios ours / tokenizers of the time to encode texts, one thread each, in turn.

    python tests/benchmark/tokenizer_bench.py build/bin/tokenizer_bench [--rounds 3]

For each style of tests/reference/hf_tokenizers.py, with its patterns and flags but a vocabulary of
--vocab-size trained on made-up words here: `lines` (sentences of about 12 words), `page` (texts of
20 kB), `mixed` (other scripts, white space, digits, emoji) and `word` (one of 100 kB). Theirs is
encode_batch_fast of all texts in one call, which counts no offsets; ours is encode of each text.
Processor time of the thread: the first pass of a process (no word is known yet) and the best of 5;
a ratio is taken within its round.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

from tokenizers import Tokenizer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "reference"))
import hf_tokenizers  # noqa: E402
from random_texts import text  # noqa: E402

PASSES = 5
SYLLABLES = ("an ber con der er fi ght ing ja ki li mo na ou pre qui re sta tion ur ve wo xi y th "
             "the ll str ound ea ch ick").split()


def lexicon(rng, size):
    """Words as often as in a language: the one of rank r about 1 / r."""
    words = ["".join(rng.choice(SYLLABLES) for _ in range(rng.randint(1, 4))) for _ in range(size)]
    return words, [1 / (rank + 2) for rank in range(size)]


def sentences(rng, words, weights, count):
    lines = []
    for _ in range(count):
        chosen = rng.choices(words, weights, k=rng.randint(6, 18))
        chosen[0] = chosen[0].capitalize()
        if rng.random() < 0.2:
            chosen.insert(rng.randint(0, 5), str(rng.randint(0, 99_999)))
        lines.append(" ".join(chosen) + rng.choice([".", "?", "!", ", it's", "."]))
    return lines


def workloads(rng, lines):
    page = "\n".join(lines)
    yield "lines", lines
    yield "page", [page[i : i + 20_000] for i in range(0, min(len(page), 400_000), 20_000)]
    yield "mixed", [text(rng, []) for _ in range(5000)]
    yield "word", ["".join(rng.choice("etaoinshrdlu") for _ in range(100_000))]


def theirs(tokenizer, texts):
    seconds, num_ids = [], 0
    for _ in range(PASSES):
        start_s = time.thread_time()
        encoded = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        seconds.append(time.thread_time() - start_s)
        num_ids = sum(len(one.ids) for one in encoded)
    return seconds[0], min(seconds), num_ids


def ours(binary, tokenizer, texts):
    run = subprocess.run([binary, "hf", tokenizer, texts, str(PASSES)], capture_output=True,
                         text=True, check=True)
    result = json.loads(run.stdout)
    return result["first_s"], result["best_s"], result["num_ids"]


def measure(binary, folder, style, tokenizer, work, rounds):
    name, texts = work
    files = [folder / f"{style}.json", folder / f"{name}.jsonl"]
    files[0].write_text(json.dumps(tokenizer))
    files[1].write_text("".join(json.dumps(one) + "\n" for one in texts))
    first, best = [], []
    for _ in range(rounds):
        package = Tokenizer.from_str(json.dumps(tokenizer))
        their_first, their_best, their_ids = theirs(package, texts)
        our_first, our_best, our_ids = ours(binary, *map(str, files))
        if our_ids != their_ids:
            sys.exit(f"{style}, {name}: {our_ids} ids, theirs {their_ids}")
        first.append(our_first / their_first)
        best.append(our_best / their_best)
    print(f"{style:12}{name:8}{statistics.median(first):8.3f}{statistics.median(best):8.3f}"
          f"   rounds: {' '.join(f'{a:.3f}/{b:.3f}' for a, b in zip(first, best))}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary", help="tokenizer_bench")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--vocab-size", type=int, default=20_000)
    arguments = parser.parse_args()
    rng = random.Random(7)
    words, weights = lexicon(rng, 20_000)
    lines = sentences(rng, words, weights, 5000)
    hf_tokenizers.VOCAB_SIZE = arguments.vocab_size
    print(f"{'ours / theirs':20}{'first':>8}{'best':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for style, tokenizer in hf_tokenizers.styles(lines):
            if style == "syntax":
                continue
            for work in workloads(random.Random(8), lines):
                measure(arguments.binary, Path(folder), style, tokenizer, work, arguments.rounds)


if __name__ == "__main__":
    main()
