"""Ids and decoded texts of three small models, by the sentencepiece package of PyPI (0.2.3).

    python tests/reference/sentencepiece_ids.py --out tests/reference/data

Writes sentencepiece_{bpe,unigram,word}.model and sentencepiece.json. bpe: no pad (as Llama's);
unigram: pad, but no BOS; word: all four.
"""

import argparse
import io
import json
from pathlib import Path

import sentencepiece as spm

WORDS = (
    "timer minutes kitchen light weather london sunny rain call open close seven hundred two plus"
).split()
SPECIAL = {
    "bpe": dict(unk_id=0, bos_id=1, eos_id=2, pad_id=-1, vocab_size=90, byte_fallback=False),
    "unigram": dict(unk_id=1, bos_id=-1, eos_id=2, pad_id=0, vocab_size=70,
                    normalization_rule_name="identity"),
    "word": dict(
        unk_id=0, bos_id=1, eos_id=2, pad_id=3, vocab_size=40, normalization_rule_name="identity"
    ),
}
TEXTS = [
    "set the timer to seven minutes",
    "light",
    "  two   plus two ",
    "",
    "Zoe's caf\u00e9 is open!",
    "\u4f60\u597d light",
    "1,234.5",
    "unheardof kitchen",
    "ten\tlights\n",
]


def corpus():
    lines = []
    for i, word in enumerate(WORDS * 12):
        lines.append(f"set the {word} to {WORDS[(i * 7 + 3) % len(WORDS)]} now and then {word}")
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    models = []
    for kind, options in SPECIAL.items():
        model = io.BytesIO()
        spm.SentencePieceTrainer.train(
            sentence_iterator=iter(corpus()), model_writer=model, model_type=kind,
            hard_vocab_limit=False, minloglevel=2, num_threads=1, **options)
        name = f"sentencepiece_{kind}.model"
        (out / name).write_bytes(model.getvalue())
        sp = spm.SentencePieceProcessor(model_proto=model.getvalue())
        pad = sp.pad_id() if sp.pad_id() >= 0 else sp.unk_id()
        rows = []
        for text in TEXTS:
            ids = sp.encode(text)
            kept = [i for i in ids if i == sp.unk_id() or i != pad]
            rows.append({"text": text, "ids": ids, "decoded": sp.decode(kept)})
        size = sp.vocab_size()
        models.append(
            {"file": name, "bos": sp.bos_id(), "pad": pad, "vocab_size": size, "texts": rows}
        )
    text = json.dumps({"models": models}, ensure_ascii=True)
    (out / "sentencepiece.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
