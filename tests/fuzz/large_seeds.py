"""usage: large_seeds.py TARGET CORPUS FOLDER

Writes seeds of up to 1 MB for `run.sh TARGET --large`: deep, wide, with big numbers, and each seed
of the corpus repeated. What a parser does with them takes as much time and memory as their size
allows, not more.
"""

import pathlib
import struct
import sys

MAX_BYTES = 1_000_000


def fill(unit, size=MAX_BYTES):
    """`unit` as often as it fits."""
    return unit * (size // len(unit))


def nest(opening, closing, middle=b""):
    count = (MAX_BYTES - len(middle)) // (len(opening) + len(closing))
    return opening * count + middle + closing * count


def listed(make, template=b"[%s]"):
    """Items `make(i)` with commas between them."""
    items, size, i = [], 0, 0
    while size < MAX_BYTES - 200:
        items.append(make(i))
        size += len(items[-1]) + 1
        i += 1
    return template % b",".join(items)


def json_seeds():
    number = b"9" * (MAX_BYTES - 20)
    return {"deep-list": nest(b"[", b"]"), "deep-map": nest(b'{"a":', b"}", b"1"),
            "open": fill(b"["), "wide-list": listed(lambda i: b"%d" % i),
            "wide-map": listed(lambda i: b'"k%d":%d' % (i, i), b"{%s}"),
            "number": b'{"a":' + number + b"}", "exponent": b'{"a":1e' + number + b"}",
            "text": b'{"a":"' + b"x" * (MAX_BYTES - 20) + b'"}',
            "escapes": b'{"a":"' + fill(b"\\u0001") + b'"}',
            "nan-deep": b'{"a":[NaN,' + nest(b"[", b"]") + b"]}",
            "nan-wide": listed(lambda i: b"NaN"), "same-key": listed(lambda i: b'"a":[]', b"{%s}")}


def wrapped(template, seeds):
    """Each seed as the value of a member that the target knows."""
    return {name: template.replace(b"@", text) for name, text in seeds.items()}


def checkpoint_index():
    head = (b'{"format":"s2s.checkpoint","version":1,"num_ranks":1,"block_bytes":1048576,'
            b'"files":[{"name":"m","bytes":0,"crc32":""}],"tensors":{"model":{%s}}}')
    tensor = b'"t%d":{"dtype":"F32","shape":[0],"pieces":[]}'
    whole = b'"t":{"dtype":"F32","shape":[%s],"pieces":[[0,[%s]]]}'
    runs = listed(lambda i: b"[%d,1]" % i, b"%s")
    repeats = listed(lambda i: b"[0,1,1,%d]" % (1 << 40), b"%s")
    return {"wide": listed(lambda i: tensor % i, head), "runs": head % (whole % (b"99999", runs)),
            "repeats": head % (whole % (b"4611686018427387904", repeats)),
            "sizes": head % (whole % (listed(lambda i: b"1", b"%s"), b"[0,1]"))}


def yaml():
    anchors = b"".join(b"{k%d: &a%d " % (i, i) for i in range(400))
    return {"deep-flow": b"a: " + nest(b"[", b"]"), "deep-map": b"a: " + nest(b"{a: ", b"}", b"1"),
            "deep-block": b"".join(b" " * i + b"a:\n" for i in range(1400)),
            "wide": b"".join(b"k%d: 1\n" % i for i in range(70_000)),
            "anchors": b"a: &a " + anchors + listed(lambda i: b"1") + b"}" * 400,
            "laughs": b"a0: &a0 [x, x]\n" + b"".join(
                b"a%d: &a%d [%s]\n" % (i, i, b",".join([b"*a%d" % (i - 1)] * 9))
                for i in range(1, 30)),
            "merges": b"b: &b {x: 1}\na:\n" + fill(b"  <<: *b\n", 500_000),
            "text": b"a: " + b"x" * (MAX_BYTES - 10), "number": b"a: " + fill(b"9"),
            "block-text": b"a: |\n" + fill(b" x\n"), "dashes": fill(b"- "), "quotes": fill(b'"'),
            "questions": fill(b"? "), "interpolation": b"a: " + nest(b"${", b"}", b"a"),
            "references": b"a: 1\nb: '" + fill(b"${a}") + b"'\n"}


def input_cfg():
    item = b"- {type: nemo, manifest_filepath: '%s'}\n"
    return {"wide": fill(b"- {type: lhotse, cuts_path: c.jsonl}\n"),
            "deep": nest(b"[{type: group, input_cfg: ", b"}]", b"x"),
            "braces": item % nest(b"{a,", b"}"), "range": item % b"{0..9999999}",
            "product": item % (b"{0..99}" * 20)}


def braces():
    return {"deep": nest(b"{a,", b"}"), "deep-round": nest(b"(a,", b")"), "open": fill(b"{"),
            "wide": b"{" + listed(lambda i: b"%d" % i, b"%s") + b"}", "commas": b"{" + fill(b",")
            + b"}", "number": b"{0.." + fill(b"9", 900_000) + b"}", "range": b"{0..9999999}",
            "product": b"{0..99}" * 20, "pairs": fill(b"{a,b}"), "plain": fill(b"{a}"),
            "marks": fill(b"_OP_0..9_CL_")}


def jinja():
    loop = b"{% for i in range(99999) %}" + b"@" + b"{% endfor %}"
    return {"text": fill(b"x"), "open": fill(b"{{ "), "brackets": b"{{ " + nest(b"[", b"]", b"1"),
            "blocks": fill(b"{% if 1 %}"), "comments": fill(b"{##}"), "raw": fill(b"{% raw %}"),
            "chain": loop.replace(b"@", b"{{ 1" + fill(b"==1", 900_000) + b" }}"),
            "dict": loop.replace(b"@", b"{% set a = {" + fill(b"1:1,", 900_000) + b"} %}"),
            "list": loop.replace(b"@", b"{% set a = [" + fill(b"1,", 900_000) + b"] %}"),
            "elif": loop.replace(b"@", b"{% if 0 %}" + fill(b"{% elif 0 %}", 900_000)
                                 + b"{% endif %}"),
            "sets": b"{% macro m(n) %}" + b"".join(b"{% set a%d = 1 %}" % i for i in range(40_000))
            + b"{{ m(n - 1) if n }}{% endmacro %}{{ m(99) }}",
            "names": b"{{ " + fill(b"a.", 900_000) + b"b }}", "spaces": b"{{ " + fill(b" "),
            "strings": b"{{ " + fill(b"'a' "),
            "marks": fill(b"{% generation %}a{% endgeneration %}")}


def text_grid():
    head = b'"ooTextFile"\n"TextGrid"\n0 1\n'
    tier = b'1 "IntervalTier" "words" 0 1 %d '
    return {"intervals": head + tier % 90_000 + fill(b'0 1 "x" '), "promised": head + tier % 10**8,
            "comments": fill(b"!"), "brackets": fill(b"["), "pairs": head + fill(b"[]"),
            "quotes": head + fill(b'"'), "numbers": head + fill(b"9"), "blanks": head + fill(b" "),
            "utf16": b"\xff\xfe" + fill(b"\x3d\xd8"), "exclamations": head + fill(b"! \n"),
            "tiers": head + b"99999 " + fill(b'"IntervalTier" "w" 0 1 0 ')}


def kaldi():
    return {"wide": b"".join(b"u%d u.wav\n" % i for i in range(60_000)) + b"--\n",
            "same": fill(b"u u.wav\n"), "line": b"u " + fill(b"x"), "blanks": fill(b" "),
            "segments": b"u u.wav\n--\n" + b"".join(b"s%d u 0 1\n" % i for i in range(60_000)),
            "numbers": b"u u\n--\ns u 0 " + fill(b"9"), "nul": fill(b"\0")}


def audio_header():
    form = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 16000, 32000, 2, 16)
    data = b"data" + struct.pack("<I", 900_000) + bytes(900_000)
    wide = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1024, 16000, 2048, 2, 16)
    return {"long": b"RIFF\xff\xff\xff\xffWAVE" + form + data,
            "chunks": b"RIFF\xff\xff\xff\xffWAVE" + form + fill(b"junk\0\0\0\0"),
            "channels": b"RIFF\xff\xff\xff\xffWAVE" + wide + data,
            "aiff": b"FORM\x7f\xff\xff\xffAIFF" + fill(b"ANNO\0\0\0\0"),
            "mp3": fill(b"\xff\xfb\x90\x64"), "ogg": fill(b"OggS" + bytes(24)),
            "flac": b"fLaC" + fill(b"\x01\0\0\0"), "au": b".snd" + fill(b"\0\0\0\x18"),
            "id3": b"ID3\x03\0\0\x7f\x7f\x7f\x7f" + bytes(900_000)}


