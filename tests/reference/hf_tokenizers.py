"""Small tokenizers of each style by the tokenizers package (0.23.3), and what it does with texts.

    python tests/reference/hf_tokenizers.py --out tests/reference/data

Writes hf_tokenizer_STYLE.json (a tokenizer.json each; the vocabularies are trained here, the split
patterns are those of the published files) and hf_tokenizers.json.gz: texts, their ids without
special tokens and the text of these; lists of ids and their text. hf_trained.json: lines and the
merges that the package's trainer learns from them.
"""

import argparse
import json
import random
from collections import Counter
from pathlib import Path

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

import reference_file as rf
from random_texts import corpus, text

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
# Not GPT-2's, Llama's or Qwen's: what Oniguruma and PCRE2 write differently.
SYNTAX = (r"\p{N}{1,3}+|(?m:<.>)|\w+\b|[\p{Han}\p{Hiragana}]+|[^\s\w]|\p{^L}|\h{2}|^ +$|\s+?"
          r"|(?<=a)b++")
MARK = "\u2581"
PLAIN_BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
SEED = 20251
VOCAB_SIZE = None  # of the trained part; None: what each style says


def part(name, **rest):
    return {"type": name, **rest}


def replace(old, new):
    return part("Replace", pattern={"String": old}, content=new)


def byte_level(use_regex=False):
    return part("ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=use_regex)


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return part("Split", pattern={kind: pattern}, behavior=behavior, invert=invert)


def sequence(key, *parts):
    return {"type": "Sequence", key: list(parts)}


def template(before, after):
    """TemplateProcessing that puts these special tokens around a text."""
    single = [{"SpecialToken": {"id": name, "type_id": 0}} for name in before]
    single.append({"Sequence": {"id": "A", "type_id": 0}})
    single += [{"SpecialToken": {"id": name, "type_id": 0}} for name in after]
    return single


def added(content, special=False, **flags):
    return {"content": content, "special": special, "single_word": False, "lstrip": False,
            "rstrip": False, "normalized": not special, **flags}


def trained(lines, vocab_size, pre_tokenizer, alphabet=(), limit=None):
    """Pieces in the order of their ids, and merges. `limit`: of the characters, the others are left
    out of the lines (the trainer's own limit_alphabet draws lots between equally frequent ones)."""
    tokenizer = Tokenizer(models.BPE())
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    if limit is not None:
        counts = Counter("".join(lines))
        kept = set(sorted(counts, key=lambda c: (-counts[c], c))[:limit])
        lines = ["".join(c for c in line if c in kept) for line in lines]
    trainer = trainers.BpeTrainer(vocab_size=VOCAB_SIZE or vocab_size,
                                  initial_alphabet=list(alphabet),
                                  show_progress=False, max_token_length=12)
    tokenizer.train_from_iterator(lines, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].get)
    return pieces, model["merges"]


def tokenizer_json(pieces, merges, added_tokens, old_merges=False, **parts):
    ids = {piece: i for i, piece in enumerate(pieces)}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
             "ignore_merges": False, **parts.pop("model", {})}
    model["vocab"] = ids
    model["merges"] = [" ".join(pair) for pair in merges] if old_merges else merges
    next_id = len(ids)
    for token in added_tokens:
        token["id"] = ids.get(token["content"], next_id)
        next_id += token["id"] == next_id
    post = parts.pop("post_processor", None)
    if post and post["type"] == "TemplateProcessing":
        known = {token["content"]: token["id"] for token in added_tokens}
        post["special_tokens"] = {
            p["SpecialToken"]["id"]: {"id": p["SpecialToken"]["id"],
                                      "ids": [known[p["SpecialToken"]["id"]]],
                                      "tokens": [p["SpecialToken"]["id"]]}
            for p in post["single"] if "SpecialToken" in p}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added_tokens,
            "normalizer": None, "pre_tokenizer": None, "post_processor": post, "decoder": None,
            **parts, "model": model}


