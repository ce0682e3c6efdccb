"""A whole run of NVIDIA NeMo's duplex recipe, small, and what NeMo 3.0.0 computes of it on a CPU.

    python tests/reference/nemo_recipe.py --out tests/reference/data/nemo_recipe

The folder has what the recipe's user has, made by the classes of the real files, with random
weights: a folder of transformers (`llm`), three archives of NeMo (`perception.nemo`, `codec.nemo`,
`scorer.nemo`), Shar data with `input_cfg.yaml`, and `s2s_duplex.yaml`, NeMo's configuration. Its
`init_from_checkpoint` names heads.ckpt: the parameters that NeMo itself would draw.

expected.json is what DuplexS2SModel, its data module and Lightning's trainer give for
s2s_duplex.yaml, which has no random draws: the losses of two steps, and a validation after them
with the texts of the agent, what the scorer reads in its voice, and the BLEU of both.
"""

import argparse
import json
import os
import shutil
import tempfile
from pathlib import Path

import nemo_model  # noqa: F401, sets NeMo quiet and offline

import lightning.pytorch as pl
import sentencepiece
import soundfile
import torch
import yaml
from lhotse import CutSet, MonoCut, Recording, SupervisionSegment
from lhotse.shar import SharWriter
from omegaconf import OmegaConf
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import nemo_audio_codec as nac
import recognizers
import reference_file as rf
from nemo_duplex_cases import STREAMING, encoder, preprocessor

DATA = Path(__file__).parent.resolve() / "data"
WORDS = "yes we can see the river from here and it is cold today".split()
STEPS = 2
# Seconds of each conversation, and the turns of user and agent.
CUTS = [(1.6, [("user", 0.1, 0.6), ("agent", 0.8, 0.7)]),
        (1.12, [("user", 0.0, 0.4), ("agent", 0.48, 0.6)]),
        (1.52, [("user", 0.2, 0.5), ("agent", 0.8, 0.64)]),
        (1.2, [("user", 0.08, 0.4), ("agent", 0.6, 0.5)])]
RATE, CODEC_RATE = 16000, 22050


def make_llm(folder: Path) -> None:
    torch.manual_seed(1)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(DATA / "hf_tokenizer_tinyllama.json"), bos_token="<s>",
        eos_token="</s>", unk_token="<unk>")
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
        tie_word_embeddings=False, bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id)
    model = LlamaForCausalLM(config)
    rf.randomize(model, 81)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def make_recognizer(path: Path, seed: int, with_joint: bool, blank: float, **changes) -> None:
    from nemo.collections.asr import models
    from omegaconf import DictConfig

    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        (Path(folder) / "texts").write_text("\n".join(recognizers.TEXTS) + "\n")
        sentencepiece.SentencePieceTrainer.train(
            input=f"{folder}/texts", model_prefix=f"{folder}/tokenizer", vocab_size=24,
            model_type="bpe", normalization_rule_name="identity", bos_id=-1, eos_id=-1,
            minloglevel=2)
        (Path(folder) / "vocab.txt").write_text("")
        heads = {"decoder": {**recognizers.ctc_decoder([]), "num_classes": -1}}
        if with_joint:
            heads = recognizers.transducer()
            heads["joint"] |= {"num_classes": -1, "vocabulary": []}
            del heads["labels"], heads["decoder"]["vocab_size"]
        options = {"sample_rate": RATE, "preprocessor": preprocessor(),
                   "encoder": encoder(**changes), "tokenizer": {"dir": folder, "type": "bpe"},
                   **heads}
        torch.manual_seed(seed)
        kind = models.EncDecRNNTBPEModel if with_joint else models.EncDecCTCModelBPE
        model = kind(cfg=DictConfig(options)).eval()
        rf.randomize(model, seed, head_gain=1.0)
        if with_joint:
            head = model.joint.joint_net[-1]
            rf.draw(head.weight, 7 * seed, 0.0, 0.9)
            head.bias.data[-1] += blank
            head.bias.data[0] = -20.0  # the unknown piece, which s2s counts as a word
            pieces = model.tokenizer.tokenizer
            for piece in range(pieces.get_piece_size()):
                head.bias.data[piece] += 2.0 * pieces.id_to_piece(piece).startswith("\u2581")
            rf.draw(model.joint.pred.weight, 9 * seed, 0.0, 1.5)
            rf.draw(model.decoder.prediction["embed"].weight, 11 * seed, 0.0, 1.5)
            model.decoder.prediction["embed"].weight.data[-1].zero_()
        model.save_to(str(path))


def make_codec(path: Path) -> None:
    options = nac.config(
        nac.encoder("CausalHiFiGANEncoder", [6, 6, 7, 7], 8, activation="half_snake",
                    base_channels=2, resblock_kernel_sizes=[3], resblock_dilation_sizes=[1]),
        nac.decoder("CausalHiFiGANDecoder", [7, 7, 6, 6], 8, 32, activation="half_snake",
                    resblock_kernel_sizes=[3], resblock_dilation_sizes=[1]),
        {"num_groups": 2, "num_levels_per_group": [4, 4, 4, 4]}, 1764)
    options["sample_rate"] = CODEC_RATE
    torch.manual_seed(2)
    model = nac.build(options)
    nac.draw_weights(model, 82)
    model.save_to(str(path))


