"""Random texts that tokenizers disagree on, for hf_tokenizers.py and fuzz_hf_tokenizer.py."""

import unicodedata

WORDS = (
    "the timer is set for ten minutes and kitchen light was on while weather in London stays sunny "
    "today I we you they don't can't it's we're I'll he'd could've o'clock Hello HELLO hElLo "
    "ISO9001 naive na\u00efve caf\u00e9 cafe\u0301 \u00c5ngstr\u00f6m A\u030angstro\u0308m "
    "stra\u00dfe STRASSE \u0130stanbul \u00f1andu \u0435\u0449\u0451 \u041f\u0440\u0438\u0432 "
    "\u03c3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2 \u4f60\u597d\u4e16\u754c \u6771\u4eac\u90fd "
    "\u30ab\u3099\u30ac \u3072\u3089\u304c\u306a \ud55c\uad6d\uc5b4 \u1112\u1161\u11ab "
    "\ud558\u11ab \u0627\u0644\u0633\u0644\u0627\u0645 \u05e9\u05dc\u05d5\u05dd "
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 vi\u1ec7t "
    "\ufb01sh \u33a1 x\u00b2 \u00bd"
).split()
CONTRACTIONS = ["'s", "'S", "'t", "'T", "'re", "'RE", "'Ve", "'m", "'ll", "'LL", "'d", "'\u017f",
                "\u2019s", "'", "''", "'x", "'l", "'\u212a", "'r"]
SPACES = [" ", " ", " ", " ", "  ", "   ", "\n", "\n", "\n\n", "\r\n", "\t", " \n", "\n ",
          "\u00a0", "\u3000", "\u2028", "\u180e", "\u200b", "\u0085", "\x1c", "\x0b", "\x0c",
          "\u202f", "\ufeff"]
DIGITS = list("0123456789") + ["12", "123", "1234", "12345", "3.14", "1,000", "\u0663\u0664",
                               "\u0967", "\u2167", "\u00b2", "\u00be", "\u3007", "\uff11",
                               "\U0001d7d9"]
EMOJI = ["\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd",
         "\u2764\ufe0f", "\U0001f1e9\U0001f1ea", "\u00a9", "\u2615", "\U0001fae8"]
PUNCTUATION = list("!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~") + [
    "...", "!!", "->", "\u2014", "\u3002", "\u00bf", "\u201c", "\u20ac", "==", "//", "\u2581",
    "\u0120", "<0x41>", "<0xE2>", "<unk>", "\ufffd", "\x00"]
MARKS = [chr(c) for c in (0x300, 0x301, 0x302, 0x308, 0x30A, 0x323, 0x327, 0x334, 0x345, 0x5B0,
                          0x64B, 0x93C, 0x94D, 0xE48, 0x3099, 0x20E3, 0xFE0F, 0x7FD, 0x1D165)]
# Blocks with many kinds of characters; the rest of Unicode is drawn evenly.
BLOCKS = [(0x00, 0x7F), (0x80, 0x24F), (0x250, 0x36F), (0x370, 0x52F), (0x590, 0x6FF),
          (0x900, 0xDFF), (0xE00, 0xFFF), (0x1100, 0x11FF), (0x1E00, 0x20CF), (0x2100, 0x2BFF),
          (0x2E80, 0x33FF), (0x4E00, 0x4FFF), (0xAC00, 0xAFFF), (0xF900, 0xFFFF),
          (0x10000, 0x11FFF), (0x1D000, 0x1FAFF)]


def character(rng):
    """Any character that UTF-8 can write."""
    while True:
        low, high = rng.choice(BLOCKS) if rng.random() < 0.8 else (0, 0x10FFFF)
        code = rng.randint(low, high)
        if not 0xD800 <= code < 0xE000:
            return chr(code)


def cased(rng, word):
    start = word[: rng.randint(1, 4)]
    return rng.choice([word, word, word, word.upper(), word.capitalize(), start])


def part(rng, added):
    kind = rng.random()
    if kind < 0.30:
        return cased(rng, rng.choice(WORDS))
    if kind < 0.52:
        return rng.choice(SPACES)
    if kind < 0.58:
        return rng.choice(CONTRACTIONS)
    if kind < 0.65:
        return "".join(rng.choice(DIGITS) for _ in range(rng.randint(1, 4)))
    if kind < 0.72:
        return rng.choice(PUNCTUATION) * rng.choice([1, 1, 1, 2, 5])
    if kind < 0.76:
        return rng.choice(EMOJI)
    if kind < 0.80:
        return "".join(rng.choice(MARKS) for _ in range(rng.randint(1, 3)))
    if kind < 0.90 and added:
        token = rng.choice(added)
        return rng.choice([token, token, token.upper(), token[:-1], " " + token, token + " "])
    return "".join(character(rng) for _ in range(rng.randint(1, 6)))


def text(rng, added):
    """A text of some parts; `added`: contents of added tokens, put in between without spaces."""
    parts = [part(rng, added) for _ in range(rng.choice([0, 1, 2, 3, 5, 8, 13, 25]))]
    whole = rng.choice(["", "", " "]).join(parts)
    if rng.random() < 0.05:
        whole = unicodedata.normalize(rng.choice(["NFC", "NFD", "NFKD"]), whole)
    return whole


def long_words(rng, length=100_000):
    """Words without a place to split: one letter, a few letters, marks, and many letters."""
    letters = "etaoinshrdlu"
    yield "a" * length
    yield "".join(rng.choice("ab") for _ in range(length))
    yield "".join(rng.choice(letters) for _ in range(length))
    yield " " * length
    yield "".join(rng.choice("\u4e00\u4e8c\u4e09\u597d\u6771") for _ in range(length // 3))


def corpus(rng, num_lines=1500):
    """Lines to train small vocabularies on."""
    lines = []
    for _ in range(num_lines):
        words = [cased(rng, rng.choice(WORDS)) for _ in range(rng.randint(4, 12))]
        words.insert(rng.randint(0, 4), str(rng.randint(0, 9999)))
        lines.append(" ".join(words) + rng.choice([".", "!", "?", "\n", "  ", ", ok"]))
    return lines
