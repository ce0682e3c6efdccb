"""Runs NeMo's class and ours on the same weights and batch, and prints the differences.

    python tests/reference/nemo_compare.py build/bin/s2s-run NEMO [--batch FILE] [--out FILE]

NEMO is a YAML of speechlm2 whose pretrained_llm (DuplexEARTTS: tokenizer_path) is a local folder,
or a folder that NeMo's class wrote for the hub. The class is told by its keys, as s2s-run does.
With pretrained_weights: false, weights are random; else pretrained_asr names a local .nemo, from
which NeMo's class also takes what its YAML does not say of the perception.

--batch: a safetensors file with the tensors of NeMo's batch by their names (those under input/ of a
reference file); default: a small random batch. DuplexS2S models: the audio codec is replaced by one
that returns `codes`, since ours is another one. --out keeps the reference file that is made.

Dropout, dither, SpecAugment and stochastic layers are set to 0 on both sides, which would draw
other numbers. The table has one training step: losses, and each gradient.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    from nemo.collections import speechlm2  # noqa: F401
    from safetensors.torch import load_file
except ImportError as missing:
    print(f"skipped: {missing}; pip install -r tests/reference/requirements-nemo.txt")
    sys.exit(77)

import nemo_classes as nc
import nemo_eartts
import nemo_model
import reference_file as rf

RTOL, ATOL = 1e-4, 5e-5
STUB = {"num_codebooks": 4, "codebook_size": 16}
#: A key that only one class has, and our name of it (apps/s2s_run/config/nemo_model.cc).
MARKS = (("audio_locator_tag", "salm"), ("tts_config", "duplex_eartts"),
         ("speech_decoder", "duplex_s2s_speech_decoder"), ("pretrained_audio_codec", "duplex_s2s"),
         ("validation_save_path", "duplex_stt"), ("predict_user_text", "duplex_stt"),
         ("source_sample_rate", "duplex_stt"), ("perception", "duplex_s2s"))
ENCODER_DRAWS = ("dropout", "dropout_pre_encoder", "dropout_emb", "dropout_att")
SAME = ("dropout", "dropout_pre_encoder", "dropout_emb", "dropout_att", "dither", "lora_dropout",
        "attention_dropout", "p_dropout", "p_dropout_out", "stochastic_depth_drop_prob")


def fail(what: str):
    sys.exit(f"error: [compare/nemo] {what}")


def without_draws(node):
    """The configuration with everything off that draws random numbers."""
    if not isinstance(node, dict):
        return node
    kept = {k: without_draws(v) for k, v in node.items() if k != "spec_augment"}
    return {k: (0.0 if k in SAME else v) for k, v in kept.items()}


def read_config(path: Path) -> tuple[str, dict]:
    """Our name of the class, and its whole configuration with the block `model`."""
    from omegaconf import OmegaConf

    file = path / "config.json" if path.is_dir() else path
    if not file.exists():
        fail(f"no file {file}")
    # Its reader takes 1e-06 for a number, in YAML and in JSON.
    whole = OmegaConf.to_container(OmegaConf.load(file), resolve=True)
    whole = whole if "model" in whole else {"model": whole}
    name = next((n for key, n in MARKS if key in whole["model"]), None)
    if name is None:
        fail(f"{file} names no class of speechlm2: none of {', '.join(k for k, _ in MARKS)}")
    if path.is_dir():  # as NeMo's from_pretrained looks for its files
        block, backbone = whole["model"], path / "llm_backbone"
        if backbone.is_dir():
            block["pretrained_llm"] = str(backbone)
        if (path / "tokenizer_config.json").exists():
            block["tokenizer_path"] = str(path)
        block["pretrained_weights"] = False
    return name, without_draws(whole)


def stop_draws(model) -> None:
    """Switches off what a part that came with its own configuration draws."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        for name in ("attention_dropout", "dropout_rate", "dither"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
    perception = getattr(model, "perception", None)
    if perception is None:
        return
    perception.spec_augmentation = None
    encoder = getattr(perception, "encoder", None)
    if getattr(encoder, "layer_drop_probs", None):
        encoder.layer_drop_probs = [0.0] * len(encoder.layer_drop_probs)


def build(name: str, whole: dict, source: Path):
    """NeMo's class in train mode, and the `options` of a reference file for ours."""
    from omegaconf import OmegaConf

    block = whole["model"]
    options = {"model": block, "trainer": {"gradient_clip_val": 1.0, "max_steps": 10}}
    # One step is compared, before the optimizer's update: configuring it freezes parameters.
    block["optimizer"] = {"_target_": "torch.optim.AdamW", "lr": 1e-3}
    block.pop("lr_scheduler", None)
    if name.startswith("duplex_s2s"):
        options["codec"] = STUB
        nc.stub_codec(STUB)
        print("note: the audio codec is replaced by one that returns the codes of the batch")
    if name == "duplex_eartts":
        whole.setdefault("exp_manager", {})["explicit_log_dir"] = tempfile.gettempdir()
        options["data"] = whole["data"]
    else:
        llm = Path(block["pretrained_llm"])
        if not (llm / "config.json").exists():
            fail(f"pretrained_llm '{llm}' is no folder of this machine with a config.json")
        options["llm_config"] = without_draws(json.loads((llm / "config.json").read_text()))
    torch.manual_seed(1)
    model = nc.class_of(name)(json.loads(json.dumps(whole if name == "duplex_eartts" else block)))
    stop_draws(model)
    if name != "duplex_eartts":  # with what the class took from pretrained_asr
        options["model"] = without_draws(OmegaConf.to_container(model.cfg, resolve=True))
        encoder = options["model"]["perception"]["encoder"]
        encoder.update(dict.fromkeys(ENCODER_DRAWS, 0.0))  # a default is no zero
    if not block.get("pretrained_weights", True) and not source.is_dir():
        rf.randomize(model, 1)
    if source.is_dir():
        missing, unexpected = model.load_state_dict(
            load_file(source / "model.safetensors"), strict=False)
        print(f"note: {len(missing)} tensors are not in the folder, {len(unexpected)} are not used")
    options["tokens"] = special_ids(name, model)
    return model.float().train(), options


