"""Changes working configurations by rule; `config check` and `train` must say the same of each.

usage: check_and_train.py BIN_DIR [--most N] [--seed S] [--only TEXT] [--folder F] [--verbose]

Each change is one word on the command line, or one file that is spoiled. For each, both commands
run in copies of the same folder. They agree when `train` does its first step and `check` says ok,
or when `train` ends before its first step, or in its first validation, with errors that `check`
reports, too. (`check` may report more of them: it does not end at the first one.)
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
ERROR = re.compile(r"error: \[([a-z0-9-]+/[a-z0-9-]+|internal)\]")
LIMIT_S = 120
# What makes a run longer than a test, or is the place of the run itself.
LEFT_ALONE = ("trainer.max_steps", "exp_manager.explicit_log_dir", "small.", "data.synth.")
# A launcher has to start such runs, and a check may be of a run for another machine.
OTHER_MACHINES = re.compile(r"trainer\.(devices|num_nodes|accelerator)=")
FILES = ("train.jsonl", "dev.jsonl", "tokenizer.model", "tokenizer/tokenizer.json")


class Base:
    """A configuration that works, with its data, in a folder of its own."""

    def __init__(self, name, binary, folder, words):
        self.name, self.binary, self.folder, self.words = name, binary, folder / name, words
        self.folder.mkdir(parents=True)
        made = self.run(self.folder, "train", ["exp_manager.explicit_log_dir=made"])
        if made.returncode != 0:
            sys.exit(f"{name} does not train:\n{made.stdout}")
        shutil.rmtree(self.folder / "made")
        shown = self.run(self.folder, "config show --json", [])
        self.config = json.loads(shown.stdout)["config"]

    def run(self, folder, command, more):
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "OMP_NUM_THREADS": "1",
                       "OMP_WAIT_POLICY": "PASSIVE"}
        return subprocess.run(
            [str(self.binary), *command.split(), *self.words, *more], cwd=folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S, env=environment,
            errors="replace", check=False)

    def leaves(self, node=None, path=""):
        """-> (path, value) of each value that is no map and no list of maps."""
        node = self.config if node is None else node
        for key, value in node.items():
            place = f"{path}{key}"
            if isinstance(value, dict) and value:
                yield from self.leaves(value, f"{place}.")
            elif not (isinstance(value, list) and any(isinstance(one, dict) for one in value)):
                yield place, value


def words_of(path, value):
    """-> words that change one value."""
    yield f"~{path}"
    yield f"{path}=null"
    if isinstance(value, bool) or str(value) in ("true", "false"):
        yield f"{path}={'false' if str(value).lower() == 'true' else 'true'}"
        yield f"{path}=perhaps"
    elif isinstance(value, list):
        yield f"{path}=[]"
        yield f"{path}=7"
    elif re.fullmatch(r"-?[0-9.]+(e[-+]?[0-9]+)?", str(value)):
        for other in ("0", "-1", "3", "abc", "9223372036854775807"):
            yield f"{path}={other}"
    else:
        yield f"{path}=nosuch"
        yield f"{path}=no/such/file.jsonl"
        yield f"{path}=[]"


def spoiled(name):
    """-> (what, function of the folder) for a file of the base."""
    def write(data):
        return lambda folder: (folder / name).write_bytes(data)

    def cut(folder):
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[:len(data) // 2])

    def append(text):
        def act(folder):
            with open(folder / name, "ab") as file:
                file.write(text)
        return act

    def put_first(text):
        def act(folder):
            data = (folder / name).read_bytes()
            (folder / name).write_bytes(text + data)
        return act

    yield f"{name} is empty", write(b"")
    yield f"{name} is cut", cut
    yield f"{name} is gone", lambda folder: (folder / name).unlink()
    yield f"{name} is a folder", lambda folder: ((folder / name).unlink(), (folder / name).mkdir())
    yield f"{name} is binary", write(bytes(range(256)) * 20)
    yield f"{name} has another last line", append(b"{\"a\": 1}\n")
    yield f"{name} has another first line", put_first(b"{\"a\": 1}\n")
    yield f"{name} begins with no JSON", put_first(b"hello\n")


def run_places():
    """-> (what, function of the folder): where the run is to be written."""
    def used(folder):
        (folder / "run/checkpoints/step=5").mkdir(parents=True)

    yield "the run is a file", lambda folder: (folder / "run").write_text("x")
    yield "checkpoints is a file", lambda folder: (
        (folder / "run").mkdir(), (folder / "run/checkpoints").write_text("x"))
    yield "a checkpoint without content", used
    yield "the run is a link to nowhere", lambda folder: (folder / "run").symlink_to("/nowhere/x")
    yield "the run's parent is a file", lambda folder: (folder / "parent").write_text("x")


EXTRA_WORDS = [
    "exp_manager.resume_from_checkpoint=nosuch", "exp_manager.loggers=[{name: nosuch}]",
    "exp_manager.loggers=[{name: wandb, nosuch: 1}]", "exp_manager.files_to_copy=[nosuch]",
    "model.metrics=[{name: nosuch}]", "model.metrics=[{name: wer, nosuch: 1}]",
    "model.scoring_asr=nosuch", "model.pretrained_weights=nosuch", "model.freeze_params=[nosuch]",
    "model.freeze_params=[(]", "model.lora.r=4", "model.lora={r: 4, target_modules: [nosuch]}",
    "model.lora={r: 0}", "trainer.strategy.name=fsdp", "trainer.strategy.name=ddp",
    "trainer.strategy.name=model_parallel",
    "trainer.precision=16-mixed", "trainer.precision=bf16-true",
    "trainer.compile=true", "trainer.limit_train_batches=0", "trainer.limit_val_batches=0",
    "trainer.val_check_interval=0", "trainer.val_check_interval=1000000",
    "exp_manager.checkpoint_callback_params.monitor=nosuch",
    "exp_manager.checkpoint_callback_params.monitor=val_loss",
    "exp_manager.early_stopping_callback_params={monitor: nosuch}",
    "exp_manager.explicit_log_dir=parent/run", "exp_manager.explicit_log_dir=/proc/nosuch/run",
    "exp_manager.explicit_log_dir=", "exp_manager.resume_if_exists=false",
    "exp_manager.ema.enable=true", "exp_manager.ema={enable: true, decay: 2}",
    "trainer.profiler=nosuch", "plugins.paths=[nosuch]", "model.type=nosuch",
    "data.train_ds.batch_size=1000000", "data.validation_ds.datasets.more={}",
    "data.validation_ds.datasets={}", "model.llm.name=gemma", "model.llm.name=qwen",
    "model.optimizer.name=muon", "model.optimizer.name=sgd", "model.lr_scheduler.name=WarmupLR",
    "model.pad_token=nosuch", "model.tokenizer.path=nosuch/tokenizer.json",
    "trainer.strategy.tensor_parallel_size=2", "trainer.sync_batchnorm=true", "trainer.max_time=x",
    "trainer.accumulate_grad_batches=3", "model.stages=[{from_step: 1}]",
]


def changes_of(base):
    """-> (name, words, function of the folder or None)."""
    for path, value in base.leaves():
        if path.startswith(LEFT_ALONE):
            continue
        for word in words_of(path, value):
            if not OTHER_MACHINES.match(word):
                yield word, [word], None
        yield f"{path}_x=1", [f"{path}_x=1"], None
    for word in EXTRA_WORDS:
        yield word, [word], None
    for name in FILES:
        if (base.folder / "data" / name).exists():
            for what, act in spoiled(f"data/{name}"):
                yield what, [], act
    for what, act in run_places():
        yield what, ["exp_manager.explicit_log_dir=parent/run"] * ("parent" in what), act


def has_stepped(folder):
    """-> whether a run in `folder` has done a step."""
    return any('"loss"' in lines.read_text()
               for lines in folder.rglob("metrics.jsonl") if lines.is_file())


def said(folder, base, command, words):
    """-> (exit code, ids, text)."""
    try:
        done = base.run(folder, command, words)
    except subprocess.TimeoutExpired:
        return None, ["a hang"], ""
    return done.returncode, sorted(set(ERROR.findall(done.stdout))), done.stdout


def verdict(base, name, words, act, scratch):
    """-> None, or what the two say differently."""
    answers, stepped = [], False
    for command in ("config check", "train"):
        folder = pathlib.Path(tempfile.mkdtemp(dir=scratch))
        shutil.copytree(base.folder, folder, dirs_exist_ok=True)
        if act:
            act(folder)
        answers.append(said(folder, base, command, words))
        stepped = has_stepped(folder)
        shutil.rmtree(folder)
    (check_code, check_ids, check_text), (train_code, train_ids, train_text) = answers
    reason = None
    starts = train_code == 0 or stepped
    fails_later = bool(train_ids) and set(train_ids) <= set(check_ids)
    if starts and check_code != 0 and not fails_later:
        reason = f"check: {check_ids}; train: ok"
    elif not starts and train_code != 0 and check_code == 0:
        reason = f"check: ok; train: {train_ids or train_code}"
    elif not starts and not set(train_ids) <= set(check_ids):
        reason = f"check: {check_ids}; train: {train_ids}"
    elif "internal" in check_ids + train_ids:
        reason = f"[internal]: check {check_ids}, train {train_ids}"
    if reason is None:
        return None
    return {"base": base.name, "change": name, "reason": reason,
            "check": check_text[-1500:], "train": train_text[-1500:]}


def bases(binary, folder):
    tiny = ["small.data=data", "small.run=run"]
    files = {"speech": (SOURCE / "configs/tiny.yaml", "tiny",
                       ["trainer.max_steps=3", "trainer.val_check_interval=3"]),
             "text": (SOURCE / "configs/text.yaml", "text",
                      ["trainer.max_steps=3", "model.lr_scheduler.warmup_steps=1",
                       "trainer.val_check_interval=3", "trainer.log_every_n_steps=1",
                       "trainer.limit_val_batches=1", "model.llm.num_hidden_layers=1"])}
    for name, (path, block, words) in files.items():
        text = path.read_text().replace(f"{block}.data", "small.data").replace(
            f"{block}.run", "small.run").replace(f"\n{block}:\n", "\nsmall:\n")
        (folder / f"{name}.yaml").write_text(text)
        yield Base(name, binary, folder, [str(folder / f"{name}.yaml"), *tiny, *words])


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("bin_dir", type=pathlib.Path)
    parser.add_argument("--most", type=int, default=0)
    parser.add_argument("--seed", type=int, default=40)
    parser.add_argument("--only", default="")
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    scratch = tempfile.TemporaryDirectory(dir=options.folder)
    folder = pathlib.Path(scratch.name)
    todo = []
    for base in bases((options.bin_dir / "s2s-run").resolve(), folder):
        todo += [(base, *change) for change in changes_of(base)]
    if options.only:
        todo = [one for one in todo if options.only in one[1]]
    elif options.most:
        todo = random.Random(options.seed).sample(todo, min(options.most, len(todo)))
    found = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for one in pool.map(lambda change: verdict(*change, folder), todo):
            if one is None:
                continue
            found.append(one)
            print(f"{one['base']}: {one['change']}\n    {one['reason']}", flush=True)
            if options.verbose:
                print(f"  check:\n{one['check']}\n  train:\n{one['train']}", flush=True)
    print(f"config check and train: {len(todo)} changes, {len(found)} disagreements")
    sys.exit(1 if found else 0)


main()
