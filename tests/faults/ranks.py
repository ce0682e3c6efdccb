"""Three ranks train while one of them, its disk or a stranger misbehaves.

usage: ranks.py [--build DIR] [--rounds N] [--seed S] [--event NAME]... [--round NUMBER] [--jobs J]
                [--json FILE] [--work DIR] [--quick]

Each round draws a rank, a moment (a step, or a call inside a save) and an event:
  kill        SIGKILL at a step                 save-kill   SIGKILL at a sync or rename of a save
  stop        SIGSTOP for 1 s: the run goes on  save-stop   the same inside a save
  halt        SIGSTOP for 30 s, longer than a collective may take
  disk        no room on that rank's disk from a call of a save on
  peer        a stranger at the store's port: noise, half-sent frames, c10d's own language
What has to hold: all processes end within the time limit of a collective and 10 s more, or the run
goes on to its end; the exit code is documented; the message names the rank; `last` and the newest
checkpoint verify; a run that ends well has the weights of one that nothing disturbed, and so has,
every fifth round, the run that the same command goes on with.
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
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import lab as labs
import scenes

TIMEOUT_S, STARTING_S = 6, 30
EVENTS = ["kill", "save-kill", "stop", "save-stop", "disk", "peer", "kill", "save-kill", "peer",
          "halt"]
Round = collections.namedtuple("Round", "number event rank step delay_s call")


def draw_round(number, seed, events):
    draw = random.Random(seed * 1000003 + number)
    event = events[number % len(events)]
    calls = {"save-kill": ["sync", "rename", "write"], "save-stop": ["sync", "write"],
             "disk": ["write"]}
    kind = draw.choice(calls.get(event, ["sync"]))
    rank = draw.randrange(3)
    most = {"sync": 20, "rename": 8, "write": 8} if rank == 0 else {"sync": 5, "rename": 3,
                                                                   "write": 4}
    return Round(number, event, rank, draw.randint(1, 5), draw.random() * 0.4,
                 (kind, draw.randint(1, most[kind])))


class Started:
    """A launcher and its ranks."""

    def __init__(self, lab, scene, case, one):
        for name in ("tmp", "home", "cache", "cwd"):
            (case / name).mkdir(parents=True)
        self.output = lab.work / "outputs" / case.name
        self.output.parent.mkdir(exist_ok=True)
        self.case = case
        environment = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1", "HOME": f"{case}/home",
                       "TMPDIR": f"{case}/tmp", "XDG_CACHE_HOME": f"{case}/cache"}
        action = {"save-kill": "KILL:once", "save-stop": "STOP:once", "disk": "ENOSPC:on"}
        if one.event in action:
            environment |= {"LD_PRELOAD": lab.library, "S2S_FAULTS_PATH": f"{case}/run/checkpoints",
                            "S2S_FAULTS_RANK": str(one.rank),
                            "S2S_FAULTS": f"{one.call[0]}:{one.call[1]}:{action[one.event]}",
                            "S2S_FAULTS_COUNTS": str(self.output) + ".counts"}
        with open(self.output, "wb") as file:
            self.process = subprocess.Popen(
                scene.words(), stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                env=environment, cwd=case / "cwd", start_new_session=True)

    def lines(self):
        try:
            return (self.case / "run/metrics.jsonl").read_text().count("learning_rate")
        except OSError:
            return 0

    def wait_for(self, condition, limit_s):
        end = time.monotonic() + limit_s
        while time.monotonic() < end and self.process.poll() is None:
            if condition():
                return True
            time.sleep(0.01)
        return False

    def variables(self, pid):
        try:
            text = pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode()
        except OSError:
            return {}
        return dict(item.split("=", 1) for item in text.split("\0") if "=" in item)

    def rank(self, number):
        for pid in labs.processes_of(self.process.pid):
            if self.variables(pid).get("RANK") == str(number):
                return pid
        return None

    def port(self):
        found = [self.variables(pid).get("MASTER_PORT")
                 for pid in labs.processes_of(self.process.pid)]
        return next((int(port) for port in found if port), None)

    def is_given(self):
        counts = pathlib.Path(str(self.output) + ".counts")
        return counts.exists() and counts.stat().st_size > 0 and labs.read_counts(counts)[1] > 0

    def end(self, limit_s):
        """The exit code (None: a hang), and names of processes that it left."""
        try:
            code = self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            code = None
        time.sleep(0.3)
        left = labs.processes_of(self.process.pid)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        if code is None:
            self.process.wait()
        return code, left


def frame(kind, *texts):
    """A request as c10d's TCPStore takes it."""
    data = bytes([kind])
    for text in texts:
        raw = text if isinstance(text, bytes) else text.encode()
        data += struct.pack("<Q", len(raw)) + raw
    return data


