"""s2s.validate."""

import json
import os

from s2s import _program


def validate(config=None, *, checkpoint=None, report=None, limit_batches=None, ema=False,
             force=False, log=None, **overrides):
    """Evaluates a checkpoint on the validation sets of its configuration.

    config         a YAML file or a dict; or, without `checkpoint`, the Run, run folder or
                   Checkpoint itself, which has its configuration
    checkpoint     a Run, a run folder or a Checkpoint
    report         the folder of the listening report; default: report/ in the run folder
    limit_batches  the most batches of each set
    ema            evaluates the moving average of the weights
    force          replaces a report in `report`
    log            called with each line of the program's log; default: warnings become Python's
    overrides      keys of the configuration, as in `s2s.train`

    Returns a dict: "step" of the checkpoint, "sets": for each set the names and values of its
    losses and scores ("text_loss", "examples", ...), "notes", and "report": the path of the page.
    Run(folder).audio then has the recordings and answers.
    Raises Error: those of `s2s-run validate`, python/program, python/argument.
    """
    words, stdin = _program.config_words(config, overrides)
    words = ["validate", "--json"] + words
    for name, value in (("--checkpoint", checkpoint), ("--report", report)):
        if value is not None:
            words += [name, os.fspath(value)]
    if limit_batches is not None:
        words += ["--limit-batches", str(limit_batches)]
    words += [name for name, is_set in (("--ema", ema), ("--force", force)) if is_set]
    return json.loads("\n".join(_program.run_lines(words, stdin, log)))
