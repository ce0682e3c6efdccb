"""Every disk that a power cut may leave of a recorded save is one that a run goes on from.

usage: crash_states.py [--build DIR] [--scene NAME]... [--resumes N] [--limit N] [--seed S]
                       [--json FILE] [--work DIR] [--quick]

Scenes: sync (first and second save), rotate, same-step (an exchange of folders), resume (the
rewriting of metrics.jsonl). Of each, s2s_faults.so records what is put on the disk; disk_model.py
makes the states. Of each different state:
  b  the newest step=N and `last` verify
  c  no checkpoint is gone that was confirmed on the disk and that no newer good one replaces
  d  metrics.jsonl has the lines of all steps of the newest checkpoint
and of --resumes drawn ones a run goes on and ends with the weights and metrics of one that nothing
disturbed.
"""

import argparse
import hashlib
import json
import pathlib
import random
import shutil
import sys
import tempfile
import time

import disk_model
import lab as labs
import scenes

SCENES = ("sync", "rotate", "same-step", "resume")


def record_scene(lab, scene, forgotten=()):
    """The disk of a run without faults, call by call."""
    case = lab.work / "cases" / f"record-{scene.name}"
    shutil.rmtree(case, ignore_errors=True)
    case.parent.mkdir(exist_ok=True)
    labs.copy_tree(scene.template, case)
    record = lab.work / f"record-{scene.name}"
    record.unlink(missing_ok=True)
    result = labs.run(scene.words(), case, {
        "LD_PRELOAD": lab.library, "S2S_FAULTS_PATH": str(case),
        "S2S_FAULTS_RECORD": str(record)})
    assert result.code == 0, result.output
    disk = disk_model.Disk(case, scene.template)
    for call in disk_model.read_record(record):
        if call[0] != "sync" or not forgets(call[1], forgotten):
            disk.add(*call)
    check_record(disk, case)
    return disk


def forgets(path, forgotten):
    """To try the check itself: a program that does not sync what these words name."""
    return any(word in path for word in forgotten)


def check_record(disk, case):
    """The record must give what the program has really left: else it is of no use."""
    state = disk.state(len(disk.steps))
    for path in sorted((case / "run").rglob("*")):
        name = str(path.relative_to(case))
        if path.name in disk_model.IGNORED or path.is_symlink() or path.is_dir():
            continue
        if name not in state or disk_model.bytes_of(state[name]) != path.read_bytes():
            raise AssertionError(f"the record does not give {name}")
    for name in state:
        if not (case / name).is_symlink() and not (case / name).exists():
            raise AssertionError(f"the record gives {name}, which is not there")


def digest_of(state, prefix=""):
    text = "\n".join(f"{path} {entry[:2]}" for path, entry in sorted(state.items())
                     if path.startswith(prefix))
    return hashlib.sha1(text.encode()).hexdigest()


