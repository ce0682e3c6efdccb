"""usage: safety_test.py SOURCE_DIR

Calls that have one safe function each (decision record 0017), and may stand behind it only. A file
that reads what no stranger writes is excused below, with its reason.
"""

import pathlib
import re
import sys

# What is refused, the function, and where it may stand.
RULES = [
    (r"([jJ]son|State)::parse\(", "parse_foreign_json (base/foreign_json.h)",
     {"core/foundation/base/foreign_json.h": "the function",
      "plugins/tokenizers/hf/special_tokens.cc": "a plugin; asks for depth and values before it",
      "core/training/eval/report/listening_report.cc": "text made in the same line",
      "core/training/eval/report/report_json.cc": "text made in the same line",
      "core/training/eval/metrics/data_set_board.cc": "text made in the same line",
      "apps/s2s_run/data/data_estimate_bins.cc": "text made in the same line",
      "core/data/shar/write_shar.cc": "text made by the caller"}),
    (r"std::thread\(|std::thread\s+\w+[({]|<std::thread>|\}\)\.detach\(\)",
     "start_thread, ThreadTeam or run_threads (s2s/threads.h)",
     {"core/include/s2s/threads.h": "the function",
      "core/foundation/base/threads.cc": "the function"}),
    (r"std::ifstream\b", "read_small_file (s2s/foreign_text.h) or files/line_file.h",
     {"core/training/provenance/manifest.cc": "/proc/self/cmdline",
      "apps/s2s_run/launch/launch_files.cc": "/proc/self/cmdline"}),
    (r"std::w?c?regex\b|<regex>", "Regex (base/regex.h)", {}),
    (r"\bpopen\(|\bstd::system\(|[^.\w>]system\(", "posix_spawn of an absolute path", {}),
    (r"\bumask\(", "the mask read from /proc/self/status (base/atomic_file.cc)", {}),
    (r"\bsetlocale\(|std::locale::global", "the C locale: numbers are read and written in it", {}),
    (r"\bstrcpy\(|\bstrcat\(|\bsprintf\(|\bgets\(|\bstrtok\(", "std::string, fmt::format", {}),
]
COMMENT = re.compile(r"//.*")


def findings_of(root, path):
    name = str(path.relative_to(root))
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        code = COMMENT.sub("", line)
        for pattern, function, excused in RULES:
            if name not in excused and re.search(pattern, code):
                yield f"{name}:{number}: use {function}: {line.strip()[:70]}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    folders = ("core/include", "core/foundation", "core/data", "core/model", "core/interop",
               "core/training", "plugins", "apps")
    paths = [path for folder in folders
             for path in sorted((root / folder).rglob("*")) if path.suffix in (".cc", ".h")]
    findings = [finding for path in paths for finding in findings_of(root, path)]
    for _, _, excused in RULES:
        findings += [f"{name}: is excused and not there" for name in excused
                     if not (root / name).exists()]
    print("\n".join(findings) or f"ok: {len(paths)} files keep the rules")
    if len(paths) < 300:
        print("hardly any files found: the check itself is broken")
        return 1
    return 1 if findings else 0


sys.exit(main())
