"""NeMo's manifests of a stranger, with and without tars."""

import json

import kit as k
from kit import add


def nemo(*entries):
    def make(kit, folder):
        k.good_audio(folder)
        made = [entry(kit) if callable(entry) else entry for entry in entries]
        return k.cuts_file(folder, *made, name="manifest.json")
    return make


def audio(path="u.wav", **more):
    return {"audio_filepath": path, "duration": 4.0, "text": "hi", **more}


NEMO = [
    ("pipe", lambda kit: audio("pipe:" + kit.touch("data/nemo-pipe"), offset=0.0,
                               sampling_rate=16000), True),
    ("pipe-plain", lambda kit: audio("pipe:" + kit.touch("data/nemo-pipe-plain")), True),
    ("deep", '{"audio_filepath": "u.wav", "duration": 4, "more": ' + k.nest() + "}", True),
    ("deep-object", '{"audio_filepath": "u.wav", "duration": 4, "more": ' + k.deep_object() + "}",
     False),
    ("deep-skipme", '{"audio_filepath": "u.wav", "_skipme": ' + k.nest() + "}", False),
    ("path-escapes", audio("gone" + k.ESCAPE + k.FORGED), True),
    ("text-escapes", audio(text=k.ESCAPE + k.FORGED, lang=k.ESCAPE), False),
    ("duration-deep", audio(duration=json.loads(k.nest(200))), False),
    ("duration-huge", audio(duration=1e300, offset=1e300), False),
    ("duration-negative", audio(duration=-5, offset=-5), False),
    ("rate-huge", audio(offset=0.5, sampling_rate=1 << 62), False),
    ("braces", audio("a{0..999999999}.wav"), False),
    ("zero-device", audio("/dev/zero"), False),
    ("zero-device-by-link", lambda kit: audio(str(k.link(kit.root / "zero.wav", "/dev/zero"))),
     True),
]
for name, entry, is_quick in NEMO:
    add(f"data/nemo-{name}", "data convert:nemo", nemo(audio(), entry), is_quick)


def tarred(number, entry):
    """Two NeMo shards, of which the second has this number and this line."""
    def make(kit, folder):
        for i, line in (("0", audio("u.wav")), (number, entry)):
            k.write(folder / f"manifest_{i}.json", json.dumps(line) + "\n")
            k.write(folder / f"audio_{i}.tar", k.tar_of({"u.wav": k.wav(samples=64000)}))
        return k.write(folder / "input.yaml", "- {type: nemo_tarred, "
                       f"manifest_filepath: 'manifest_{{0,{number}}}.json', "
                       f"tarred_audio_filepaths: 'audio_{{0,{number}}}.tar'}}\n")
    return make


add("data/input-tar-long-name", "data convert:input_cfg",
    tarred("1", audio("u" * 300_000 + "-sub1.wav")), True)
add("data/input-tar-huge-number", "data convert:input_cfg", tarred("9" * 30, audio("u.wav")), True)
