"""Runs one command under watch and says what it broke."""

import dataclasses
import os
import re
import signal
import subprocess
import time

import kit as k

MAX_CPU_S = 5.0
MAX_BYTES = 1 << 30
MAX_WALL_S = 30.0       # a hang: commands of a second wait for other programs on a busy machine
KILL_BYTES = 3 << 30    # ends a command that goes on taking memory
FILE_BLOCKS = 1 << 20   # of 512 bytes; ends a command that fills the disk
EXIT_CODES = range(8)

# What moves a cursor, ends a line or turns the direction of what follows; and bytes that are no
# UTF-8, which some terminals take for C1.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\udc80-\udcff]")


@dataclasses.dataclass
class Outcome:
    """What a command did; `broken` is empty for one that held."""
    words: list
    code: int = 0
    cpu_s: float = 0.0
    wall_s: float = 0.0
    max_bytes: int = 0
    output: str = ""
    broken: list = dataclasses.field(default_factory=list)


def resident_bytes(process_id):
    try:
        with open(f"/proc/{process_id}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096
    except (OSError, IndexError):
        return 0


def wait(process, outcome):
    """Waits with an eye on time and memory. Returns wait4's status and usage."""
    begin = time.monotonic()
    pause = 0.005
    while True:
        done, status, usage = os.wait4(process.pid, os.WNOHANG)
        outcome.wall_s = time.monotonic() - begin
        if done:
            return status, usage
        if outcome.wall_s > MAX_WALL_S:
            outcome.broken.append(f"hangs: no end after {MAX_WALL_S:.0f} s")
        elif resident_bytes(process.pid) > KILL_BYTES:
            outcome.broken.append(f"memory without end: above {KILL_BYTES >> 30} GB")
        else:
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
            continue
        os.killpg(process.pid, signal.SIGKILL)
        _, status, usage = os.wait4(process.pid, 0)
        return status, usage


def listing(*folders):
    """What lies below: path -> size and time of change. Links are not followed."""
    found = {}
    for folder in folders:
        for home, names, files in os.walk(folder):
            for name in names + files:
                path = os.path.join(home, name)
                facts = os.lstat(path)
                is_folder = os.path.isdir(path) and not os.path.islink(path)
                found[path] = None if is_folder else (facts.st_size, facts.st_mtime_ns)
    return found


def is_documented(path):
    """Indexes beside their files (core/docs/reference/data_files.md), and their cache."""
    name = os.path.basename(path)  # while it is written: NAME.idx.XXXXXX
    return ".idx" in name or ".gzidx" in name or "/home/.cache" in path


def holds_secret(path):
    if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) > 1 << 24:
        return False
    with open(path, "rb") as file:
        return k.SECRET.encode() in file.read()


def logged_calls(path):
    """What the fault library saw (tests/faults/README.md): kind, and the names with their bytes."""
    if not path.exists():
        return
    for line in path.read_text("ascii").splitlines():
        kind, _, *names = line.split("\t")
        yield kind, [re.sub(r"\\x([0-9a-f]{2})", lambda m: chr(int(m[1], 16)), name)
                     for name in names]


def judge_calls(kit, outcome, calls, work, may_load):
    """Programs that were started, libraries that were opened, names that were made or changed."""
    own = {kit.program, "/proc/self/exe", os.path.realpath(kit.program)}
    writable = (f"{work}/", "/dev/", "/proc/")
    for kind, names in logged_calls(calls):
        what = k.ascii_text(names[0])
        if kind in ("spawn", "exec", "system", "popen"):
            if names[0] not in own:
                outcome.broken.append(f"starts a program: {what}")
        elif kind == "dlopen":
            if names[0].startswith(f"{kit.root}/") and not may_load:
                outcome.broken.append(f"opens a library of the file: {what}")
        elif not names[-1].startswith(writable) and not is_documented(names[-1]):
            outcome.broken.append(f"{kind} outside of its output: {k.ascii_text(names[-1])}")


