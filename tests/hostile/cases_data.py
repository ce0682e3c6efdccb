"""Data sets of a stranger: cuts, Shar folders, input_cfg files."""

import gzip
import json

import kit as k
from kit import add, case


def lines(*made):
    """Cuts beside good audio; a line is a text, an object, or a function of the kit."""
    def make(kit, folder):
        k.good_audio(folder)
        return k.cuts_file(folder, *[line(kit) if callable(line) else line for line in made])
    return make


def with_field(field, text):
    """A good cut with one more member, whose value is `text` as it stands."""
    return json.dumps(k.cut())[:-1] + f', "{field}": {text}}}'


def command(name, seconds=4.0):
    """A recording that is what a command writes."""
    def recording(kit):
        return k.recording("u", kit.touch(name), "command", seconds)
    return recording


def user_command(kit):
    return k.cut(user=command("data/cut-command")(kit))


def agent_command(kit):
    return k.cut(agent=command("data/cut-agent-command")(kit))


def mixed_command(kit):
    inner = k.cut(user=command("data/cut-mixed-command")(kit))
    return {"id": "m", "type": "MixedCut",
            "tracks": [{"cut": inner, "type": "MonoCut", "offset": 0.0}]}


def response_command(kit):
    rir = command("data/cut-rir-command", 0.1)(kit)
    return k.cut(user=transformed("ReverbWithImpulseResponse", rir=rir, normalize_output=True,
                                  early_only=False, rir_channels=[0]))


def pipe_path(kit):
    return k.cut(user=k.recording("u", "pipe:" + kit.touch("data/cut-pipe-path")))


def pipe_tar(kit):
    source = "pipe:" + kit.touch("data/cut-pipe-tar") + "?o=0&e=64"
    return k.cut(user=k.recording("u", source, "shar_ptr"))


def transformed(name, **kwargs):
    return k.recording("u", "u.wav", transforms=[{"name": name, "kwargs": kwargs}])


def room(**values):
    return transformed("ReverbWithImpulseResponse", rir=None, normalize_output=True,
                       early_only=False, rir_channels=[0],
                       rir_generator={"sr": 16000, "max_T60": 0.8, **values})


def user(**values):
    return k.cut(user={**k.recording("u", "u.wav"), **values})


def speech(text):
    made = k.cut()
    made["supervisions"][0]["text"] = text
    made["supervisions"][1]["speaker"] = "agent" + text[:40]
    return made


def silence_behind(seconds):
    """A second of the agent's audio, and silence to the end."""
    made = k.cut(seconds=seconds, agent=k.recording("a", "a.wav", seconds=1.0))
    made["custom"]["target_audio_unaligned"] = True
    return made


