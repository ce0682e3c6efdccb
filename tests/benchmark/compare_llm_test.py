"""compare_llm.py with stand-ins for s2s-run and the peers: what is kept, printed and returned.

    compare_llm_test.py SOURCE_DIR
"""

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# What both print; VARIANT decides how the peer behaves.
STAND_IN = """#!{python}
import json, sys, time
from pathlib import Path
variant = sys.argv[sys.argv.index("--variant") + 1] if "--variant" in sys.argv else "ours"
calls = Path({folder!r}) / (variant + ".calls")
number = len(calls.read_text()) + 1 if calls.exists() else 1
calls.write_text("x" * number)
if variant == "broken":
    sys.exit("no such class")
if variant == "stuck" and number == 2:
    time.sleep(60)
print(json.dumps({{
    "device": "cpu", "threads": 2, "num_parameters": 10, "gradient_norm": 2.0, "attention": "math",
    "losses": [4.5 if variant == "other" else 4.0, 3.0], "step_s": {{"median": 0.5}},
    "tokens_per_s": 100.0, "memory_bytes": {{"resident_peak": 1e9}},
    "mfu": {{"peak_teraflops": 2.0, "teraflops_full": 1.0, "teraflops_causal": 0.5}},
    "ceilings": {{"copy_gigabytes_per_s": 9.0, "attainable_share": 0.9}}}}))
"""


class Bench:
    def __init__(self, source: Path, folder: Path):
        self.folder = folder
        shutil.copy(source / "tests/benchmark/compare_llm.py", folder)
        text = STAND_IN.format(python=sys.executable, folder=str(folder))
        for name in ("ours", "gpu_peer.py"):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)

    def command(self, *variants: str) -> list[str]:
        return [sys.executable, "-B", str(self.folder / "compare_llm.py"), "--rounds", "2",
                "--ours", str(self.folder / "ours"), "--keep", str(self.folder / "kept"),
                "--variants", *variants]

    def run(self, *variants: str) -> subprocess.CompletedProcess:
        for old in self.folder.glob("*.calls"):
            old.unlink()
        return subprocess.run(self.command(*variants), capture_output=True, text=True, timeout=60)

    def kept(self) -> dict:
        results = json.loads((self.folder / "kept/compare_llm.json").read_text())
        return {name: len(rounds) for name, rounds in results.items()}


def expect(is_true: bool, what: str, detail: object = "") -> None:
    if not is_true:
        sys.exit(f"FAILED: {what}: {detail}")


def row_of(output: str, name: str) -> bool:
    return any(line.startswith(f"| {name} | 500.000") for line in output.splitlines())


def check(bench: Bench) -> None:
    done = bench.run("same")
    expect(done.returncode == 0 and row_of(done.stdout, "same"), "equal peers pass", done)
    expect(bench.kept() == {"ours": 2, "same": 2}, "all rounds are kept", bench.kept())

    done = bench.run("same", "other")
    expect(done.returncode == 1, "another loss is an error", done)
    expect("[benchmark/unequal]" in done.stderr and "other, round 1: loss" in done.stderr,
           "it says what is not equal", done.stderr)
    expect(row_of(done.stdout, "other"), "the times are printed all the same", done.stdout)

    done = bench.run("broken", "same")
    expect(done.returncode == 1 and "[benchmark/run]" in done.stderr, "a peer may fail", done)
    expect("no such class" in done.stderr and row_of(done.stdout, "same"),
           "the others go on", done)
    expect(bench.kept() == {"ours": 2, "broken": 0, "same": 2}, "and are kept", bench.kept())

    for old in bench.folder.glob("*.calls"):
        old.unlink()
    running = subprocess.Popen(bench.command("same", "stuck"), stdout=subprocess.DEVNULL,
                               start_new_session=True)
    stuck = bench.folder / "stuck.calls"
    until = time.monotonic() + 60
    while not (stuck.exists() and stuck.read_text() == "xx") and time.monotonic() < until:
        time.sleep(0.05)
    subprocess.run(["kill", "-KILL", "--", f"-{running.pid}"], check=True)
    expect(running.wait() == -signal.SIGKILL, "killed in its second round")
    expect(bench.kept() == {"ours": 2, "same": 2, "stuck": 1}, "a kill loses nothing",
           bench.kept())


with tempfile.TemporaryDirectory() as scratch:
    check(Bench(Path(sys.argv[1]), Path(scratch)))
print("ok: figures are kept after each run, and times are printed")
