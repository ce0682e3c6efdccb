"""Kills runs of many layouts at random moments, and checks their history.

usage: night.py [--kills N] [--seed S] [--folder F] [--build DIR] [--minutes M] [--layout NAME]...
                [--run NUMBER] [--quick]

Each run begins in an empty folder, is killed one to four times in a row at random moments (a time,
a step, a save) by random signals to its leader, its group or one rank, and then runs to its end.
After each kill: every checkpoint verifies, nothing that it started is left, each line of
metrics.jsonl is that of an uninterrupted run. At the end: metrics, weights, optimizer, state and
links are those of the uninterrupted run bit for bit, nothing temporary is left, and step numbers
went back only where log.txt records a resume.

The state is in F/state.json: the same command continues where ^C or a power cut ended it. The
folder of a run with a finding is kept in F/failed, with the command that repeats the run. (The
moments of kills are repeated up to the clock.)
"""

import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time

import lab as labs
import night_runs as runs

ALLOWED = {0, 8}
OF_RANKS = {7}
FORBIDDEN = ("[internal]", "terminate called", "AddressSanitizer")


def check_code(code, kill, layout, given):
    """Exit codes: done, stopped, ended by a signal; with several ranks also: a rank is lost."""
    if code is None:
        return [f"a hang: it ran for more than {runs.END_LIMIT_S} s"]
    signals = {getattr(signal, f"SIG{name}").value for name in runs.SIGNALS}
    allowed = ALLOWED | {-one for one in signals} | {128 + one for one in signals}
    if layout.ranks > 1:
        allowed |= OF_RANKS
    return [] if code in allowed else [f"exit code {code} after {given} to the {kill['whom']}"]


