"""What accelerate and torch know of their own files, against the tables of s2s-run config keys.

    python tests/reference/engine_files_check.py build/bin/s2s-run

Every field and option of accelerate's file must have a row. The file that accelerate itself writes,
and one of each sharding strategy of torch, must be read without a finding about their keys.
Exit code 77 where accelerate or torch is missing.
"""

import dataclasses
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    from accelerate.commands.config.config_args import ClusterConfig
    from accelerate.commands.launch import launch_command_parser
    from accelerate.utils import write_basic_config
    from torch.distributed.fsdp import ShardingStrategy
except ImportError as missing:
    print(f"skipped: {missing}; pip install -r tests/reference/requirements-peers.txt")
    sys.exit(77)

PROGRAM = str(Path(sys.argv[1]).resolve())
RESHARD = {"FULL_SHARD": "always", "SHARD_GRAD_OP": "never", "NO_SHARD": None,
           "HYBRID_SHARD": "always", "_HYBRID_SHARD_ZERO2": "never"}


def keys_of(heading):
    page = subprocess.run([PROGRAM, "config", "keys"], capture_output=True, text=True, check=True)
    part = page.stdout.split(f"## {heading}\n")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `([^`]+)`", part, re.MULTILINE))


def strategy_of(folder, name, file, nodes):
    """What `config show` makes of the file; a finding about it ends the check."""
    (folder / "run.yaml").write_text(
        f"trainer:\n  max_steps: 1\n  num_nodes: {nodes}\n"
        f"  strategy: {{name: {name}, config: {file}}}\n")
    shown = subprocess.run([PROGRAM, "config", "show", "run.yaml", "trainer", "--json"], cwd=folder,
                           capture_output=True, text=True)
    found = json.loads(shown.stdout)
    faults = [one for one in found["findings"] if one["id"].startswith("config/")
              and one["id"] not in ("config/missing", "config/no-datasets")]
    assert not faults, faults
    return found["config"]["trainer"]


def main():
    rows = {key.split(".")[0] for key in keys_of("accelerate")}
    fields = {field.name for field in dataclasses.fields(ClusterConfig)}
    assert fields <= rows, fields - rows
    options = {word for action in launch_command_parser()._actions
               for word in action.option_strings}
    fsdp = {word[2:] for word in options if word.startswith("--fsdp_")}
    assert len(fsdp) > 10 and fsdp <= keys_of("FSDP"), fsdp - keys_of("FSDP")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_basic_config(mixed_precision="bf16", save_location=str(folder / "default.json"))
        trainer = strategy_of(folder, "accelerate", "default.json", 1)
        assert trainer["strategy"]["name"] == "ddp", trainer
        assert trainer["precision"] == "bf16-mixed", trainer
        for strategy in ShardingStrategy:
            file = {"fsdp_sharding_strategy": strategy.value, "fsdp_mixed_precision": "bf16"}
            (folder / "fsdp.json").write_text(json.dumps(file))
            read = strategy_of(folder, "fsdp", "fsdp.json", 2)["strategy"]
            expected = RESHARD[strategy.name]
            assert read["name"] == ("fsdp" if expected else "ddp"), (strategy, read)
            assert read.get("reshard_after_forward") == expected, (strategy, read)
            replicas = 2 if "HYBRID" in strategy.name else 1
            assert read.get("replicate_size", 1) == replicas, (strategy, read)
    print(f"ok: {len(fields)} fields of accelerate, {len(fsdp)} of FSDP, "
          f"{len(ShardingStrategy)} sharding strategies")


main()
