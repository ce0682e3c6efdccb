"""s2s.train."""

import json

from s2s import _program
from s2s._runs import Run


class Training:
    """A training that runs. Iterate over it for the metrics; `s2s.train` makes it.

    run        the Run of its folder; None until the program has opened it
    exit_code  None while it runs; 0: done, 8: stopped with a checkpoint
    """

    def __init__(self, words, stdin=None, log=None):
        self.run = None
        self.exit_code = None
        self._child = _program.Child(words, stdin, log)
        self._lines = self._child.lines()

    def __iter__(self):
        return self

    def __next__(self):
        """The next line of metrics.jsonl as a dict; waits for it. Raises Error when the training
        fails, KeyboardInterrupt after the program has written its checkpoint."""
        for line in self._lines:
            metrics = _parsed(line)
            if "step" in metrics:
                return metrics
            if "run" in metrics:
                self.run = Run(metrics["run"])
        if self.exit_code is None:
            self.exit_code = self._child.check()
        raise StopIteration

    def close(self):
        """Ends the training if it still runs: it finishes its step and writes a checkpoint.
        `s2s.train` with the same arguments continues it."""
        if self.exit_code is None:
            self._child.stop()
            self.exit_code = self._child.check()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if hasattr(self, "_lines"):
            self.close()


def _parsed(line):
    """The object of a line; {} for other output of the program."""
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def train(config, *, log=None, **overrides):
    """Trains, and returns an iterator of its metrics.

    config     a YAML file, or a dict
    overrides  keys of the configuration: **{"trainer.max_steps": 10}, or trainer={"max_steps": 10};
               **{"~data.synth": None} removes a key
    log        called with each line of the program's log; default: warnings become Python's

    Each item is a dict, a line of metrics.jsonl, while the program trains: per optimizer step
    "step" (from 1), "loss", "grad_norm" (None: the update was skipped), "learning_rate", "frames",
    "tokens", "step_time_s" in seconds, "peak_memory_bytes" and others; per validated set the key
    "validation" has its name. The training does not wait for its reader.

    A run whose folder has a checkpoint goes on from there (exp_manager.resume_if_exists) and gives
    the steps that it does. The program stops with a checkpoint at ^C (KeyboardInterrupt) while an
    item is awaited, when the iterator is closed or no longer used, and when Python ends.

        with s2s.train("tiny.yaml") as training:
            for metrics in training:
                if metrics["loss"] < 1:
                    break
        print(training.run.checkpoints[-1].path)

    Raises Error: those of `s2s-run train`, python/program, python/argument.
    """
    words, stdin = _program.config_words(config, overrides)
    return Training(["train", "--json"] + words, stdin, log)
