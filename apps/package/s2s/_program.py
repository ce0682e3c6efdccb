"""The program s2s-run as a child process."""

import atexit
import collections
import json
import math
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import warnings
import weakref

import s2s

_USAGE = 2
_STOPPED = 8
_ERROR = re.compile(r"^error: \[([\w./-]+)\] (.*)", re.MULTILINE | re.DOTALL)
_WARNING = re.compile(r"^\d\d:\d\d:\d\d warning: (.*)")
_MANY_LINES = 1000


class Error(RuntimeError):
    """What s2s-run, or this package, refuses.

    id         stable, for example "config/unknown-key"; `s2s-run explain ID` explains it
    message    the place, the value, what was expected and the next step
    exit_code  of s2s-run: 1 a check did not hold, 2 usage, 3 configuration, 4 plugin, 5 data,
               6 numerics, 7 communication; negative: the signal that ended it
    """

    def __init__(self, id, message, exit_code=_USAGE):
        super().__init__(f"[{id}] {message}")
        self.id, self.message, self.exit_code = id, message, exit_code

    def __reduce__(self):
        return Error, (self.id, self.message, self.exit_code)


class ProgramWarning(UserWarning):
    """A warning of s2s-run."""


def find_program():
    """The path of s2s-run and the environment it needs: of the wheel, else of the environment
    variable S2S_RUN, else on PATH. Raises Error: install/torch, python/program."""
    bundled = os.path.join(s2s.PREFIX, "bin", "s2s-run")
    if os.path.exists(bundled):
        site, problem = s2s._find_site()
        if problem:
            raise Error("install/torch", s2s._torch_advice(problem), 5)
        return bundled, s2s._environment(site)
    named = os.environ.get("S2S_RUN")
    found = shutil.which(named or "s2s-run")
    if found:
        return os.path.abspath(found), dict(os.environ)
    if named:
        raise Error("python/program", f"the environment variable S2S_RUN names '{named}', which is "
                    "no program; expected the path of s2s-run, such as build/bin/s2s-run")
    raise Error("python/program", "there is no s2s-run in this package and on PATH; install the "
                "wheel, or set the environment variable S2S_RUN to the path of s2s-run")


def _yaml(value):
    """A value as YAML. JSON is YAML, but for infinity and NaN."""
    if hasattr(value, "tolist"):  # numpy
        value = value.tolist()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key), ensure_ascii=False)}: {_yaml(item)}"
                               for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_yaml(item) for item in value) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    try:
        return json.dumps(value, ensure_ascii=False)
    except TypeError:
        raise Error("python/argument", f"a value of type {type(value).__name__} cannot be written "
                    "into a configuration; expected None, a bool, a number, a text, a path, a list "
                    "or a dict") from None


def override_words(overrides):
    """Overrides of a configuration as words of the command line: {"a.b": 1} and {"a": {"b": 1}} are
    a.b=1, and {"~a.b": None} removes the key."""
    words = []
    for key, value in overrides.items():
        if key.startswith("~"):
            words.append(key)
        elif isinstance(value, dict) and value:
            words += override_words({f"{key}.{name}": item for name, item in value.items()})
        else:
            words.append(f"{key}={_yaml(value)}")
    return words


def config_words(config, overrides):
    """The words for a configuration, and what the program reads from standard input, or None.
    config: a path, a dict, or None where a checkpoint brings its own."""
    if config is None:
        return override_words(overrides), None
    if isinstance(config, dict):
        return ["-"] + override_words(overrides), _yaml(config)
    try:
        return [os.fspath(config)] + override_words(overrides), None
    except TypeError:
        raise Error("python/argument", f"a configuration of type {type(config).__name__}; expected "
                    "the path of a YAML file, or a dict") from None


def _stop_children():
    for child in list(_children):
        child.stop()


_children = weakref.WeakSet()
atexit.register(_stop_children)


class Child:
    """A process of s2s-run. It is in a session of its own, so that ^C of the terminal does not
    reach it a second time beside `stop`."""

    def __init__(self, words, stdin=None, log=None):
        """words: of the command line. stdin: a text for its standard input. log: called with each
        line that the program writes to standard error; None: its warnings become Python's."""
        program, environment = find_program()
        self._log = log
        self._errors = collections.deque(maxlen=_MANY_LINES)
        self._lines = queue.SimpleQueue()
        self._is_asked = False
        self.process = subprocess.Popen(
            [program] + words, env=environment, start_new_session=True, encoding="utf-8",
            errors="replace", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE)
        _children.add(self)
        for name, file in (("out", self.process.stdout), ("err", self.process.stderr)):
            threading.Thread(target=_forward, args=(name, file, self._lines), daemon=True).start()
        if stdin is not None:
            threading.Thread(target=_feed, args=(self.process.stdin, stdin), daemon=True).start()

    def lines(self):
        """The lines of standard output, as they come; logs those of standard error between them.
        ^C stops the program as `stop` does."""
        num_open = 2
        try:
            while num_open > 0:
                name, line = self._lines.get()
                if line is None:
                    num_open -= 1
                elif name == "out":
                    yield line
                else:
                    self._errors.append(line)
                    self._tell(line)
            self.process.wait()
        except KeyboardInterrupt:
            self.stop()
            raise

    def _tell(self, line):
        if self._log is not None:
            self._log(line)
        elif found := _WARNING.match(line):
            warnings.warn(found.group(1), ProgramWarning, stacklevel=2)

    def stop(self):
        """Asks the program to stop, as ^C does, and waits: a training finishes its step and writes
        a checkpoint. ^C while it waits stops the program at once."""
        self._is_asked = True
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGKILL):
            if self.process.poll() is not None:
                break
            self.process.send_signal(number)
            try:
                self.process.wait()
                break
            except KeyboardInterrupt:
                continue
        self.process.wait()

    def check(self):
        """Waits for the end and returns the exit code: 0, or 8 for a training that was stopped with
        a checkpoint. Raises Error for any other, unless `stop` was called."""
        code = self.process.wait()
        if code in (0, _STOPPED) or self._is_asked:
            return code
        text = "\n".join(self._errors)
        found = list(_ERROR.finditer(text))
        if found:
            raise Error(found[-1].group(1), found[-1].group(2).strip(), code)
        if code < 0:
            name = signal.Signals(-code).name
            last = f"; its last words: {self._errors[-1]}" if self._errors else ""
            raise Error("python/signal", f"s2s-run was ended by {name}{last}; if nobody sent it, "
                        "look for a lack of memory (dmesg), or report it", code)
        raise Error("python/exit", f"s2s-run ended with exit code {code} and said: {text[-500:]}",
                    code)


def _forward(name, file, lines):
    with file:
        for line in file:
            lines.put((name, line.rstrip("\n")))
    lines.put((name, None))


def _feed(file, text):
    try:
        with file:
            file.write(text)
    except BrokenPipeError:
        pass  # the program has ended, and says why


def run_lines(words, stdin=None, log=None):
    """Runs s2s-run to its end; its lines of standard output. Raises Error."""
    child = Child(words, stdin, log)
    try:
        lines = list(child.lines())
    except BaseException:
        child.stop()
        raise
    child.check()
    return lines


def package(name, purpose):
    """Imports a package that s2s needs for some calls only. Raises Error: python/package."""
    import importlib
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Error("python/package", f"{purpose} needs {name}, which cannot be imported ({error});"
                    f" run: {sys.executable} -m pip install {name}") from None
