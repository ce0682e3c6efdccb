"""Compares `s2s-run tokenizer` with the sentencepiece package on many random texts. Not run by CI.

    python tests/reference/fuzz_sentencepiece.py build/bin/s2s-run --count 100000 [--model bpe]

Ids and decoded texts of --count texts and of words of 100 kB must be equal for a unigram and a BPE
model, with and without byte fallback and normalisation, and the text of --count / 10 random lists
of ids. Prints a line a model; exits with 1 at the first difference, which it shows.

The plugin runs Debian's library, 0.1.97. A unigram model may cut a text in several ways of equal
probability ("222" as "2 22" or "22 2"), and which wins is rounding: package 0.1.98 agrees in
all of them, 0.2 rounds otherwise in some. Such ties are counted, not taken for differences.
"""

import argparse
import io
import random
import tempfile
from pathlib import Path

import sentencepiece as spm

from random_texts import corpus, long_words, text
from tokenizer_command import CHUNK, Command, compare

ADDED = ["<|user|>", "[x]"]
MODELS = {
    "unigram": dict(model_type="unigram", vocab_size=900, pad_id=3),
    "unigram_bytes": dict(model_type="unigram", vocab_size=900, pad_id=3, byte_fallback=True,
                          normalization_rule_name="identity", remove_extra_whitespaces=False),
    "bpe": dict(model_type="bpe", vocab_size=900, pad_id=3, split_digits=True,
                normalization_rule_name="nfkc_cf"),
    # As Llama's: no pad, which falls back to the unknown id.
    "bpe_bytes": dict(model_type="bpe", vocab_size=900, pad_id=-1, byte_fallback=True,
                      normalization_rule_name="identity", remove_extra_whitespaces=False),
}


def trained(options):
    model = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus(random.Random(7))), model_writer=model, unk_id=0, bos_id=1,
        eos_id=2, user_defined_symbols=ADDED, hard_vocab_limit=False, minloglevel=2, num_threads=1,
        **options)
    return model.getvalue()


def is_tie(package, ours, theirs):
    """Whether two lists of ids of one text have one probability, to rounding."""
    return abs(sum(map(package.get_score, ours)) - sum(map(package.get_score, theirs))) < 1e-3


def check(command, package, name, texts, skipped):
    """Returns the number of ties."""
    theirs = package.encode(texts)
    ours = command.run("encode", texts)
    ties = [i for i, (a, b) in enumerate(zip(ours, theirs))
            if a != b and name.startswith("unigram") and is_tie(package, a, b)]
    for i in ties:
        ours[i] = theirs[i]
    compare(name, "encode", texts, ours, theirs)
    kept = [[i for i in ids if i not in skipped] for ids in theirs]
    compare(name, "decode", theirs, command.run("decode", theirs), package.decode(kept))
    return len(ties)


def fuzz(binary, name, count, seed):
    rng = random.Random(f"{seed} {name}")
    model = trained(MODELS[name])
    package = spm.SentencePieceProcessor(model_proto=model)
    pad = package.pad_id() if package.pad_id() >= 0 else package.unk_id()
    skipped = {package.bos_id(), package.eos_id(), pad}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.model"
        path.write_bytes(model)
        command = Command(binary, path, {})
        num_characters = num_ties = 0
        for done in range(0, count, CHUNK):
            texts = [text(rng, ADDED) for _ in range(min(CHUNK, count - done))]
            num_characters += sum(len(one) for one in texts)
            num_ties += check(command, package, name, texts, skipped)
        words = list(long_words(rng))
        num_ties += check(command, package, name, words, skipped)
        size = package.vocab_size()
        lists = [[rng.randrange(size) for _ in range(rng.randint(0, 20))]
                 for _ in range(count // 10)]
        kept = [[i for i in ids if i not in skipped] for ids in lists]
        compare(name, "decode", lists, command.run("decode", lists), package.decode(kept))
    print(f"{name}: {count} texts ({num_characters} characters), {len(words)} words of up to "
          f"{max(len(w.encode()) for w in words)} bytes and {len(lists)} lists of ids: all equal, "
          f"{num_ties} ties (package {spm.__version__})", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary", help="s2s-run")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--model", choices=MODELS, help="only this one")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for name in MODELS:
        if arguments.model in (None, name):
            fuzz(arguments.binary, name, arguments.count, arguments.seed)


if __name__ == "__main__":
    main()
