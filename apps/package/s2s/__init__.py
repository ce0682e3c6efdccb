"""s2s trains speech-to-speech models. This package contains the program s2s-run, its plugins and
the SDK for your own plugins. It has no Python interface.

    python -m s2s --prefix      prints the folder for CMAKE_PREFIX_PATH
    python -m s2s ARGUMENTS     runs s2s-run
"""

import os
import re
import sys

PREFIX = os.path.dirname(os.path.abspath(__file__))
TORCH_VERSION = "@TORCH_VERSION@"


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
    """The folder of the torch package: next to this package, else where Python finds torch."""
    beside = os.path.dirname(PREFIX)
    for folder in [beside] + [path for path in sys.path if os.path.isabs(path)]:
        version = _torch_version(folder)
        if version == TORCH_VERSION:
            return folder
        if version:
            _fail(f"{folder}/torch, version {version}, expected {TORCH_VERSION}")
    return _fail(f"{beside}/torch, no such package, expected version {TORCH_VERSION}")


def _fail(problem):
    print(f"error: [install/torch] {problem}, run "
          f"'{sys.executable} -m pip install torch=={TORCH_VERSION}'", file=sys.stderr)
    sys.exit(5)


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
    program = os.path.join(PREFIX, "bin", "s2s-run")
    os.execve(program, [program] + sys.argv[1:], _environment(_find_site()))
