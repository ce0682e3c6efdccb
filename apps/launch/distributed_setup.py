#!/usr/bin/env python3
"""usage: distributed_setup.py deepspeed|fsdp|launcher|slurm|launch [OPTION...]

Writes what configures and starts a run, with the options that LLM recipes give a script of this
name. Each subcommand is `s2s-run launch SUBCOMMAND`, whose --help has its options.

  deepspeed  a DeepSpeed file (config/ds_config.json)
  fsdp       a file of FSDP settings (config/fsdp_config.json)
  launcher   a script that starts the ranks of one machine (scripts/run_training.sh)
  slurm      a batch script (scripts/slurm_job.sh)
  launch     [--script FILE] starts the script of `launcher`

S2S_RUN is the program, if it is not in the PATH.
"""

import os
import sys

SUBCOMMANDS = ("deepspeed", "fsdp", "launcher", "slurm")


def value_of(words, names, default):
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in names:
            return value if equals else "".join(words[at + 1:at + 2])
    return default


def main():
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0
    subcommand, options = words[0], words[1:]
    if subcommand == "launch":
        script = value_of(options, ("--script",), "scripts/run_training.sh")
        os.execvp("bash", ["bash", script])
    if subcommand not in SUBCOMMANDS:
        known = ", ".join(SUBCOMMANDS + ("launch",))
        print(f"error: '{subcommand}'; expected one of: {known}", file=sys.stderr)
        return 2
    if subcommand == "slurm" and not value_of(options, ("-o", "--output"), ""):
        options = ["--output", "scripts/slurm_job.sh"] + options
    program = os.environ.get("S2S_RUN", "s2s-run")
    try:
        os.execvp(program, [program, "launch", subcommand] + options)
    except OSError as error:
        print(f"error: {program}: {error.strerror}; set S2S_RUN to the path of s2s-run",
              file=sys.stderr)
        return 2


sys.exit(main())
