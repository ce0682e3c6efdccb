"""usage: tree_size_test.py SOURCE_DIR

The tracked files stay below 30 MB, because a machine with a GPU is given the tree in a bundle of
limited size, and tests/reference below 20 MB, because it is what grows. The message names the
largest files. tests/reference/README.md says how reference files stay small.
"""

import pathlib
import subprocess
import sys

MB = 1000 * 1000
LIMITS = {"": 30 * MB, "tests/reference/": 20 * MB}


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, text=True)
    if listed.returncode != 0:
        print("skipped: not a git checkout")
        return 0
    files = [root / name for name in listed.stdout.split("\0") if name]
    sizes = {str(f.relative_to(root)): f.lstat().st_size for f in files if f.is_file()}
    findings = []
    for folder, limit in LIMITS.items():
        inside = {name: size for name, size in sizes.items() if name.startswith(folder)}
        total = sum(inside.values())
        if total > limit:
            largest = sorted(inside, key=inside.get, reverse=True)[:5]
            names = ", ".join(f"{name} ({inside[name] / MB:.2f} MB)" for name in largest)
            findings.append(f"{folder or 'the tree'} has {total / MB:.1f} MB, at most "
                            f"{limit / MB:.0f} MB are allowed; the largest files: {names}")
    print("\n".join(findings) or f"ok: {len(sizes)} files, {sum(sizes.values()) / MB:.1f} MB")
    return bool(findings)


sys.exit(main())
