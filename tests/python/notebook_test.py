"""usage: notebook_test.py S2S_RUN

Runs apps/demo/tiny.ipynb, which trains configs/tiny.yaml and listens to the result. Exit code 77,
and why, where nbclient, ipykernel or pandas cannot be imported.
"""

import os
import sys

import kit

try:
    import ipykernel  # noqa: F401  the kernel that the notebook runs in
    import nbclient
    import nbformat
    import pandas  # noqa: F401  of the notebook
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

NOTEBOOK = kit.SOURCE / "apps" / "demo" / "tiny.ipynb"


def outputs_of(notebook):
    """All MIME types and texts of the cells' outputs."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            yield from output.get("data", {}).items()
            if "text" in output:
                yield "text/plain", output["text"]


def test_the_notebook_trains_and_plays():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert not list(outputs_of(notebook)), "the notebook in the repository has outputs: clear them"
    (kit.SCRATCH / "configs").symlink_to(kit.SOURCE / "configs")
    os.environ.update(S2S_RUN=kit.PROGRAM, PYTHONPATH=str(kit.SOURCE / "apps" / "package"))
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3",
                            resources={"metadata": {"path": str(kit.SCRATCH)}}).execute()
    outputs = list(outputs_of(notebook))
    texts = "\n".join(text for kind, text in outputs if kind == "text/plain")
    assert "step  1" in texts and "step 10" in texts, texts
    players = sum(text.count("<audio controls") for kind, text in outputs if kind == "text/html")
    assert players >= 3, players  # user and answer of an example, and an answer
    assert any("<table" in text and "loss" in text for kind, text in outputs if kind == "text/html")


if __name__ == "__main__":
    sys.exit(kit.run_tests(dict(globals())))
