"""What the tests of this folder share: a trained tiny run, and a way to run them."""

import atexit
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import traceback

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.path.abspath(sys.argv[1])
TINY = SOURCE / "configs" / "tiny.yaml"
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="s2s-python-"))
atexit.register(shutil.rmtree, SCRATCH, ignore_errors=True)
os.environ.update(OMP_NUM_THREADS="1", OMP_WAIT_POLICY="PASSIVE")
os.environ.pop("S2S_UNTRUSTED", None)


def run(*words, **options):
    """A finished process of s2s-run, with stdout and stderr as bytes."""
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, timeout=300, **options)


def done(*words, **options):
    """The same; it must succeed."""
    process = run(*words, **options)
    assert process.returncode == 0, process.stderr.decode()
    return process


def tiny(name, *more):
    """The words after `train` of a run of configs/tiny.yaml in SCRATCH/name."""
    return [str(TINY), f"tiny.data={SCRATCH / 'data'}", f"tiny.run={SCRATCH / name}", *more]


def trained_run():
    """The folder of a run of ten steps, made at the first call."""
    folder = SCRATCH / "trained"
    if not folder.exists():
        done("train", *tiny("trained"))
    return folder


def recording(number=0):
    return SCRATCH / "data" / "audio" / "dev" / f"dev-00000{number}_user.wav"


def run_tests(names):
    """Runs the functions of `names` that begin with test_, in order; returns the exit code."""
    failed = 0
    tests = [(name, test) for name, test in names.items() if name.startswith("test_")]
    for name, test in tests:
        try:
            test()
            print(f"ok: {name}", flush=True)
        except Exception:  # noqa: the others run, too
            failed += 1
            traceback.print_exc(file=sys.stdout)
            print(f"FAILED: {name}", flush=True)
    print(f"{len(tests) - failed} of {len(tests)} tests passed")
    return 1 if failed else 0
