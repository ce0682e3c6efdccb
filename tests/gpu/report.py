"""What tests/gpu/run.sh measures and says; each command prints what goes into its log.

    report.py references DATA NAMES                  pack.sh: kind and file of what is compared
    report.py facts TREE TORCH                       the machine, as JSON
    report.py libraries BUILD                        libraries that cannot be found
    report.py compare S2S DATA LIST DEVICE DTYPE     every reference file of LIST
    report.py test DEVICE PROGRAM [FILE,FILE...]     a test program, or those files of its tests
    report.py losses RUN RUN TOLERANCE               losses of two runs, step by step
    report.py write RESULTS gpu|cpu                  results.json, report.md

Python 3 alone is enough.
"""

import concurrent.futures
import json
import os
import platform
import re
import statistics
import struct
import subprocess
import sys
from pathlib import Path

COMPARED = ("llm", "encoder", "codec", "model", "scorer")


def run(command, limit_s=60):
    """Exit code and both outputs; a code of None: it cannot be started, or took too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    return done.returncode, done.stdout + done.stderr


def read_json(path):
    """The object of a file, or of its last line; None without one."""
    try:
        text = Path(path).read_text()
        return json.loads(text if text.lstrip().startswith("{\n") else text.splitlines()[-1])
    except (OSError, ValueError, IndexError):
        return None


def component(path):
    """Kind and name of what a reference file compares; None for a file of another kind."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        metadata = json.loads(file.read(size)).get("__metadata__", {})
    return (metadata["kind"], metadata["name"]) if metadata.get("kind") in COMPARED else None


def references(data, names):
    known = {path.stem: component(path) for path in sorted(Path(data).glob("*.safetensors"))}
    known = {name: what for name, what in known.items() if what}
    lines = [line.split() for line in Path(names).read_text().splitlines()]
    chosen = [words[0] for words in lines if words and words[0] != "#"]
    wrong = [f"{name}: no reference file that can be compared" for name in chosen
             if name not in known]
    left = set(known.values()) - {known.get(name) for name in chosen}
    wrong += [f"{kind}:{name} has no reference file there" for kind, name in sorted(left)]
    if wrong:
        sys.exit(f"error: [pack/references] {names}: " + "; ".join(wrong))
    for name in sorted(chosen):
        print(known[name][0], f"{name}.safetensors")


def facts(tree, torch):
    query = "--query-gpu=name,memory.total,driver_version,clocks.max.sm,clocks.max.mem"
    code, text = run(["nvidia-smi", query, "--format=csv,noheader"])
    gpus = [line.strip() for line in text.splitlines() if line.strip()] if code == 0 else []
    names = ("torch", "transformers", "safetensors", "triton")
    script = ("import json; from importlib import metadata as m; out = {}\n"
              f"for n in {names!r}:\n"
              "    try: out[n] = m.version(n)\n"
              "    except m.PackageNotFoundError: out[n] = None\n"
              "print(json.dumps(out))")
    code, text = run([sys.executable, "-c", script])
    release = Path("/etc/os-release")
    name = re.search(r'PRETTY_NAME="?([^"\n]*)', release.read_text() if release.exists() else "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    print(json.dumps({
        "gpus": gpus,
        "system": name.group(1) if name else "unknown",
        "glibc": platform.libc_ver()[1],
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30),
        "python": platform.python_version(),
        "packages": json.loads(text) if code == 0 else {},
        "torch_folder": torch,
        "bundle": json.loads((Path(tree) / "bundle.json").read_text()),
    }))


def libraries(build):
    files = [path for path in Path(build).rglob("*")
             if path.is_file() and (".so" in path.name or path.parent.name == "bin")]
    missing = set()
    for path in files:
        for line in run(["ldd", str(path)])[1].splitlines():
            # CUDA's own libraries are needed by what runs on a GPU only.
            if "not found" in line:
                missing.add(f"{path.name}: {line.strip()}")
    print("\n".join(sorted(missing)) or f"ok: {len(files)} files find their libraries")
    return 1 if missing else 0


def compare(s2s, data, names, device, dtype):
    listed = [line.split() for line in Path(names).read_text().splitlines()]
    # Whole models choose tokens, and in bfloat16 other ones than in float32, on a CPU as well.
    paths = [Path(data) / name for kind, name in listed if kind != "model" or dtype == "float32"]

    def one(path):
        command = [s2s, "compare", str(path), "--device", device, "--dtype", dtype, "--json"]
        code, text = run(command, 120)
        return path.name, code, text

    with concurrent.futures.ThreadPoolExecutor(4 if device != "cpu" else 2) as pool:
        results = list(pool.map(one, paths))
    failed = []
    for name, code, text in results:
        print(f"{'ok' if code == 0 else f'FAILED, exit code {code}'}: {name}")
        if code != 0:
            failed.append(name)
            print("    " + "\n    ".join(shown(text)))
    print(json.dumps({"compared": len(results), "failed": failed, "dtype": dtype,
                      "device": device}))
    return 1 if failed or not results else 0