def byte_level_styles(lines):
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    gpt2 = pre_tokenizers.ByteLevel(add_prefix_space=False)
    own = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
                                   PLAIN_BYTES])
    pieces, merges = trained(lines, 700, gpt2, alphabet)
    yield "gpt2", tokenizer_json(
        pieces, merges, [added("<|endoftext|>", True), added("<|pad|>", True), added("<s>", True),
                         added("<mask>", True, lstrip=True), added("<right>", rstrip=True),
                         added("word", single_word=True, normalized=False)],
        old_merges=True, pre_tokenizer=byte_level(True), post_processor=byte_level(True),
        decoder=byte_level(True))
    pieces, merges = trained(lines, 900, own, alphabet)
    names = ["<|begin_of_text|>", "<|end_of_text|>", "<|finetune_right_pad_id|>", "<|eot_id|>"]
    # A piece that no merge makes, which ignore_merges finds as a whole.
    whole = pieces + ["\u0120wholepiece"]
    yield "llama3", tokenizer_json(
        whole, merges, [added(name, True) for name in names], model={"ignore_merges": True},
        pre_tokenizer=sequence("pretokenizers", split(LLAMA3), byte_level()),
        post_processor=part("TemplateProcessing", single=template(names[:1], []),
                            pair=template(names[:1], [])),
        decoder=byte_level(True))
    yield "qwen2", tokenizer_json(
        pieces, merges, [added("<|endoftext|>", True), added("<|im_start|>", True),
                         added("<|im_end|>", True), added("<tool_call>", normalized=False),
                         added("caf\u00e9!"), added("\u212b")],
        normalizer=part("NFC"), pre_tokenizer=sequence("pretokenizers", split(QWEN2), byte_level()),
        post_processor=byte_level(), decoder=byte_level())
    yield "syntax", tokenizer_json(
        pieces, merges, [added("<s>", True), added("</s>", True), added("<pad>", True)],
        normalizer=sequence("normalizers", part("NFKD"), part("Lowercase")),
        pre_tokenizer=sequence("pretokenizers", split(SYNTAX),
                               split("z", "MergedWithNext", kind="String"),
                               split("[aeiou]", "MergedWithPrevious"), byte_level(True)),
        decoder=byte_level())