def make_cuts(folder: Path, count: int, texts: dict | None) -> None:
    """`texts`: what the agent says in place of these words."""
    wavs = Path("wavs")
    wavs.mkdir(exist_ok=True)
    cuts = []
    for index, (seconds, turns) in enumerate(CUTS[:count]):
        heard = {}
        for field, rate, seed in (("user", CODEC_RATE, 90), ("agent", CODEC_RATE, 95)):
            samples = round(seconds * rate)
            audio = rf.synthetic_audio(1, [samples], seed + index, rate)
            audio = (audio * 128).round() / 128  # FLAC makes a small file of it
            path = wavs / f"{field}{index}.wav"
            soundfile.write(path, audio[0].numpy(), rate)
            heard[field] = Recording.from_file(path, recording_id=f"{field}{index}")
        name = f"talk{index}"
        supervisions = []
        for turn, (role, start, duration) in enumerate(turns):
            words = " ".join(WORDS[(7 * index + 5 * turn + i) % len(WORDS)] for i in range(2))
            if role == "agent" and texts is not None:
                words = texts[words]
            supervisions.append(SupervisionSegment(
                id=f"{name}-{turn}", recording_id=f"user{index}", start=start, duration=duration,
                text=words, speaker=role))
        cut = MonoCut(id=name, start=0, duration=seconds, channel=0, recording=heard["user"],
                      supervisions=supervisions)
        cut.target_audio = heard["agent"]
        cuts.append(cut)
    folder.mkdir(exist_ok=True)
    with SharWriter(folder, {"recording": "flac", "target_audio": "flac"},
                    shard_size=2) as writer:
        for cut in cuts:
            writer.write(cut)
    shutil.rmtree(wavs)


def write_config() -> None:
    Path("input_cfg.yaml").write_text(yaml.safe_dump(
        [{"type": "lhotse_shar", "shar_path": "train", "weight": 1.0}]))
    config = {
        "model": {
            "pretrained_llm": "llm", "pretrained_audio_codec": "codec.nemo",
            "pretrained_asr": "perception.nemo", "scoring_asr": "scorer.nemo",
            "pretrained_weights": True,
            "freeze_params": ["^audio_codec\\..+$"], "prevent_freeze_params": [],
            "audio_loss_weight": 4, "text_loss_weight": 3,
            "perception": {
                "target": "nemo.collections.speechlm2.modules.perception.AudioPerceptionModule",
                "modality_adapter": encoder(feat_in=16, subsampling_factor=1, **STREAMING),
            },
            "optimizer": {"_target_": "torch.optim.AdamW", "lr": 3e-4, "betas": [0.9, 0.98],
                          "weight_decay": 0, "eps": 1e-4, "foreach": True},
            "lr_scheduler": {
                "_target_": "nemo.core.optim.lr_scheduler.CosineAnnealing", "warmup_steps": 0,
                "min_lr": 1e-6, "max_steps": "${trainer.max_steps}"},
        },
        "trainer": {
            "devices": 1, "accelerator": "cpu", "num_nodes": 1, "precision": "32-true",
            "logger": False, "enable_checkpointing": False, "use_distributed_sampler": False,
            "max_steps": STEPS, "limit_train_batches": STEPS,
            "val_check_interval": "${trainer.limit_train_batches}", "limit_val_batches": 10,
            "log_every_n_steps": 1, "num_sanity_val_steps": 0, "gradient_clip_val": 1.0,
            "accumulate_grad_batches": 1,
            "strategy": {"_target_": "lightning.pytorch.strategies.DDPStrategy",
                         "gradient_as_bucket_view": True, "find_unused_parameters": True},
        },
        "data": {
            "frame_length": 0.08, "source_sample_rate": RATE, "target_sample_rate": CODEC_RATE,
            "input_roles": ["user", "User"], "output_roles": ["agent", "Assistant"],
            "train_ds": {
                "sample_rate": "${data.target_sample_rate}", "input_cfg": "input_cfg.yaml",
                "seed": 42, "shard_seed": 42, "num_workers": 1, "batch_size": None,
                "batch_duration": 3.0, "use_bucketing": True, "num_buckets": 2,
                "bucket_duration_bins": [1.3, 2.0], "bucket_buffer_size": 50},
            "validation_ds": {
                "datasets": {"val_set_0": {"shar_path": "validation"}},
                "sample_rate": "${data.target_sample_rate}", "batch_size": 2, "seed": 42,
                "shard_seed": 42},
        },
        "exp_manager": {
            "exp_dir": None, "explicit_log_dir": "s2s_results/", "name": "speechlm2",
            "create_tensorboard_logger": False, "create_checkpoint_callback": True,
            "use_datetime_version": True, "max_time_per_run": "00:03:50:00",
            "resume_from_checkpoint": None, "resume_if_exists": True,
            "resume_ignore_no_checkpoint": True, "create_wandb_logger": False,
            "checkpoint_callback_params": {
                "filename": "{step}", "monitor": "val_asr_bleu", "mode": "max",
                "every_n_train_steps": None, "every_n_epochs": 1, "save_top_k": 1,
                "always_save_nemo": False, "save_nemo_on_train_end": False},
        },
    }
    Path("s2s_duplex.yaml").write_text(yaml.safe_dump(config, sort_keys=False))


