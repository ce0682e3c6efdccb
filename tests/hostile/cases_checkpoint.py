"""Checkpoints of s2s that a stranger made: every file of the folder, spoiled."""

import json
import os
import re
import shutil

import kit as k
from kit import add, case

HUGE = 1 << 32


def first(index, group="model"):
    """Some tensor of a group."""
    return next(iter(index["tensors"][group].values()))


def set_shape(shape):
    def change(index):
        first(index)["shape"] = shape
    return change


def set_runs(*runs):
    def change(index):
        tensor = first(index)
        tensor["shape"] = [HUGE]
        tensor["pieces"] = [[0, list(runs)]]
    return change


def rename_tensor(name):
    def change(index):
        group = index["tensors"]["model"]
        group[name] = group.pop(next(iter(group)))
    return change


def rename_file(name):
    def change(index):
        index["files"][0]["name"] = name
    return change


def file_bytes(count):
    def change(index):
        index["files"][0]["bytes"] = count
    return change


def with_text(key, text):
    """A new member whose value is `text` as it stands."""
    return lambda index: k.dump(index)[:-1] + f',"{key}":{text}}}'


def replaced(key, text):
    """A member's value, replaced by `text` as it stands."""
    def change(index):
        index[key] = "@@"
        return k.dump(index).replace('"@@"', text)
    return change


def many_tensors(index):
    for i in range(200_000):
        index["tensors"]["model"][f"x{i}"] = {"dtype": "F32", "shape": [0], "pieces": []}


def drop_files(index):
    index["files"] = [{"name": f["name"], "bytes": 0, "crc32": ""} for f in index["files"]]


INDEX = [
    ("deep-list", with_text("more", k.nest()), True),
    ("deep-object", with_text("more", k.deep_object()), False),
    ("deep-shape", replaced("num_ranks", k.nest()), False),
    ("shape-overflow", set_shape([HUGE, HUGE]), True),
    ("shape-wraps-to-zero", set_shape([HUGE, HUGE, 1]), False),
    ("shape-negative", set_shape([-1, -1]), False),
    ("shape-long", set_shape([1] * 100_000), False),
    ("repeat-huge", set_runs([0, 1, 1, 1 << 40]), True),
    ("repeat-fits", set_runs([0, 1, 1, HUGE]), True),
    ("repeat-negative", set_runs([0, 1, 1, -5]), False),
    ("stride-overflow", set_runs([0, 1, (1 << 62), 4]), False),
    ("begin-negative", set_runs([-8, 16]), False),
    ("count-huge", set_runs([0, (1 << 63) - 1]), False),
    ("count-zero", set_runs([0, 0, 0, HUGE]), False),
    ("no-groups", lambda index: index.update(tensors={}, files=[]), True),
    ("no-files", drop_files, False),
    ("groups-empty", lambda index: index["tensors"].update(model={}), False),
    ("file-above", rename_file("../../outside/secret.txt"), True),
    ("file-absolute", rename_file("/etc/passwd"), True),
    ("file-escapes", rename_file("model" + k.ESCAPE + ".safetensors"), False),
    ("file-empty-name", rename_file(""), False),
    ("file-nul", rename_file("model\0.safetensors"), False),
    ("file-bytes-huge", file_bytes((1 << 64) - 1), False),
    ("file-bytes-negative", file_bytes(-1), False),
    ("tensor-forged-line", rename_tensor("llm" + k.FORGED), True),
    ("tensor-escapes", rename_tensor("llm" + k.ESCAPE), True),
    ("dtype-escapes", lambda index: first(index).update(dtype="F" + k.ESCAPE), False),
    ("group-escapes", lambda index: index["tensors"].update({"x" + k.ESCAPE: {}}), False),
    ("wide", many_tensors, False),
    ("ranks-huge", lambda index: index.update(num_ranks=(1 << 63) - 1), False),
    ("ranks-exponent", replaced("num_ranks", "1e999"), False),
    ("format-forged", lambda index: index.update(format="x" + k.FORGED), False),
    ("version-huge", lambda index: index.update(version=1 << 60), False),
    ("key-twice", with_text("files", "[]"), False),
]
for name, change, is_quick in INDEX:
    def make(kit, folder, change=change):
        return kit.spoiled(change)(kit, folder)
    add(f"checkpoint/index-{name}", "checkpoint", make, is_quick)