def shown(text):
    """The rows that fail of a comparison in JSON, or the end of a message."""
    try:
        rows = json.loads(text)
        rows = rows.get("tensors", rows.get("rows", [])) if isinstance(rows, dict) else rows
        bad = [row for row in rows if not row.get("pass", True)]
        share = lambda row: row.get("note") or f"{row['share_of_tolerance']} of the tolerance"
        return [f"{row['name']} {row['shape']}: {share(row)}" for row in bad[:3]] or [text[-300:]]
    except (ValueError, AttributeError, KeyError):
        return text.splitlines()[-4:]


def test(device, program, files=""):
    """DEVICE: cuda, test_device (which the program has to say), cpu, or none (it may skip all)."""
    command = [program]
    if files:
        command.append("--source-file=" + ",".join(f"*/{name}.cc" for name in files.split(",")))
    places, skipped = [], 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace") as running:
        for line in running.stdout:
            print(line, end="", flush=True)
            said = re.match(r"tests run on: (\S+)", line)
            places += [said.group(1)] if said and said.group(1) not in places else []
            skipped += "skipped: " in line
    name, code = Path(program).name, running.returncode
    if code != 0:
        print(f"FAILED: {name} ended with exit code {code}" if code > 0 else
              f"FAILED: {name} was ended by signal {-code}")
    elif device in ("cuda", "test_device") and [p.split(":")[0] for p in places] != [device]:
        code = 1
        print(f"FAILED: {name} was meant for {device} and computed on "
              f"{', '.join(places) or 'a device that it did not name'}")
    print(json.dumps({"ran_on": places, "skipped": skipped, "files": files}))
    return 1 if code else 0


