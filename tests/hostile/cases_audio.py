"""Audio files, transcripts and the sources of `data convert`."""

import json
import struct

import kit as k
from kit import add

GOOD = k.wav(samples=64000)


def chunk(name, size, data=b""):
    return name + struct.pack("<I", size) + data


def flac():
    """A stream header that promises 2^36 - 1 samples, and no frame."""
    info = struct.pack(">HH", 4096, 4096) + bytes(6) + \
        ((16000 << 44) | (0 << 41) | (15 << 36) | ((1 << 36) - 1)).to_bytes(8, "big") + bytes(16)
    return b"fLaC" + b"\x80" + len(info).to_bytes(3, "big") + info


def au(offset=24, size=0xFFFFFFFF, kind=3, rate=16000, channels=1):
    return b".snd" + struct.pack(">IIIII", offset, size, kind, rate, channels) + bytes(3200)


def ogg():
    head = b"OpusHead" + bytes([1, 255]) + struct.pack("<HIHB", 0, 48000, 0, 255)
    page = b"OggS" + bytes([0, 2]) + bytes(8) + b"\1\0\0\0" + bytes(8)
    return page + bytes([1, len(head)]) + head


AUDIO = [
    ("empty.wav", b"", False),
    ("cut-header.wav", GOOD[:20], False),
    ("cut-data.wav", GOOD[:9000], True),
    ("size-huge.wav", k.wav(data_size=0xFFFFFFFF, riff=0xFFFFFFFF), True),
    ("size-negative.wav", k.wav(data_size=0x80000000), False),
    ("riff-zero.wav", k.wav(riff=0), False),
    ("channels-65535.wav", k.wav(channels=65535, samples=1, block=2), True),
    ("channels-zero.wav", k.wav(channels=0, samples=0, data=bytes(100)), False),
    ("rate-zero.wav", k.wav(rate=0), True),
    ("rate-huge.wav", k.wav(rate=0xFFFFFFFF), False),
    ("bits-zero.wav", k.wav(bits=0, data=bytes(100)), False),
    ("bits-65535.wav", k.wav(bits=65535, samples=1, data=bytes(100), block=2), False),
    ("float-nan.wav", k.wav(bits=32, kind=3, data=b"\xff\xff\xff\x7f" * 64000), False),
    ("float-huge.wav", k.wav(bits=32, kind=3, data=struct.pack("<f", 3e38) * 64000), False),
    ("kind-unknown.wav", k.wav(kind=0x1234), False),
    ("chunks-many.wav", k.wav(extra=chunk(b"junk", 0) * 100_000), False),
    ("chunk-huge.wav", k.wav(extra=chunk(b"LIST", 0xFFFFFFF0, b"INFO")), False),
    ("text-escapes.wav", k.ESCAPE.encode() + k.FORGED.encode(), False),
    ("rf64.wav", b"RF64\xff\xff\xff\xffWAVEds64" + struct.pack("<IQQQI", 28, 1 << 62, 1 << 62,
                                                              1 << 62, 0xFFFFFFFF) + GOOD[12:],
     False),
    ("samples-huge.flac", flac(), True),
    ("cut.flac", flac()[:30], False),
    ("offset-huge.au", au(offset=0x7FFFFFFF), False),
    ("channels-huge.au", au(channels=0x7FFFFFFF), False),
    ("rate-negative.au", au(rate=0x80000000), False),
    ("channels-255.opus", ogg(), False),
    ("cut.ogg", b"OggS" + bytes(24), False),
    ("tag-huge.mp3", b"ID3\x03\0\0\x7f\x7f\x7f\x7f" + bytes(100), False),
    ("frames.mp3", b"\xff\xfb\x90\x64" * 5000, False),
    ("size.caf", b"caff\0\1\0\0desc" + struct.pack(">q", -1) + bytes(64), False),
    ("size.aiff", b"FORM\x7f\xff\xff\xffAIFFCOMM\x7f\xff\xff\xff" + bytes(64), False),
    ("size.w64", b"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\0\0" + b"\xff" * 64, False),
]


