"""Compares the ids and texts of an exported SentencePiece tokenizer with `s2s-run tokenizer`.

    python tests/reference/sentencepiece_export_check.py build/bin/s2s-run [--count N] [--model M]

Trains two steps, then exports the run with a tokenizer of every kind (sentencepiece_variants.py) in
its checkpoint, and loads each folder with transformers' AutoTokenizer. Ids must be equal for a list
of texts and for random ones, and so must the decoded texts of those ids and of random lists.
What core/docs/reference/tokenizers.md says to be different is counted and not compared: ties of a
unigram model, rare compositions of NFKC, a text that is one user-defined symbol.
Exit code 77 where transformers is missing.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

try:
    from transformers import AutoTokenizer
except ImportError as missing:
    print(f"skipped: {missing}; pip install transformers")
    sys.exit(77)

from random_texts import corpus, text
from sentencepiece_variants import SYMBOLS, VARIANTS, variant
from tokenizer_command import Command, compare

ROOT = Path(__file__).resolve().parents[2]
SPECIAL = ["<s>", "</s>", "<unk>", "<pad>", "<0x41>"]
TEXTS = [
    "", " ", "hello world", "set the timer to ten minutes", "  two   spaces  ",
    "\ttab\tand\nline\n", "a\r\nb", "na\xefve caf\xe9 \xc5ngstr\xf6m",
    "cafe\u0301 A\u030angstro\u0308m", "Vie\u0323\u0302t Vi\u1ec7t",
    "\u4f60\u597d\u4e16\u754c \u6771\u4eac\u90fd", "\u30ab\u3099 \uff76\uff9e \u30ac",
    "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab", "\ufb01sh \ufb02ow \u33a1 \xbd x\xb2",
    "\uff26\uff55\uff4c\uff4c\u3000\uff57\uff49\uff44\uff54\uff48 \uff11\uff12\uff13",
    "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f",
    "\u0627\u0644\u0633\u0651\u0644\u0627\u0645 \u0928\u092e\u0938\u094d\u0924\u0947",
    "<s> hello </s>", "<unk><pad><s>", "say <|user|> and [x] again", "a\u2581b \u2581 c\u2581",
    "\u2581", "\u200b", "\xa0x\u3000y\u2028z", "qqq zzz qqq", "1,234.5", "\x01\x7f",
    "\ue000\U0010fffd", "\uff5e 3\uff5e5", "a" * 500, " " * 50,
]


def s2s(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        command = " ".join(map(str, words))
        sys.exit(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def trained_models(run, folder):
    """model type -> bytes."""
    lines = folder / "texts.txt"
    texts = [line.replace("\n", " ") for line in corpus(random.Random(7))]
    lines.write_text("\n".join(texts) + "\n")
    models = {}
    for kind in {base for base, *_ in VARIANTS.values()}:
        path = folder / f"{kind}.model"
        s2s(run, "tokenizer", "train", "--input", lines, "--output", path, "--vocab-size", 900,
            "--model-type", kind)
        models[kind] = path.read_bytes()
    return models


def trained_checkpoint(run, folder):
    s2s(run, "train", ROOT / "configs/tiny.yaml", f"tiny.data={folder / 'data'}",
        f"tiny.run={folder / 'run'}", "trainer.max_steps=2", "model.lr_scheduler.warmup_steps=0")
    return folder / "run/checkpoints/last"


def score(model, ids):
    return sum(model["vocab"][one][1] for one in ids)


def is_tie(model, a, b):
    """Whether a unigram model gives two lists of ids one probability, to rounding."""
    return model["type"] == "Unigram" and abs(score(model, a) - score(model, b)) < 1e-3


def is_listed(name, line, model, ours, theirs):
    """Whether the documentation lists the difference."""
    is_nfkc = 2 not in VARIANTS[name][1]
    has_marks = any(unicodedata.category(one).startswith("M") for one in line)
    is_symbol = line.strip() in {symbol for symbol, _ in SYMBOLS}
    return is_symbol or is_tie(model, ours, theirs) or (is_nfkc and has_marks)


def check_ids(name, command, tokenizer, model, num_texts, rng):
    """Returns the ids of many texts, and how many texts have a listed difference."""
    added = SPECIAL + [symbol for symbol, _ in SYMBOLS]
    lines = TEXTS + [text(rng, added) for _ in range(num_texts)]
    ours = command.run("encode", lines)
    theirs = [tokenizer(line)["input_ids"] for line in lines]
    listed = [i for i in range(len(TEXTS), len(lines))
              if ours[i] != theirs[i] and is_listed(name, lines[i], model, ours[i], theirs[i])]
    for i in listed:
        ours[i] = theirs[i]
    compare(name, "encode", lines, ours, theirs)
    if len(listed) * 20 > num_texts:
        sys.exit(f"{name}: {len(listed)} of {num_texts} texts differ in ways that should be rare")
    return theirs, len(listed)


def check(name, command, folder, num_texts):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = json.loads((folder / "tokenizer.json").read_text())["model"]
    rng = random.Random(name)
    lists, num_listed = check_ids(name, command, tokenizer, model, num_texts, rng)
    # Bytes that are no UTF-8 are decoded otherwise.
    pieces = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    plain = [i for i, piece in enumerate(pieces) if not piece.startswith("<0x")]
    for _ in range(num_texts):
        lists.append([rng.choice(plain) for _ in range(rng.randint(0, 12))])
    decoded = [tokenizer.decode(ids, skip_special_tokens=True) for ids in lists]
    compare(name, "decode", lists, command.run("decode", lists), decoded)
    print(f"{name}: {len(TEXTS) + num_texts} texts and {len(lists)} lists of ids, "
          f"{num_listed} listed differences", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="the s2s-run to ask")
    parser.add_argument("--count", type=int, default=300, help="random texts for each model")
    parser.add_argument("--model", choices=list(VARIANTS), help="only this one")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        trained = trained_models(args.run, folder)
        checkpoint = trained_checkpoint(args.run, folder)
        for name in [args.model] if args.model else VARIANTS:
            model = checkpoint / "tokenizer/tokenizer.model"
            model.write_bytes(variant(trained, name))
            s2s(args.run, "checkpoint", "export", checkpoint, folder / name)
            check(name, Command(args.run, folder / name, {}), folder / name, args.count)


if __name__ == "__main__":
    main()