def sentencepiece():
    piece = b"\x0a\x09\x0a\x02hi\x15\0\0\0\0"
    return {"pieces": fill(piece), "groups": fill(b"\x0b"), "unknown": fill(b"\x7a\0"),
            "long": b"\x0a\xc0\x84\x3d\x0a\xbc\x84\x3d" + bytes(999_996),
            "charsmap": b"\x1a\xc5\x84\x3d\x12\xc1\x84\x3d" + fill(b"\xff", 1_000_001)}


def safetensors_header():
    entry = b'"t%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}'
    return {name: b"\0" + text for name, text in
            {**json_seeds(), "wide": listed(lambda i: entry % i, b"{%s}")}.items()}


JSON = json_seeds()
SEEDS = {
    "checkpoint_index": lambda: {**JSON, **checkpoint_index()},
    "weight_index": lambda: {
        **JSON, **wrapped(b'{"metadata":@,"weight_map":{}}', JSON),
        "files": listed(lambda i: b'"w%d":"f%d"' % (i, i), b'{"weight_map":{%s}}')},
    "nemo_line": lambda: {**JSON, **{f"in-{name}": text for name, text in wrapped(
        b'{"audio_filepath":"a.wav","more":@}', JSON).items()}},
    "json_line": lambda: JSON,
    "cut_line": lambda: JSON,
    "config_json": lambda: JSON,
    "tokenizer_json": lambda: {**JSON, **wrapped(b'{"version":"1.0","model":@}', JSON)},
    "metrics": lambda: {**JSON, "lines": fill(b'{"step":1,"loss":2}\n'), "empty": fill(b"{}\n"),
                        "steps": b"".join(b'{"step":%d,"loss":1}\n' % i for i in range(35_000)),
                        "names": b"".join(b'{"step":1,"n%d":1}\n' % i for i in range(40_000))},
    "store_text": lambda: {**JSON, **wrapped(b'{"error":@}', JSON)},
    "yaml": yaml,
    "input_cfg": lambda: {**yaml(), **input_cfg()},
    "braces": braces,
    "jinja": jinja,
    "text_grid": text_grid,
    "kaldi": kaldi,
    "audio_header": audio_header,
    "sentencepiece": sentencepiece,
    "safetensors_header": safetensors_header,
    "pickle": lambda: {"lists": b"\x80\x02" + fill(b"]"), "tuples": b"\x80\x02)" + fill(b"\x85"),
                       "marks": b"\x80\x02" + fill(b"("), "none": b"\x80\x02" + fill(b"N")},
}


def main():
    target, corpus, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    seeds = SEEDS.get(target, dict)()
    for file in corpus.iterdir():
        if file.stat().st_size:
            seeds["repeat-" + file.name] = fill(file.read_bytes())
    for name, text in seeds.items():
        (folder / name).write_bytes(text[:1 << 20])
    print(f"{len(seeds)} large seeds in {folder}")


if __name__ == "__main__":
    main()