def write_state(state, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for path, entry in sorted(state.items()):
        if entry[0] == "folder":
            (folder / path).mkdir()
        elif entry[0] == "link":
            (folder / path).symlink_to(entry[1])
        else:
            (folder / path).write_bytes(disk_model.bytes_of(entry))


def finished_saves(disk):
    """[(from which call on, step)]: `last` points at the step, and its folder was synced. From
    there on the program has said that the checkpoint is on the disk."""
    found, waiting = [], None
    for step in disk.steps:
        if isinstance(step, disk_model.Sync):
            if waiting and step.inode == waiting[0]:
                found.append((step.number + 1, waiting[1]))
                waiting = None
            continue
        for folder, name, inode in step.names:
            if name == "last" and inode is not None:
                target = disk.base[inode].decode()
                waiting = (folder, int(labs.STEP.match(target).group(1)))
    return found


def steps_of(state):
    names = (path.split("/")[2] for path in state if path.count("/") == 2)
    return sorted(int(match.group(1)) for match in map(labs.STEP.match, names) if match)


class Checker:
    """Asks about each different checkpoint once."""

    def __init__(self, lab, scene):
        self.lab, self.scene, self.known = lab, scene, {}
        self.num_verified = 0

    def verify(self, state, name):
        prefix = f"run/checkpoints/{name}/"
        inside = {path[len(prefix):]: entry for path, entry in state.items()
                  if path.startswith(prefix)}
        if f"run/checkpoints/{name}" not in state:
            return f"{name} is not there"
        digest = digest_of(inside)
        if digest not in self.known:
            folder = self.lab.work / "cases/states" / name
            shutil.rmtree(folder.parent, ignore_errors=True)
            write_state(inside, folder)
            self.known[digest] = self.lab.verify(folder)
            self.num_verified += 1
        return self.known[digest]

    def lines(self, state):
        found = set()
        text = disk_model.bytes_of(state.get("run/metrics.jsonl", ("file", "", b"")))
        for line in text.split(b"\n"):
            try:
                one = json.loads(line)
                if "learning_rate" in one:
                    found.add(one["step"])
            except (ValueError, TypeError):
                pass
        return found

    def check(self, state, confirmed, finished):
        """Findings of one state; `confirmed`: what every disk has at this moment; `finished`: the
        newest step whose save is through."""
        steps = [s for s in steps_of(state) if s != self.scene.spoilt or
                 not self.is_spoilt(state, s)]
        known = [s for s in steps_of(confirmed) if s != self.scene.spoilt]
        if not steps:
            return [f"c: no checkpoint is left, and step={finished} was saved"] if finished else []
        findings = []
        if steps[-1] < finished:
            findings.append(f"c: step={finished} was saved, and {steps} are there")
        fault = self.verify(state, f"step={steps[-1]}")
        if fault:
            findings.append(f"b: the newest: {fault}")
        last = state.get("run/checkpoints/last")
        if last is not None:
            fault = self.verify(state, last[1])
            if fault:
                findings.append(f"b: last: {fault}")
        elif "run/checkpoints/last" in confirmed:
            findings.append("b: `last` is gone")
        findings += [f"c: step={s} is gone, {steps} are there"
                     for s in self.scene.required(steps[-1])
                     if s not in steps and s in known]
        missing = set(range(1, steps[-1] + 1)) - self.lines(state)
        if missing:
            findings.append(f"d: step={steps[-1]}, but no metrics of steps {sorted(missing)}")
        return findings

    def is_spoilt(self, state, step):
        return f"run/checkpoints/step={step}/model.safetensors" not in state

    def resume(self, state, number):
        case = self.lab.work / "cases" / f"resumed-{self.scene.name}-{number}"
        shutil.rmtree(case, ignore_errors=True)
        case.mkdir(parents=True)
        write_state({path: entry for path, entry in state.items()
                     if path == "run" or path.startswith("run/")}, case)
        result = labs.run(self.scene.words(), case, limit_s=self.scene.limit_s)
        findings = ([] if result.code == 0 else
                    [f"d: exit code {result.code}: {result.output[-400:]}"])
        findings += self.scene.after_rerun(case) + [
            f"e: left behind: {name}" for name in self.scene.leftovers(case)]
        shutil.rmtree(case)
        return findings


def describe(disk, until, dropped, torn):
    """The calls around a state, for whoever looks for the cause."""
    def name(number):
        step = disk.steps[number]
        if isinstance(step, disk_model.Sync):
            return f"{number} sync of inode {step.inode}"
        where = ", ".join(f"{n}{'' if i else ' goes'}" for _, n, i in step.names)
        return f"{number} {step.call} {where or f'inode {step.inode}'}"
    parts = [f"after {name(until - 1)}" if until else "at the start"]
    if dropped:
        parts.append("without " + "; ".join(name(n) for n in sorted(dropped)[:6]) +
                     (f" and {len(dropped) - 6} more" if len(dropped) > 6 else ""))
    if torn:
        parts.append(f"{name(torn[0])} torn ({torn[1]})")
    return ", ".join(parts)


def check_scene(lab, scene, options, draw):
    """A row of the table."""
    scene.prepare()
    disk = record_scene(lab, scene, options.forget or ())
    finished = finished_saves(disk)
    checker = Checker(lab, scene)
    row = {"scene": scene.name, "calls": len(disk.steps), "made": 0, "violations": []}
    seen, kept = set(), []
    confirmed_at, confirmed = -1, {}
    for until, dropped, torn in disk_model.legal_states(disk, draw, options.limit):
        row["made"] += 1
        if until != confirmed_at:
            every = frozenset(step.number for step in disk.pending(until))
            confirmed_at, confirmed = until, disk.state(until, every)
        state = disk.state(until, dropped, torn)
        digest = digest_of(state)
        newest = max([step for since, step in finished if since <= until] + [scene.begun])
        if (digest, newest) in seen:
            continue
        seen.add((digest, newest))
        findings = checker.check(state, confirmed, newest)
        if findings:
            row["violations"].append({"state": describe(disk, until, dropped, torn),
                                      "findings": findings})
        else:
            kept.append((until, dropped, torn))
    row["unique"] = len({digest for digest, _ in seen})
    row["verified"] = checker.num_verified
    row["resumed"] = min(options.resumes, len(kept))
    for number, one in enumerate(draw.sample(kept, row["resumed"])):
        findings = checker.resume(disk.state(*one), number)
        if findings:
            row["violations"].append({"state": "resumed " + describe(disk, *one),
                                      "findings": findings})
    return row


def print_violations(row, most=12):
    shown = {}
    for one in row["violations"]:
        kind = "; ".join(f.split(":")[0] + ":" + f.split(":")[1][:60] for f in one["findings"])
        shown.setdefault(kind, []).append(one)
    for kind, found in list(shown.items())[:most]:
        print(f"VIOLATION {row['scene']} ({len(found)} states): {kind}")
        print(f"  {found[0]['state']}\n  {'; '.join(found[0]['findings'])[:600]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=str(labs.SOURCE / "build"))
    parser.add_argument("--work")
    parser.add_argument("--scene", action="append")
    parser.add_argument("--resumes", type=int, default=10)
    parser.add_argument("--limit", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json")
    parser.add_argument("--forget", action="append",
                        help="leave syncs of paths with this text out: the check has to complain")
    parser.add_argument("--quick", action="store_true", help="the scenes and figures of the tests")
    options = parser.parse_args()
    if options.quick:
        options.scene, options.resumes, options.limit = ["sync", "rotate"], 1, 12
    begin = time.monotonic()
    work = options.work or tempfile.mkdtemp(prefix="s2s-states-")
    lab = labs.Lab(options.build, work)
    known = {scene.name: scene for scene in scenes.all_scenes(lab)}
    draw = random.Random(options.seed)
    rows = []
    for name in options.scene or SCENES:
        rows.append(check_scene(lab, known[name], options, draw))
        print_violations(rows[-1])
    columns = ("scene", "calls", "made", "unique", "verified", "resumed")
    print("".join(f"{column:>11}" for column in (*columns, "violations")))
    for row in rows:
        print("".join(f"{row[column]:>11}" for column in columns) +
              f"{len(row['violations']):>11}")
    print(f"{sum(row['made'] for row in rows)} states, {sum(row['unique'] for row in rows)} "
          f"different, {sum(len(row['violations']) for row in rows)} violations, "
          f"{time.monotonic() - begin:.0f} s")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    if not options.work:
        shutil.rmtree(work)
    return 1 if any(row["violations"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
