"""Lets every call of a scene fail once, and looks at what is left.

usage: sweep.py [--build DIR] [--scene NAME]... [--kind CLASS]... [--points N] [--seed S]
                [--places [--beside SCENE]...] [--all] [--jobs J] [--memory N] [--quick]
                [--point CLASS:N:ACTION:once|on[:RANK]]... [--json FILE] [--work DIR]

--all: every point of every scene (of memory, 2000 drawn ones a scene). --places: without those that
ask what another one asks, and without memory. --beside SCENE: nor those that this scene asks, where
the same call (the third read of the tokenizer) fails in the same way. --points N: N drawn ones.
--point with --scene: this one again, with what the program printed.

After each fault, and after the same command has been given again without one:
  a  the exit code is 0 to 8 (or the fault's signal), one message says why, and it is no [internal]
  b  `last` and the newest step=N verify
  c  no checkpoint is gone that the newest good one does not replace
  d  the run ends with the weights and metrics of one that nothing disturbed
  e  no temporary files, processes or locks are left
  f  nothing outside the run's folder has changed
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import sys
import tempfile
import time

import lab as labs
import scenes

ACTIONS = {
    "open": ["EIO", "EMFILE", "KILL"], "read": ["EIO", "EINTR", "SHORT", "KILL", "TRUNCATE"],
    "write": ["ENOSPC", "EIO", "EINTR", "SHORT", "KILL"], "sync": ["EIO", "KILL"],
    "rename": ["EIO", "KILL"], "link": ["EIO", "KILL"], "unlink": ["EIO", "KILL"],
    "mkdir": ["ENOSPC", "KILL"], "rmdir": ["EIO", "KILL"], "mmap": ["ENOMEM", "TRUNCATE"],
    "flock": ["ENOLCK", "EINTR"], "thread": ["EAGAIN"], "spawn": ["EAGAIN"], "malloc": ["ENOMEM"],
    "truncate": ["EIO", "KILL"], "close": ["EIO"], "stdio": ["ENOSPC"]}
ONCE_ONLY = {"KILL", "STOP", "EINTR", "SHORT", "TRUNCATE"}
REMOVALS = ("unlink", "rmdir", "rename", "sync")
QUICK_SCENES = ("sync", "async", "rotate", "resume", "export", "shar", "convert")
Point = collections.namedtuple("Point", "kind number action mode rank")


def text_of(point):
    text = f"{point.kind}:{point.number}:{point.action}:{point.mode}"
    return text if point.rank is None else f"{text}:{point.rank}"


def parse_point(text):
    parts = text.split(":")
    rank = int(parts[4]) if len(parts) > 4 else None
    return Point(parts[0], int(parts[1]), parts[2], parts[3], rank)


def new_case(lab, scene, name):
    case = lab.work / "cases" / name
    shutil.rmtree(case, ignore_errors=True)
    case.parent.mkdir(exist_ok=True)
    labs.copy_tree(scene.template, case)
    return case


def variables_of(lab, case, rank):
    variables = {"LD_PRELOAD": lab.library, "S2S_FAULTS_PATH": f"{case}/"}
    if rank is not None:
        variables["S2S_FAULTS_RANK"] = str(rank)
    return variables


def count_points(lab, scene, rank):
    """Calls of a run without a fault, by class, and the file of each: (class, number, path)."""
    case = new_case(lab, scene, f"count-{scene.name}")
    counts = lab.work / f"counts-{scene.name}"
    trace = lab.work / f"trace-{scene.name}"
    for file in (counts, trace):
        file.unlink(missing_ok=True)
    result = labs.run(scene.words(), case,
                      {**variables_of(lab, case, rank), "S2S_FAULTS_COUNTS": str(counts),
                       "S2S_FAULTS_TRACE": str(trace)}, scene.limit_s)
    assert result.code == 0, f"{scene.name}: {result.output}"
    shutil.rmtree(case)
    calls = [line.split("\t", 2) for line in trace.read_text().splitlines()]
    return labs.read_counts(counts)[0], [(kind, int(number), path) for kind, number, path in calls]


def numbers_of_places(calls):
    """Of calls of a class that follow each other on a file: the first, the middle, the last."""
    rows, current = [], {}
    for kind, number, path in calls:
        if path in current and current[path][0] == kind:
            current[path][1].append(number)
        else:
            current[path] = (kind, [number])
            rows.append(current[path])
    chosen = collections.defaultdict(set)
    for kind, numbers in rows:
        chosen[kind] |= {numbers[0], numbers[len(numbers) // 2], numbers[-1]}
    return chosen


def calls_by_name(case, calls):
    """What a call is called in another scene: its file, whatever the step, and its turn there."""
    turns, names = collections.Counter(), {}
    for kind, number, path in calls:
        file = re.sub(r"step=\d+", "step=N", os.path.relpath(path, case))
        file = re.sub(r"\.s2s-\w+", ".s2s-X", file)
        turns[kind, file] += 1
        names[kind, number] = (file, turns[kind, file])
    return names


def question_of(point, names):
    """Equal for points of two scenes that ask the same."""
    call = names.get((point.kind, point.number), ("", point.number))
    return (point.kind, *call, point.action, point.mode, point.rank)


def is_a_place(scene, point, chosen):
    if point.kind == "malloc" or (point.kind == "read" and point.action == "KILL"):
        return False
    if point.action == "STOP" and scene.ranks == 1 and "async" not in scene.name:
        return False
    return point.kind in ("thread", "spawn") or point.number in chosen[point.kind]


def all_points(counts, rank, drawn_memory, draw):
    points = []
    for kind, count in counts.items():
        numbers = range(1, count + 1)
        if kind == "malloc" and count > drawn_memory:
            numbers = sorted(draw.sample(numbers, drawn_memory))
        for number in numbers:
            for action in ACTIONS[kind]:
                points.append(Point(kind, number, action, "once", rank))
                if action not in ONCE_ONLY and kind != "malloc":
                    points.append(Point(kind, number, action, "on", rank))
            if kind in ("write", "sync", "rename"):
                points.append(Point(kind, number, "STOP", "once", rank))
    return points


def draw_points(points, count, draw):
    """So many, of each class about equally many: a thousand reads are not a thousand questions."""
    classes = collections.defaultdict(list)
    for point in points:
        classes[point.kind].append(point)
    for one in classes.values():
        draw.shuffle(one)
    drawn = []
    while len(drawn) < count and any(classes.values()):
        for kind in sorted(classes):
            if classes[kind] and len(drawn) < count:
                drawn.append(classes[kind].pop())
    return drawn


def check_end(scene, point, result):
    """(a), and what is left running of (e)."""
    if result.code is None:
        return [f"a: no end within {scene.limit_s} s"]
    findings = [f"e: still running: {name}" for name in result.left]
    killed = point.action == "KILL"
    if killed and result.code in (-9, 137):
        return findings
    if not 0 <= result.code <= 8:
        findings.append(f"a: exit code {result.code}")
    ids = result.ids()
    if "internal" in ids or "terminate called" in result.output:
        findings.append("a: [internal] or terminate")
    if result.code in range(1, 8) and not ids:
        findings.append("a: no message")
    if scene.ranks == 1 and len(ids) > 1:
        findings.append(f"a: {len(ids)} messages")
    return findings


def run_again(lab, scene, case):
    """Findings, and whether the program refused because of what is there already."""
    result = labs.run(scene.words(), case, limit_s=scene.limit_s)
    if result.code == 0:
        return [], False
    if any(one in getattr(scene, "accepted_refusals", ()) for one in result.ids()):
        return [], True
    return [f"d: the same command again: exit code {result.code}: {result.output[-400:]}"], False


def restore_input(scene, case):
    shutil.rmtree(case / "in", ignore_errors=True)
    if (scene.template / "in").exists():
        labs.copy_tree(scene.template / "in", case / "in")


def is_input_changed(scene, case):
    return labs.tree_digest(case / "in") != labs.tree_digest(scene.template / "in")


def try_point(lab, scene, point, index):
    """One fault. Returns the findings, whether the fault was given, and how the program ended."""
    case = new_case(lab, scene, f"{scene.name}-{index}")
    counts = lab.work / f"counts-{scene.name}-{index}"
    counts.unlink(missing_ok=True)
    variables = variables_of(lab, case, point.rank)
    variables["S2S_FAULTS"] = f"{point.kind}:{point.number}:{point.action}:{point.mode}"
    variables["S2S_FAULTS_COUNTS"] = str(counts)
    result = labs.run(scene.words(), case, variables, scene.limit_s)
    is_given = counts.exists() and labs.read_counts(counts)[1] > 0
    counts.unlink(missing_ok=True)
    findings = check_end(scene, point, result)
    cuts = point.action == "TRUNCATE"
    if not cuts:  # the fault itself spoils a checkpoint, or the input
        findings += scene.after_fault(case)
        if (case / "in").exists() and scene.name != "index" and is_input_changed(scene, case):
            findings.append("f: the input has changed")
    else:
        restore_input(scene, case)
    if not (cuts and isinstance(scene, scenes.Training)):
        is_refused = False
        # Where a removal failed (at its rename, the sync behind it, or a folder that cannot be
        # opened) and a warning says so, the next start tidies up.
        is_told = (point.kind in REMOVALS or "[checkpoint/cleanup]" in result.output
                   or "not removed completely" in result.output)
        if result.code != 0 or (is_told and scene.leftovers(case)):
            more, is_refused = run_again(lab, scene, case)
            findings += more
        if not (cuts and is_refused):  # of the input that was cut, a beginning may be there
            findings += scene.after_rerun(case)
            findings += [f"e: left behind: {name}" for name in scene.leftovers(case)]
    shutil.rmtree(case)
    return findings, is_given, result


def sweep(lab, scene, points, jobs, report):
    """Tries the points of a scene, some at a time. Returns a row of the table."""
    row = {"scene": scene.name, "points": len(points), "reached": 0, "violations": []}
    ends = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        tried = {pool.submit(try_point, lab, scene, point, i): point
                 for i, point in enumerate(points)}
        for future in concurrent.futures.as_completed(tried):
            point = tried[future]
            findings, is_given, result = future.result()
            row["reached"] += is_given
            ends[str(result.code)] += 1
            if findings:
                row["violations"].append({"point": text_of(point), "findings": findings,
                                          "code": result.code, "output": result.output[-600:]})
                report(scene, point, findings)
    row["ends"] = dict(ends)
    return row


def print_table(rows, seconds):
    print(f"{'scene':14}{'points':>8}{'reached':>9}{'held':>7}  ended with")
    for row in rows:
        held = row["points"] - len(row["violations"])
        ends = ", ".join(f"{code}: {count}" for code, count in sorted(row["ends"].items()))
        print(f"{row['scene']:14}{row['points']:>8}{row['reached']:>9}{held:>7}  {ends}")
    total = sum(row["points"] for row in rows)
    bad = sum(len(row["violations"]) for row in rows)
    print(f"{total} points, {bad} violations, {seconds:.0f} s")


def places(lab, scene, rank, draw):
    """The places of a scene by the questions that they ask."""
    counts, calls = count_points(lab, scene, rank)
    chosen = numbers_of_places(calls)
    names = calls_by_name(lab.work / "cases" / f"count-{scene.name}", calls)
    return {question_of(one, names): one for one in all_points(counts, rank, 0, draw)
            if is_a_place(scene, one, chosen)}


def chosen_points(lab, scene, options, draw, share, beside):
    if options.point:
        return [parse_point(text) for text in options.point]
    points = []
    asked = {question[:-1] for other in beside for question in places(lab, other, None, draw)}
    for rank in ([None] if scene.ranks == 1 else range(min(scene.ranks, 2))):
        if options.places:
            points += [one for question, one in places(lab, scene, rank, draw).items()
                       if rank not in (None, 0) or question[:-1] not in asked]
        else:
            counts, _ = count_points(lab, scene, rank)
            points += all_points(counts, rank, options.memory, draw)
    points = [one for one in points if not options.kind or one.kind in options.kind]
    return points if options.all or options.places else draw_points(points, share, draw)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=str(labs.SOURCE / "build"))
    parser.add_argument("--work")
    parser.add_argument("--scene", action="append")
    parser.add_argument("--point", action="append")
    parser.add_argument("--points", type=int, default=60)
    parser.add_argument("--kind", action="append", help="only these classes of calls")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--memory", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--places", action="store_true")
    parser.add_argument("--beside", action="append", default=[], help="scenes that were run whole")
    parser.add_argument("--quick", action="store_true", help="the scenes of the tests")
    parser.add_argument("--slack", type=float, default=1.0,
                        help="stretches the time limits, for a machine with other work")
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.quick:  # what memory does inside other libraries is no test of ours
        options.kind = options.kind or [kind for kind in ACTIONS if kind != "malloc"]
    begin = time.monotonic()
    work = options.work or tempfile.mkdtemp(prefix="s2s-faults-")
    lab = labs.Lab(options.build, work, options.slack)
    known = {scene.name: scene for scene in scenes.all_scenes(lab)}
    names = options.scene or (list(QUICK_SCENES) if options.quick else list(known))
    unknown = [name for name in names + options.beside if name not in known]
    if unknown:
        parser.error(f"unknown scene {', '.join(unknown)}; there are {', '.join(known)}")
    draw = random.Random(options.seed)

    def report(scene, point, findings):
        print(f"VIOLATION {scene.name} {text_of(point)}: " + "; ".join(findings))
        print(f"  python3 tests/faults/sweep.py --scene {scene.name} --point {text_of(point)}",
              flush=True)

    rows = []
    beside = [known[name] for name in options.beside]
    for scene in beside:
        scene.limit_s *= options.slack
        scene.prepare()
    for i, name in enumerate(names):
        scene = known[name]
        scene.limit_s *= options.slack
        scene.prepare()
        share = options.points * (i + 1) // len(names) - options.points * i // len(names)
        points = chosen_points(lab, scene, options, draw, share, beside)
        rows.append(sweep(lab, scene, points, options.jobs, report))
        if options.point:
            print(json.dumps(rows[-1]["violations"], indent=1))
        print(f"{name}: {len(points)} points, {len(rows[-1]['violations'])} violations",
              file=sys.stderr, flush=True)
    if labs.stamps(lab.data) != lab.data_before:
        rows[-1]["violations"].append({"point": "-", "findings": ["f: the data set has changed"]})
    print_table(rows, time.monotonic() - begin)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    if not options.work:
        shutil.rmtree(work)
    return 1 if any(row["violations"] for row in rows) else 0


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