def judge_output(outcome):
    text = outcome.output
    lines = text.split("\n")
    errors = [line for line in lines if line.startswith("error: [")]
    if any(re.match(r"(error: |  )?\[fake/line\]", line) or line.startswith("error: [fake")
           for line in lines):
        outcome.broken.append("a forged line: text of the file stands at the begin of a line")
    elif len(errors) > 1 and outcome.words[1] != "config":  # which lists every finding
        outcome.broken.append(f"{len(errors)} messages, not one")
    reports = outcome.words[1:3] == ["plugin", "check"]  # what is wrong, in its table
    if outcome.code in EXIT_CODES and outcome.code > 1 and not errors and not reports:
        outcome.broken.append(f"exit code {outcome.code} without a message")
    if "[internal]" in text:
        outcome.broken.append("[internal]: an error that nobody foresaw")
    found = CONTROLS.search(text)
    if found:
        outcome.broken.append(f"prints U+{ord(found[0]):04X} raw")
    if k.SECRET in text:
        outcome.broken.append("prints a file that a link leads to")


def run(kit, words, work, watched, cwd=None, text=""):
    """Runs `words` in the fresh folder `work`, whose `out` it may write into; `watched` are the
    folders of the case, which stay as they are."""
    out, home, temporary, here = (work / name for name in ("out", "home", "tmp", "cwd"))
    for folder in (out, home, temporary, here):
        folder.mkdir(parents=True)
    before = listing(*watched, kit.outside)
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8",
                   "TMPDIR": str(temporary), "OMP_NUM_THREADS": "1"}
    calls = work / "calls"
    if kit.faults:
        environment |= {"LD_PRELOAD": str(kit.faults), "S2S_FAULTS_LOG": str(calls)}
    outcome = Outcome([str(word) for word in words])
    limited = ["sh", "-c", f'ulimit -t {2 * int(MAX_CPU_S)} -f {FILE_BLOCKS} -c 0; exec "$@"', "sh"]
    with open(work / "output", "w+b") as output, open(work / "input", "w+b") as source:
        source.write(text.encode())
        source.seek(0)
        process = subprocess.Popen(limited + outcome.words, cwd=cwd or here, env=environment,
                                   stdin=source, stdout=output, stderr=output,
                                   start_new_session=True)
        status, usage = wait(process, outcome)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        data = output.read(1 << 26)
    outcome.output = data.decode("utf-8", "surrogateescape")
    outcome.code = process.returncode
    outcome.cpu_s = usage.ru_utime + usage.ru_stime
    outcome.max_bytes = usage.ru_maxrss * 1024
    judge(kit, outcome, before, listing(*watched, kit.outside), work)
    judge_calls(kit, outcome, calls, work, outcome.words[1:3] == ["plugin", "check"])
    outcome.broken = list(dict.fromkeys(outcome.broken))[:5]
    return outcome


def judge(kit, outcome, before, after, work):
    if outcome.code < 0 and not outcome.broken:
        outcome.broken.append(f"ended by {signal.Signals(-outcome.code).name}")
    elif outcome.code >= 0 and outcome.code not in EXIT_CODES:
        outcome.broken.append(f"exit code {outcome.code}")
    if outcome.cpu_s > MAX_CPU_S:
        outcome.broken.append(f"{outcome.cpu_s:.1f} s of processor time")
    if outcome.max_bytes > MAX_BYTES:
        outcome.broken.append(f"{outcome.max_bytes / 1e9:.1f} GB of memory")
    judge_output(outcome)
    for path in kit.markers.iterdir():
        outcome.broken.append(f"runs code of the file: {path.name} was made")
        path.unlink()
    made = [path for path, facts in after.items()
            if facts is not None and before.get(path) != facts and not is_documented(path)]
    made += [path for path in before if path not in after]
    made += [path for path, facts in listing(work / "home", work / "tmp", work / "cwd").items()
             if facts is not None and not is_documented(path)]
    if made:
        outcome.broken.append(f"makes or changes {k.ascii_text(made[0])} outside of its output")
    if any(holds_secret(path) for path in listing(work / "out")):
        outcome.broken.append("copies a file that a link leads to into its output")