def hostile_bytes(draw):
    hello = b"\0" + struct.pack("<I", 0x3C85F7CE)
    keys = ["/s2s/0/rank/1", "/s2s/0/duplicate", "/s2s/0/verdict", "/s2s/0/seat/1", "/init/", "/"]
    key, text = draw.choice(keys), draw.choice(["not json", "\x1b]0;x\x07", "{}", "[" * 9999])
    return draw.choice([
        bytes(draw.randrange(256) for _ in range(draw.randint(1, 300))),
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", hello, b"\0", hello + frame(1, key, text),
        hello + b"\x01" + struct.pack("<Q", 1 << 62), hello + frame(8, key),
        hello + frame(4, key) + struct.pack("<q", 5), hello + frame(3, key),
        hello + bytes([200]) + b"x" * 50])


def visit(started, one, stop):
    """A stranger who speaks with the store until told to stop."""
    draw = random.Random(one.number)
    held, visits = [], 0
    while not stop.is_set() and visits < 60:
        port = started.port()
        if port is None:
            time.sleep(0.01)
            continue
        try:
            peer = socket.create_connection(("127.0.0.1", port), 0.3)
            peer.settimeout(0.1)
            peer.sendall(hostile_bytes(draw))
            visits += 1
            if draw.random() < 0.3:
                held.append(peer)
            else:
                peer.close()
        except OSError:
            pass
        time.sleep(0.02)
    for peer in held:
        peer.close()