CUTS = [
    ("nan-before-nest", with_field("more", f'[NaN,{k.nest()}]'), True),
    ("nan-before-object-nest", with_field("more", f'[NaN,{k.deep_object()}]'), False),
    ("big-number-before-nest", with_field("more", f'[{"9" * 400},{k.nest()}]'), False),
    ("nest", with_field("more", k.nest()), False),
    ("nest-in-custom", '{"id":"x","custom":{"a":' + k.nest(1000) + "}}", False),
    ("id-escapes", k.cut("d" + k.ESCAPE), True),
    ("id-forged", k.cut("d" + k.FORGED, user="gone.wav"), True),
    ("path-forged", k.cut(user="gone" + k.FORGED + ".wav"), True),
    ("path-escapes", k.cut(agent="gone" + k.ESCAPE + ".wav"), True),
    ("text-escapes", speech("hi" + k.ESCAPE + k.FORGED), True),
    ("source-type-escapes", k.cut(user=k.recording("u", "u.wav", "f" + k.ESCAPE)), False),
    ("type-escapes", k.cut(type="Cut" + k.ESCAPE), False),
    ("field-escapes", with_field("x\\u001b[2J", "1"), False),
    ("transform-escapes", k.cut(user=transformed("Speed" + k.ESCAPE + k.FORGED)), False),
    ("command", user_command, True),
    ("agent-command", agent_command, True),
    ("mixed-command", mixed_command, True),
    ("rir-command", response_command, True),
    ("pipe-path", pipe_path, True),
    ("pipe-tar", pipe_tar, False),
    ("duration-huge", k.cut(seconds=1e15), False),
    ("duration-silence", silence_behind(400_000), True),
    ("duration-infinite", with_field("start", "Infinity"), False),
    ("duration-tiny", k.cut(seconds=1e-300), False),
    ("samples-huge", user(num_samples=(1 << 63) - 1), False),
    ("samples-negative", user(num_samples=-5), False),
    ("rate-huge", user(sampling_rate=(1 << 31) - 1), False),
    ("rate-zero", user(sampling_rate=0), False),
    ("channels-many", user(channel_ids=list(range(100_000))), False),
    ("start-huge", k.cut(start=1e300), False),
    ("speed-zero", k.cut(user=transformed("Speed", factor=0)), False),
    ("speed-tiny", k.cut(user=transformed("Speed", factor=1e-9)), True),
    ("tempo-tiny", k.cut(user=transformed("Tempo", factor=1e-9)), False),
    ("tempo-nan", k.cut(user=transformed("Tempo", factor="nan")), False),
    ("resample-huge", k.cut(user=transformed("Resample", source_sampling_rate=1e18,
                                             target_sampling_rate=16000)), False),
    ("resample-prime", k.cut(user=transformed("Resample", source_sampling_rate=2147483629,
                                              target_sampling_rate=16000)), False),
    ("resample-overflow", k.cut(user=transformed("Resample", source_sampling_rate=1e300,
                                                 target_sampling_rate=1e300)), False),
    ("room-huge", k.cut(user=room(max_T60=1e9)), True),
    ("room-rate-huge", k.cut(user=room(sr=1 << 40)), False),
    ("room-negative", k.cut(user=room(sr=-1, max_T60=-1, alpha=0)), False),
    ("loudness-huge", k.cut(user=transformed("LoudnessNormalization", target=1e308)), False),
    ("memory-source", k.cut(user=k.recording("u", "AAAA" * 1000, "memory")), False),
    ("url-source", k.cut(user=k.recording("u", "http://127.0.0.1:9/x.wav", "url")), False),
    ("pointer-overflow", k.cut(user=k.recording("u", "u.wav?o=0&e=999999999999999999",
                                                "shar_ptr")), False),
    ("pointer-passwd", k.cut(user=k.recording("u", "/etc/passwd?o=0&e=100", "shar_ptr")), False),
    ("audio-zero-device", k.cut(user="/dev/zero"), True),
    ("audio-tty", k.cut(user="/dev/tty"), False),
    ("audio-proc", k.cut(user="/proc/self/environ"), False),
    ("audio-folder", k.cut(user="."), False),
    ("audio-nul-name", k.cut(user="u\0.wav"), False),
    ("audio-above", k.cut(user="../../../outside/secret.txt"), False),
    ("supervisions-many", k.cut(supervisions=[k.turn("user", 0, 1, "x")] * 50_000), False),
    ("alignment-escapes", k.cut(supervisions=[{**k.turn("agent", 0, 1, "x"), "alignment": {
        "word" + k.ESCAPE: [["a" + k.ESCAPE, 0, 1], ["b"]]}}]), False),
    ("array-shape-huge", k.cut(custom={"codes": {
        "array": {"storage_type": "numpy_files", "storage_path": "x", "storage_key": "y",
                  "shape": [1 << 62, 1 << 62]}, "temporal_dim": 0, "frame_shift": 1e-300,
        "start": 0}}), False),
    ("tracks-none", '{"id": "m", "type": "MixedCut", "tracks": []}', False),
    ("padding-huge", {"id": "p", "type": "PaddingCut", "duration": 1e15, "sampling_rate": 16000,
                      "feat_value": 0, "num_samples": 1 << 60}, False),
    ("mixed-offset-huge", {"id": "m", "type": "MixedCut", "tracks": [
        {"cut": k.cut(), "type": "MonoCut", "offset": 1e15}]}, True),
    ("bad-utf8", '{"id": "\udcff\udcfe\udc9b2J", "type": "MonoCut"}', False),
    ("nul", "\0" * 100, False),
    ("long-line", "x" * 10_000_000, False),
    ("long-string", '{"id": "' + "x" * 10_000_000 + '"}', False),
    ("many-bad-lines", "\n".join(["{" + k.ESCAPE] * 10_000), False),
    ("half-a-line", json.dumps(k.cut())[:200], False),
    ("numbers-long", '{"id": ' + "1" * 1_000_000 + "}", False),
    ("list", "[" * 100, False),
]
for name, line, is_quick in CUTS:
    add(f"data/cut-{name}", "data", lines(line), is_quick)


def content(name, data):
    def make(kit, folder):
        return k.write(k.good_audio(folder) / name, data(kit) if callable(data) else data)
    return make


def special(name, spoil):
    def make(kit, folder):
        spoil(folder / name)
        return folder / name
    return make


