"""`s2s-run tokenizer` beside a package, for fuzz_hf_tokenizer.py and fuzz_sentencepiece.py."""

import json
import subprocess
import sys

CHUNK = 20_000


class Command:
    """`s2s-run tokenizer encode|decode --json` on a file. `special`: ids by bos, eos and pad."""

    def __init__(self, binary, path, special):
        self.binary, self.arguments = binary, ["--json", "--tokenizer", str(path)]
        for name, number in special.items():
            self.arguments += [f"--{name}-id", str(number)]

    def run(self, verb, rows):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        done = subprocess.run([self.binary, "tokenizer", verb, *self.arguments], input=lines,
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{verb}: {done.stderr}")
        return [json.loads(line) for line in done.stdout.split("\n")[:-1]]


def compare(style, what, given, ours, theirs):
    if len(ours) != len(theirs):
        sys.exit(f"{style}: {what}: {len(theirs)} lines expected, {len(ours)} came")
    for one, a, b in zip(given, ours, theirs):
        if a != b:
            sys.exit(f"{style}: {what} differs for {ascii(one)[:2000]}\n"
                     f"  ours    {ascii(a)[:1500]}\n  theirs  {ascii(b)[:1500]}")
