"""Compares `s2s-run tokenizer` with the tokenizers package on many random texts. Not run by CI.

    python tests/reference/fuzz_hf_tokenizer.py build/bin/s2s-run --count 100000 [--style llama3]

Ids and decoded texts of --count texts and of words of 100 kB must be equal in every style of
hf_tokenizers.py, and the text of --count / 10 random lists of ids. Prints a line a style; exits
with 1 at the first difference, which it shows.
"""

import argparse
import json
import os
import random
import tempfile
from pathlib import Path

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from tokenizers import Tokenizer

from hf_tokenizers import contents, styles
from random_texts import long_words, text
from tokenizer_command import CHUNK, Command, compare

# Where a file says no BOS, EOS or PAD of its own.
SPECIAL = {"qwen2": {"bos": "<|im_start|>", "eos": "<|im_end|>", "pad": "<|endoftext|>"}}


def check(command, package, style, texts):
    theirs = [e.ids for e in package.encode_batch(texts, add_special_tokens=False)]
    compare(style, "encode", texts, command.run("encode", texts), theirs)
    compare(style, "decode", theirs, command.run("decode", theirs), package.decode_batch(theirs))


def fuzz(binary, style, tokenizer, count, seed):
    rng = random.Random(f"{seed} {style}")
    package = Tokenizer.from_str(json.dumps(tokenizer))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        path.write_text(json.dumps(tokenizer))
        special = {name: package.token_to_id(token)
                   for name, token in SPECIAL.get(style, {}).items()}
        command = Command(binary, path, special)
        num_characters = 0
        for done in range(0, count, CHUNK):
            texts = [text(rng, contents(tokenizer)) for _ in range(min(CHUNK, count - done))]
            num_characters += sum(len(one) for one in texts)
            check(command, package, style, texts)
        words = list(long_words(rng))
        check(command, package, style, words)
        size = package.get_vocab_size()
        lists = [[rng.randrange(size) for _ in range(rng.randint(0, 20))]
                 for _ in range(count // 10)]
        compare(style, "decode", lists, command.run("decode", lists), package.decode_batch(lists))
    print(f"{style}: {count} texts ({num_characters} characters), {len(words)} words of up to "
          f"{max(len(w.encode()) for w in words)} bytes and {len(lists)} lists of ids: all equal",
          flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary", help="s2s-run")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--style", help="only this one")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for style, tokenizer in styles():
        if arguments.style in (None, style):
            fuzz(arguments.binary, style, tokenizer, arguments.count, arguments.seed)


if __name__ == "__main__":
    main()