def losses_of(folder):
    """By step; a run that was resumed has its last values."""
    losses = {}
    for line in (Path(folder) / "metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        if "loss" in row and "step" in row:
            losses[row["step"]] = row["loss"]
    return losses


def losses(one, other, tolerance):
    missing = [run for run in (one, other) if not (Path(run) / "metrics.jsonl").exists()]
    if missing:
        print(f"no losses to compare: the training run {Path(missing[0]).name} failed")
        return 1
    a, b = losses_of(one), losses_of(other)
    worst = 0.0
    for step in sorted(a.keys() & b.keys()):
        difference = abs(a[step] - b[step]) / max(abs(a[step]), 1e-30)
        worst = max(worst, difference)
        print(f"step {step}: {a[step]:.9g} {b[step]:.9g}, difference {difference:.2g}")
    steps = len(a.keys() & b.keys())
    is_same = steps > 0 and a.keys() == b.keys()
    print(json.dumps({"steps": steps, "largest_relative_difference": worst,
                      "is_bit_equal": is_same and all(a[s] == b[s] for s in a),
                      "tolerance": float(tolerance)}))
    return 0 if is_same and worst <= float(tolerance) else 1


def steps_of(results):
    """The newest entry of each step, in the order of the first ones."""
    entries = {}
    path = results / "steps.tsv"
    for line in path.read_text().splitlines() if path.exists() else []:
        phase, name, result, seconds, why = (line.split("\t") + [""] * 5)[:5]
        entries[name] = {"phase": phase, "name": name, "result": result,
                         "seconds": int(seconds), "why": why}
        figures = read_json(results / f"{name}.json")
        if figures is not None:
            entries[name]["figures"] = figures
    return list(entries.values())


def memory_gb(one):
    memory = one.get("memory_bytes") or one.get("device_memory_bytes") or {}
    peak = memory.get("allocated_peak") or memory.get("resident_peak")
    return 1e-9 * (peak or one.get("peak_memory_bytes") or 0)


def llm_row(bench, name, rounds, ours):
    """One line of the table; rounds: what `bench llm` or the peer printed."""
    times = [1000 * one["step_s"]["median"] for one in rounds]
    own = [1000 * one["step_s"]["median"] for one in ours]
    ratios = [a / b for a, b in zip(own, times)]
    # What every line is relative to is measured once, in the first of ours.
    peak = (ours[0].get("mfu") or {}).get("peak_teraflops")
    rate = lambda key: statistics.median(one["mfu"][key] for one in rounds)
    mfu = (f"{100 * rate('teraflops_full') / peak:.1f} % / "
           f"{100 * rate('teraflops_causal') / peak:.1f} %" if peak else "")
    tokens = statistics.median(one["tokens_per_s"] for one in rounds)
    first = ours[0]
    batch = f"{first['batch_size']} x {first['positions']}"
    ratio = f"{statistics.median(ratios):.2f}" if ratios else ""
    return (f"| {bench} | {first['precision']}, {batch} | {name} | {statistics.median(times):.1f} "
            f"({min(times):.1f}-{max(times):.1f}) | {tokens:.0f} tokens/s | {mfu} "
            f"| {max(memory_gb(one) for one in rounds):.1f} GB | {ratio} |")


def llm_rows(results, bench, entries):
    kept = read_json_whole(results / bench / "compare_llm.json")
    figures = {entry["name"]: entry.get("figures") for entry in entries}
    ours = kept["ours"] if kept else [figures[bench]] if figures.get(bench) else []
    if not ours:
        return
    yield llm_row(bench, "ours", ours, ours)
    plain = figures.get(f"{bench}_plain_kernels")
    if plain:
        yield llm_row(bench, "ours, S2S_KERNELS=plain", [plain], ours)
    for name, rounds in (kept or {}).items():
        if name != "ours" and rounds:
            yield llm_row(bench, name, rounds, ours)


def read_json_whole(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def duplex_rows(entries):
    rounds = [e["figures"] for e in entries
              if e["name"].startswith("duplex_") and e.get("figures")]
    if rounds:
        times = [1000 * one["step_s"]["median"] for one in rounds]
        rates = [(one.get("per_s") or {}).get("frames") for one in rounds]
        rate = f"{statistics.median(rates):.0f} frames/s" if all(rates) else ""
        yield (f"| bench-duplex | {rounds[0]['precision']} | ours | "
               f"{statistics.median(times):.1f} ({min(times):.1f}-{max(times):.1f}) | {rate} | "
               f"| {max(memory_gb(one) for one in rounds):.1f} GB | |")
    for entry in entries:
        figures = entry.get("figures")
        if entry["name"].startswith("decode_") and figures:
            rows, _, is_plain = entry["name"].removeprefix("decode_").partition("_")
            what = "ours, S2S_GRAPHS=off" if is_plain else "ours"
            yield (f"| decode | {figures['precision']}, {rows} conversations | {what} "
                   f"| {figures['generate_frame_ms']:.2f} a frame; in the first answer "
                   f"{figures['first_generate_frame_ms']:.2f} | | | | |")


def places_of(entries):
    """On which device each test program ran."""
    programs = {}
    for entry in entries:
        figures = entry.get("figures") or {}
        if "ran_on" in figures:
            place = "on " + (", ".join(figures["ran_on"]) or "no device")
            programs.setdefault(place, []).append(entry["name"])
    return "".join(f"; {place}: {', '.join(names)}" for place, names in programs.items())


def check_lines(entries):
    """One line for each phase that checks."""
    for phase in dict.fromkeys(e["phase"] for e in entries):
        own = [e for e in entries if e["phase"] == phase]
        passed = sum(1 for e in own if e["result"] == "ok")
        bad = [e["name"] for e in own if e["result"] in ("failed", "skipped")]
        missing = [e["name"] for e in own if e["result"] == "not measured"]
        text = f"- {phase}: {passed} of {len(own) - len(missing)} steps passed"
        for e in own:
            figures = e.get("figures") or {}
            if "compared" in figures:
                good = figures["compared"] - len(figures["failed"])
                text += f"; {figures['dtype']}: {good} of {figures['compared']} files"
        text += places_of(own)
        text += f"; failed: {', '.join(bad)}" if bad else ""
        yield text + (f"; not measured: {', '.join(missing)}" if missing else "")


def write(folder, device):
    results = Path(folder)
    entries = steps_of(results)
    known = next((e.get("figures") for e in entries if e["name"] == "facts"), None) or {}
    (results / "results.json").write_text(json.dumps({"facts": known, "steps": entries}, indent=1))
    name = (known.get("gpus") or ["a GPU; run the phase facts for its name"])[0]
    if device == "cpu":
        name = "none: a rehearsal on a CPU, whose figures say nothing"
    versions = known.get("packages") or {}
    rows = [row for bench in ("bench-1b", "bench-8b") for row in llm_rows(results, bench, entries)]
    rows += duplex_rows(entries)
    lines = [f"## On a GPU: {name}", ""]
    if known:
        lines += [f"Bundle {known['bundle']['commit']}, LibTorch {known['bundle']['torch']}, "
                  f"{known['system']}, transformers {versions.get('transformers')}.", ""]
    lines += list(check_lines(entries))
    if rows:
        lines += ["", "| phase | what | who | ms: median (range) of rounds | speed "
                  "| MFU, all pairs / causal | memory | ours / this |",
                  "| --- | --- | --- | --- | --- | --- | --- | --- |", *rows]
    (results / "report.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    return 0


COMMANDS = {"references": references, "facts": facts, "libraries": libraries, "compare": compare,
            "test": test, "losses": losses, "write": write}
if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
    sys.exit(__doc__)
sys.exit(COMMANDS[sys.argv[1]](*sys.argv[2:]) or 0)
