"""Checkpoints of NeMo's speechlm2 classes into ours and back, with NeMo's own classes.

    python tests/reference/nemo_interchange_check.py build/bin/s2s-run [--case NAME] [--keep DIR]

For each case (a reference file's model and batch): NeMo's class writes its checkpoint in every form
that it has: the folder for the hub, Lightning's .ckpt, and a distributed folder of two ranks
(ModelParallelStrategy, sharded; DuplexEARTTS of NeMo 3.0.0 fails under that strategy). `checkpoint
import` reads each, and all these checkpoints of ours are equal bit for bit. `checkpoint export
--nemo` writes one, and NeMo's class finds every tensor in it (from_pretrained): its weights are
those of the first model bit for bit, and its loss on the batch is the same. No class of speechlm2
writes .nemo; an archive of another class is refused.
Exit code 77 where NeMo is missing.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import lightning.pytorch as pl
    import torch
    import yaml
    from lightning.pytorch.strategies import ModelParallelStrategy
    from nemo.collections import speechlm2  # noqa: F401
    from safetensors.torch import load_file, load_model
except ImportError as missing:
    print(f"skipped: {missing}; pip install -r tests/reference/requirements-nemo.txt")
    sys.exit(77)

import nemo_classes as nc

DATA = Path(__file__).parent / "data"
CASES = ("salm_llama_lora", "salm_qwen3_several_audios", "duplex_stt_user_text",
         "duplex_full_identity_tied", "duplex_speech_decoder_guided", "eartts_duplex")
#: The codec of NeMo's class is none of ours: its folder keeps what pretrained_audio_codec gives.
CODEC = "audio_codec.unused"


def s2s(*words, fails=False) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if (done.returncode != 0) != fails:
        command = " ".join(map(str, words))
        sys.exit(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def fit(model, folder: Path, strategy, devices: int) -> None:
    """One step with a learning rate of 0, after which Lightning saves."""

    def step(module, batch, index):
        squares = [(p * p).sum() for p in module.parameters() if p.requires_grad]
        return sum(s.full_tensor() if hasattr(s, "full_tensor") else s for s in squares)

    kind = type("OneStep", (type(model),), {
        "training_step": step, "train_dataloader": lambda module: [0], "val_dataloader": None,
        "configure_optimizers": lambda module: torch.optim.SGD(module.parameters(), lr=0.0),
    })
    model.__class__ = kind
    saver = pl.callbacks.ModelCheckpoint(dirpath=folder, filename="step", every_n_train_steps=1)
    trainer = pl.Trainer(
        max_steps=1, accelerator="cpu", devices=devices, strategy=strategy, logger=False,
        callbacks=[saver], enable_progress_bar=False, enable_model_summary=False,
        limit_val_batches=0, num_sanity_val_steps=0, use_distributed_sampler=False,
    )
    trainer.fit(model)


def write_with_ranks(case: str, work: Path) -> None:
    """The body of a rank that torchrun starts: NeMo's class, sharded, writes its folder."""
    reference = nc.Reference(DATA / f"nemo_{case}.safetensors")
    ranks = int(os.environ["WORLD_SIZE"])
    strategy = ModelParallelStrategy(data_parallel_size=ranks, tensor_parallel_size=1)
    fit(nc.build(reference, work / "llm"), work / "distributed", strategy, ranks)


def write_forms(case: str, reference, work: Path):
    """Writes NeMo's checkpoints. Returns the model that wrote them, and their paths."""
    nc.write_language_model(work / "llm", reference.options)
    model = nc.build(reference, work / "llm")
    whole = nc.class_config(reference, work / "llm")
    # DuplexEARTTS keeps the block `model` only, from which its from_pretrained cannot build it.
    config = whole if reference.name == "duplex_eartts" else None
    model.save_pretrained(work / "hub", config=config)
    forms = {"the folder for the hub": work / "hub"}
    fit(nc.build(reference, work / "llm"), work / "lightning", "auto", 1)
    forms["Lightning's file"] = work / "lightning/step.ckpt"
    if reference.name == "duplex_eartts":  # 3.0.0: its configure_model fails with a device mesh
        return model, forms
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    s2s(*words, __file__, "rank", "--case", case, "--keep", work)
    forms["the distributed folder"] = work / "distributed/step.ckpt"
    return model, forms


