#!/bin/bash
# usage: bench_parallel_test.sh S2S_RUN
# What bench parallel times under a layout is what one process computes.
set -uo pipefail
s2s_run=$1
source "$(dirname "$0")/checks.sh"
steps=(--model tiny --steps 2 --warm-up 1)

run_alone() { "$s2s_run" bench parallel --layout single "${steps[@]}"; }
expect_code 0 "$folder/single" run_alone
for layout in ddp fsdp tp tp-sp; do
  expect_code 0 "$folder/$layout" "$s2s_run" launch local -n 2 -- bench parallel \
    --layout $layout "${steps[@]}" --trace "$folder/trace.$layout"
done

python3 - "$folder" << 'PYTHON' || complain "not what one process computes" "$folder/single"
import json, sys
from pathlib import Path

folder = Path(sys.argv[1])
read = lambda name: json.loads((folder / name).read_text().splitlines()[-1])
single = read("single")
close = lambda a, b: abs(a / b - 1) < 1e-4
for layout in ("ddp", "fsdp", "tp", "tp-sp"):
    found = read(layout)
    print(layout, found["losses"], single["losses"])
    assert found["ranks"] == 2 and found["num_parameters"] == single["num_parameters"]
    assert found["step_s"] > 0 and found["memory_bytes"]["steps"] > found["memory_bytes"]["start"]
    if layout.startswith("tp"):  # the same tokens
        assert all(close(a, b) for a, b in zip(found["losses"], single["losses"]))
    else:  # rank 0 has half of the tokens of a step
        assert close(2 * found["losses"][0], single["losses"][0])
    seconds = found["collectives_per_step_s"]
    assert 0 < seconds["waited_for"] <= seconds["under_way"]
    for rank in range(2):
        trace = json.loads((folder / f"trace.{layout}" / f"trace.{rank}.json").read_text())
        events = trace["traceEvents"]
        names = {event["name"] for event in events}
        assert {"forward", "backward", "update"} <= names, names
        begins = [event["id"] for event in events if event["ph"] == "b"]
        ends = [event["id"] for event in events if event["ph"] == "e"]
        assert begins and begins == ends
PYTHON
expect_code 2 "$folder/layout" "$s2s_run" bench parallel --layout nothing
expect_text "$folder/layout" "[usage/arguments]" "ddp"
finish "bench parallel"
