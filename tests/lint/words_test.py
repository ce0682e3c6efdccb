"""usage: words_test.py SOURCE_DIR

One word for one thing (core/docs/glossary.md), in US spelling. Refuses words that were replaced, in
sources and in documents. Decision records, the changelog and the glossary may quote them.
"""

import pathlib
import re
import subprocess
import sys

WORDS = [
    (r"[Ff]irst[ _]values|FirstValues", "initial values"),
    (r"number[ _]types?\b", "dtype"),
    (r"\bDecoderFacts\b|\bdecoder_facts\b", "DecoderSpec"),
    (r"\bhas_door\b|\bDoors\b", "hook"),
    (r"\bstart_gather\b|\bfinish_gather\b", "unshard, wait_unshard"),
    (r"\b(TensorPart|TensorShare|DimPart)\b", "LocalShard, TensorPlacement, DimShard"),
    (r"\bItemToken\b|\bitem[ _]token", "CutKey, cut key"),
    (r"\bdescribed model|\bimagined\b", "meta model, simulated"),
    (r"\bStoredValues\b|\bstored_values\b", "WeightSource"),
    (r"\bpiece_index\b|\bPieceIndex\b", "checkpoint index"),
    (r"(?i)\bneighbour|behaviour|\bcolour", "US spelling"),
    (r"\bno memory is spent\b", "without allocating the model"),
    (r"\bjudges the model\b", "evaluates the model"),
    (r"\bwrite over what is there\b", "overwrite existing output"),
    (r"\btake the entry out\b", "remove the entry"),
    (r"\bother software's\b\"", "inspect, verify, import and export checkpoints"),
    (r"\bthat stand in the data\b", "that the data contains"),
    (r"\bis there already, and nothing\b", "already exists; nothing"),
    (r"\bwithout effect here\b", "ignored"),
    (r"\bnothing that was there before\b", "no existing file was changed"),
    (r"(?i)\b(initial|normal|recogn|real|organ|serial|synchron|material|minim|maxim|optim|quant"
     r"|token|random|vector|general|summar|final|special|custom|visual|synthes|parallel"
     r"|character|util)"
     r"is(e|ed|es|ing|ation|ations|er|ers)\b", "US spelling: -ize, -ization"),
]
ENDINGS = (".cc", ".h", ".cmake", ".txt", ".py", ".sh", ".yaml", ".md")
QUOTES = ("CHANGELOG.md", "core/docs/decisions/", "core/docs/glossary.md",
          "tests/lint/words_test.py")
# Data about British spelling, and keys of reference files.
SPELLING = ("core/training/eval/text/english_spelling", "tests/reference/", "tests/core/eval/")


def findings_of(root, name):
    rules = [rule for rule in WORDS
             if not (rule[1].startswith("US") and name.startswith(SPELLING))]
    text = (root / name).read_text(errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, instead in rules:
            if found := re.search(pattern, line):
                yield f"{name}:{number}: '{found.group(0)}': write {instead}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True)
    if listed.returncode != 0:
        print("skipped: not a git checkout")
        return
    names = [name for name in listed.stdout.split("\n")
             if name.endswith(ENDINGS) and not name.startswith((*QUOTES, "tests/reference/data/"))
             and (root / name).is_file()]
    findings = [finding for name in names for finding in findings_of(root, name)]
    print("\n".join(findings) or f"ok: words of {len(names)} files")
    sys.exit(bool(findings))


main()