FILES = [
    ("gzip-blanks", content("cuts.jsonl.gz", lambda kit: k.gzip_bomb(b" ", 1_000_000_000)), True),
    ("gzip-lines", content("cuts.jsonl.gz",
                           lambda kit: k.gzip_bomb(b"{}\n", 1_000_000_000)), False),
    ("gzip-cut", content("cuts.jsonl.gz",
                         lambda kit: gzip.compress(json.dumps(k.cut()).encode())[:200]), False),
    ("gzip-noise", content("cuts.jsonl.gz", b"\x1f\x8b" + bytes(range(256)) * 8), False),
    ("gzip-many-members", content("cuts.jsonl.gz", gzip.compress(b"") * 50_000), False),
    ("fifo", special("cuts.jsonl", k.fifo), True),
    ("zero-device", special("cuts.jsonl", lambda path: k.link(path, "/dev/zero")), True),
    ("folder", special("cuts.jsonl", lambda path: path.mkdir()), False),
    ("loop", special("cuts.jsonl", lambda path: k.link(path, path)), False),
    ("empty", content("cuts.jsonl", b""), False),
    ("passwd", special("cuts.jsonl", lambda path: k.link(path, "/etc/passwd")), False),
    ("name-escapes", lambda kit, folder: k.cuts_file(
        folder, "{", name="c" + k.ESCAPE + ".jsonl"), True),
    ("name-braces", lambda kit, folder: k.cuts_file(
        folder, "{", name="c{0..99999999}.jsonl"), False),
]
for name, make, is_quick in FILES:
    add(f"data/file-{name}", "data convert", make, is_quick)


def gzip_list(kit, folder):
    return k.write(folder / "list.txt", k.gzip_bomb(b"x\n", 1_000_000_000))


def gzip_kaldi(kit, folder):
    k.good_audio(folder)
    k.write(folder / "kaldi/wav.scp", "u1 u.wav\n")
    k.write(folder / "kaldi/utt2spk", k.gzip_bomb(b"u1 x\n", 1_000_000_000))
    return folder / "kaldi"


add("data/file-gzip-list", "data convert:stereo", gzip_list, True)
add("data/file-gzip-kaldi", "data convert:kaldi", gzip_kaldi, True)


def index_beside(data):
    """A line index that does not fit, newer than its file."""
    def make(kit, folder):
        path = k.cuts_file(k.good_audio(folder), *[k.cut(f"d{i}") for i in range(3)])
        k.write(folder / "cuts.jsonl.idx", data)
        return path
    return make


for name, data in [("huge-offsets", b"\xff" * 32), ("zero", bytes(32)), ("odd", b"123"),
                   ("backwards", b"".join(i.to_bytes(8, "little") for i in (900, 500, 100, 0)))]:
    add(f"data/index-{name}", "data", index_beside(data))
add("data/index-fifo", "data", lambda kit, folder: (
    k.fifo(folder / "cuts.jsonl.idx"), k.cuts_file(k.good_audio(folder), k.cut()))[1])


# input_cfg.


def yaml(text):
    def make(kit, folder):
        k.good_audio(folder)
        k.cuts_file(folder, k.cut())
        return k.write(folder / "input.yaml", text(kit) if callable(text) else text)
    return make