def act(started, one):
    """Does what the round is about. Returns when it happened, or None when it did not."""
    if one.event in ("save-kill", "save-stop", "disk"):
        return time.monotonic() if started.wait_for(started.is_given, 60) else (
            time.monotonic() if started.is_given() else None)
    if not started.wait_for(lambda: started.lines() >= one.step, 60):
        return None
    time.sleep(one.delay_s)
    pid = started.rank(one.rank)
    if pid is None:
        return None
    happened = time.monotonic()
    try:
        if one.event == "kill":
            os.kill(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(1 if one.event == "stop" else 30)
            os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:  # the launcher was quicker
        pass
    return happened


def check_message(one, output):
    """Does it say which rank it was?"""
    if re.search(rf"\brank {one.rank}\b(?! of 3 ended with exit code 7)", output):
        return []
    return [f"the message does not name rank {one.rank}"]


def check_end(one, code, left, happened, ended, output):
    if code is None:
        return ["a hang"]
    findings = [f"{len(left)} processes are left"] if left else []
    allowed = {"kill": {137}, "save-kill": {137}, "disk": {5}, "stop": {0}, "save-stop": {0},
               "halt": {7, 137}, "peer": {0}}[one.event]
    if happened is None:
        allowed = {0}
    # What comes in the last moments of a run may find that it is through.
    if code not in allowed and not (code == 0 and one.event in ("kill", "halt")):
        findings.append(f"exit code {code}, expected {sorted(allowed)}")
    if "[internal]" in output or "terminate called" in output:
        findings.append("[internal] or terminate")
    limit = TIMEOUT_S + 10 + (30 if one.event == "halt" else 0)
    if happened is not None and code != 0 and ended - happened > limit:
        findings.append(f"the end took {ended - happened:.0f} s, more than {limit} s")
    if code != 0 and one.event != "peer":
        findings += check_message(one, output)
    return findings


def play(lab, scene, one, seed):
    """A round. Returns the findings and facts about it."""
    case = lab.work / "cases" / f"round-{one.number}"
    shutil.rmtree(case, ignore_errors=True)
    started = Started(lab, scene, case, one)
    stop = threading.Event()
    stranger = None
    happened = None
    if one.event == "peer":
        stranger = threading.Thread(target=visit, args=(started, one, stop))
        stranger.start()
        happened = time.monotonic()
    else:
        happened = act(started, one)
    code, left = started.end(90 if one.event == "peer" or happened is None else TIMEOUT_S + 40)
    ended = time.monotonic()
    stop.set()
    if stranger:
        stranger.join()
    output = started.output.read_bytes().decode("utf-8", "replace")
    findings = check_end(one, code, left, happened, ended, output)
    findings += scene.after_fault(case)
    if code == 0:
        findings += scene.after_rerun(case)
    elif one.number % 5 == 0:
        again = labs.run(scene.words(), case, limit_s=120)
        findings += [f"resume: exit code {again.code}: {again.output[-300:]}"] * (again.code != 0)
        findings += [f"resumed: {one}" for one in scene.after_rerun(case)]
    shutil.rmtree(case)
    facts = {"round": one._asdict(), "code": code, "happened": happened is not None,
             "seconds": round(ended - happened, 1) if happened else None, "findings": findings}
    if findings:
        facts["output"] = output[-1500:]
        facts["again"] = f"python3 tests/faults/ranks.py --seed {seed} --round {one.number}"
    return facts


def play_in_time(lab, scene, one, options, begin):
    if time.monotonic() - begin > 60 * options.minutes:
        return None
    return play(lab, scene, one, options.seed)


def print_table(played, seconds):
    print(f"{'event':12}{'rounds':>8}{'happened':>10}{'held':>7}{'longest end':>13}  ended with")
    for event in sorted({one["round"]["event"] for one in played}):
        mine = [one for one in played if one["round"]["event"] == event]
        ends = collections.Counter(str(one["code"]) for one in mine)
        longest = max([one["seconds"] for one in mine if one["seconds"] and one["code"]] or [0])
        print(f"{event:12}{len(mine):>8}{sum(one['happened'] for one in mine):>10}"
              f"{sum(not one['findings'] for one in mine):>7}{longest:>11.1f} s  " +
              ", ".join(f"{code}: {count}" for code, count in sorted(ends.items())))
    bad = sum(bool(one["findings"]) for one in played)
    hangs = sum(one["code"] is None for one in played)
    print(f"{len(played)} rounds, {bad} violations, {hangs} hangs, {seconds:.0f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=str(labs.SOURCE / "build"))
    parser.add_argument("--work")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--round", type=int)
    parser.add_argument("--event", action="append")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no round after these")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json")
    parser.add_argument("--quick", action="store_true", help="five rounds, as the tests do")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.event = 5, ["kill", "save-kill", "stop", "disk", "peer"]
    begin = time.monotonic()
    work = options.work or tempfile.mkdtemp(prefix="s2s-ranks-")
    lab = labs.Lab(options.build, work)
    scene = scenes.Training(lab, "rounds", [
        f"trainer.communicator.first_step_timeout_s={STARTING_S}",
        "trainer.communicator.start_timeout_s=30"], ranks=3, last=6, timeout_s=TIMEOUT_S)
    scene.prepare()
    events = options.event or EVENTS
    numbers = [options.round] if options.round is not None else range(options.rounds)
    rounds = [draw_round(number, options.seed, events) for number in numbers]
    played = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for facts in pool.map(lambda one: play_in_time(lab, scene, one, options, begin), rounds):
            if facts is None:
                continue
            played.append(facts)
            if facts["findings"]:
                print(f"VIOLATION {facts['round']}: " + "; ".join(facts["findings"]))
                print(f"  {facts['again']}", flush=True)
            if options.round is not None:
                print(json.dumps(facts, indent=1))
    print_table(played, time.monotonic() - begin)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(played, indent=1) + "\n")
    if not options.work:
        shutil.rmtree(work)
    return 1 if any(one["findings"] for one in played) else 0


if __name__ == "__main__":
    sys.exit(main())
