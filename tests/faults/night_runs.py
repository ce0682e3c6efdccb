"""What night.py kills: layouts of a tiny run, the signals, and what has to hold after each."""

import collections
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import time

import lab as labs

EVERY = "exp_manager.checkpoint_callback_params"
LAST = 12
SIGNALS = ["KILL", "TERM", "HUP", "INT", "USR1", "USR2", "QUIT", "ABRT", "SEGV"]
RESUMED = re.compile(r"resumed from (\S+) at step (\d+)")
LOGGED_STEP = re.compile(r"\bstep (\d+) ")
END_LIMIT_S = 300

# name: ranks, options of the launcher, options of the run, tolerance (0: bit for bit)
Layout = collections.namedtuple("Layout", "name ranks launch options tolerance", defaults=[0])


def ranks(name, number, options, launch=(), tolerance=0):
    return Layout(name, number, ["--grace", "5", *launch], [
        "trainer.communicator.timeout_s=10", "trainer.communicator.first_step_timeout_s=60",
        *options], tolerance)


ASYNC, DDP = f"{EVERY}.async_save=true", "trainer.strategy.name=ddp"
EMA = ["exp_manager.ema.enable=true", "exp_manager.ema.decay=0.9"]
BEST = [f"{EVERY}.monitor=val_loss", f"{EVERY}.mode=min"]
LOGGERS = ["exp_manager.create_tensorboard_logger=true", "exp_manager.loggers={name: csv}"]
WORKERS = ["trainer.accumulate_grad_batches=2", "data.train_ds.num_workers=2"]

LAYOUTS = [
    Layout("sync", 1, [], []),
    Layout("async", 1, [], [ASYNC]),
    Layout("ema-best", 1, [], [*EMA, *BEST]),
    Layout("async-ema-best-loggers", 1, [], [ASYNC, *EMA, *BEST, *LOGGERS]),
    Layout("accumulate-workers", 1, [], WORKERS),
    ranks("ddp-2", 2, [DDP]),
    ranks("ddp-2-async-workers", 2, [DDP, ASYNC, *WORKERS]),
    ranks("ddp-3-ema", 3, [DDP, *EMA]),
    ranks("ddp-2-restarts", 2, [DDP], ["--restarts", "3"]),
    ranks("fsdp-2", 2, ["trainer.strategy.name=fsdp"]),
    ranks("fsdp-3-async-best", 3, ["trainer.strategy.name=fsdp", ASYNC, *BEST]),
    ranks("tp-2", 2, ["trainer.strategy.name=model_parallel",
                      "trainer.strategy.tensor_parallel_size=2"]),
    # Another number of ranks sums in another order: equal up to rounding.
    ranks("elastic-1-2", 2, [DDP], ["--elastic", "1:2", "--rejoin", "3", "--restarts", "3"], 1e-3),
]


def words_of(lab, layout):
    words = lab.train_words([
        f"trainer.max_steps={LAST}", "trainer.val_check_interval=6", "trainer.limit_val_batches=1",
        f"{EVERY}.every_n_train_steps=3", f"{EVERY}.save_top_k=2", *layout.options])
    if layout.ranks == 1:
        return words
    number = [] if "--elastic" in layout.launch else ["-n", str(layout.ranks)]
    return [words[0], "launch", "local", *number, *layout.launch, "--", *words[1:]]


def draw_kill(draw, layout):
    """A kill: when, whom, and with one signal or two."""
    whom = ["leader", "group"] + (["rank"] if layout.ranks > 1 else [])
    given = [draw.choice(SIGNALS)]
    if draw.random() < 0.3:
        given.append(draw.choice(SIGNALS))
    return {"when": draw.choice(["time", "step", "save", "save", "save"]),
            "whom": draw.choice(whom),
            "rank": draw.randrange(layout.ranks), "signals": given, "share": draw.random(),
            "delay_s": draw.random() * draw.choice([0.001, 0.01, 0.2]),
            "gap_s": draw.random() * 0.2}


