"""s2s trains speech-to-speech language models: the program s2s-run, driven from Python.

    import s2s

    for metrics in s2s.train("tiny.yaml", **{"trainer.max_steps": 10}):
        print(metrics["step"], metrics["loss"])

    run = s2s.Run("runs/tiny")
    answer = s2s.generate(samples, run, sample_rate=16000)     # numpy arrays in and out
    print(answer.text, answer.audio.shape, answer.sample_rate)
    print(s2s.validate(run)["sets"])
    run.metrics.plot("step", "loss")                           # a pandas DataFrame

Each call is a process of s2s-run. That of the wheel is used, else that of the environment variable
S2S_RUN, else the one on PATH. What the program refuses is raised as s2s.Error. On the command line:

    python -m s2s --prefix      prints the folder for CMAKE_PREFIX_PATH
    python -m s2s ARGUMENTS     runs s2s-run
"""

import os
import re
import sys

PREFIX = os.path.dirname(os.path.abspath(__file__))
TORCH_VERSION = "@TORCH_VERSION@"

# The command s2s-run starts with this file: what it does not need is imported at its first use.
_PLACES = {
    "Answer": "_generate",
    "Checkpoint": "_runs",
    "Clip": "_audio",
    "Error": "_program",
    "Example": "_runs",
    "ProgramWarning": "_program",
    "Run": "_runs",
    "Training": "_training",
    "find_program": "_program",
    "generate": "_generate",
    "train": "_training",
    "validate": "_validation",
}
__all__ = sorted(_PLACES)


def __getattr__(name):
    if name not in _PLACES:
        raise AttributeError(f"module 's2s' has no attribute '{name}'")
    import importlib
    value = getattr(importlib.import_module("s2s." + _PLACES[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(_PLACES))


def _torch_version(folder):
    """The version of the torch package in `folder`, or None if there is none."""
    try:
        with open(os.path.join(folder, "torch", "version.py"), encoding="utf-8") as file:
            found = re.search(r"^__version__ = '([^'+]*)", file.read(), re.MULTILINE)
    except OSError:
        return None
    if not os.path.exists(os.path.join(folder, "torch", "lib", "libtorch_cpu.so")):
        return None
    return found.group(1) if found else "unknown"


def _find_site():
    """The folder of the torch package, next to this package, else where Python finds torch; and
    what is wrong with it, or ""."""
    beside = os.path.dirname(PREFIX)
    for folder in [beside] + [path for path in sys.path if os.path.isabs(path)]:
        version = _torch_version(folder)
        if version == TORCH_VERSION:
            return folder, ""
        if version:
            return folder, f"{folder}/torch, version {version}, expected {TORCH_VERSION}"
    return "", f"{beside}/torch, no such package, expected version {TORCH_VERSION}"


def _torch_advice(problem):
    return f"{problem}, run '{sys.executable} -m pip install torch=={TORCH_VERSION}'"


def _environment(site):
    """Sets the library path if torch is not next to this package, where the run paths point."""
    environment = dict(os.environ)
    if site != os.path.dirname(PREFIX):
        cuda = os.path.join(site, "nvidia")
        names = sorted(os.listdir(cuda)) if os.path.isdir(cuda) else []
        folders = [os.path.join(site, "torch", "lib")]
        folders += [path for path in (os.path.join(cuda, name, "lib") for name in names)
                    if os.path.isdir(path)]
        folders += filter(None, [environment.get("LD_LIBRARY_PATH")])
        environment["LD_LIBRARY_PATH"] = ":".join(folders)
    return environment


def main():
    """Replaces this process by s2s-run."""
    site, problem = _find_site()
    if problem:
        print(f"error: [install/torch] {_torch_advice(problem)}", file=sys.stderr)
        sys.exit(5)
    program = os.path.join(PREFIX, "bin", "s2s-run")
    os.execve(program, [program] + sys.argv[1:], _environment(site))
