"""Types what the messages about foreign keys advise, and asks whether the program understands it.

    python tests/agreement/advice.py BIN_FOLDER SOURCE_FOLDER

The table of advice is in core/interop/translate/advice.cc. Of each text, each "write KEY" or
"write KEY: VALUE" is typed into the configurations of the source; one of them has to take it: no
unknown key, no unknown plugin, no value of another type.
"""

import re
import subprocess
import sys
from pathlib import Path

TINY = ("tiny", [])
EARTTS = ("tiny", ["model.type=duplex_eartts"])
BASES = {
    "trainer": (TINY,), "data": (TINY, ("text", []), EARTTS), "exp_manager": (TINY,),
    "model": (TINY, ("text", []), ("salm", []), EARTTS),
}
LAYOUTS = ("fsdp", "model_parallel", "ddp")
# A value for each word in capitals.
VALUES = {"FOLDER": ".", "FILE": "voice.wav", "ID": "5", "STEPS": "3", "CUTS": "4", "N": "2",
          "M": "3", "R": "1", "DD:HH:MM:SS": "00:01:00:00", "...": "sample_rate: 16000"}
REFUSALS = ("config/unknown-key", "config/type", "config/choice", "plugin/unknown")


def table(source):
    """(path, key, text) of each entry."""
    text = (source / "core/interop/translate/advice.cc").read_text()
    strings = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'

    def joined(literal):
        return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literal))

    named = {name: joined(value) for name, value in
             re.findall(r"constexpr const char\* (k\w+) =\s*" + strings + ";", text)}
    entry = r'advice\(\s*"([^"]+)",\s*(?:(k\w+)|' + strings + r")\)"
    return [(key.rpartition(".")[0], key.rpartition(".")[2],
             named[name] if name else joined(value))
            for key, name, value in re.findall(entry, text)]


def advised(path, text):
    """Each key with its value, or with None."""
    found = re.findall(r"\bwrite ((?:[a-z_]+\.)*[a-z_]+)(?:: (\{[^}]*\}|[^\s,;()]+))?", text)
    keys = []
    for key, value in found:
        if key in ("its", "them", "trainer.strategy") and not value:
            continue  # prose; a block of which the message names no key
        place = "data.train_ds" if "in the data set" in text else path
        whole = key if key.split(".")[0] in BASES or not place else f"{place}.{key}"
        for word, typed in VALUES.items():
            value = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", typed, value)
        value = re.sub(r", \d or \d\}", "}", value)  # "zero_stage: 1, 2 or 3"
        keys.append((whole, value or None))
    return keys


def takes(program, config, words, key, value):
    """None if the program takes it, else what it says."""
    # Without a value, one that is no value of any key: only an unknown key is refused then.
    word = f"{key}={value}" if value else f"{key}=[[[]]]"
    done = subprocess.run([program, "config", "show", config, *words, word], text=True,
                          capture_output=True)
    refusals = REFUSALS if value else ("config/unknown-key",)
    last = key.split(".")[-1]
    for line in done.stderr.splitlines():
        if last in line and any(refusal in line for refusal in refusals):
            return line
    return "[override]" if "[config/override]" in done.stderr else None


def first_refusal(program, source, key, value):
    """None if one of the configurations takes the key, else what the first one says."""
    said = []
    layouts = LAYOUTS if key.startswith("trainer.strategy.") else (None,)
    for base, words in BASES[key.split(".")[0]]:
        for layout in layouts:
            layout_words = [f"trainer.strategy={{name: {layout}}}"] if layout else []
            config = source / "configs" / f"{base}.yaml"
            said.append(takes(program, config, words + layout_words, key, value))
            if said[-1] is None:
                return None
    return said[0]


def main():
    binary, source = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    entries = table(source)
    assert len(entries) > 90, f"only {len(entries)} entries were read"
    typed = {}
    for path, key, text in entries:
        for word in advised(path, text):
            typed.setdefault(word, f"{path}.{key}")
    failures = []
    for (key, value), entry in typed.items():
        said = first_refusal(binary / "s2s-run", source, key, value)
        if said is not None:
            failures.append(f"{entry}: {key}: {value}: {said}")
    for failure in failures:
        print(failure)
    print(f"advice: {len(entries)} texts, {len(typed)} keys typed, {len(failures)} not understood")
    return 1 if failures or len(typed) < 35 else 0


if __name__ == "__main__":
    sys.exit(main())
