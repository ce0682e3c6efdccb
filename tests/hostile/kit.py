"""What the hostile corpus is made with: a good run, good files, and ways to spoil them.

Nothing here needs a package: files are written byte by byte.
"""

import io
import json
import os
import pathlib
import shlex
import shutil
import struct
import subprocess
import tarfile
import zlib

ESCAPE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202ereversed\u2066"
FORGED = "\nerror: [fake/line] all weights are lost\r\n"
SECRET = "s2s-hostile-secret-5f1c"
DEPTH = 300_000


def nest(depth=DEPTH, opening="[", closing="]", middle=""):
    """JSON or YAML nested `depth` levels deep."""
    return opening * depth + middle + closing * depth


def deep_object(depth=DEPTH):
    return nest(depth, '{"a":', "}", "1")


class Case:
    """One hostile file: a name, how it is made, and the readers it is for."""

    def __init__(self, name, readers, make, quick, options):
        self.name = name
        self.readers = readers.split()
        self.make = make
        self.quick = quick
        self.options = options


CASES = []


def add(name, readers, make, quick=False, **options):
    """`make(kit, folder)` writes the case and returns the path that readers are given.

    options: `cwd=True` runs the readers inside of the case's folder; `skip=why_not()` is asked
    first; `raw=True` says that the case prints content of its own on purpose.
    """
    assert all(case.name != name for case in CASES), name
    CASES.append(Case(name, readers, make, quick, options))


def case(name, readers, quick=False, **options):
    def register(make):
        add(name, readers, make, quick, **options)
        return make
    return register


def dump(value):
    """As nlohmann's dump writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class Kit:
    """Folders of one run of the harness, and the good things that are spoiled."""

    def __init__(self, program, root, faults=None):
        self.program = program
        self.faults = faults  # the fault library, which logs calls
        self.root = pathlib.Path(root)
        self.markers = self.root / "markers"
        self.outside = self.root / "outside"
        for folder in (self.markers, self.outside):
            folder.mkdir(parents=True)
        self.secret = self.outside / "secret.txt"
        self.secret.write_text(SECRET + "\n")
        self.checkpoint = None
        self.model = None
        self.set = None

    def marker(self, name):
        return self.markers / name.replace("/", "_")

    def gpu_plugins(self):
        """Plugins that need LibTorch's GPU libraries; none where the build has none."""
        folder = pathlib.Path(self.program).resolve().parent.parent / "lib/s2s/plugins"
        return [str(path) for path in sorted(folder.glob("*.so"))
                if path.stem in ("libs2s_kernels_cuda", "libs2s_communicator_nccl")]

    def touch(self, name):
        """A shell command that shows that it was run."""
        return f"touch {self.marker(name)}"

    def prepare(self, source_root):
        """Speaks a tiny set and trains four steps on it: the checkpoint that is spoiled, and the
        Hugging Face folder that is made of it."""
        self.set = self.root / "good/set"
        run = self.root / "good/run"
        config = pathlib.Path(source_root) / "configs/tiny.yaml"
        self.config = config
        self._run("data", "synth", str(self.set), "--tiny", "--workers", "1")
        self._run("train", str(config), f"tiny.data={self.set}", f"tiny.run={run}",
                  "data.synth=null", "trainer.max_steps=4", "trainer.val_check_interval=4",
                  "exp_manager.checkpoint_callback_params.every_n_train_steps=4")
        self.checkpoint = (run / "checkpoints/last").resolve()
        self.model = self.root / "good/model"
        self._run("checkpoint", "export", str(self.checkpoint), str(self.model))

    def _run(self, *words):
        done = subprocess.run([self.program, *words], capture_output=True, text=True,
                              cwd=self.root, check=False)
        if done.returncode != 0:
            raise SystemExit(f"error: [hostile/prepare] s2s-run {' '.join(words)} ended with "
                             f"{done.returncode}:\n{done.stdout}{done.stderr}")

    # Checkpoints.

    def copy_checkpoint(self, to):
        """Weights are links: a case that changes them makes the file anew."""
        def copy(source, target):
            if source.endswith(".safetensors"):
                os.link(source, target)
            else:
                shutil.copy(source, target)
        shutil.copytree(self.checkpoint, to, copy_function=copy)
        return to

    def edit_index(self, folder, change):
        """Changes index.json and makes its checksum again, as an attacker would."""
        path = folder / "index.json"
        index = json.loads(path.read_text())
        index.pop("checksum")
        changed = change(index)
        text = changed if isinstance(changed, str) else dump(changed or index)
        path.write_bytes(seal(text.encode("utf-8", "surrogateescape")))

    def spoiled(self, change):
        """A maker: a copy of the checkpoint whose index `change` alters."""
        def make(kit, folder):
            copy = kit.copy_checkpoint(folder / "step=2")
            kit.edit_index(copy, change)
            return copy
        return make


def seal(text):
    """Compact JSON with the checksum that s2s-run expects behind it."""
    return text[:-1] + b',"checksum":%d}' % (zlib.crc32(text) & 0xFFFFFFFF)


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data)
    return path


def fifo(path):
    if path.is_symlink() or path.exists():
        path.unlink()
    os.mkfifo(path)
    return path