def audio_case(name, data):
    def make(kit, folder):
        k.good_audio(folder)
        k.write(folder / name, data)
        # Each length that a manifest may claim: the file's own word is what counts.
        return k.cuts_file(folder, k.cut("short", user=name, seconds=0.1), k.cut("long", user=name))
    return make


for name, data, is_quick in AUDIO:
    add(f"audio/{name}", "data", audio_case(name, data), is_quick)
    if is_quick:
        add(f"audio/convert-{name}", "convert:stereo",
            lambda kit, folder, name=name, data=data: k.write(folder / name, data))


# Transcripts beside audio.


def transcript(name, data):
    def make(kit, folder):
        k.write(folder / "a.wav", k.wav(channels=2, samples=64000))
        path = folder / name
        data(path) if callable(data) else k.write(path, data)
        return folder / "a.wav"
    return make


def grid(count="1", intervals="1", text='"hi"', times="0\n1"):
    return f'File type = "ooTextFile"\nObject class = "TextGrid"\n0\n4\n<exists>\n{count}\n' \
           f'"IntervalTier"\n"words"\n0\n4\n{intervals}\n{times}\n{text}\n'


TRANSCRIPTS = [
    ("grid-count-huge", "a.TextGrid", grid(count="100000000"), True),
    ("grid-intervals-huge", "a.TextGrid", grid(intervals="99999999"), False),
    ("grid-number-huge", "a.TextGrid", grid(times="1e999\n1e999"), False),
    ("grid-nan", "a.TextGrid", grid(count="nan"), False),
    ("grid-text-escapes", "a.TextGrid", grid(text='"' + k.ESCAPE + k.FORGED + '"',
                                             times="3\n900"), True),
    ("grid-text-open", "a.TextGrid", grid(text='"' + "x" * 1_000_000), False),
    ("grid-comments", "a.TextGrid", "!" * 5_000_000, False),
    ("grid-brackets", "a.TextGrid", "[" * 5_000_000, False),
    ("grid-utf16-cut", "a.TextGrid", b"\xff\xfe" + grid().encode("utf-16-le")[:101], False),
    ("grid-utf16-halves", "a.TextGrid", b"\xfe\xff" + b"\xd8\x00" * 1001, False),
    ("grid-fifo", "a.TextGrid", k.fifo, False),
    ("grid-zero-device", "a.TextGrid", lambda path: k.link(path, "/dev/zero"), True),
    ("json-deep", "a.json", k.nest(), True),
    ("json-deep-item", "a.json", f'{{"segments": [{k.nest()}]}}', False),
    ("json-deep-conditions", "a.json", f'{{"text_conditions": {k.deep_object()}, "text": "x"}}',
     False),
    ("json-escapes", "a.json", json.dumps({"alignments": [[k.ESCAPE + k.FORGED, [0, 900], "x"]]}),
     True),
    ("json-item-escapes", "a.json", json.dumps({"alignments": [{"x": k.ESCAPE + k.FORGED}]}),
     False),
    ("json-times-huge", "a.json", json.dumps({"alignments": [["x", [-1e300, 1e300], "x"]]}), False),
    ("json-bad-utf8", "a.json", b'{"text": "\xff\xfe"}', False),
    ("json-fifo", "a.json", k.fifo, False),
    ("text-escapes", "a.txt", k.ESCAPE + k.FORGED, False),
    ("text-times", "a.txt", "-1e300\t1e300\tx\n1e999\t2\ty\n", False),
    ("text-long", "a.txt", "x" * 10_000_000, False),
    ("text-zero-device", "a.txt", lambda path: k.link(path, "/dev/zero"), False),
]
for name, file, data, is_quick in TRANSCRIPTS:
    add(f"transcript/{name}", "convert:stereo", transcript(file, data), is_quick)


