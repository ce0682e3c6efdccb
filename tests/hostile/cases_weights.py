"""Weight files and folders of other software: safetensors, pickle, zip, NeMo, Hugging Face."""

import io
import json
import os
import pickle
import shutil
import zipfile

import kit as k
from kit import add, case

GOOD = {"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}


def entry(**values):
    return {"w": {**GOOD["w"], **values}}


def file_of(name, data):
    def make(kit, folder):
        return k.write(folder / name, data() if callable(data) else data)
    return make


SAFETENSORS = [
    ("empty", b"", False),
    ("seven-bytes", b"\x01" * 7, False),
    ("length-huge", k.safetensors(GOOD, bytes(8), length=(1 << 64) - 1), True),
    ("length-beyond", k.safetensors(GOOD, bytes(8), length=1 << 30), False),
    ("deep", lambda: k.safetensors(k.nest().encode()), False),
    ("deep-metadata", lambda: k.safetensors(b'{"__metadata__":' + k.deep_object().encode() + b"}"),
     False),
    ("shape-overflow", k.safetensors(entry(shape=[1 << 32, 1 << 32]), bytes(8)), True),
    ("shape-negative", k.safetensors(entry(shape=[-2]), bytes(8)), False),
    ("shape-float", k.safetensors(b'{"w":{"dtype":"F32","shape":[1e30],"data_offsets":[0,8]}}',
                                  bytes(8)), False),
    ("offsets-beyond", k.safetensors(entry(data_offsets=[0, 1 << 62]), bytes(8)), False),
    ("offsets-backwards", k.safetensors(entry(data_offsets=[8, 0]), bytes(8)), False),
    ("name-forged", k.safetensors({"w" + k.FORGED: GOOD["w"]}, bytes(8)), True),
    ("name-escapes", k.safetensors({"w" + k.ESCAPE: GOOD["w"]}, bytes(8)), True),
    ("name-bad-utf8", k.safetensors(
        b'{"\xff\xfe\x9b1m":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', bytes(8)), False),
    ("metadata-escapes", k.safetensors({"__metadata__": {"k" + k.ESCAPE: k.ESCAPE + k.FORGED},
                                        **GOOD}, bytes(8)), True),
    ("dtype-escapes", k.safetensors(entry(dtype="F" + k.ESCAPE)), False),
    ("cut-data", k.safetensors(GOOD, bytes(3)), False),
    ("wide", lambda: k.safetensors({f"t{i}": {"dtype": "F32", "shape": [0],
                                              "data_offsets": [0, 0]} for i in range(200_000)}),
     True),
    ("long-line", b" " * 10_000_000, False),
    ("text", k.ESCAPE + k.FORGED, False),
]
for name, data, is_quick in SAFETENSORS:
    add(f"weights/safetensors-{name}", "weights compare", file_of("w.safetensors", data), is_quick)


class Command:
    """A pickle that runs a command when Python loads it."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def torch_zip(content, root="archive", more=()):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(f"{root}/data.pkl", content)
        archive.writestr(f"{root}/version", "3\n")
        for name, data in more:
            archive.writestr(name, data)
    return out.getvalue()


@case("weights/pickle-runs-command", "weights", quick=True)
def _(kit, folder):
    bad = pickle.dumps({"w": Command(kit.touch("weights/pickle-runs-command"))}, protocol=2)
    return k.write(folder / "pytorch_model.bin", torch_zip(bad))


@case("weights/pickle-plain-runs-command", "weights")
def _(kit, folder):
    bad = pickle.dumps(Command(kit.touch("weights/pickle-plain-runs-command")), protocol=2)
    return k.write(folder / "model.ckpt", bad)


def zip_bomb():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("archive/data.pkl", "w", force_zip64=True) as member:
            for _ in range(1000):
                member.write(bytes(1_000_000))
    return out.getvalue()


def memo_bomb():
    """Each list holds the one before it twice: small as a pickle, without end when it is walked."""
    body = b"\x80\x02]q\x00"
    for i in range(60):
        body += b"]r" + (i + 1).to_bytes(4, "little") + \
            (b"j" + i.to_bytes(4, "little")) * 0 + b"(j" + i.to_bytes(4, "little") + \
            b"j" + i.to_bytes(4, "little") + b"e"
    return body + b"."


def zip_lies(data):
    """The sizes in the central directory are those of a huge file."""
    at = data.rfind(b"PK\x01\x02")
    return data[:at + 20] + b"\xfe\xff\xff\xff\xfe\xff\xff\xff" + data[at + 28:]


def views(sizes, strides, count=1):
    """Tensors of a storage of one element, as torch.save(x.expand(...)) writes them."""
    def number(value):
        return b"\x8a\x08" + value.to_bytes(8, "little")

    def text(value):
        return b"X" + len(value).to_bytes(4, "little") + value
    tensor = (b"ctorch._utils\n_rebuild_tensor_v2\n((" + text(b"storage")
              + b"ctorch\nFloatStorage\n" + text(b"0") + text(b"cpu") + number(1) + b"tQ"
              + number(0) + b"(" + b"".join(map(number, sizes)) + b"t("
              + b"".join(map(number, strides)) + b"t"
              + b"\x89}tR")
    items = b"".join(text(b"t%d" % i) + tensor for i in range(count))
    return torch_zip(b"\x80\x02}(" + items + b"u.", more=[("archive/data/0", bytes(4))])


def wide(megabytes):
    return '{"a":[' + "0," * (megabytes * 500_000) + "0]}"


TORCH = [
    ("views-stride-0", lambda: views([1 << 40], [0]), True),
    ("views-overlap", lambda: views([1_000_000, 1_000_000], [0, 0]), False),
    ("views-many", lambda: views([1 << 31], [0], 100), True),
    ("pickle-one-long-name", lambda: torch_zip(
        b"\x80\x02}X\x00\x12\x7a\x00" + b"n" * 8_000_000 + b"q\x000Nq\x010("
        + b"h\x00h\x01" * 100_000 + b"u."), False),
    ("pickle-lists", lambda: torch_zip(b"\x80\x02(" + b"]" * 20_000_000 + b"t."), False),
    ("zip-bomb", zip_bomb, True),
    ("zip-names-above", lambda: torch_zip(b"\x80\x02}.", "../../outside"), False),
    ("zip-name-escapes", lambda: torch_zip(b"\x80\x02}.", "x" + k.ESCAPE), False),
    ("zip-sizes-lie", lambda: zip_lies(torch_zip(b"\x80\x02}.")), False),
    ("zip-cut", lambda: torch_zip(b"\x80\x02}.", more=[("archive/data/0", bytes(900))])[:700],
     False),
    ("zip-empty", b"PK\x05\x06" + bytes(18), False),
    ("pickle-deep", lambda: torch_zip(b"\x80\x02" + b"]" * 300_000 + b"a" * 299_999 + b"."), True),
    ("pickle-tuple-deep", lambda: torch_zip(b"\x80\x02)" + b"\x85" * 300_000 + b"."), False),
    ("pickle-memo-bomb", lambda: torch_zip(memo_bomb()), False),
    ("pickle-long-text", lambda: torch_zip(b"\x80\x02X\xff\xff\xff\x7fx."), False),
    ("pickle-no-stop", lambda: torch_zip(b"\x80\x02" + b"N" * 1_000_000), False),
    ("pickle-escapes", lambda: torch_zip(b"\x80\x02cos\n" + k.ESCAPE.encode() + b"\n."), True),
    ("pickle-global-forged", lambda: torch_zip(b"\x80\x02cbuiltins\nerror: [fake/line] x\r\n."),
     False),
    ("pickle-empty", lambda: torch_zip(b""), False),
    ("text", "not a pickle" + k.ESCAPE, False),
    ("empty", b"", False),
]
for name, data, is_quick in TORCH:
    add(f"weights/torch-{name}", "weights", file_of("pytorch_model.bin", data), is_quick)


def nemo(*members):
    return k.tar(*members)


NEMO = [
    ("names-above", lambda: nemo(k.tar_member("../../outside/model_weights.ckpt", b"x"),
                                 k.tar_member("../../outside/model_config.yaml", b"a: 1\n")),
     False),
    ("absolute", lambda: nemo(k.tar_member("/tmp/s2s-hostile-absolute", b"x")), False),
    ("link-member", lambda: nemo(k.tar_member("model_weights.ckpt", kind=b"2",
                                              linkname=b"/etc/passwd"),
                                 k.tar_member("model_config.yaml", kind=b"2",
                                              linkname=b"/etc/passwd")), True),
    ("size-huge", lambda: nemo(k.tar_member("model_weights.ckpt", b"x", size=(1 << 33) - 1)),
     False),
    ("size-base256", lambda: nemo(k.tar_member("model_weights.ckpt", b"x",
                                               size=b"\xff" * 12)), False),
    ("name-escapes", lambda: nemo(k.tar_member("x" + k.ESCAPE + ".ckpt", b"x")), False),
    ("config-deep", lambda: nemo(k.tar_member("model_config.yaml", k.nest().encode()),
                                 k.tar_member("model_weights.ckpt", torch_zip(b"\x80\x02}."))),
     False),
    ("cut", lambda: nemo(k.tar_member("model_weights.ckpt", bytes(5000)))[:1500], False),
    ("gzip-bomb", lambda: k.gzip_bomb(b"\0", 1_000_000_000), True),
    ("gzip-tar-bomb", lambda: k.gzip_bomb(
        k.tar_member("model_weights.ckpt", b"", size=1_000_000_000), 1_000_000_000), True),
    ("gzip-skipped", lambda: k.gzip_bomb(
        k.tar_member("a", b"", size=4_000_000_000), 400_000_000), True),
    ("gzip-skipped-many", lambda: k.gzip_bomb(
        k.tar_member("a", b"", size=200_000_000), 400_000_000), False),
    ("empty", b"", False),
]
for name, data, is_quick in NEMO:
    add(f"weights/nemo-{name}", "weights", file_of("model.nemo", data), is_quick)


# Folders of Hugging Face.


def folder_with(**files):
    """Names have `__` for a dot; a value is content, or a function of the path."""
    def make(kit, folder):
        home = folder / "model"
        home.mkdir()
        for name, value in files.items():
            path = home / name.replace("__", ".")
            value(path) if callable(value) else k.write(path, value)
        return home
    return make


def index(weight_map, metadata=None):
    return json.dumps({"metadata": metadata or {}, "weight_map": weight_map})


def hf_index(text, **more):
    return folder_with(model__safetensors__index__json=text,
                       model__safetensors=k.safetensors(GOOD, bytes(8)), config__json="{}", **more)


HF = [
    ("config-wide", folder_with(config__json=wide(3), model__safetensors=k.safetensors(
        GOOD, bytes(8))), True),
    ("config-wide-60MB", folder_with(config__json=wide(60), model__safetensors=k.safetensors(
        GOOD, bytes(8))), False),
    ("index-wide-60MB", hf_index(wide(60)), False),
    ("index-deep", hf_index(f'{{"metadata":{k.nest()},"weight_map":{{}}}}'), True),
    ("index-deep-map", hf_index(f'{{"weight_map":{k.deep_object()}}}'), False),
    ("index-above", hf_index(index({"w": "../../outside/secret.txt"})), True),
    ("index-absolute", hf_index(index({"w": "/etc/passwd"})), False),
    ("index-name-escapes", hf_index(index({"w" + k.ESCAPE: "x" + k.ESCAPE})), True),
    ("index-name-forged", hf_index(index({"w" + k.FORGED: "gone.safetensors"})), False),
    ("index-file-numbers", hf_index(index({"w": 5, "v": [], "u": None})), False),
    ("index-size-huge", hf_index(index({"w": "model.safetensors"},
                                       {"total_size": (1 << 64) - 1})), False),
    ("index-wide", hf_index(index({f"w{i}": f"{i}.safetensors" for i in range(100_000)})), False),
    ("index-fifo", folder_with(model__safetensors__index__json=k.fifo), True),
    ("index-zero-device", folder_with(
        model__safetensors__index__json=lambda path: k.link(path, "/dev/zero")), True),
    ("index-folder", folder_with(
        model__safetensors__index__json=lambda path: path.mkdir()), False),
    ("index-cut", hf_index('{"weight_map": {"w": "mod'), False),
    ("index-bad-utf8", hf_index('{"weight_map": {"\udcff": "\udcfe"}}'), False),
    ("index-names-fifo", folder_with(
        model__safetensors__index__json=index({"w": "a.safetensors"}),
        a__safetensors=k.fifo), True),
    ("index-names-zero-device", folder_with(
        model__safetensors__index__json=index({"w": "a.safetensors"}),
        a__safetensors=lambda path: k.link(path, "/dev/zero")), False),
    ("config-deep", folder_with(model__safetensors=k.safetensors(GOOD, bytes(8)),
                                config__json=k.nest()), False),
    ("config-fifo", folder_with(model__safetensors=k.safetensors(GOOD, bytes(8)),
                                config__json=k.fifo), False),
    ("config-zero-device", folder_with(
        model__safetensors=k.safetensors(GOOD, bytes(8)),
        config__json=lambda path: k.link(path, "/dev/zero")), False),
    ("config-escapes", folder_with(
        model__safetensors=k.safetensors(GOOD, bytes(8)),
        config__json=json.dumps({"model_type": "x" + k.ESCAPE + k.FORGED})), False),
    ("adapter-deep", folder_with(adapter_model__safetensors=k.safetensors(GOOD, bytes(8)),
                                 adapter_config__json=k.nest()), False),
    ("adapter-fifo", folder_with(adapter_model__safetensors=k.safetensors(GOOD, bytes(8)),
                                 adapter_config__json=k.fifo), False),
    ("link-loop", folder_with(model__safetensors=lambda path: k.link(path, path)), False),
    ("weights-folder", folder_with(model__safetensors=lambda path: path.mkdir()), False),
    ("bin-index-above", folder_with(
        pytorch_model__bin__index__json=index({"w": "../model.bin"})), False),
    ("nothing", lambda kit, folder: folder, False),
]
for name, make, is_quick in HF:
    add(f"weights/hf-{name}", "weights import", make, is_quick)


# What a run copies from the folders that it begins with.


def model_with_link(name):
    def make(kit, folder):
        shutil.copytree(kit.model, folder / "model")
        k.link(folder / "model" / name, kit.secret)
        return folder / "model"
    return make


for name in ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json",
             "special_tokens_map.json", "chat_template.jinja"):
    add(f"weights/hf-link-{name}", "weights import pretrained tokenizer", model_with_link(name),
        name == "chat_template.jinja")
