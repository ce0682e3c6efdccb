"""usage: plugin_names_test.py SOURCE_DIR

Core names nothing that a plugin provides, not even in a comment. What a plugin provides stands in
its S2S_PLUGIN, as `kind:name` and `model_type:name`.
"""

import pathlib
import re
import sys

PLUGIN = re.compile(r'S2S_PLUGIN\((.*?)\)\s*\{', re.DOTALL)
LITERAL = re.compile(r'"((?:\\.|[^"\\])*)"')
FOLDERS = ("include", "foundation", "data", "model", "interop", "training", "conformance", "sdk")

# Words of the field, or of files that core reads: of these only the quoted name and kind:name
# count. Of the last ones only kind:name counts: a type of device, which LibTorch gives, a key of
# cuts, manifests and reports, and a kind of component.
WORDS = {"adamw", "asr", "bleu", "causal_lm", "cer", "conversations", "csv", "ctc", "cuts", "exact",
         "hf", "local", "lion", "mlflow", "muon", "sgd", "single", "tensorboard", "transducer",
         "turn_taking", "wandb", "wer", "whisper"}
NO_NAMES = {"codec", "cuda", "text"}

# (file pattern, line pattern): what has the name of a plugin and is something else.
OTHERS = [
    (r"", r"Source:"),  # where a formula or a rule comes from
    (r"", r"acme[._]mistral"),  # the example of somebody else's plugin
    (r"", r'"CAUSAL_LM"'),  # a task of PEFT
    (r"^core/data/text/", r"LLaMA-Factory"),  # a trainer
    (r"^core/data/convert/", r"[Mm]oshi"),  # the data format of its fine-tuning
    (r"^core/data/(shar/|streams/source_files)", r'"cuts"'),  # Lhotse's field of a Shar set
    (r"^core/data/(streams|conversations|text)/", r'"conversations"'),  # a key of NeMo, ShareGPT
    (r"^core/data/(duplex|loader|streams)/", r'"asr"'),  # a task of cuts
    (r"^core/data/loader/change_cuts", r'"cer"'),  # a field of cuts
    (r"^core/training/eval/report/", r'(?i)"(wer|bleu)"'),  # columns of examples
    (r"^core/interop/", r""),  # what other frameworks call our components
]


def provided(root):
    """Returns {name: kinds} of all plugins."""
    names = {}
    for path in sorted((root / "plugins").rglob("*.cc")):
        for call in PLUGIN.findall(path.read_text()):
            for entry in LITERAL.findall(call)[3:]:
                for one in entry.split(r"\n"):
                    kind, _, name = one.partition(":")
                    if name:
                        names.setdefault(name, set()).add(kind)
    return names


def pattern_of(name, kinds):
    stated = rf"\b(?:{'|'.join(sorted(kinds))}):{re.escape(name)}\b"
    if name in NO_NAMES:
        return re.compile(stated)
    if name in WORDS:
        return re.compile(rf'"{re.escape(name)}"|{stated}', re.IGNORECASE)
    return re.compile(rf"\b{re.escape(name)}\b", re.IGNORECASE)


def is_other(path, line):
    return any(re.search(of, path) and re.search(what, line) for of, what in OTHERS)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    names = provided(root)
    patterns = {name: pattern_of(name, kinds) for name, kinds in names.items()}
    files = [root / "core/CMakeLists.txt"]
    for folder in FOLDERS:
        files += sorted(path for path in (root / "core" / folder).rglob("*") if path.is_file())
    findings = []
    for path in files:
        place = str(path.relative_to(root))
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            for name, pattern in patterns.items():
                if pattern.search(line) and not is_other(place, line):
                    findings.append(f"{place}:{number}: names '{name}': {line.strip()[:100]}")
    print("\n".join(findings) or f"ok: core has none of {len(names)} names of plugins")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
