"""A place to run s2s-run under s2s_faults.so, and what is looked at afterwards.

A case is a folder with `run` (the program's output), `in` (its input), `tmp`, `home`, `cache` and
`cwd`. The program works in `cwd` and is given relative names, so that equal work makes equal bytes
in every case. What it prints goes elsewhere: the console is not among the calls that fail.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import threading
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CLASSES = ["open", "read", "write", "sync", "rename", "link", "unlink", "mkdir", "rmdir", "mmap",
           "flock", "thread", "spawn", "malloc", "truncate", "close", "stdio"]
FIRED = 31
OF_THE_MACHINE = {"utilization", "peak_memory_bytes"}  # and what ends in seconds
ERROR = re.compile(r"^(?:\[rank \d+\] )?error: \[([a-z]+/[a-z0-9-]+|internal)\]", re.MULTILINE)
STEP = re.compile(r"^step=(\d+)$")


class Result:
    """How a program ended. `code`: its exit code, or minus the signal's number; None: a hang."""

    def __init__(self, code, output, left, seconds):
        self.code, self.output, self.left, self.seconds = code, output, left, seconds

    def ids(self):
        return ERROR.findall(self.output)


def session_of(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rsplit(b")", 1)[1].split()
        return None if fields[0] == b"Z" else int(fields[3])
    except (OSError, IndexError):
        return None


def processes_of(session):
    return [int(name) for name in os.listdir("/proc")
            if name.isdigit() and session_of(name) == session]


def run(words, case, variables=None, limit_s=60):
    """Runs a program in the case; what it leaves running is named in `left` and ended."""
    for name in ("tmp", "home", "cache", "cwd"):
        (case / name).mkdir(parents=True, exist_ok=True)
    environment = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
                   "TMPDIR": str(case / "tmp"), "HOME": str(case / "home"),
                   "XDG_CACHE_HOME": str(case / "cache"), **(variables or {})}
    begin = time.monotonic()
    output = case.parent.parent / "outputs" / f"{case.name}-{threading.get_ident()}"
    output.parent.mkdir(exist_ok=True)
    with open(output, "wb") as file:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=file,
                                   stderr=subprocess.STDOUT, env=environment, cwd=case / "cwd",
                                   start_new_session=True)
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            code = None
    for _ in range(20 if code is not None else 0):  # ranks end a moment after their launcher
        left = processes_of(process.pid)
        if not left:
            break
        time.sleep(0.1)
    left = processes_of(process.pid)
    names = []
    for one in left:
        try:
            names.append(pathlib.Path(f"/proc/{one}/cmdline").read_text().replace("\0", " ")[:80])
            os.kill(one, signal.SIGKILL)
        except OSError:
            pass
    if code is None:
        process.wait()
    text = output.read_bytes().decode("utf-8", "replace")
    output.unlink()
    return Result(code, text, [] if code is None else names, time.monotonic() - begin)


def copy_tree(source, target):
    """A copy with times and links; bytes of checkpoints are shared, as nothing writes into them."""
    subprocess.run(["cp", "-a", "--reflink=auto", str(source), str(target)], check=True)


def tree_digest(folder, skip=()):
    """A digest of names, links and contents below; None when the folder is not there."""
    if not folder.is_dir():
        return None
    digest = hashlib.sha1()
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.name in skip:
            continue
        if path.is_symlink():
            digest.update(f"{name} -> {os.readlink(path)}\n".encode())
        elif path.is_file():
            digest.update(f"{name} {hashlib.sha1(path.read_bytes()).hexdigest()}\n".encode())
        else:
            digest.update(f"{name}/\n".encode())
    return digest.hexdigest()


def stamps(folder):
    """Names, sizes and times: what nobody touched is as it was."""
    return {str(path): (path.lstat().st_size, path.lstat().st_mtime_ns)
            for path in sorted(folder.rglob("*"))}


def steps_in(run_folder):
    folder = run_folder / "checkpoints"
    names = os.listdir(folder) if folder.is_dir() else []
    return sorted(int(match.group(1)) for match in map(STEP.match, names) if match)


def lasting_metrics(run_folder):
    """Lines of metrics.jsonl without what the clock and the memory say; None for a broken one."""
    lines = []
    path = run_folder / "metrics.jsonl"
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            lines.append({k: v for k, v in json.loads(line).items()
                          if k not in OF_THE_MACHINE and not k.endswith("_s")})
        except ValueError:
            lines.append(None)
    return lines


def read_counts(file):
    numbers = struct.unpack("32Q", file.read_bytes()[:256])
    return dict(zip(CLASSES, numbers)), numbers[FIRED]


class Lab:
    """The built program, its data set and folders for cases."""

    def __init__(self, build, work, slack=1.0):
        self.build, self.work = pathlib.Path(build).resolve(), pathlib.Path(work).resolve()
        self.program = str(self.build / "bin/s2s-run")
        self.library = str(self.build / "tests/s2s_faults.so")
        self.verified, self.slack = {}, slack
        self.lock = threading.Lock()
        self.work.mkdir(parents=True, exist_ok=True)
        self.data = self.work / "data"
        if not (self.data / "tokenizer.model").exists():
            self.make_data()
        self.data_before = stamps(self.data)

    def make_data(self):
        shutil.rmtree(self.data, ignore_errors=True)
        case = self.work / "cases/making"
        made = run([self.program, "data", "synth", str(self.data), "--tiny", "--workers", "1"],
                   case, limit_s=300)
        assert made.code == 0, made.output
        made = run(self.train_words(["trainer.max_steps=3"]), case, limit_s=120)
        assert made.code == 0, made.output
        shutil.rmtree(case)

    def train_words(self, more=(), command="train", data=None):
        """The tiny run, made smaller still, in the case's folder `run`."""
        return [self.program, command, str(SOURCE / "configs/tiny.yaml"),
                f"tiny.data={data or self.data}", "tiny.run=../run", "data.synth=null",
                "trainer.val_check_interval=1000", "model.encoder.encoder.dropout=0.1",
                "model.history_noise.text_dropout=0.2", *more]

    def verify(self, checkpoint):
        """'' or what checkpoint verify has to say; equal bytes are asked about once."""
        digest = tree_digest(checkpoint)
        if digest is None:
            return f"{checkpoint.name} is no folder"
        with self.lock:
            if digest in self.verified:
                return self.verified[digest]
        case = self.work / f"cases/verify-{threading.get_ident()}"
        result = run([self.program, "checkpoint", "verify", str(checkpoint)], case,
                     limit_s=60 * self.slack)
        text = ""
        if result.code != 0:
            text = f"{checkpoint.name}: code {result.code}: {result.output.strip()[-300:]}"
        with self.lock:
            self.verified[digest] = text
        return text