def sentencepiece_styles(lines):
    marked = [MARK + line.replace(" ", MARK) for line in lines]
    metaspace = pre_tokenizers.Metaspace(prepend_scheme="never")
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    pieces, merges = trained(marked, 500, metaspace, limit=90)
    specials = ["<unk>", "<s>", "</s>"]
    fallback = {"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True}
    yield "tinyllama", tokenizer_json(
        specials + bytes_ + pieces, merges, [added(name, True) for name in specials],
        old_merges=True, model=fallback,
        normalizer=sequence("normalizers", part("Prepend", prepend=MARK), replace(" ", MARK)),
        post_processor=part("TemplateProcessing", single=template(["<s>"], []),
                            pair=template(["<s>"], [])),
        decoder=sequence("decoders", replace(MARK, " "), part("ByteFallback"), part("Fuse"),
                         part("Strip", content=" ", start=1, stop=0)))
    # Trained on whole lines: pieces that reach over a space.
    pieces, merges = trained([line[:60] for line in marked], 700, None, limit=90)
    specials = ["<pad>", "<eos>", "<bos>", "<unk>"]
    runs = ["\n" * n for n in (1, 2, 3)] + [MARK * n for n in (2, 3)] + ["\t", "<b>"]
    kept = [piece for piece in pieces if piece not in runs]
    known = set(kept) | set(runs)
    merges = [pair for pair in merges if {pair[0], pair[1], pair[0] + pair[1]} <= known]
    yield "gemma", tokenizer_json(
        specials + runs + bytes_ + kept, merges,
        [added(name, True) for name in specials] + [added(run, normalized=False) for run in runs],
        model=fallback, normalizer=replace(" ", MARK),
        pre_tokenizer=split(" ", "MergedWithPrevious", kind="String"),
        post_processor=part("TemplateProcessing", single=template(["<bos>"], []),
                            pair=template(["<bos>"], [])),
        decoder=sequence("decoders", replace(MARK, " "), part("ByteFallback"), part("Fuse")))


def other_styles(lines):
    """What the families do not use together: every flag, unknown tokens that are not fused."""
    metaspace = pre_tokenizers.Metaspace()
    pieces, merges = trained([line.lower() for line in lines], 400, metaspace, limit=60)
    specials = ["<unk>", "<s>", "</s>", "<pad>"]
    flags = [added("[Both]", lstrip=True, rstrip=True), added("[Left]", True, lstrip=True),
             added("[Right]", rstrip=True, normalized=False), added("Word", single_word=True),
             added("stop", True, single_word=True, normalized=True, rstrip=True),
             added("[Le", normalized=False), added("e\u0301t\u00e9")]
    yield "metaspace", tokenizer_json(
        specials + pieces, merges, [added(name, True) for name in specials] + flags,
        model={"unk_token": "<unk>"},
        normalizer=sequence("normalizers", part("Strip", strip_left=True, strip_right=True),
                            part("NFKC"), part("Lowercase"),
                            part("Replace", pattern={"Regex": r"\s{2,}"}, content=" ")),
        pre_tokenizer=sequence("pretokenizers", part("Digits", individual_digits=True),
                               part("Metaspace", replacement=MARK, prepend_scheme="first",
                                    split=True)),
        decoder=part("Metaspace", replacement=MARK, prepend_scheme="always", split=True))
    pieces, merges = trained(lines, 400, pre_tokenizers.WhitespaceSplit(), limit=60)
    yield "whitespace", tokenizer_json(
        specials + pieces, merges, [added(name, True) for name in specials] + flags,
        model={"unk_token": "<unk>", "fuse_unk": True}, normalizer=part("NFD"),
        pre_tokenizer=sequence("pretokenizers", part("WhitespaceSplit"), part("Whitespace"),
                               part("Digits", individual_digits=False)),
        decoder=None)


def styles(lines=None):
    """Names and files; `lines`: to train on."""
    lines = lines or corpus(random.Random(SEED))
    return [*byte_level_styles(lines), *sentencepiece_styles(lines), *other_styles(lines)]


def contents(tokenizer):
    return [token["content"] for token in tokenizer["added_tokens"]]


def vectors(style, tokenizer, num_texts, num_lists):
    package = Tokenizer.from_str(json.dumps(tokenizer))
    rng = random.Random(f"{SEED} {style}")
    rows = []
    for _ in range(num_texts):
        given = text(rng, contents(tokenizer))
        ids = package.encode(given, add_special_tokens=False).ids
        rows.append({"text": given, "ids": ids, "decoded": package.decode(ids)})
    lists = []
    for _ in range(num_lists):
        ids = [rng.randrange(package.get_vocab_size()) for _ in range(rng.randint(0, 12))]
        lists.append({"ids": ids, "decoded": package.decode(ids)})
    return {"style": style, "vocab_size": package.get_vocab_size(), "texts": rows, "lists": lists}


def trained_merges(num_merges=141):
    """What the package's trainer makes of some lines; ours is to make the same."""
    lines = sorted({" ".join(line.split()) for line in corpus(random.Random(SEED), 120)})
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(LLAMA3), "isolated"), PLAIN_BYTES])
    trainer = trainers.BpeTrainer(vocab_size=256 + num_merges, min_frequency=2, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(lines, trainer)
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    assert len(merges) == num_merges
    return {"lines": lines, "vocab_size": 256 + num_merges + 3, "merges": merges}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    golden = []
    for style, tokenizer in styles():
        name = out / f"hf_tokenizer_{style}.json"
        name.write_text(json.dumps(tokenizer, ensure_ascii=True, separators=(",", ":")) + "\n")
        golden.append(vectors(style, tokenizer, num_texts=200, num_lists=50))
    (out / "hf_trained.json").write_text(json.dumps(trained_merges(), ensure_ascii=True) + "\n")
    text_ = json.dumps({"styles": golden}, ensure_ascii=False, separators=(",", ":"))
    rf.write_json_gz(out / "hf_tokenizers.json.gz",
                     text_.replace('{"style"', '\n{"style"') + "\n")


if __name__ == "__main__":
    main()