# Kaldi, Lhotse and Moshi.


def kaldi(**files):
    def make(kit, folder):
        home = folder / "kaldi"
        k.good_audio(home)
        everything = {"wav_scp": "u u.wav\n", **files}
        for name, data in everything.items():
            path = home / name.replace("_", ".")
            value = data(kit) if callable(data) else data
            if value is not None:
                k.write(path, value)
            else:
                k.fifo(path)
        return home
    return make


KALDI = [
    ("command", kaldi(wav_scp=lambda kit: f"u {kit.touch('kaldi/command')} |\n"), True),
    ("command-in-text", kaldi(
        wav_scp=lambda kit: f"u u.wav; {kit.touch('kaldi/command-in-text')}\n"), False),
    ("pipe", kaldi(wav_scp=lambda kit: f"u pipe:{kit.touch('kaldi/pipe')}\n"), True),
    ("key-escapes", kaldi(wav_scp="u" + k.ESCAPE + " gone.wav\n"), True),
    ("segments-escapes", kaldi(segments="s" + k.ESCAPE + " u 5 1\ns2 nobody 0 1\n"), False),
    ("segments-huge", kaldi(segments="s u 0 1e300\nt u -1e300 1\nv u nan inf\n"), True),
    ("keys-twice", kaldi(wav_scp="u u.wav\n" * 20_000), False),
    ("long-line", kaldi(wav_scp="u " + "x" * 10_000_000), False),
    ("nul", kaldi(wav_scp="\0" * 1000), False),
    ("bad-utf8", kaldi(text=b"u \xff\xfe\x9b2J\n"), False),
    ("durations", kaldi(reco2dur="u 1e300\n"), False),
    ("fifo", kaldi(segments=lambda kit: None), True),
    ("zero-device", kaldi(wav_scp="u /dev/zero\n"), False),
]
for name, make, is_quick in KALDI:
    add(f"kaldi/{name}", "convert:kaldi", make, is_quick)


def manifest(name, line):
    def make(kit, folder):
        k.good_audio(folder)
        return k.cuts_file(folder, line(kit) if callable(line) else line, name=name)
    return make


add("lhotse/recording-command", "convert:lhotse", manifest(
    "recordings.jsonl", lambda kit: k.recording("u", kit.touch("lhotse/recording-command"),
                                                "command")), True)
add("lhotse/recording-nest", "convert:lhotse", manifest(
    "recordings.jsonl", json.dumps(k.recording("u", "u.wav"))[:-1] +
    f', "more": [NaN, {k.nest()}]}}'))
add("lhotse/recording-escapes", "convert:lhotse", manifest(
    "recordings.jsonl", k.recording("u" + k.ESCAPE + k.FORGED, "gone" + k.ESCAPE)))
add("moshi/pipe", "convert:moshi", manifest(
    "list.jsonl", lambda kit: {"path": "pipe:" + kit.touch("moshi/pipe"), "duration": 4}), True)
add("moshi/nest", "convert:moshi", manifest("list.jsonl", '{"path": "u.wav", "duration": ' +
                                            k.nest() + "}"))
add("moshi/escapes", "convert:moshi", manifest(
    "list.jsonl", {"path": "gone" + k.ESCAPE + k.FORGED, "duration": "x" + k.ESCAPE}))
add("pairs/names-escape", "convert:wav-pairs", lambda kit, folder: (
    k.write(folder / "set/user" / ("x" + k.ESCAPE + ".wav"), b"bad"),
    k.write(folder / "set/agent" / ("x" + k.ESCAPE + ".wav"), b"bad"), folder / "set")[2], True)
add("pairs/link-loop", "convert:wav-pairs convert", lambda kit, folder: (
    k.write(folder / "set/user/x.wav", GOOD), k.write(folder / "set/agent/x.wav", GOOD),
    k.link(folder / "set/user/again", folder / "set"), folder / "set")[3])
