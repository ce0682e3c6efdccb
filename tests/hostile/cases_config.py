"""Configurations, tokenizers, plugins and the folder that the program is started in."""

import json
import struct

import kit as k
from cases_checkpoint import anchors
from kit import add, case


def file_of(name, data):
    def make(kit, folder):
        path = folder / name
        if not callable(data):
            return k.write(path, data)
        made = data(path)
        return path if made is None or made == path else k.write(path, made)
    return make


CONFIGS = [
    ("deep-flow", "a: " + k.nest() + "\n", True),
    ("deep-map", "a: " + k.deep_object() + "\n", False),
    ("deep-block", "\n".join(" " * i + "a:" for i in range(3000)) + "\n", False),
    ("anchors", lambda path: anchors(), True),
    ("laughs", "a0: &a0 [x, x]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)), True),
    ("alias-bytes", "a: &x '" + "y" * 1_000_000 + "'\nb: [" + ", ".join(["*x"] * 12_000) + "]\n",
     True),
    ("anchor-bytes", "a: " + "".join(f"&a{i} [" for i in range(2000)) +
     "'" + "y" * 1_000_000 + "'" + "]" * 2000 + "\n", False),
    ("merge-bytes", "a: &m {k: '" + "y" * 1_000_000 + "'}\n" +
     "".join(f"b{i}: {{<<: *m}}\n" for i in range(5000)), False),
    ("merge-loop", "a: &a\n  <<: *a\n", False),
    ("merge-many", "b: &b {x: 1}\na:\n" + "  <<: *b\n" * 1000, False),
    ("key-escapes", '"bad\\e]0;x\\a\\u202e": 1\n', True),
    ("key-forged", '"x\\nerror: [fake/line] y\\r": 1\n', True),
    ("value-escapes", 'model: {type: "\\e[2J\\nerror: [fake/line] y"}\n', True),
    ("value-raw-escapes", "model: {type: " + k.ESCAPE + "}\n", False),
    ("name-escapes", 'model: {llm: {name: "x\\e[31m"}, encoder: {name: "\\u009b2J"}}\n', False),
    ("interpolation-loop", "a: ${b}\nb: ${a}\n", False),
    ("interpolation-deep", "a: " + "${" * 100_000 + "}" * 100_000 + "\n", True),
    ("interpolation-grows", "a0: xxxxxxxxxx\n" + "".join(
        f"a{i}: {'${a%d}' % (i - 1) * 10}\n" for i in range(1, 12)), True),
    ("interpolation-chain", "".join(f"a{i}: ${{a{i + 1}}}\n" for i in range(50_000)), True),
    ("interpolation-trees", "a0: [x, x]\n" + "".join(
        f"a{i}: [{', '.join(['%s${a%d}%s' % (chr(34), i - 1, chr(34))] * 9)}]\n"
        for i in range(1, 12)), True),
    ("interpolation-environment", "a: ${oc.env:PATH}\nmodel: {type: '${oc.env:HOSTILE}'}\n", False),
    ("numbers", "trainer: {max_steps: 99999999999999999999999, seed: 1e400, devices: -1}\n", False),
    ("sizes", "model: {llm: {name: llama, hidden_size: 4611686018427387904, "
     "num_hidden_layers: 4611686018427387904, vocab_size: 4611686018427387904}}\n", True),
    ("nul", "a: \0\n", False),
    ("bad-utf8", b"a: \xff\xfe\n\x9b2J: 1\n", False),
    ("utf16", "a: 1\n".encode("utf-16"), False),
    ("long-line", "a: " + "x" * 10_000_000 + "\n", False),
    ("long-key", "x" * 1_000_000 + ": 1\n", False),
    ("wide", "".join(f"k{i}: 1\n" for i in range(200_000)), False),
    ("tags", "a: !!python/object/apply:os.system ['id']\nb: !<tag:x> y\n", False),
    ("documents", "---\na: 1\n" * 1000, False),
    ("fifo", k.fifo, True),
    ("zero-device", lambda path: k.link(path, "/dev/zero"), True),
    ("passwd", lambda path: k.link(path, "/etc/passwd"), False),
    ("folder", lambda path: path.mkdir(), False),
    ("empty", b"", False),
    ("question-marks", "? " * 100_000 + "\n", False),
    ("dashes", "- " * 100_000 + "\n", False),
    ("quotes", '"' * 100_001, False),
    ("scalar-block", "a: |\n" + " x\n" * 500_000, False),
]
for name, data, is_quick in CONFIGS:
    add(f"config/{name}", "config", file_of("run.yaml", data), is_quick)


# Tokenizers.


def tokenizer_json(**changes):
    made = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
            "post_processor": None, "decoder": None,
            "model": {"type": "BPE", "vocab": {"h": 0, "i": 1, "hi": 2}, "merges": ["h i"]}}
    made.update(changes)
    return json.dumps(made)