def spoil(kind):
    """What may be found in the place of a file; takes its path."""
    def cut_off(path):
        data = path.read_bytes() if path.is_file() else b"{" * 64
        path.unlink(missing_ok=True)
        k.write(path, data[:len(data) // 2])

    def fresh(data):
        def put(path):
            path.unlink(missing_ok=True)
            k.write(path, data)
        return put

    def folder(path):
        path.unlink(missing_ok=True)
        path.mkdir()

    def forbidden(path):
        os.chmod(path, 0)

    return {"fifo": k.fifo, "zero-device": lambda path: k.link(path, "/dev/zero"),
            "passwd": lambda path: k.link(path, "/etc/passwd"), "folder": folder,
            "empty": fresh(b""), "cut": cut_off, "nul": fresh(bytes(4096)),
            "bad-utf8": fresh(b'{"\xff\xfe\xc0\xaf": "\xed\xa0\x80"}'),
            "long-line": fresh(b"x" * 10_000_000), "deep": fresh(k.nest()),
            "deep-object": fresh(k.deep_object()), "loop": lambda path: k.link(path, path),
            "escapes": fresh(k.ESCAPE + k.FORGED), "forbidden": forbidden,
            "gone": lambda path: path.unlink()}[kind]


SPOILED = {
    "index.json": "fifo zero-device passwd folder empty cut nul bad-utf8 long-line deep loop",
    "state.json": "fifo zero-device passwd folder empty cut deep escapes deep-object",
    "config.yaml": "fifo zero-device passwd folder empty deep escapes bad-utf8 nul",
    "manifest.json": "fifo zero-device folder deep escapes",
    "model.safetensors": "fifo zero-device passwd folder empty cut nul gone",
    "optimizer.safetensors": "fifo cut",
    "random.safetensors": "fifo zero-device",
}
QUICK = {("index.json", "fifo"), ("index.json", "zero-device"), ("state.json", "deep"),
         ("config.yaml", "fifo"), ("config.yaml", "deep"), ("model.safetensors", "zero-device"),
         ("config.yaml", "escapes")}
for file, kinds in SPOILED.items():
    for kind in kinds.split():
        def make(kit, folder, file=file, kind=kind):
            copy = kit.copy_checkpoint(folder / "step=4")
            spoil(kind)(copy / file)
            return copy
        add(f"checkpoint/{file}-{kind}", "checkpoint", make, (file, kind) in QUICK)


@case("checkpoint/index-forbidden", "checkpoint", skip=k.is_root)
def _(kit, folder):
    copy = kit.copy_checkpoint(folder / "step=4")
    spoil("forbidden")(copy / "index.json")
    return copy


def state_with(**values):
    def make(kit, folder):
        copy = kit.copy_checkpoint(folder / "step=4")
        state = json.loads((copy / "state.json").read_text())
        state.update(values)
        (copy / "state.json").write_text(json.dumps(state))
        return copy
    return make


add("checkpoint/state-mesh-text", "checkpoint", state_with(mesh={"pipeline": "many"}), True)
add("checkpoint/state-mesh-huge", "checkpoint", state_with(mesh={"shard": 1 << 62}))
add("checkpoint/state-steps-text", "checkpoint", state_with(steps_done="x" + k.ESCAPE))
add("checkpoint/state-steps-huge", "checkpoint", state_with(steps_done=1 << 70))
add("checkpoint/state-format-list", "checkpoint", state_with(format=[[]]))
add("checkpoint/state-monitored-text", "checkpoint", state_with(monitored="nan" + k.ESCAPE))


def config_with(text):
    """`text` behind the configuration of the run; takes `{name}` from the kit."""
    def make(kit, folder):
        copy = kit.copy_checkpoint(folder / "step=4")
        config = copy / "config.yaml"
        config.write_text(config.read_text() + text(kit, copy))
        return copy
    return make


@case("checkpoint/config-loads-plugin", "checkpoint", quick=True, skip=k.without_compiler)
def _(kit, folder):
    copy = kit.copy_checkpoint(folder / "step=4")
    evil = k.marker_library(kit, copy / "evil.so", "checkpoint/config-loads-plugin")
    config = copy / "config.yaml"
    config.write_text(config.read_text() +
                      f"\nplugins: {{load: [{evil}], paths: [{copy}]}}\n")
    return copy


@case("checkpoint/config-plugin-beside", "checkpoint", skip=k.without_compiler, cwd=True)
def _(kit, folder):
    copy = kit.copy_checkpoint(folder / "step=4")
    name = "checkpoint/config-plugin-beside"
    k.marker_library(kit, copy / "libs2s_llm_llama.so", name)
    k.marker_library(kit, copy / "s2s_llm_llama.so", name)
    config = copy / "config.yaml"
    config.write_text(config.read_text() + "\nplugins: {paths: [., step=4], load: [evil.so]}\n")
    k.marker_library(kit, copy / "evil.so", name)
    return copy


def config_that_runs(name, value, more="", allow=False):
    """A checkpoint whose own configuration has a command where a run reads its cuts. `value` and
    `more` take the command as `{}`."""
    def make(kit, folder):
        copy = kit.copy_checkpoint(folder / "step=4")
        config = copy / "config.yaml"
        command = f"pipe:{kit.touch(name)}; cat {kit.set}/train.jsonl"
        text, count = re.subn(r"cuts_path: [^,}\n]+",
                              lambda _: 'cuts_path: "%s"' % value.replace("{}", command),
                              config.read_text())
        assert count == 2, "the configuration of the run has two sets"
        if allow:
            text = text.replace("\ndata:\n", "\ndata:\n  allow_commands: true\n")
            assert "allow_commands" in text
        config.write_text(text + more.replace("{}", command))
        return copy
    add(name, "checkpoint own-config", make, True)


config_that_runs("checkpoint/config-pipe-data", "{}")
config_that_runs("checkpoint/config-pipe-allowed", "{}", allow=True)
config_that_runs("checkpoint/config-pipe-reference", "${more.cuts}", '\nmore: {cuts: "{}"}\n')
config_that_runs("checkpoint/config-pipe-default", "${oc.env:S2S_NO_SUCH_VARIABLE, {}}")


@case("checkpoint/config-program", "checkpoint own-config", quick=True)
def _(kit, folder):
    copy = kit.copy_checkpoint(folder / "step=4")
    program = copy / "listen.sh"
    program.write_text(f"#!/bin/sh\n{kit.touch('checkpoint/config-program')}\n")
    program.chmod(0o755)
    config = copy / "config.yaml"
    scorer = f"scoring_asr: {{name: pocketsphinx, program: {program}}}"
    text, count = re.subn(r"^model:\n", f"model:\n  {scorer}\n", config.read_text(), flags=re.M)
    assert count == 1, "the configuration of the run has a model"
    config.write_text(text)
    return copy


@case("checkpoint/config-tokenizer", "checkpoint own-config", quick=True)
def _(kit, folder):
    copy = kit.copy_checkpoint(folder / "step=4")
    shutil.rmtree(copy / "tokenizer")
    config = copy / "config.yaml"
    text, count = re.subn(r"path: \S+tokenizer\.model", f"path: {folder}/outside/tokenizer.model",
                          config.read_text())
    assert count == 1 and "texts.txt" in text, "the run made its tokenizer"
    config.write_text(text)
    return copy


add("checkpoint/config-anchors", "checkpoint", config_with(lambda kit, copy: anchors()))
add("checkpoint/config-key-escapes", "checkpoint", config_with(
    lambda kit, copy: '\n"bad\\e]0;x\\a\\nerror: [fake/line] x": 1\n'), True)
add("checkpoint/config-interpolation-loop", "checkpoint", config_with(
    lambda kit, copy: "\na1: ${b1}\nb1: ${a1}\n"))


def anchors(levels=450, scalars=400_000):
    """Each level is an anchor around the next: whoever copies anchors copies all, each time."""
    lines = "".join(f"a{i}: &a{i} " if i == 0 else f"{{k{i}: &a{i} " for i in range(levels))
    return "\n" + lines + "[" + ",".join(["1"] * scalars) + "]" + "}" * (levels - 1) + "\n"


@case("checkpoint/config-model-huge", "checkpoint")
def _(kit, folder):
    copy = kit.copy_checkpoint(folder / "step=4")
    config = copy / "config.yaml"
    text = config.read_text()
    for key in ("hidden_size", "vocab_size", "num_hidden_layers"):
        text = "\n".join(line.split(key)[0] + f"{key}: 4611686018427387904" if key in line else line
                         for line in text.split("\n"))
    config.write_text(text + "\n")
    return copy


# What export copies.


@case("checkpoint/tokenizer-link-to-secret", "checkpoint", quick=True)
def _(kit, folder):
    copy = kit.copy_checkpoint(folder / "step=4")
    (copy / "tokenizer").mkdir(exist_ok=True)
    k.link(copy / "tokenizer/special_tokens.json", kit.secret)
    return copy


@case("checkpoint/tokenizer-folder-is-link", "checkpoint")
def _(kit, folder):
    copy = kit.copy_checkpoint(folder / "step=4")
    shutil.rmtree(copy / "tokenizer", ignore_errors=True)
    k.link(copy / "tokenizer", kit.outside)
    return copy


@case("checkpoint/tokenizer-fifo", "checkpoint", quick=True)
def _(kit, folder):
    copy = kit.copy_checkpoint(folder / "step=4")
    (copy / "tokenizer").mkdir(exist_ok=True)
    k.fifo(copy / "tokenizer/tokenizer.json")
    return copy


@case("checkpoint/tokenizer-name-escapes", "checkpoint")
def _(kit, folder):
    copy = kit.copy_checkpoint(folder / "step=4")
    k.write(copy / "tokenizer" / ("x" + k.ESCAPE), "x")
    k.write(copy / ("model" + k.ESCAPE + ".safetensors"), "x")
    return copy


@case("checkpoint/weights-link-out", "checkpoint")
def _(kit, folder):
    copy = kit.copy_checkpoint(folder / "step=4")
    k.link(copy / "model.safetensors", shutil.move(copy / "model.safetensors", folder))
    return copy


@case("checkpoint/name-escapes", "checkpoint", quick=True)
def _(kit, folder):
    copy = kit.copy_checkpoint(folder / ("step" + k.ESCAPE + k.FORGED.strip()))
    (copy / "index.json").unlink()
    return copy


@case("checkpoint/unlisted-files", "checkpoint")
def _(kit, folder):
    copy = kit.copy_checkpoint(folder / "step=4")
    k.write(copy / "extra.safetensors", k.safetensors({}))
    k.write(copy / "extra.py", "import os")
    return copy
