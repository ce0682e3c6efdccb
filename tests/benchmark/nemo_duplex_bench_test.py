"""nemo_duplex_bench.py without NeMo: its options and arguments, and a run on a stand-in for the
model, if PYTHON can import torch.

    nemo_duplex_bench_test.py SOURCE_DIR PYTHON
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# In the place of tests/reference/nemo_model.py: as wide as the options say.
STAND_IN = """
import torch


class Model(torch.nn.Module):
    def __init__(self, options):
        super().__init__()
        self.linear = torch.nn.Linear(4, options["llm_config"]["hidden_size"], bias=False)

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.ConstantLR(optimizer)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule}}

    def training_step(self, batch, step):
        return {"loss": self.linear(batch["source_audio"][:, :4]).float().square().mean()}

    def backward(self, loss):
        loss.backward()

    def offline_inference(self, audio, lengths, decode_audio):
        return {"tokens_text": torch.zeros(audio.shape[0], 25)}


def build_duplex(options):
    return Model(options)


def give_codes(model, codes, code_lens):
    assert codes.shape[1] == 4


def batch_of(inputs):
    return {name: inputs[name].clone() for name in ("source_audio", "source_audio_lens")}
"""


def expect(is_true: bool, what: str, detail: object = "") -> None:
    if not is_true:
        sys.exit(f"FAILED: {what}: {detail}")


def check_options(bench: Path, folder: Path) -> None:
    for size, hidden, layers in (("41m", 512, 4), ("1.1b", 2048, 17)):
        file = folder / f"{size}.json"
        subprocess.run([sys.executable, "-B", str(bench), "--size", size, "--write-options",
                        str(file)], check=True)
        options = json.loads(file.read_text())
        found = (options["llm_config"]["hidden_size"],
                 options["model"]["perception"]["encoder"]["n_layers"])
        expect(found == (hidden, layers), f"options of {size}", found)


def check_refusals(bench: Path, python: str) -> None:
    for words, wanted in ((["--size", "8b"], "invalid choice: '8b'"),
                          (["--device", "tpu"], "invalid choice: 'tpu'"),
                          (["--device", "cuda", "--processor-time"], "leave it out on a GPU")):
        done = subprocess.run([sys.executable, "-B", str(bench), *words], capture_output=True,
                              text=True)
        expect(done.returncode == 2 and wanted in done.stderr, str(words), done)
    done = subprocess.run([python, "-B", str(bench)], capture_output=True, text=True)
    expect(done.returncode == 0 or "[benchmark/nemo]" in done.stderr, "without NeMo", done)


def check_run(source: Path, folder: Path, python: str, has_gpu: bool) -> None:
    """The script looks for nemo_model.py beside itself: a tree with the stand-in."""
    (folder / "benchmark").mkdir()
    (folder / "reference").mkdir()
    for name in ("benchmark/nemo_duplex_bench.py", "reference/nemo_duplex_cases.py"):
        (folder / name).write_text((source / "tests" / name).read_text())
    (folder / "reference/nemo_model.py").write_text(STAND_IN)
    bench = [python, "-B", str(folder / "benchmark/nemo_duplex_bench.py"), "--steps", "2",
             "--seconds", "1", "--batch-size", "2"]
    for size, parameters in (("41m", 4 * 512), ("1.1b", 4 * 2048)):
        done = subprocess.run([*bench, "--size", size], capture_output=True, text=True)
        expect(done.returncode == 0, f"a run of {size}", done)
        figures = json.loads(done.stdout.splitlines()[-1])
        expect(figures["num_parameters"] == parameters, f"it is the model of {size}", figures)
        expect((figures["size"], figures["device"]) == (size, "cpu"), "what ran", figures)
        expect(len(figures["step_s"]["all"]) == 2 and figures["step_s"]["min"] > 0, "steps",
               figures)
        expect(figures["losses"][1] < figures["losses"][0], "it trains", figures)
    if not has_gpu:
        done = subprocess.run([*bench, "--device", "cuda"], capture_output=True, text=True)
        expect(done.returncode == 1 and "[benchmark/device]" in done.stderr, "no GPU", done)


def main() -> None:
    source, python = Path(sys.argv[1]), sys.argv[2]
    bench = source / "tests/benchmark/nemo_duplex_bench.py"
    script = "import torch; print(torch.cuda.is_available())"
    asked = None
    if os.access(python, os.X_OK):
        asked = subprocess.run([python, "-c", script], capture_output=True, text=True)
    with tempfile.TemporaryDirectory() as scratch:
        check_options(bench, Path(scratch))
        check_refusals(bench, sys.executable)
        if asked and asked.returncode == 0:
            check_run(source, Path(scratch), python, asked.stdout.split()[-1] == "True")
            print("ok: options, arguments, and a run on a stand-in for the model")
        else:
            print(f"ok: options and arguments; no run: {python} has no torch")


main()