def before_start():
    """No core files. Signals as a terminal gives them: nohup and `&` would have them ignored."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for one in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(one, signal.SIG_DFL)


class Started:
    """A start of the command in a case, in a session of its own."""

    def __init__(self, words, case, output):
        for name in ("tmp", "home", "cache", "cwd"):
            (case / name).mkdir(parents=True, exist_ok=True)
        environment = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
                       "OMP_WAIT_POLICY": "PASSIVE", "TMPDIR": f"{case}/tmp",
                       "HOME": f"{case}/home", "XDG_CACHE_HOME": f"{case}/cache"}
        self.case, self.output, self.begin = case, output, time.monotonic()
        with open(output, "wb") as file:
            self.process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                env=environment, cwd=case / "cwd", start_new_session=True,
                preexec_fn=before_start)

    def is_running(self):
        return self.process.poll() is None

    def wait_until(self, condition, limit_s):
        end = time.monotonic() + limit_s
        while self.is_running() and time.monotonic() < end and not condition():
            time.sleep(0.001)

    def is_saving(self):
        try:
            names = os.listdir(self.case / "run/checkpoints")
        except OSError:
            return False
        return any(name.startswith(".") for name in names)

    def rank(self, number):
        for pid in labs.processes_of(self.process.pid):
            try:
                text = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
            except OSError:
                continue
            if f"RANK={number}".encode() in text.split(b"\0"):
                return pid
        return None

    def send(self, kill, name):
        """True when the signal was given to a program that was running."""
        if not self.is_running():
            return False
        pid = self.process.pid
        if kill["whom"] == "rank":
            pid = self.rank(kill["rank"])
        if pid is None:
            return False
        try:
            (os.killpg if kill["whom"] == "group" else os.kill)(
                pid, getattr(signal, f"SIG{name}"))
        except ProcessLookupError:
            return False
        return True

    def end_all(self):
        for pid in labs.processes_of(self.process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def wait(self):
        """The exit code, or None for a hang; and the processes that it left for 40 s."""
        try:
            code = self.process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            code = None
        left = labs.processes_of(self.process.pid)
        end = time.monotonic() + (40 if code is not None else 0)
        while left and time.monotonic() < end:
            time.sleep(0.05)
            left = labs.processes_of(self.process.pid)
        self.end_all()
        return code, left


def hit(started, kill, duration_s):
    """Waits for the moment and gives the signals. Returns the names of those that were given, and
    whether a save was under way."""
    before = len(labs.lasting_metrics(started.case / "run"))
    if kill["when"] == "time":
        started.wait_until(lambda: False, duration_s * kill["share"])
    elif kill["when"] == "step":
        more = before + int(kill["share"] * 8)
        started.wait_until(
            lambda: len(labs.lasting_metrics(started.case / "run")) > more, duration_s * 2)
    else:
        # Any save of the run, not only its first one.
        started.wait_until(lambda: False, duration_s * kill["share"] * 0.7)
        started.wait_until(started.is_saving, duration_s)
    time.sleep(kill["delay_s"])
    given, in_save = [], started.is_saving() and started.is_running()
    for name in kill["signals"]:
        if given:
            time.sleep(kill["gap_s"])
        if started.send(kill, name):
            given.append(name)
    return given, in_save and bool(given)


def final_files(run_folder):
    folder = run_folder / "checkpoints" / f"step={LAST}"
    names = sorted(os.listdir(folder)) if folder.is_dir() else []
    return {name: (folder / name).read_bytes() for name in names
            if name.endswith(".safetensors") or name == "state.json"}


def links_of(run_folder):
    folder = run_folder / "checkpoints"
    return {path.name: os.readlink(path) for path in folder.iterdir() if path.is_symlink()}


def is_near(one, other, tolerance):
    if not isinstance(one, (int, float)) or not isinstance(other, (int, float)):
        return one == other
    return abs(one - other) <= tolerance * max(abs(one), abs(other), 1e-3)


class Reference:
    """The uninterrupted run of a layout, and the checks against it."""

    def __init__(self, lab, layout):
        self.lab, self.layout, self.verified = lab, layout, {}
        self.words = words_of(lab, layout)
        case = lab.work / "clean" / layout.name
        shutil.rmtree(case, ignore_errors=True)
        begin = time.monotonic()
        started = Started(self.words, case, lab.work / f"clean-{layout.name}.txt")
        code, left = started.wait()
        self.duration_s = time.monotonic() - begin
        text = started.output.read_text(errors="replace")
        assert code == 0 and not left, f"{layout.name}: code {code}, left {left}: {text}"
        self.metrics = labs.lasting_metrics(case / "run")
        self.files, self.links = final_files(case / "run"), links_of(case / "run")
        self.names = set(os.listdir(case / "run"))
        shutil.rmtree(case)

    def check_lines(self, run_folder):
        """Each line that was ever written is that of the uninterrupted run."""
        lines = labs.lasting_metrics(run_folder)
        if lines and lines[-1] is None:  # cut by the kill; a resume drops it
            lines.pop()
        if len(lines) > len(self.metrics):
            return [f"{len(lines)} lines in metrics.jsonl, expected at most {len(self.metrics)}"]
        return [f"line {number + 1} of metrics.jsonl differs: {one}"
                for number, (one, other) in enumerate(zip(lines, self.metrics))
                if not self.is_same(one, other)][:3]

    def is_same(self, one, other):
        if self.layout.tolerance == 0:
            return one == other
        if one is None or one.get("step") != other.get("step"):
            return False
        # Numbers of a rank (its batch, its share of frames) depend on the number of ranks.
        return all(is_near(one.get(key), other[key], self.layout.tolerance)
                   for key in ("loss", "text_loss", "audio_loss", "learning_rate") if key in other)

    def check_checkpoints(self, run_folder):
        findings = []
        for step in labs.steps_in(run_folder):
            folder = run_folder / f"checkpoints/step={step}"
            digest = labs.tree_digest(folder)
            if digest not in self.verified:
                self.verified[digest] = self.lab.verify(folder)
            if self.verified[digest]:
                findings.append(f"does not verify: {self.verified[digest]}")
        return findings

    def check_end(self, run_folder):
        findings = self.check_lines(run_folder)
        if len(labs.lasting_metrics(run_folder)) != len(self.metrics):
            findings.append("metrics.jsonl lacks lines")
        files = final_files(run_folder)
        if files.keys() != self.files.keys() and self.layout.tolerance == 0:
            findings.append(f"files of the last checkpoint: {sorted(files)}")
        if self.layout.tolerance == 0:
            findings += [f"{name} differs" for name in self.files
                         if files.get(name) != self.files[name]]
        if links_of(run_folder) != self.links:
            findings.append(f"links {links_of(run_folder)}, expected {self.links}")
        partial = [str(path.relative_to(run_folder)) for path in run_folder.rglob("*")
                   if path.name.endswith((".partial", ".new", ".tmp"))]
        findings += [f"left behind: {name}" for name in partial]
        extra = [name for name in os.listdir(run_folder)
                 if name not in self.names
                 and not name.startswith(("flight", "log.", ".lock", "events."))]
        return findings + [f"left behind: {name}" for name in extra]


class History:
    """Follows log.txt over the starts of a run: steps only go back where a resume is recorded."""

    def __init__(self):
        self.read, self.newest = 0, 0

    def starts(self, run_folder):
        """To be called before a start."""
        path = run_folder / "log.txt"
        self.read = path.stat().st_size if path.exists() else 0
        steps = labs.steps_in(run_folder)
        findings = []
        if self.newest and (not steps or steps[-1] < self.newest):
            findings.append(f"lost: step={self.newest} was complete, now there are {steps}")
        self.newest = steps[-1] if steps else 0
        return findings

    def ended(self, run_folder, many_starts):
        """Findings on what the start has logged. `many_starts`: a launcher starts ranks again."""
        path = run_folder / "log.txt"
        text = path.read_bytes()[self.read:].decode("utf-8", "replace") if path.exists() else ""
        step, findings = None, []
        for line in text.splitlines():
            resumed = RESUMED.search(line)
            if resumed:
                at = int(resumed.group(2))
                if at < self.newest or (at > self.newest and not many_starts):
                    findings.append(f"lost: resumed at step {at}, but step={self.newest} was there")
                step = at
            found = LOGGED_STEP.search(line)
            if not found or "loss" not in line:
                continue
            now = int(found.group(1))
            begin = 0 if self.newest == 0 else None  # no resume is recorded for a new run
            if step is None and begin is None:
                findings.append(f"step {now} is logged before a resume from step={self.newest}")
            elif now != (step or 0) + 1 and not (many_starts and now == 1 and self.newest == 0):
                findings.append(f"step {now} is logged after step {step or 0}")
            step = now
        return findings[:3]
