"""SentencePiece models of many kinds, made from trained ones without the sentencepiece package.

Two serialized messages of protobuf, one after the other, are one message that has the fields of
both. A few more bytes give a model other flags and more pieces.
"""

import struct

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
IDENTITY = {2: b""}
KEEP_SPACES = {4: 0}
NO_PREFIX = {3: 0}

# name -> (model type, fields of the normalizer, whether with byte fallback, more pieces)
SYMBOLS = [("<|user|>", USER_DEFINED), ("[x]", USER_DEFINED), ("<ctl>", CONTROL)]
VARIANTS = {
    "word": ("word", {}, False, []),
    "word_identity": ("word", IDENTITY | KEEP_SPACES, False, SYMBOLS),
    "char": ("char", {}, False, []),
    "char_bytes_symbols": ("char", IDENTITY, True, SYMBOLS),
    "unigram": ("unigram", {}, False, []),
    "unigram_identity": ("unigram", IDENTITY, False, []),
    "unigram_symbols": ("unigram", {}, False, SYMBOLS + [("\u2581ten\u2581", UNUSED)]),
    "unigram_bytes": ("unigram", {}, True, []),
    "unigram_bytes_identity": ("unigram", IDENTITY | KEEP_SPACES, True, SYMBOLS),
    "unigram_no_prefix": ("unigram", IDENTITY | KEEP_SPACES | NO_PREFIX, False, []),
    "bpe": ("bpe", {}, False, []),
    "bpe_identity": ("bpe", IDENTITY, False, []),
    "bpe_symbols": ("bpe", {}, False, SYMBOLS),
    "bpe_bytes": ("bpe", {}, True, []),
    "bpe_bytes_identity": ("bpe", IDENTITY | KEEP_SPACES, True, SYMBOLS),
    "bpe_no_prefix": ("bpe", IDENTITY | KEEP_SPACES | NO_PREFIX, True, SYMBOLS),
}


def varint(number):
    parts = []
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(parts + [number])


def message(fields):
    """`fields`: number -> an int (varint), float (fixed 32 bits) or bytes."""
    text = b""
    for number, value in fields.items():
        if isinstance(value, float):
            text += varint(number << 3 | 5) + struct.pack("<f", value)
        elif isinstance(value, int):
            text += varint(number << 3) + varint(value)
        else:
            text += varint(number << 3 | 2) + varint(len(value)) + value
    return text


def piece(text, kind):
    return message({1: message({1: text.encode(), 2: 0.0, 3: kind})})


def variant(trained, name):
    """`trained`: model type -> bytes of a model with nmt_nfkc."""
    base, normalizer, has_bytes, pieces = VARIANTS[name]
    model = trained[base] + message({2: message({35: int(has_bytes)}), 3: message(normalizer)})
    if has_bytes:
        pieces = [(f"<0x{byte:02X}>", BYTE) for byte in range(256)] + pieces
    return model + b"".join(piece(*one) for one in pieces)