class Watch(pl.Callback):
    def __init__(self):
        self.steps, self.values, self.texts = [], {}, {}

    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        self.steps.append({k: float(outputs[k]) for k in
                           ("loss", "text_loss", "audio_loss", "learning_rate", "batch_size",
                            "sequence_length")})

    def on_validation_end(self, trainer, module):
        self.values = {k: float(v) for k, v in trainer.callback_metrics.items()
                       if k.startswith("val_")}


def run_nemo() -> dict:
    """As examples/speechlm2/s2s_duplex_train.py does."""
    from nemo.collections.speechlm2 import DataModule, DuplexS2SDataset, DuplexS2SModel

    config = OmegaConf.load("s2s_duplex.yaml")
    OmegaConf.resolve(config)
    trainer_options = OmegaConf.to_container(config.trainer)
    trainer_options["strategy"] = "auto"  # of one process, the same
    watch = Watch()
    trainer = pl.Trainer(**trainer_options, callbacks=[watch], enable_progress_bar=False,
                         enable_model_summary=False)
    with trainer.init_module():
        model = DuplexS2SModel(OmegaConf.to_container(config.model, resolve=True))
    heads = {k: v for k, v in model.state_dict().items()
             if k.startswith(("audio_head", "embed_audio_tokens", "perception.modality_adapter",
                              "perception.proj"))}
    for seed, (name, tensor) in enumerate(sorted(heads.items())):
        if tensor.is_floating_point() and tensor.dim() > 0 and "running" not in name:
            one = "norm" in name and name.endswith("weight")
            rf.draw(tensor, 9000 + seed, 1.0 if one else 0.0, 0.1 if one else 0.4)
    # No control code wins: for these NeMo decodes the codes of the first frame, and s2s silence.
    heads["audio_head.bias"].view(-1, model.speech_vocab_size)[:, -3:] = -20.0
    torch.save({"state_dict": heads}, "heads.ckpt")

    infer = model.offline_inference
    margins = []
    hook = model.register_forward_hook(lambda m, a, r: margins.extend(
        rf.greedy_margin(r[k]) for k in ("text_logits", "audio_logits"))
        if not m.training else None)

    def watched(*args, **kwargs):
        result = infer(*args, **kwargs)
        watch.texts.setdefault("agent", []).extend(result["text"])
        return result

    model.offline_inference = watched
    from nemo.collections.speechlm2.parts.metrics import asr_bleu

    update = asr_bleu.ASRBLEU.update

    def read(self, *args, **kwargs):
        texts = update(self, *args, **kwargs)
        watch.texts.setdefault("asr", []).extend(texts)
        watch.texts.setdefault("reference", []).extend(kwargs["refs"])
        return texts

    asr_bleu.ASRBLEU.update = read
    data = DataModule(config.data, tokenizer=model.tokenizer, dataset=DuplexS2SDataset(
        tokenizer=model.tokenizer, frame_length=config.data.frame_length,
        source_sample_rate=config.data.source_sample_rate,
        target_sample_rate=config.data.target_sample_rate,
        input_roles=config.data.input_roles, output_roles=config.data.output_roles))
    try:
        trainer.fit(model, data)
    finally:
        asr_bleu.ASRBLEU.update = update
        hook.remove()
    return {"steps": watch.steps, "validation": watch.values, "texts": watch.texts,
            "margin": min(margins)}


def close_to(text: str) -> str:
    """A reference that is partly what was read: BLEU is neither 0 nor 100."""
    words = text.split()
    return " ".join(words[:-2] + ["in", "the", "end"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    os.chdir(out)
    make_llm(Path("llm"))
    make_recognizer(Path("perception.nemo"), 83, False, 0.0)
    make_recognizer(Path("scorer.nemo"), 84, True, 2.0)
    make_codec(Path("codec.nemo"))
    make_cuts(Path("train"), 4, None)
    make_cuts(Path("validation"), 2, None)
    write_config()
    first = run_nemo()["texts"]
    make_cuts(Path("validation"), 2, {
        said: close_to(read) for said, read in zip(first["reference"], first["asr"])})
    expected = run_nemo()
    margin = expected.pop("margin")
    rf.write_json(Path("expected.json"), expected)
    print(json.dumps(expected, indent=1), "margin", margin)
    for path in sorted(p for p in out.rglob("*") if p.is_file()):
        print(path.stat().st_size, path.relative_to(out))


if __name__ == "__main__":
    main()
