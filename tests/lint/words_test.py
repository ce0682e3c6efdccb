"""usage: words_test.py SOURCE_DIR

One word for one thing (core/docs/glossary.md), in US spelling. Refuses words that were replaced, in
sources, in documents and in names of files. Decision records, the changelog and the glossary may
quote them. In the rooms of CLEAN it also refuses, in comments and in identifiers, words of which a
stranger does not know the meaning here.
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
    (r"\bdescribed[ -]model|\bimagined\b", "meta model, simulated"),
    (r"\bStoredValues\b|\bstored_values\b", "WeightSource"),
    (r"\bpiece_index\b|\bPieceIndex\b", "checkpoint index"),
    (r"(?i)neighbour|behaviour|colour", "US spelling"),
    (r"\bno memory is spent\b", "without allocating the model"),
    (r"\bjudges the model\b", "evaluates the model"),
    (r"\bwrite over what is there\b", "overwrite existing output"),
    (r"\btake the entry out\b", "remove the entry"),
    (r"\bother software's\b\"", "inspect, verify, import and export checkpoints"),
    (r"\bthat stand in the data\b", "that the data contains"),
    (r"\bis there already, and nothing\b", "already exists; nothing"),
    (r"\bwithout effect here\b", "ignored"),
    (r"\bnothing that was there before\b", "no existing file was changed"),
    (r"(?i)(?<![`\"])"  # but for names of others, which have quotes
     r"\b(initial|normal|recogn|real|organ|serial|synchron|material|minim|maxim|optim|quant"
     r"|token|random|vector|general|summar|final|special|custom|visual|synthes|parallel"
     r"|character|util)"
     r"is(e|ed|es|ing|ation|ations|er|ers)\b", "US spelling: -ize, -ization"),
]
# Rooms whose sources have no words of PRIVATE, and their tests.
CLEAN = ("apps/", "core/", "plugins/", "tests/core/", "tests/plugins/")
# By the words of comments and of identifiers: `fits_behind` and `kBehind` have the word `behind`.
PRIVATE = {"behind": "after", "stand": "be, mean", "stands": "is, means", "told": "called with",
           "untold": "unlabeled", "hear": "receive", "hears": "receives", "described": "meta"}
# Function names; ranks that are behind, and a key of `launch diagnose`; stand-ins of tests.
ALLOWED = re.compile(r'\bleave_behind\b|\b(far|fallen|is) behind\b|"behind"|behind: the rank'
                     r'|"stands_at"|stand-in')
PRIVATE_PATTERNS = [
    (r"\b(?!Group|Process)[A-Z]\w*[a-z]Place\b", "position, location, span, options"),
    (r"(?i)described_?model", "meta model"),
]
# The key of a cut, where keys are made and kept.
KEYS = ("core/data/convert/", "core/data/loader/", "core/data/samplers/", "core/data/shar/",
        "core/data/streams/")
KEY_PATTERN = r"(\.|->)token\b|\btoken_of\b|\b(un)?packed_tokens\b|\bCutKey(View)?&? token\b"
ENDINGS = (".cc", ".h", ".cmake", ".txt", ".py", ".sh", ".yaml", ".md")
QUOTES = ("CHANGELOG.md", "core/docs/decisions/", "core/docs/glossary.md",
          "tests/lint/words_test.py")
# Data about British spelling, and keys of reference files.
SPELLING = ("core/training/eval/text/english_spelling", "tests/reference/", "tests/core/eval/")


def rules_for(name):
    rules = [rule for rule in WORDS
             if not (rule[1].startswith("US") and name.startswith(SPELLING))]
    if name.startswith(CLEAN):
        rules += PRIVATE_PATTERNS
    if name.startswith(KEYS):
        rules.append((KEY_PATTERN, "key"))
    return rules


def private_words(line):
    """The words of PRIVATE in `line`; identifiers are split at `_` and at capital letters."""
    for word in re.findall(r"[A-Z]?[a-z]+", ALLOWED.sub("", line)):
        if word.lower() in PRIVATE:
            yield word, PRIVATE[word.lower()]


def findings_of(root, name):
    rules = rules_for(name)
    text = (root / name).read_text(errors="replace")
    for number, line in enumerate([name, *text.splitlines()]):
        place = f"{name}:{number}" if number else f"{name}: in its name"
        for pattern, instead in rules:
            if found := re.search(pattern, line):
                yield f"{place}: '{found.group(0)}': write {instead}"
        if name.startswith(CLEAN) and name.endswith((".cc", ".h")):
            for word, instead in private_words(line):
                yield f"{place}: '{word}': write {instead}"


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
