"""usage: plugin_pattern_test.py SOURCE_DIR

The folders of plugins look alike (core/docs/internals/plugin_folders.md): the plugin's name is that
of the folder, of the namespace, and of the files with its options and errors; errors are returned;
components that `plugin check` builds have tiny options. What differs stands below, with a reason,
and only while it differs.
"""

import pathlib
import re
import sys

PLUGIN = re.compile(r'S2S_PLUGIN\((.*?)\)\s*\{', re.DOTALL)
LITERAL = re.compile(r'"((?:\\.|[^"\\])*)"')
NAMESPACE = re.compile(r"^namespace s2s(?:::(\w+))?[\w:]* \{", re.MULTILINE)
TINY = re.compile(r"\.tiny\s*=|\bkTiny\s*=")

# The kinds whose components need tiny options, and why the others need none.
NEEDS_TINY = {"llm", "encoder", "codec"}
# Where an option is required, plugin check builds nothing without tiny options.
REQUIRED = re.compile(r"\brequired\(")
NEEDS_NO_TINY = {
    "schedule": "plugin check builds those without required options",
    "model": "most are built from parts of other plugins; training tries them",
    "tokenizer": "it reads a file; its tests encode and decode",
    "data": "it reads files; its tests ask s2s::conformance",
    "strategy": "it is tried by training with it",
    "communicator": "it is tried by training with it",
    "kernels": "it needs a device",
    "optimizer": "plugin check builds those without required options",
    "metric": "plugin check builds those without required options",
    "logger": "plugin check builds those without required options",
    "scorer": "plugin check builds those without required options",
}
BUILT = {"schedule", "optimizer", "metric", "logger", "scorer"}

# Folder: (namespace, reason).
NAMESPACES = {
    "tokenizers/sentencepiece": ("sentencepiece_plugin", "sentencepiece is that of the library"),
}
# Folder: (prefixes of the files with options and errors, reason).
PREFIXES = {
    "models/duplex_s2s": (("duplex", "speech_decoder"), "older than the pattern"),
    "models/duplex_stt": (("stt",), "older than the pattern"),
    "models/eartts": (("eartts", "tts"), "the options of the model that NeMo calls TTS"),
    "models/nemotron_voicechat": (("voicechat",), "older than the pattern"),
    "models/two_level": (("two_level", "moshi", "csm"), "two models have options of their own"),
}
# Headers whose functions throw.
THROWING = {
    "models/duplex_stt/stt_errors.h": "older than the pattern",
    "tokenizers/hf/json_location.h": "a place in a file throws what it finds there",
    "tokenizers/hf/pattern.h": "a member that reads PCRE2's state",
}


def provided(text):
    """Returns the name of a plugin and the kinds of its components; None without S2S_PLUGIN."""
    call = PLUGIN.search(text)
    if call is None:
        return None
    name, _, _, *entries = LITERAL.findall(call.group(1))
    ids = [one for entry in entries for one in entry.split(r"\n") if ":" in one]
    return name, [one.split(":")[0] for one in ids if not one.startswith("model_type:")]


def check_names(folder, sources, used, findings):
    """The namespace, and the names of files with options and errors."""
    own = folder.split("/")[1]
    namespace = NAMESPACES.get(folder, (own,))[0]
    prefixes = PREFIXES.get(folder, ((own,),))[0]
    for path, text in sources.items():
        for found in NAMESPACE.findall(text):
            if found and found != namespace:
                findings.append(f"{path}: namespace s2s::{found}, expected s2s::{namespace}")
            if found == namespace != own:
                used.add(("NAMESPACES", folder))
        stem = path.stem
        if not re.search(r"(^|_)(options|errors)$", stem):
            continue
        prefix = next((p for p in prefixes if stem in (f"{p}_options", f"{p}_errors")), None)
        if prefix is None:
            findings.append(f"{path}: expected {own}_options or {own}_errors")
        elif prefix != own:
            used.add(("PREFIXES", folder))


def check_errors(folder, sources, used, findings):
    for path, text in sources.items():
        if path.suffix != ".h" or "[[noreturn]]" not in text:
            continue
        place = f"{folder}/{path.name}"
        if place in THROWING:
            used.add(("THROWING", place))
        else:
            findings.append(f"{path}: a function that throws; return an Error, so that the reader "
                            f"sees `throw` where it happens")


def check_tiny(folder, kinds, sources, findings):
    for kind in kinds:
        if kind not in NEEDS_TINY and kind not in NEEDS_NO_TINY:
            findings.append(f"{folder}: say in this lint if the kind {kind} needs tiny options")
    text = "".join(sources.values())
    needed = sum(kind in NEEDS_TINY for kind in kinds)
    if REQUIRED.search(text) and set(kinds) & BUILT:
        needed = max(needed, 1)
    if len(TINY.findall(text)) < needed:
        findings.append(f"{folder}: {needed} components without `tiny` options, which plugin check "
                        f"builds (s2s/registry.h)")


def main():
    root = pathlib.Path(sys.argv[1])
    used, findings, count = set(), [], 0
    for path in sorted((root / "plugins").glob("*/*/")):
        folder = path.relative_to(root / "plugins").as_posix()
        sources = {p: p.read_text() for p in sorted(path.glob("*")) if p.suffix in (".cc", ".h")}
        plugins = [one for one in map(provided, sources.values()) if one]
        if len(plugins) != 1 or plugins[0][0] != path.name:
            names = [name for name, _ in plugins]
            findings.append(f"{folder}: S2S_PLUGIN of {names}, expected one with the folder's name")
            continue
        check_names(folder, sources, used, findings)
        check_errors(folder, sources, used, findings)
        check_tiny(folder, plugins[0][1], sources, findings)
        count += 1
    exceptions = {(name, key) for name in ("NAMESPACES", "PREFIXES", "THROWING")
                  for key in globals()[name]}
    findings += [f"{key}: its exception in {name} is no longer needed"
                 for name, key in sorted(exceptions - used)]
    print("\n".join(findings) or f"ok: {count} plugins")
    return bool(findings) or count < 20


sys.exit(main())
