"""usage: untrusted_cost.py S2S_RUN SOURCE_DIR [ROUNDS]

What --untrusted costs: each command with and without it, in turns, on the same files. Prints the
medians of the wall time, and their ratio. The files are made in a temporary folder.
"""

import gzip
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time


def make_files(folder, s2s_run, source):
    """-> name and words of each command."""
    run = lambda *words: subprocess.run([s2s_run, *words], check=True, capture_output=True)
    run("data", "synth", "--text", "--tiny", str(folder / "text"))
    run("data", "synth", "--tiny", str(folder / "set"))
    lines = (folder / "set/train.jsonl").read_text().splitlines()
    with gzip.open(folder / "set/many.jsonl.gz", "wt") as out:
        for number in range(20000):
            cut = json.loads(lines[number % len(lines)])
            cut["id"] = f"cut-{number}"
            cut["custom"] = {**cut.get("custom", {}), "note": f"{random.random()}"}
            out.write(json.dumps(cut) + "\n")
    chats = (folder / "text/chat.jsonl").read_text().splitlines()
    with open(folder / "text/chats.jsonl", "w", encoding="utf-8") as out:
        out.writelines(line + "\n" for line in chats * 40)
    data = source / "tests/reference/data"
    text = ["data", "inspect", str(source / "configs/text.yaml"), f"text.data={folder}/text",
            "data.synth.size=tiny"]
    return [
        ("config check (YAML)", ["config", "check", str(source / "configs/tiny.yaml")]),
        ("checkpoint inspect (.nemo)", ["checkpoint", "inspect", str(data / "archive.nemo")]),
        ("checkpoint verify (.ckpt)", ["checkpoint", "verify", str(data / "torch_state.bin")]),
        ("data inspect (20,000 cuts, gzip)",
         ["data", "inspect", "--no-audio", str(folder / "set/many.jsonl.gz")]),
        (f"data inspect ({40 * len(chats)} chats)",
         text + [f"data.train_ds.path={folder}/text/chats.jsonl",
                 "data.train_ds.chat_template=chatml"]),
    ]


def seconds(words):
    begin = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return time.monotonic() - begin


def main():
    s2s_run, source = sys.argv[1], pathlib.Path(sys.argv[2])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 7
    with tempfile.TemporaryDirectory() as name:
        for label, words in make_files(pathlib.Path(name), s2s_run, source):
            seconds([s2s_run, *words])  # indexes are made
            plain, untrusted = [], []
            for _ in range(rounds):
                plain.append(seconds([s2s_run, *words]))
                untrusted.append(seconds([s2s_run, "--untrusted", *words]))
            a, b = statistics.median(plain), statistics.median(untrusted)
            print(f"{label}: {a:.3f} s, with --untrusted {b:.3f} s ({b / a:.2f} x)", flush=True)


if __name__ == "__main__":
    main()
