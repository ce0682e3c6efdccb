"""Writes core/training/eval/text/english_spelling_table.cc from whisper_normalizer's spelling list.

  python english_spelling.py > ../../core/training/eval/text/english_spelling_table.cc

The list holds 1739 pairs of words. Here they are families: stems that share a change of spelling
and a set of endings. The script checks that the families spell out the list again, less two
entries that are slips of a web page ("archaeology" is fixed, "flyer / flier" is no word).
"""

import collections
import json
import re
import textwrap
from importlib.resources import files

HEAD = """// Made by tests/reference/english_spelling.py; facts from the word list of
// whisper_normalizer 0.1.15 (MIT license, 2023 Kurian Benoy).
#include "eval/text/english_spelling.h"

namespace s2s {

// One family each: British part, American part, endings, stems. "-" is nothing.
const char* const kSpellingFamilies = R"(
"""
TAIL = """)";

}  // namespace s2s
"""
CHANGES = [("is", "iz"), ("ys", "yz"), ("our", "or"), ("ll", "l"), ("ae", "e"), ("oe", "e"),
           ("tre", "ter"), ("bre", "ber"), ("mme", "m"), ("gue", "g"), ("ugh", "f"),
           ("ugh", "w"), ("gao", "jai"), ("ould", "old"), ("nce", "nse"), ("grey", "gray")]


def read_list() -> dict:
    path = files("whisper_normalizer").joinpath("normalizers/english.json")
    pairs = json.loads(path.read_text())
    pairs["archaeology"] = "archeology"
    del pairs["flyer / flier"]
    return pairs


def split(word, other):
    """(stem, from, to, ending) with word = stem + from + ending, other = stem + to + ending."""
    for old, new in CHANGES:
        for match in re.finditer(old, word):
            stem, ending = word[:match.start()], word[match.end():]
            if stem + new + ending == other:
                return stem, old, new, ending
    start = 0
    while start < min(len(word), len(other)) and word[start] == other[start]:
        start += 1
    end = 0
    while end < min(len(word), len(other)) - start and word[-1 - end] == other[-1 - end]:
        end += 1
    stem, ending = word[:start], word[len(word) - end:]
    return stem, word[start:len(word) - end], other[start:len(other) - end], ending


def families(pairs) -> dict:
    endings = collections.defaultdict(set)
    for word, other in pairs.items():
        stem, old, new, ending = split(word, other)
        endings[(old, new, stem)].add(ending)
    groups = collections.defaultdict(list)
    for (old, new, stem), some in endings.items():
        groups[(old, new, tuple(sorted(some)))].append(stem)
    return groups


def spell_out(groups) -> dict:
    return {stem + old + ending: stem + new + ending
            for (old, new, some), stems in groups.items() for stem in stems for ending in some}


def main() -> None:
    pairs = read_list()
    groups = families(pairs)
    assert spell_out(groups) == pairs
    order = sorted(groups.items(), key=lambda g: (g[0][:2], -len(g[1]), g))
    text = " ; ".join(
        " | ".join(" ".join(part or "-" for part in parts) for parts in [(old, new), some, stems])
        for (old, new, some), stems in order)
    print(HEAD + textwrap.fill(text, 98, break_on_hyphens=False))
    print(TAIL, end="")


if __name__ == "__main__":
    main()