def special_ids(name: str, model) -> dict:
    ids = {"bos": model.text_bos_id, "eos": model.text_eos_id, "pad": model.text_pad_id}
    if name == "salm":
        ids["audio_locator_tag"] = model.audio_locator_tag_id
    if name == "duplex_eartts":
        tokenizer = model.tokenizer.tokenizer
        ids["pieces"] = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    return ids


def text_channel(ids: dict, rows: int, frames: int, vocab: int) -> torch.Tensor:
    """A turn of random words in each row."""
    channel = torch.full((rows, frames), ids["pad"])
    turn = torch.randint(0, vocab, (rows, max(1, frames // 2)))
    for special in (ids["bos"], ids["eos"], ids["pad"]):
        turn[turn == special] = (max(ids["bos"], ids["eos"], ids["pad"]) + 1) % vocab
    channel[:, 1 : 1 + turn.shape[1]] = turn
    channel[:, 1], channel[:, 1 + turn.shape[1]] = ids["bos"], ids["eos"]
    return channel


def random_batch(name: str, model, options: dict) -> dict:
    if name == "duplex_eartts":
        fail("DuplexEARTTS needs --batch: its data set makes the prompts (a reference file of "
             "nemo_eartts_duplex.py is one)")
    torch.manual_seed(2)
    ids, vocab = options["tokens"], options["llm_config"]["vocab_size"]
    rate = options["model"]["perception"]["preprocessor"].get("sample_rate", 16000)
    lengths = [int(1.2 * rate), int(0.96 * rate)]
    audio, lens = rf.synthetic_audio(2, lengths, 2, rate), torch.tensor(lengths)
    if name == "salm":
        words = text_channel(ids, 2, 10, vocab)
        words[:, 0] = ids["audio_locator_tag"]
        return {"audios": audio, "audio_lens": lens, "input_ids": words,
                "loss_mask": torch.arange(10).expand(2, 10) > 4}
    frames = int(1.2 / 0.08)
    channel = text_channel(ids, 2, frames, vocab)
    batch = {"source_audio": audio, "source_audio_lens": lens, "target_tokens": channel}
    if name == "duplex_stt":
        counts = torch.tensor([frames, int(0.96 / 0.08)])
        return {**batch, "target_token_lens": counts, "source_token_lens": counts.clone(),
                "source_tokens": text_channel(ids, 2, frames, vocab)}
    codes = torch.randint(STUB["codebook_size"], (2, STUB["num_codebooks"], frames))
    return {**batch, "codes": codes, "code_lens": torch.tensor([frames, int(0.96 / 0.08)])}


def read_batch(path: Path) -> dict:
    tensors = rf.read_tensors(path)
    inputs = {k[6:]: v for k, v in tensors.items() if k.startswith("input/")}
    return inputs or tensors


def step(name: str, model, inputs: dict, options: dict) -> dict:
    """Losses and gradients of NeMo's training_step."""
    reference = nc.Reference.of(name, options, inputs)
    model.configure_optimizers()
    if name == "duplex_eartts":
        model.audio_codec.eval()
        model._trainer, model.log_dict = None, lambda *a, **k: None
        with nemo_eartts.given_draws(inputs):
            result = nc.training_step(reference, model)
    else:
        result = nc.training_step(reference, model)
    result["loss"].backward()
    losses = {k: torch.as_tensor(v).detach().float() for k, v in result.items()
              if k == "loss" or k.endswith("_loss")}
    tensors = {f"output/{k}": v.clone() for k, v in losses.items() if v.numel() == 1}
    for key, parameter in rf.unique_parameters(model).items():
        if parameter.requires_grad and parameter.grad is not None:
            tensors[f"grad/{key}"] = parameter.grad.detach().clone()
    return tensors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="the s2s-run to ask")
    parser.add_argument("nemo", type=Path, help="YAML, or a folder of save_pretrained")
    parser.add_argument("--batch", type=Path)
    parser.add_argument("--out", type=Path, help="keep the reference file here")
    args = parser.parse_args()
    name, whole = read_config(args.nemo)
    model, options = build(name, whole, args.nemo)
    inputs = read_batch(args.batch) if args.batch else random_batch(name, model, options)
    weights = rf.weights_of(model)
    weights.pop("audio_codec.unused", None)
    tensors = step(name, model, inputs, options)
    for key in sorted(k for k in tensors if k.startswith("output/")):
        print(f"NeMo's {nc.CLASSES[name]}: {key[7:]} {tensors[key].item():.6f}")
    tensors.update({f"weights/{k}": v for k, v in weights.items()})
    tensors.update({f"input/{k}": v for k, v in inputs.items()})
    with tempfile.TemporaryDirectory() as folder:
        path = args.out or Path(folder) / "nemo.safetensors"
        rf.write_reference(path, "model", name, options, tensors, RTOL, ATOL)
        return subprocess.run([args.run, "compare", str(path)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