INPUT = [
    ("shar-pipe", lambda kit: "- {type: lhotse_shar, shar_path: {cuts: ['pipe:%s']}}\n" %
     kit.touch("data/input-shar-pipe"), True),
    ("cuts-pipe", lambda kit: "- {type: lhotse, cuts_path: 'pipe:%s'}\n" %
     kit.touch("data/input-cuts-pipe"), True),
    ("nemo-pipe", lambda kit: "- {type: nemo, manifest_filepath: 'pipe:%s'}\n" %
     kit.touch("data/input-nemo-pipe"), False),
    ("tar-pipe", lambda kit: "- {type: nemo_tarred, manifest_filepath: 'pipe:%s', "
     "tarred_audio_filepaths: 'pipe:%s'}\n" % ((kit.touch("data/input-tar-pipe"),) * 2), False),
    ("names-itself", "- {type: group, input_cfg: input.yaml}\n", False),
    ("names-itself-twice", "- {type: group, input_cfg: input.yaml}\n" * 2, True),
    ("deep", "- " + k.nest() + "\n", True),
    ("deep-object", "- " + k.deep_object() + "\n", False),
    ("type-escapes", '- {type: "x\\e[2J\\nerror: [fake/line] x", cuts_path: cuts.jsonl}\n', True),
    ("key-escapes", '- {"x\\e[2J\\u202e": 1, type: lhotse, cuts_path: cuts.jsonl}\n', False),
    ("weights-nan", "- {type: lhotse, cuts_path: cuts.jsonl, weight: .nan}\n", False),
    ("braces-huge", "- {type: nemo, manifest_filepath: 'm_{0..9999999}_{0..9999999}.json'}\n",
     True),
    ("braces-nested", "- {type: nemo, manifest_filepath: '" + "{a," * 5000 + "}" * 5000 + "'}\n",
     False),
    ("zero-device", "- {type: lhotse, cuts_path: /dev/zero}\n", False),
    ("group-zero-device", "- {type: group, input_cfg: /dev/zero}\n", True),
    ("tags-escapes", '- {type: lhotse, cuts_path: cuts.jsonl, tags: {"t\\e]0;x\\a": "\\e[2J"}}\n',
     False),
    ("anchors", lambda kit: "- &a0 [x]\n" + "".join(
        f"- &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)), False),
]
for name, text, is_quick in INPUT:
    add(f"data/input-{name}", "data convert:input_cfg", yaml(text), is_quick)


@case("data/input-fifo", "data convert:input_cfg")
def _(kit, folder):
    k.fifo(folder / "more.yaml")
    return k.write(folder / "input.yaml", "- {type: group, input_cfg: more.yaml}\n")


# Shar.


def shar(cuts=None, **fields):
    """A Shar folder; values are bytes, or functions of the path."""
    def make(kit, folder):
        home = folder / "shar"
        good = {**k.cut(), "recording": None, "custom": {}}
        del good["recording"]
        k.write(home / "cuts.000000.jsonl.gz", gzip.compress(
            (json.dumps(good) + "\n").encode()) if cuts is None else cuts(kit))
        for name, value in fields.items():
            path = home / f"{name}.000000.tar"
            data = value(path)
            if isinstance(data, bytes):
                k.write(path, data)
        return home
    return make


def manifest_of(**more):
    return json.dumps({**k.recording("u", "", "shar"), **more}).encode()


def audio_tar(data=None, **more):
    return k.tar_of({"d0.wav": k.wav(samples=64000) if data is None else data,
                     "d0.json": manifest_of(**more)})


def array_tar(shape, more=b"", descr="<f4"):
    manifest = {"array": {"storage_type": "memory_npy", "storage_path": "", "storage_key": "",
                          "shape": [1]}, "temporal_dim": 0, "frame_shift": 1.0, "start": 0}
    return k.tar_of({"d0.npy": k.npy(shape, descr, more), "d0.json": json.dumps(manifest).encode()})


SHAR = [
    ("cuts-gzip-bomb", shar(lambda kit: k.gzip_bomb(b" ", 1_000_000_000)), True),
    ("cuts-command", shar(lambda kit: gzip.compress(json.dumps(k.cut(
        user=command("data/shar-cuts-command")(kit))).encode())), True),
    ("cuts-nest", shar(lambda kit: gzip.compress(with_field("m", f"[NaN,{k.nest()}]").encode())),
     False),
    ("tar-size-huge", shar(recording=lambda path: k.tar(
        k.tar_member("d0.wav", b"x", size=(1 << 33) - 1))), True),
    ("tar-names-above", shar(recording=lambda path: k.tar(
        k.tar_member("../../outside/d0.wav", k.wav()), k.tar_member("../d0.json", b"{}"))), False),
    ("tar-name-escapes", shar(recording=lambda path: k.tar(
        k.tar_member("d0" + k.ESCAPE + ".wav", b"x"))), False),
    ("tar-link", shar(recording=lambda path: k.tar(
        k.tar_member("d0.wav", kind=b"2", linkname=b"/etc/passwd"))), False),
    ("tar-long-name", shar(recording=lambda path: k.tar(
        k.tar_member("././@LongLink", b"x" * 1_000_000, kind=b"L"))), False),
    ("tar-pax-huge", shar(recording=lambda path: k.tar(
        k.tar_member("pax", b"30 size=99999999999999999999\n", kind=b"x"),
        k.tar_member("d0.wav", b"x"))), False),
    ("tar-cut", shar(recording=lambda path: audio_tar()[:3000]), False),
    ("tar-empty", shar(recording=lambda path: b""), False),
    ("tar-fifo", shar(recording=k.fifo), False),
    ("tar-manifest-deep", shar(recording=lambda path: k.tar_of(
        {"d0.wav": k.wav(), "d0.json": k.nest().encode()})), False),
    ("tar-manifest-command", lambda kit, folder: shar(recording=lambda path: k.tar_of(
        {"d0.wav": k.wav(), "d0.json": json.dumps(command("data/shar-tar-manifest-command")(kit)
                                                  ).encode()}))(kit, folder), True),
    ("npy-shape-huge", shar(codes=lambda path: array_tar("(4611686018427387904, 4)")), True),
    ("npy-shape-overflow", shar(codes=lambda path: array_tar("(4294967296, 4294967296)")), False),
    ("npy-object", shar(codes=lambda path: array_tar("(1,)", b"cos\nsystem\n.", "|O")), False),
    ("npy-header-code", shar(codes=lambda path: array_tar(
        "(__import__('os').system('id'),)", bytes(4))), False),
]
for name, make, is_quick in SHAR:
    add(f"data/shar-{name}", "data", make, is_quick)