class Night:
    """The state of a night, kept in a file after each run."""

    def __init__(self, options):
        self.folder = pathlib.Path(options.folder).resolve()
        self.lab = labs.Lab(options.build, self.folder / "lab")
        self.options, self.references = options, {}
        self.path = self.folder / "state.json"
        self.state = {"seed": options.seed, "next_run": 0, "kills": 0, "runs": 0, "equal": 0,
                      "verified": 0, "lost": 0, "findings": 0, "seconds": 0.0, "signals": {},
                      "codes": {}, "layouts": {}, "during_saves": 0}
        if self.path.exists() and options.run is None:
            self.state = json.loads(self.path.read_text())
            if self.state["seed"] != options.seed:
                sys.exit(f"{self.path} is of seed {self.state['seed']}, not {options.seed}; "
                         "give that seed, or another --folder")
        self.started = None

    def keep(self):
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(self.state, indent=1) + "\n")
        os.replace(fresh, self.path)

    def reference(self, layout):
        if layout.name not in self.references:
            self.references[layout.name] = runs.Reference(self.lab, layout)
        return self.references[layout.name]

    def start(self, reference, case):
        self.started = runs.Started(reference.words, case, self.lab.work / f"{case.name}.txt")
        return self.started

    def killed_once(self, reference, case, history, kill):
        """A start and its kill. Returns facts."""
        facts = {"kill": kill, "findings": history.starts(case / "run")}
        started = self.start(reference, case)
        facts["given"], facts["in_save"] = runs.hit(started, kill, reference.duration_s)
        code, left = started.wait()
        facts["code"] = code
        output = started.output.read_text(errors="replace")
        layout = reference.layout
        findings = check_code(code, kill, layout, facts["given"])
        findings += [f"{len(left)} processes are left"] if left else []
        findings += [f"it printed {text}" for text in FORBIDDEN if text in output]
        findings += reference.check_lines(case / "run")
        findings += history.ended(case / "run", "--restarts" in layout.launch)
        unverified = reference.check_checkpoints(case / "run")
        facts["verified"] = not unverified
        facts["findings"] += findings + unverified
        if facts["findings"]:
            facts["output"] = output[-3000:]
        return facts

    def play(self, number):
        """A run. Returns its facts, or raises KeyboardInterrupt."""
        draw = random.Random(self.options.seed * 1000003 + number)
        layouts = [one for one in runs.LAYOUTS
                   if not self.options.layout or one.name in self.options.layout]
        layout = layouts[number % len(layouts)]
        kills = [runs.draw_kill(draw, layout) for _ in range(draw.randint(1, 4))]
        reference = self.reference(layout)
        case = self.folder / "runs" / f"run-{number}"
        shutil.rmtree(case, ignore_errors=True)
        case.mkdir(parents=True)
        history, facts = runs.History(), []
        for kill in kills:
            facts.append(self.killed_once(reference, case, history, kill))
            if facts[-1]["code"] == 0 or facts[-1]["findings"]:
                break
        findings = [one for fact in facts for one in fact["findings"]]
        equal = False
        if not findings:
            findings += history.starts(case / "run")
            code, left = self.start(reference, case).wait()
            text = self.started.output.read_text(errors="replace")
            findings += [f"the last start: exit code {code}: {text[-2000:]}"] * (code != 0)
            findings += [f"{len(left)} processes are left"] * bool(left)
            findings += history.ended(case / "run", "--restarts" in layout.launch)
            different = reference.check_end(case / "run")
            equal = not different
            findings += different + reference.check_checkpoints(case / "run")
        self.started.output.unlink(missing_ok=True)
        return {"run": number, "layout": layout.name, "kills": facts, "equal": equal,
                "findings": findings, "case": str(case)}

    def count(self, facts):
        state = self.state
        given = [one for one in facts["kills"] if one["given"]]
        state["next_run"] = facts["run"] + 1
        state["kills"] += len(given)
        state["verified"] += sum(one["verified"] for one in given)
        state["during_saves"] += sum(one["in_save"] for one in given)
        state["runs"] += 1
        state["equal"] += facts["equal"]
        state["findings"] += bool(facts["findings"])
        state["lost"] += any(one.startswith("lost") for one in facts["findings"])
        for key, names in (("signals", [name for one in given for name in one["given"]]),
                           ("codes", [str(one["code"]) for one in given]),
                           ("layouts", [facts["layout"]] * len(given))):
            counts = collections.Counter(state[key])
            counts.update(names)
            state[key] = dict(sorted(counts.items()))

    def report(self, facts):
        """Keeps the folder of a run with findings; removes that of another one."""
        case = pathlib.Path(facts["case"])
        if not facts["findings"]:
            shutil.rmtree(case)
            return
        place = self.folder / "failed" / case.name
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(exist_ok=True)
        shutil.move(case, place)
        again = (f"bash tests/faults/night.sh --seed {self.options.seed} --run {facts['run']} "
                 "--folder FOLDER" + "".join(f" --layout {one}" for one in
                                             self.options.layout or []))
        facts["again"] = again
        (place / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")
        print(f"FINDING run {facts['run']} ({facts['layout']}): " + "; ".join(
            facts["findings"][:3])[:1500])
        print(f"  folder: {place}\n  again: {again}", flush=True)

    def result(self):
        state = self.state
        minutes = int(state["seconds"] // 60)
        return (f"night: {state['kills']} kills, {state['runs']} runs, {state['equal']} equal, "
                f"{state['verified']} verified, {state['lost']} lost "
                f"({minutes // 60} h {minutes % 60:02d} min)")

    def run(self):
        end = time.monotonic() + 60 * self.options.minutes
        while self.state["kills"] < self.options.kills and time.monotonic() < end:
            begin = time.monotonic()
            number = self.state["next_run"] if self.options.run is None else self.options.run
            facts = self.play(number)
            self.count(facts)
            self.report(facts)
            self.state["seconds"] += time.monotonic() - begin
            if self.options.run is not None:
                print(json.dumps(facts, indent=1))
                break
            self.keep()
        if self.options.run is None:
            print(f"signals {self.state['signals']}\nexit codes {self.state['codes']}\n"
                  f"kills of layouts {self.state['layouts']}\n"
                  f"a save was under way at {self.state['during_saves']} kills")
        print(self.result())
        return 1 if self.state["findings"] or self.state["equal"] != self.state["runs"] else 0


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", help="default: runs/night; with --quick, a temporary one")
    parser.add_argument("--build", default=str(labs.SOURCE / "build"))
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no run after these")
    parser.add_argument("--layout", action="append", choices=[one.name for one in runs.LAYOUTS])
    parser.add_argument("--run", type=int, help="only this run, with its facts")
    parser.add_argument("--quick", action="store_true", help="six kills, as the tests do")
    options = parser.parse_args()
    if options.quick:
        options.kills = 6
        options.layout = options.layout or ["async-ema-best-loggers", "ddp-2"]
    options.is_temporary = options.quick and options.folder is None
    if options.is_temporary:
        options.folder = tempfile.mkdtemp(prefix="s2s-night-")
    options.folder = options.folder or "runs/night"
    return options


def main():
    options = parse()
    pathlib.Path(options.folder).mkdir(parents=True, exist_ok=True)
    night = Night(options)
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.default_int_handler)
    try:
        code = night.run()
        if options.is_temporary and code == 0:
            shutil.rmtree(options.folder)
        return code
    except KeyboardInterrupt:
        if night.started is not None:
            night.started.end_all()
        print("\n" + night.result() + "; stopped: the same command continues")
        return 130


if __name__ == "__main__":
    sys.exit(main())