def check_equal(found: dict, wanted: dict, what: str) -> None:
    assert found.keys() == wanted.keys(), f"{what}: {sorted(found.keys() ^ wanted.keys())}"
    for name, tensor in wanted.items():
        assert torch.equal(found[name], tensor), f"{what}: '{name}' differs"


def import_forms(run, reference, forms, work: Path) -> Path:
    config = work / "ours.yaml"
    config.write_text(yaml.safe_dump(nc.run_config(reference, work / "llm")))
    first = None
    for number, (form, path) in enumerate(forms.items()):
        checkpoint = work / f"ours{number}"
        s2s(run, "checkpoint", "import", path, checkpoint, "--config", config)
        tensors = load_file(checkpoint / "model.safetensors")
        first = first or (checkpoint, tensors)
        check_equal(tensors, first[1], form)
    return first[0]


def export_back(run, reference, model, checkpoint: Path, work: Path) -> None:
    folder = work / "back"
    s2s(run, "checkpoint", "export", "--nemo", checkpoint, folder)
    for file in (work / "llm").glob("tokenizer*"):  # the checkpoint has no tokenizer
        shutil.copy(file, folder)
    again = nc.class_of(reference.name).from_pretrained(str(folder))
    missing, unexpected = load_model(again, folder / "model.safetensors", strict=False)
    assert set(missing) <= {CODEC} and not unexpected, (missing, unexpected)
    unused = ("embed_audio_tokens.", "audio_head.") if "decoder" in reference.name else ("-",)
    kept = lambda m: {k: v for k, v in nc.saved_weights(m).items() if not k.startswith(unused)}
    check_equal(kept(again), kept(model), "the exported folder")
    before, after = nc.loss_of(reference, model), nc.loss_of(reference, again)
    assert before == after, (before, after)
    print(f"  loss of NeMo's class before and after: {before:.6f}, {after:.6f}")


def check(run, case: str, work: Path) -> None:
    reference = nc.Reference(DATA / f"nemo_{case}.safetensors")
    model, forms = write_forms(case, reference, work)
    checkpoint = import_forms(run, reference, forms, work)
    print(f"{case}: imported from {', '.join(forms)}")
    export_back(run, reference, model, checkpoint, work)


def check_refusals(run, folder: Path) -> None:
    """A checkpoint of another class than the configuration's is refused with both classes."""
    stt = folder / "duplex_stt_user_text"
    words = ("checkpoint", "import", folder / "salm_llama_lora/hub", folder / "none")
    said = s2s(run, *words, "--config", stt / "ours.yaml", fails=True)
    assert "[checkpoint/class]" in said and "NeMo's SALM" in said, said
    assert "NeMo's DuplexSTTModel" in said and not (folder / "none").exists(), said
    words = ("checkpoint", "import", DATA / "archive.nemo", folder / "none")
    said = s2s(run, *words, "--config", stt / "ours.yaml", fails=True)
    assert "[checkpoint/class]" in said and "EncDecCTCModel" in said, said
    other = folder / "other_class.yaml"
    other.write_text("model: {_target_: nemo.collections.asr.models.EncDecCTCModel}\n")
    said = s2s(run, "config", "check", other, fails=True)
    assert "[config/nemo-class]" in said and "EncDecCTCModel" in said, said
    said = s2s(run, "checkpoint", "export", folder / "eartts_duplex/ours0", folder / "none",
               fails=True)
    assert "[model/capability]" in said and "duplex_eartts" in said, said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="the s2s-run to ask; internal: rank")
    parser.add_argument("--case", action="append", choices=CASES)
    parser.add_argument("--keep", type=Path, help="leave the files there")
    args = parser.parse_args()
    if args.run == "rank":
        return write_with_ranks(args.case[0], args.keep)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as name:
        folder = args.keep or Path(name)
        for case in args.case or CASES:
            check(args.run, case, folder.resolve() / case)
        if not args.case:
            check_refusals(args.run, folder.resolve())


if __name__ == "__main__":
    main()