def model(**changes):
    return tokenizer_json(model={"type": "BPE", "vocab": {"h": 0, "i": 1}, "merges": [], **changes})


def added(content, number=3):
    return [{"id": number, "content": content, "single_word": False, "lstrip": False,
             "rstrip": False, "normalized": False, "special": True}]


def regex(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


HF = [
    ("deep", k.nest(), True),
    ("deep-normalizer", '{"normalizer":' + '{"type":"Sequence","normalizers":[' * 100_000 +
     "]}" * 100_000 + "}", False),
    ("token-escapes", tokenizer_json(added_tokens=added("<s>" + k.ESCAPE + k.FORGED)), True),
    ("token-id-huge", tokenizer_json(added_tokens=added("<s>", 1 << 60)), True),
    ("token-id-negative", tokenizer_json(added_tokens=added("<s>", -5)), False),
    ("token-empty", tokenizer_json(added_tokens=added("")), False),
    ("vocab-id-huge", model(vocab={"h": 1 << 62}), False),
    ("vocab-escapes", model(vocab={"h" + k.ESCAPE: 0, "h": 0}), False),
    ("merges-unknown", model(merges=["x" + k.ESCAPE + " y"]), False),
    ("merges-bad", model(merges=[[["h"]], 5, None]), False),
    ("type-escapes", model(type="B" + k.ESCAPE), True),
    ("regex-slow", tokenizer_json(pre_tokenizer=regex("(a+)+$")), True),
    ("regex-slow-input", tokenizer_json(pre_tokenizer=regex("(h|hi|i)*x")), False),
    ("regex-deep", tokenizer_json(pre_tokenizer=regex("(" * 50_000 + ")" * 50_000)), False),
    ("regex-repeat", tokenizer_json(pre_tokenizer=regex("((a{1,999}){1,999}){1,999}")), False),
    ("regex-escapes", tokenizer_json(pre_tokenizer=regex("[" + k.ESCAPE)), False),
    ("replace-grows", tokenizer_json(normalizer={"type": "Sequence", "normalizers": [
        {"type": "Replace", "pattern": {"String": "h"}, "content": "h" * 100}] * 10}), True),
    ("cut", tokenizer_json()[:100], False),
    ("empty", "", False),
    ("bad-utf8", b'{"version": "\xff\xfe"}', False),
    ("long-line", b"[" + b"1," * 5_000_000 + b"1]", False),
    ("fifo", k.fifo, True),
    ("zero-device", lambda path: k.link(path, "/dev/zero"), True),
    ("folder", lambda path: path.mkdir(), False),
]
for name, data, is_quick in HF:
    add(f"tokenizer/json-{name}", "tokenizer", file_of("tokenizer.json", data), is_quick)


def beside(**files):
    """A good tokenizer.json and other files of its folder."""
    def make(kit, folder):
        k.write(folder / "tokenizer.json", tokenizer_json())
        for name, data in files.items():
            path = folder / f"{name}.json"
            data(path) if callable(data) else k.write(path, data)
        return folder
    return make


add("tokenizer/config-deep", "tokenizer", beside(tokenizer_config=k.nest()), True)
add("tokenizer/config-fifo", "tokenizer", beside(tokenizer_config=k.fifo), True)
add("tokenizer/config-zero-device", "tokenizer", beside(
    tokenizer_config=lambda path: k.link(path, "/dev/zero")))
add("tokenizer/config-escapes", "tokenizer", beside(
    tokenizer_config=json.dumps({"bos_token": "<" + k.ESCAPE + k.FORGED, "eos_token": 5})), True)
add("tokenizer/special-deep", "tokenizer", beside(special_tokens_map=k.deep_object()))
add("tokenizer/special-link", "tokenizer", beside(
    special_tokens_map=lambda path: k.link(path, "/etc/passwd")))


def piece(text, score=0.0):
    """A SentencePiece of a ModelProto."""
    body = b"\x0a" + varint(len(text)) + text + b"\x15" + struct.pack("<f", score)
    return b"\x0a" + varint(len(body)) + body


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


MODELS = [
    ("empty", b"", False),
    ("noise", bytes(range(256)) * 40, False),
    ("text", k.ESCAPE + k.FORGED, True),
    ("length-huge", b"\x0a\xff\xff\xff\xff\x07x", True),
    ("groups-deep", b"\x0b" * 300_000, False),
    ("pieces-only", piece(b"hi") * 10, False),
    ("piece-escapes", piece(b"<unk>" + k.ESCAPE.encode()), False),
    ("piece-bad-utf8", piece(b"\xff\xfe\x9b2J"), False),
    ("trainer-huge", b"\x12\x06\x20\xff\xff\xff\xff\x07" + piece(b"hi"), False),
    ("charsmap", b"\x1a\x06\x12\x04\xff\xff\xff\xff" + piece(b"hi"), True),
    ("fifo", k.fifo, True),
    ("zero-device", lambda path: k.link(path, "/dev/zero"), True),
    ("long", piece(b"x" * 100) * 100_000, False),
]
for name, data, is_quick in MODELS:
    add(f"tokenizer/model-{name}", "tokenizer", file_of("tokenizer.model", data), is_quick)


# Plugins: what is only looked at does not run.


def elf(**changes):
    """An ELF header of a 64-bit shared object with what it is told in it."""
    values = {"phoff": 64, "shoff": 0, "phnum": 1, "shnum": 0, "shentsize": 64, **changes}
    return b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, values["phoff"], values["shoff"], 0, 64, 56,
        values["phnum"], values["shentsize"], values["shnum"], 0)


