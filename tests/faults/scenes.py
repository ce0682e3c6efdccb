"""What the sweep does while calls fail. A scene makes its template once; a case is a copy of it."""

import gzip
import hashlib
import os
import shutil

import lab as labs

EVERY = "exp_manager.checkpoint_callback_params"


class Scene:
    """A command of the program, and what has to hold after it, with or without a fault."""

    ranks = 1
    limit_s = 60
    # Files that differ from run to run, and those that may stay behind.
    skipped = ("manifest.json", "log.txt", "index.json", ".lock", "metrics.jsonl")

    def __init__(self, lab, name):
        self.lab, self.name = lab, name
        self.template = lab.work / "templates" / name
        self.clean = lab.work / "clean" / name

    def words(self):
        raise NotImplementedError

    def fill(self, case):
        """What is in the template beside an empty folder."""

    def prepare(self):
        """Makes the template, and the case that no fault touched."""
        for folder in (self.template, self.clean):
            shutil.rmtree(folder, ignore_errors=True)
        self.template.mkdir(parents=True)
        self.fill(self.template)
        self.clean.parent.mkdir(parents=True, exist_ok=True)
        labs.copy_tree(self.template, self.clean)
        result = labs.run(self.words(), self.clean, limit_s=300)
        assert result.code == 0, f"{self.name}: {result.output}"
        self.accept()

    def accept(self):
        """Keeps of the clean case what others are compared with."""

    def after_fault(self, case):
        """Findings on what a fault left."""
        return []

    def after_rerun(self, case):
        """Findings on what the same command made of it."""
        return []

    def leftovers(self, case):
        """Names that have to be gone once a run without a fault is through."""
        return [f"{name}/{left}" for name in ("tmp", "home", "cwd")
                for left in (os.listdir(case / name) if (case / name).is_dir() else [])]


class Training(Scene):
    """A run with checkpoints at `history`, of which the newest `keep` stay."""

    def __init__(self, lab, name, options=(), begun=0, last=4, keep=2, ranks=1, spoilt=None,
                 timeout_s=10):
        super().__init__(lab, name)
        self.options, self.begun, self.ranks = list(options), begun, ranks
        self.keep, self.last, self.spoilt, self.timeout_s = keep, last, spoilt, timeout_s
        self.history = list(range(2, last + 1, 2))
        self.limit_s = 60 if ranks == 1 else 120

    def words(self, keep=None):
        words = self.lab.train_words([
            f"trainer.max_steps={self.last}", f"{EVERY}.every_n_train_steps=2",
            f"{EVERY}.save_top_k={self.keep if keep is None else keep}", *self.options])
        if self.ranks == 1:
            return words
        launch = [words[0], "launch", "local", "-n", str(self.ranks), "--grace", "5", "--"]
        return launch + words[1:] + ["trainer.strategy.name=ddp",
                                     f"trainer.communicator.timeout_s={self.timeout_s}"]

    def fill(self, case):
        if self.begun == 0:
            return
        made = labs.run(self.words(keep=99), case, limit_s=300)
        assert made.code == 0, made.output
        folder = case / "run/checkpoints"
        for step in self.history:  # as kill -9 leaves it
            if step > self.begun and step != self.spoilt:
                shutil.rmtree(folder / f"step={step}")
        (folder / "last").unlink()
        (folder / "last").symlink_to(f"step={self.begun}")
        if self.spoilt:
            (folder / f"step={self.spoilt}" / "model.safetensors").unlink()

    def accept(self):
        self.metrics = labs.lasting_metrics(self.clean / "run")
        self.files = self.final_files(self.clean / "run")

    def final_files(self, run_folder):
        folder = run_folder / "checkpoints" / f"step={self.last}"
        names = sorted(os.listdir(folder)) if folder.is_dir() else []
        return {name: (folder / name).read_bytes() for name in names
                if name.endswith(".safetensors") or name == "state.json"}

    def required(self, newest):
        """Checkpoints that have to be there when `newest` is the newest good one."""
        done = [step for step in self.history if step <= newest]
        if newest <= self.begun:
            return done
        return done[-max(self.keep, 1):]

    def after_fault(self, case):
        """(b) and (c)."""
        run_folder = case / "run"
        steps = [s for s in labs.steps_in(run_folder) if s != self.spoilt or s <= self.begun]
        if not steps:
            return ["c: no checkpoint is left"] if self.begun else []
        findings = []
        folder = run_folder / "checkpoints"
        fault = self.lab.verify(folder / f"step={steps[-1]}")
        if fault:
            findings.append(f"b: the newest: {fault}")
        last = folder / "last"
        if last.is_symlink():
            fault = self.lab.verify(folder / os.readlink(last))
            if fault:
                findings.append(f"b: last: {fault}")
        elif self.begun:
            findings.append("b: `last` is gone")
        for step in self.required(steps[-1]):
            if step not in steps:
                findings.append(f"c: step={step} is gone, {steps} are there")
        return findings

    def after_rerun(self, case):
        """(d), and that nothing temporary is left."""
        findings = []
        files = self.final_files(case / "run")
        findings += [f"d: {name} differs" for name in self.files
                     if files.get(name) != self.files[name]]
        if labs.lasting_metrics(case / "run") != self.metrics:
            findings.append("d: metrics.jsonl differs")
        return findings + self.after_fault(case)

    def leftovers(self, case):
        run_folder = case / "run"
        known = set(os.listdir(self.clean / "run")) | {"flight.txt"}
        found = [name for name in os.listdir(run_folder)
                 if name not in known and not name.startswith("flight.")]
        found += [f"checkpoints/{name}" for name in os.listdir(run_folder / "checkpoints")
                  if name != "last" and not labs.STEP.match(name)]
        for step in labs.steps_in(run_folder):
            folder = run_folder / f"checkpoints/step={step}"
            known = set(os.listdir(self.clean / f"run/checkpoints/step={self.last}"))
            found += [f"step={step}/{name}" for name in os.listdir(folder) if name not in known]
        return found + super().leftovers(case)


