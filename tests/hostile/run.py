"""usage: run.py BUILD/bin [--quick] [--only WORDS] [--json FILE] [--keep FOLDER] [--list]

Gives every file of the hostile corpus to every command that reads such files. A command may refuse
it, and has to end in a documented exit code, within 5 s of processor time and 1 GB of memory, with
one message, without printing what moves a terminal's cursor, without running anything and without
making a file outside of its output. Prints what was broken, with the command that shows it again
(the files stay with --keep), and ends with 1 if anything was.

  --quick   the part that continuous integration runs
  --only    cases whose name has WORDS in it ("data/cut", "weights/torch-zip-bomb")
  --keep    where the files and the good run that they are made of are left
  --faults  the fault library that logs calls, if it is not BUILD/tests/s2s_faults.so
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import sys
import tempfile
import threading

import cases_audio  # noqa: F401  each registers its cases
import cases_checkpoint  # noqa: F401
import cases_config  # noqa: F401
import cases_data  # noqa: F401
import cases_nemo  # noqa: F401
import cases_weights  # noqa: F401
import kit as k
import watch

SOURCE_ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = "hi there, hihi\n"


OUT = "@OUT@"  # stands for the folder that a command may write into


def commands(reader, path, kit, is_quick):
    """The words behind s2s-run for a class of readers."""
    out = OUT
    kind = reader.partition(":")[2]
    overrides = [f"tiny.data={kit.set}", f"tiny.run={out}/run", "data.synth=null"]
    table = {
        "checkpoint": [["checkpoint", "inspect", path], ["checkpoint", "verify", path],
                       ["checkpoint", "export", path, f"{out}/model"]],
        "own-config": [["data", "inspect", f"{path}/config.yaml"],
                       ["validate", f"{path}/config.yaml", "--checkpoint", path,
                        f"exp_manager.explicit_log_dir={out}/run", "--report", f"{out}/report"]],
        "weights": [["checkpoint", "inspect", path], ["checkpoint", "verify", path]],
        "import": [["checkpoint", "import", path, f"{out}/imported", "--config", kit.config,
                    *overrides]],
        "pretrained": [["train", kit.config, *overrides, f"model.llm={{name: llama, path: {path}}}",
                        "trainer.max_steps=4"]],
        "compare": [["compare", path]],
        "data": [["data", "inspect", path], ["data", "shar", path, f"{out}/shar"]],
        "convert": [["data", "convert", path, f"{out}/cuts.jsonl"] +
                    (["--from", kind] if kind else [])],
        "config": [["config", "check", path], ["config", "show", path], ["plan", path]],
        "tokenizer": [["tokenizer", "encode", "--tokenizer", path]],
        "plugin": [["plugin", "check", path]],
        "look": [["plugin", "inspect", path]],
        "here": [["plugin", "path"], ["plugin", "list"]],
        "gpu": [["plugin", command, plugin] for plugin in kit.gpu_plugins()
                for command in ("inspect", "check")],
    }
    words = table[reader.partition(":")[0]]
    if reader == "checkpoint" and not is_quick:
        words.append(["validate", kit.config, *overrides, "--checkpoint", path,
                      "--report", f"{out}/report", "--limit-batches", "1"])
        words.append(["generate", "--checkpoint", path, "--output", f"{out}/answers", "--input",
                      next(kit.set.glob("audio/dev/*_user.wav"))])
    return words


class Harness:
    """Runs cases, two at a time, and collects what they broke."""

    def __init__(self, kit, arguments):
        self.kit = kit
        self.arguments = arguments
        self.lock = threading.Lock()
        self.num_files = self.num_commands = self.num_made = 0
        self.skipped = []
        self.broken = []
        self.slowest = watch.Outcome([])
        self.largest = watch.Outcome([])
        self.folders = iter(range(1 << 30))

    def run_case(self, case):
        why_not = case.options.get("skip", lambda: None)()
        if why_not:
            self.skipped.append(f"{case.name}: {why_not}")
            return
        folder = self.kit.root / "cases" / case.name.replace("/", "_")
        folder.mkdir(parents=True)
        path = case.make(self.kit, folder)
        found = []
        for reader in case.readers:
            found += self.run_reader(case, reader, folder, path)
        with self.lock:
            self.num_files += 1
            self.broken += found
        if not self.arguments.keep:
            remove(folder)

    def run_reader(self, case, reader, folder, path):
        found = []
        with self.lock:
            work = self.kit.root / "work" / str(next(self.folders))
        for i, words in enumerate(commands(reader, path, self.kit, self.arguments.quick)):
            words = with_output(words, work / str(i) / "out")
            outcome = watch.run(self.kit, [self.kit.program, *words], work / str(i), [folder],
                                folder if case.options.get("cwd") else None, TEXT)
            with self.lock:
                self.num_commands += 1
                self.slowest = max(self.slowest, outcome, key=lambda o: o.cpu_s)
                self.largest = max(self.largest, outcome, key=lambda o: o.max_bytes)
            if outcome.broken:
                found.append((case.name, outcome))
                print(f"broken: {case.name}: {' '.join(outcome.words[1:3])}: "
                      f"{'; '.join(outcome.broken)}", flush=True)
        remove(work)
        return found


def with_output(words, out):
    return [str(word).replace(OUT, str(out)) for word in words]


def remove(folder):
    shutil.rmtree(folder, ignore_errors=True)


def controls(kit):
    """Good files have to pass, and a command that the user types has to run: otherwise the harness
    sees nothing."""
    good = k.good_audio(kit.root / "good/data")
    cuts = k.cuts_file(good, k.cut())
    checks = [(words, "") for words in commands("checkpoint", kit.checkpoint, kit, False)]
    checks += [(words, "") for words in commands("data", cuts, kit, True)]
    for reader in ("import", "pretrained"):
        checks += [(words, "") for words in commands(reader, kit.model, kit, False)]
    checks += [(["config", "check", kit.config, f"tiny.data={kit.set}"], ""),
               (["tokenizer", "encode", "--tokenizer", kit.set / "tokenizer.model"], TEXT),
               (["plugin", "list"], "")]
    for number, (words, text) in enumerate(checks):
        work = kit.root / "work" / f"control{number}"
        words = with_output(words, work / "out")
        outcome = watch.run(kit, [kit.program, *words], work, [], None, text)
        if outcome.code != 0 or outcome.broken:
            raise SystemExit(f"error: [hostile/control] s2s-run {' '.join(words)} ended with "
                             f"{outcome.code}, {outcome.broken}:\n{outcome.output}")
    shown = watch.run(kit, ["sh", "-c", f"printf '\\033[2J'; {kit.touch('control')}; exit 9"],
                      kit.root / "work/control", [])
    seen = "; ".join(shown.broken)
    expected = ["exit code 9", "raw", "runs code"] + ["starts a program"] * bool(kit.faults)
    if not all(words in seen for words in expected):
        raise SystemExit(f"error: [hostile/control] the watch saw only: {seen}")
    return len(checks)


def report(harness, arguments):
    rows = [{"case": name, "broken": outcome.broken, "code": outcome.code,
             "cpu_s": round(outcome.cpu_s, 2), "max_mb": outcome.max_bytes >> 20,
             "command": outcome.words, "output": outcome.output[-2000:]}
            for name, outcome in sorted(harness.broken, key=lambda row: row[0])]
    facts = {"files": harness.num_files, "commands": harness.num_commands,
             "skipped": harness.skipped, "violations": len(rows),
             "most_cpu_s": round(harness.slowest.cpu_s, 2),
             "most_mb": harness.largest.max_bytes >> 20, "rows": rows}
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(facts, indent=1) + "\n")
    if rows:
        print(f"\n{'case':44} {'exit':>4} {'cpu s':>6} {'MB':>6}  what was broken")
    for row in rows:
        print(f"{row['case']:44} {row['code']:>4} {row['cpu_s']:>6} {row['max_mb']:>6}  "
              f"{'; '.join(row['broken'])}\n    {k.shell_text(row['command'])}")
    for line in harness.skipped:
        print(f"skipped: {line}")
    print(f"{harness.num_files} files, {harness.num_commands} commands, {len(rows)} violations; "
          f"most: {facts['most_cpu_s']} s of processor time, {facts['most_mb']} MB "
          f"({' '.join(harness.largest.words[1:3])})")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    parser.add_argument("--keep")
    parser.add_argument("--faults")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    chosen = [case for case in k.CASES
              if arguments.only in case.name and (case.quick or not arguments.quick)]
    if arguments.list:
        print("\n".join(f"{case.name}: {' '.join(case.readers)}" for case in chosen))
        return 0
    root = arguments.keep or tempfile.mkdtemp(prefix="s2s-hostile-")
    program = pathlib.Path(arguments.bin).resolve() / "s2s-run"
    faults = pathlib.Path(arguments.faults or program.parents[1] / "tests/s2s_faults.so").resolve()
    if not faults.exists():
        print(f"skipped: {faults} is not built: programs that are started are seen by their marks")
        faults = None
    kit = k.Kit(str(program), pathlib.Path(root).resolve(), faults)
    try:
        kit.prepare(SOURCE_ROOT)
        num_controls = controls(kit)
        print(f"{num_controls} good files pass; {len(chosen)} hostile ones:", flush=True)
        harness = Harness(kit, arguments)
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            list(pool.map(harness.run_case, chosen))
        report(harness, arguments)
        return 1 if harness.broken else 0
    finally:
        if not arguments.keep:
            remove(root)


if __name__ == "__main__":
    sys.exit(main())