def link(path, to):
    if path.is_symlink() or path.exists():
        path.unlink()
    path.symlink_to(to)
    return path


# Files of other formats.


def wav(rate=16000, channels=1, bits=16, samples=1600, *, data=None, data_size=None, riff=None,
        kind=1, block=None, extra=b""):
    """A WAV file; sizes in its header are what they should be unless they are given."""
    body = bytes(samples * channels * bits // 8) if data is None else data
    size = len(body) if data_size is None else data_size
    align = channels * bits // 8 if block is None else block
    fmt = struct.pack("<HHIIHH", kind, channels, rate & 0xFFFFFFFF,
                      (rate * align) & 0xFFFFFFFF, align & 0xFFFF, bits)
    chunks = b"WAVE" + b"fmt " + struct.pack("<I", len(fmt)) + fmt + extra + b"data" + \
        struct.pack("<I", size) + body
    return b"RIFF" + struct.pack("<I", len(chunks) if riff is None else riff) + chunks


def safetensors(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def npy(shape, descr="<f4", data=b"", order="False"):
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode("latin-1") + data


def tar_member(name, data=b"", size=None, kind=b"0", linkname=b""):
    """A ustar header with whatever it is told, and the data behind it."""
    name = name if isinstance(name, bytes) else name.encode("utf-8", "surrogateescape")
    length = len(data) if size is None else size
    field = length if isinstance(length, bytes) else b"%011o\0" % length
    head = name[:100].ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2 + field[:12] + \
        b"00000000000\0" + b" " * 8 + kind + linkname[:100].ljust(100, b"\0") + b"ustar\x0000"
    head = head.ljust(512, b"\0")
    head = head[:148] + b"%06o\0 " % sum(head) + head[156:]
    return head + data + bytes(-len(data) % 512)


def tar(*members):
    return b"".join(members) + bytes(1024)


def tar_of(files):
    """A well-made tar of {name: bytes}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def gzip_bomb(unit, num_bytes):
    """A gzip file of `num_bytes` that repeat `unit`; about a thousandth of that."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = unit * (1_000_000 // len(unit) + 1)
    parts, left = [], num_bytes
    while left > 0:
        parts.append(packer.compress(block[:left]))
        left -= len(block)
    return b"".join(parts) + packer.flush()


def recording(name, source, kind="file", seconds=4.0, rate=16000, **more):
    return {"id": name, "sources": [{"type": kind, "channels": [0], "source": source}],
            "sampling_rate": rate, "num_samples": int(seconds * rate), "duration": seconds, **more}


def turn(speaker, start, seconds, text):
    return {"id": f"{speaker}-{start}", "recording_id": "r", "start": start, "duration": seconds,
            "channel": 0, "text": text, "speaker": speaker}


def cut(name="d0", user="u.wav", agent="a.wav", seconds=4.0, **more):
    """A dialogue as Lhotse writes it; `user` and `agent` are paths or whole recordings."""
    def side(who, what):
        return what if isinstance(what, dict) else recording(who, what, "file", seconds)

    return {"id": name, "start": 0.0, "duration": seconds, "channel": 0,
            "supervisions": [turn("user", 0, 1.0, "hi there"), turn("agent", 2.0, 1.0, "hello")],
            "recording": side("u", user), "custom": {"target_audio": side("a", agent)},
            "type": "MonoCut", **more}


def good_audio(folder, seconds=4.0, rate=16000):
    for name in ("u.wav", "a.wav"):
        write(folder / name, wav(rate, samples=int(seconds * rate)))
    return folder


def cuts_file(folder, *lines, name="cuts.jsonl"):
    """Lines are texts, or objects that become them."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    return write(folder / name, "\n".join(texts) + "\n")


def compiler():
    for name in ("cc", "gcc", "clang"):
        found = shutil.which(name)
        if found:
            return found
    return None


def marker_library(kit, path, name, soname=None):
    """A shared library whose constructor makes a marker."""
    source = path.with_name(path.name + ".c")
    write(source, "#include <fcntl.h>\n#include <unistd.h>\n"
          "__attribute__((constructor)) static void mark(void) {\n"
          f'  int file = open("{kit.marker(name)}", O_CREAT | O_WRONLY, 0600);\n'
          "  if (file >= 0) close(file);\n}\n")
    words = [compiler(), "-shared", "-fPIC", "-o", str(path), str(source)]
    if soname:
        words.append(f"-Wl,-soname,{soname}")
    subprocess.run(words, check=True)
    source.unlink()
    return path


def without_compiler():
    return None if compiler() else "there is no C compiler"


def is_root():
    return "root reads every file" if os.geteuid() == 0 else None


def ascii_text(text):
    """For messages: what is not printable ASCII is escaped."""
    return str(text).encode("unicode_escape", "surrogateescape").decode("ascii")


def shell_text(words):
    """A command line that a shell runs again."""
    def quoted(word):
        plain = word.isascii() and word.isprintable()
        return shlex.quote(word) if plain else "$'" + ascii_text(word).replace("'", "\\'") + "'"
    return " ".join(quoted(word) for word in words)