class Command(Scene):
    """A command that writes `run/out` from inputs in `in`."""

    accepted_refusals = ()

    def __init__(self, lab, name, words, fill, refusals=(), compares=True):
        super().__init__(lab, name)
        self.command, self.filler = words, fill
        self.accepted_refusals, self.compares = refusals, compares

    def words(self):
        return self.command

    def fill(self, case):
        (case / "run").mkdir()
        self.filler(case)

    def accept(self):
        self.digest = self.result_of(self.clean)
        self.names = {str(p.relative_to(self.clean)) for p in self.clean.rglob("*")}

    def result_of(self, case):
        """Names and contents; paths of the case itself are left out of compressed lists."""
        found = {}
        for path in sorted((case / "run").rglob("*")):
            if not path.is_file() or path.name in self.skipped:
                continue
            data = path.read_bytes()
            if path.name.endswith(".gz"):
                data = gzip.decompress(data).replace(str(case).encode(), b"")
            found[str(path.relative_to(case))] = hashlib.sha1(data).hexdigest()
        return found

    def after_rerun(self, case):
        if self.compares and self.result_of(case) != self.digest:
            return ["d: the result differs from that of a run without faults"]
        return []

    def leftovers(self, case):
        found = {str(p.relative_to(case)) for p in case.rglob("*")}
        return sorted(name for name in found - self.names if not name.startswith("cache/"))


def command_scenes(lab):
    """Everything that writes beside training."""
    program = lab.program
    finished = lab.work / "templates/finished"

    def finished_run():
        if not finished.exists():
            case = lab.work / "cases/finished"
            made = labs.run(lab.train_words(["trainer.max_steps=3"]), case, limit_s=300)
            assert made.code == 0, made.output
            finished.parent.mkdir(parents=True, exist_ok=True)
            labs.copy_tree(case / "run", finished)
        return finished

    def with_checkpoint(case):
        (case / "in").mkdir()
        labs.copy_tree(finished_run() / "checkpoints/step=3", case / "in/step=2")

    def with_export(case):
        with_checkpoint(case)
        made = labs.run([program, "checkpoint", "export", "../in/step=2", "../in/hf"], case)
        assert made.code == 0, made.output

    def with_run(case):
        (case / "in").mkdir()
        labs.copy_tree(finished_run(), case / "in/run")

    def with_data(case):
        labs.copy_tree(lab.data, case / "in")
        for index in (case / "in").glob("*.idx"):
            index.unlink()

    def with_pairs(case):
        (case / "in").mkdir()
        audio = sorted(lab.data.rglob("*.wav"))[:2]
        assert len(audio) == 2, "the data set has no wav files"
        for name, source in zip(("a_user", "a_agent"), audio):
            shutil.copy(source, case / f"in/{name}.wav")
            (case / f"in/{name}.txt").write_text("0.1\t0.4\thello there\n")

    shar = [program, "data", "shar", "../in/train.jsonl", "../run/out", "--shard-size", "4",
            "--fields", "recording=flac", "--num-jobs", "1"]
    convert = [program, "data", "convert", "../in", "../run/out.jsonl.gz", "--lengths", "shorter"]
    validate = lab.train_words(["trainer.limit_val_batches=1", "--checkpoint",
                                "../in/run/checkpoints/last"], "validate")
    first = ["checkpoint", "import", "../in/hf", "../run/first", "--config"]
    return [
        Command(lab, "export", [program, "checkpoint", "export", "../in/step=2", "../run/out"],
                with_checkpoint),
        Command(lab, "import", [program, *first, *lab.train_words()[2:]], with_export,
                refusals=("checkpoint/exists",), compares=False),
        Command(lab, "shar", shar, with_data, refusals=("data/shar-out",)),
        Command(lab, "convert", convert, with_pairs, refusals=("data/convert-exists",)),
        Command(lab, "validate", validate, with_run, compares=False),
        Command(lab, "index", [program, "data", "inspect", "../in/train.jsonl", "--no-audio"],
                with_data),
    ]


def all_scenes(lab):
    async_save = f"{EVERY}.async_save=true"
    return [
        Training(lab, "sync"),
        Training(lab, "async", [async_save], keep=0),
        Training(lab, "resume", begun=2),
        Training(lab, "rotate", begun=4, last=6, keep=0),
        Training(lab, "rotate-async", [async_save], begun=4, last=6, keep=0),
        Training(lab, "same-step", begun=2, spoilt=4),
        Training(lab, "ranks", ranks=3),
        *command_scenes(lab),
    ]