PLUGINS = [
    ("text", b"not a plugin" + k.ESCAPE.encode(), False),
    ("empty", b"", False),
    ("cut", elf()[:40], False),
    ("sections-huge", elf(shoff=(1 << 63), shnum=0xFFFF), True),
    ("headers-huge", elf(phoff=(1 << 64) - 8, phnum=0xFFFF), False),
    ("note-huge", elf() + struct.pack("<IIQQQQQQ", 4, 4, 120, 0, 0, 1 << 62, 1 << 62, 4), False),
    ("fifo", k.fifo, True),
    ("zero-device", lambda path: k.link(path, "/dev/zero"), False),
    ("folder", lambda path: path.mkdir(), False),
]
for name, data, is_quick in PLUGINS:
    add(f"plugin/{name}", "plugin look", file_of("s2s_x.so", data), is_quick)


@case("plugin/constructor", "look", quick=True, skip=k.without_compiler)
def _(kit, folder):
    return k.marker_library(kit, folder / "s2s_x.so", "plugin/constructor")


# Where the program is started.


@case("folder/system-libraries", "look here", quick=True, cwd=True, skip=k.without_compiler)
def _(kit, folder):
    """RUNPATH must not lead into the current folder."""
    for name in ("libstdc++.so.6", "libgcc_s.so.1", "libm.so.6", "libs2s_run.so", "libs2s_core.so",
                 "libs2s_data.so", "libgomp.so.1", "libsndfile.so.1"):
        k.marker_library(kit, folder / name, "folder/system-libraries", soname=name)
    return k.write(folder / "s2s_x.so", b"x")


@case("folder/driver", "gpu here", quick=True, cwd=True, skip=k.without_compiler)
def _(kit, folder):
    """A run path of NVIDIA's libraries leads into the current folder."""
    for name in ("libcuda.so.1", "libnvidia-ml.so.1", "libcusparseLt.so.0", "libcudart.so.13",
                 "libnccl.so.2", "libnccl-net.so", "libnvrtc.so.13", "libcudnn.so.9"):
        k.marker_library(kit, folder / name, "folder/driver", soname=name)
    return folder


@case("folder/plugins", "here", cwd=True, skip=k.without_compiler)
def _(kit, folder):
    for name in ("s2s_llm_evil.so", "plugins/s2s_evil.so", "lib/s2s/plugins/s2s_evil.so"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        k.marker_library(kit, folder / name, "folder/plugins")
    return folder


@case("folder/programs", "here data", quick=True, cwd=True)
def _(kit, folder):
    """Programs of the usual names are not what is run."""
    for name in ("git", "sh", "s2s-run", "pocketsphinx_batch", "espeak-ng"):
        path = k.write(folder / name, f"#!/bin/sh\n{kit.touch('folder/programs')}\n")
        path.chmod(0o755)
    return k.cuts_file(k.good_audio(folder), k.cut())
