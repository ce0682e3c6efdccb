"""Moshi and CSM: transformers' folder in, trained or not, and out again.

    python tests/reference/export_two_level_check.py build/bin/s2s-run [--case NAME ...]

For each model, with tiny random weights of transformers' class, as save_pretrained writes them:
two training steps with adapters; the exported adapter, loaded by PEFT on the first folder's model,
gives the losses of the exported merged model. Then `checkpoint import` and `checkpoint export`;
from_pretrained finds every tensor of the class and no others, all equal the first folder's bit for
bit, and the configs have the same values. Case kyutai: weights of Moshi and of Mimi under Kyutai's
names become one folder of transformers, whose codec gives the codes of Kyutai's class.
Exit code 77 where transformers or PEFT is missing.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    from peft import PeftModel
    from safetensors.torch import load_file
    from transformers import (
        CsmConfig,
        CsmForConditionalGeneration,
        MoshiConfig,
        MoshiForConditionalGeneration,
    )
    from transformers.utils import logging
except ImportError as missing:
    print(f"skipped: {missing}; pip install transformers peft torch")
    sys.exit(77)

import hf_csm
import hf_moshi
import hf_two_level as two

ROOT = Path(__file__).resolve().parents[2]
TEXT_IDS = 300  # the tokenizer of configs/tiny.yaml has 256
ADAPTED = "[q_proj,v_proj]"


def moshi_losses(model):
    """Means over the text and the codes of one batch."""
    generator = torch.Generator().manual_seed(5)
    draw = lambda top, *sizes: torch.randint(0, top, sizes, generator=generator)
    ids, own, user = draw(TEXT_IDS, 2, 6), draw(16, 2, 4, 6), draw(16, 2, 4, 6)
    out = model(
        input_ids=ids, moshi_audio_codes=own, user_audio_codes=user,
        text_labels=ids, audio_labels=own,
    )
    return torch.stack([out.loss, out.depth_loss])


def csm_losses(model):
    generator = torch.Generator().manual_seed(5)
    books = model.config.num_codebooks
    frames = torch.randint(1, model.config.vocab_size - 1, (2, 6, books), generator=generator)
    out = model(input_ids=frames, labels=frames)
    return torch.stack([out.backbone_loss, out.depth_decoder_loss])


MODELS = {
    "moshi": (
        MoshiForConditionalGeneration, MoshiConfig, hf_moshi.config(vocab_size=TEXT_IDS),
        moshi_losses,
    ),
    "csm": (
        CsmForConditionalGeneration, CsmConfig, hf_csm.config(text_vocab_size=TEXT_IDS), csm_losses,
    ),
    "csm_untied": (
        CsmForConditionalGeneration, CsmConfig,
        hf_csm.config(text_vocab_size=TEXT_IDS, tie_codebooks_embeddings=False), csm_losses,
    ),
}


def s2s(*words) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        command = " ".join(map(str, words))
        sys.exit(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def overrides(name: str, config: dict, data: Path, run: Path) -> list[str]:
    """configs/tiny.yaml with this model in place of its own."""
    codes = 16  # of the codec, at most those of the model
    assert config.get("audio_vocab_size", config["vocab_size"]) >= codes
    books = config["num_codebooks"]
    codec = f"{{name: mel_fsq, sample_rate: 16000, levels: [4, 4], num_groups: {books}}}"
    return [
        f"tiny.data={data}", f"tiny.run={run}", f"model.type={name.removesuffix('_untied')}",
        "~model.llm", "~model.encoder", f"model.codec={codec}", "trainer.max_steps=2",
        "model.optimizer.lr=0.05", "model.lr_scheduler.warmup_steps=0",
    ]


def load(model_class, folder: Path):
    model, facts = model_class.from_pretrained(
        folder, dtype=torch.float32, output_loading_info=True
    )
    problems = {key: names for key, names in facts.items() if names}
    assert not problems, problems
    return model.eval()


def check_round_trip(run, name, model_class, settings, source, model, work) -> None:
    s2s(run, "checkpoint", "import", source, work / "imported", "--config",
        ROOT / "configs/tiny.yaml", *settings)
    s2s(run, "checkpoint", "export", work / "imported", work / "exported")
    again = load(model_class, work / "exported")
    expected = model.state_dict()
    assert expected.keys() == again.state_dict().keys()
    for key, tensor in again.state_dict().items():
        assert torch.equal(tensor, expected[key]), key
    ours, theirs = again.config.to_dict(), model.config.to_dict()
    for written in (ours, theirs):
        for key in ("_name_or_path", "transformers_version", "architectures", "dtype"):
            written.pop(key, None)
            for block in written.values():
                if isinstance(block, dict):
                    block.pop(key, None)
    # Keys that our models do not have: the length of a row, which changes nothing.
    different = {key for key in theirs if ours.get(key) != theirs[key]}
    for key in different:
        assert key == "depth_decoder_config", (key, ours.get(key), theirs[key])
        unequal = {k for k in theirs[key] if ours[key].get(k) != theirs[key][k]}
        assert unequal <= {"max_position_embeddings", "sliding_window"}, unequal
    print(f"{name}: {len(expected)} tensors back, bit for bit")


def check_adapters(run, name, model_class, settings, losses, source, work) -> None:
    words = [*settings, f"model.path={source}",
             f"model.lora={{r: 4, lora_alpha: 8, target_modules: {ADAPTED}}}"]
    s2s(run, "train", ROOT / "configs/tiny.yaml", *words)
    checkpoint = work / "run/checkpoints/last"
    s2s(run, "checkpoint", "export", checkpoint, work / "merged")
    s2s(run, "checkpoint", "export", "--adapter", checkpoint, work / "adapter")
    plain = load(model_class, source)
    with torch.no_grad():
        before, merged = losses(plain), losses(load(model_class, work / "merged"))
        adapted = losses(PeftModel.from_pretrained(plain, work / "adapter").eval())
    assert (before - merged).abs().max() > 1e-3, "the adapter does nothing"
    # Losses of Moshi are about 400, where neighbors in float32 are 3e-5 apart.
    difference = ((adapted - merged).abs() / merged.abs().clamp(min=1)).max().item()
    print(f"{name}: PEFT's losses beside the merged model's: relative difference {difference:.2e}")
    assert difference < 2e-6


def check(run: str, name: str, data: Path, work: Path) -> None:
    model_class, config_class, config, losses = MODELS[name]
    torch.manual_seed(7)
    model = model_class._from_config(two.load_config(config_class, config)).eval()
    with torch.no_grad():  # so that adapters and losses differ from nothing
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape) / max(parameter.shape[-1], 1) ** 0.5)
    source = work / "hf"
    model.save_pretrained(source)
    settings = overrides(name, config, data, work / "run")
    check_adapters(run, name, model_class, settings, losses, source, work)
    check_round_trip(run, name, model_class, settings, source, model, work)


def check_kyutai(run: str, data: Path, work: Path) -> None:
    data_folder = ROOT / "tests/reference/data"
    mimi = data_folder / "kyutai_mimi"
    sizes = {
        "sampling_rate": 300, "upsampling_ratios": [4, 3], "hidden_size": 16, "num_filters": 4,
        "upsample_groups": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 4, "intermediate_size": 24, "sliding_window": 7,
        "codebook_size": 16, "codebook_dim": 8, "vector_quantization_hidden_dimension": 8,
        "num_quantizers": 5, "num_codebooks": 4, "name": "mimi",
        "path": str(mimi / "model.safetensors"),
    }
    settings = [
        f"tiny.data={data}", f"tiny.run={work / 'run'}", "model.type=moshi", "~model.llm",
        "~model.encoder", "~model.tokenizer", "~model.codec.sample_rate",
        f"model.codec={json.dumps(sizes)}", "data.source_sample_rate=300",
        "data.target_sample_rate=300",
    ]
    s2s(run, "checkpoint", "import", data_folder / "kyutai_moshi", work / "imported", "--config",
        ROOT / "configs/tiny.yaml", *settings)
    s2s(run, "checkpoint", "export", work / "imported", work / "exported")
    codec = load(MoshiForConditionalGeneration, work / "exported").audio_encoder
    expected = load_file(mimi / "expected.safetensors")
    with torch.no_grad():
        codes = codec.encode(expected["input/audio"].unsqueeze(1)).audio_codes
        audio = codec.decode(expected["output/codes"]).audio_values[:, 0]
    assert torch.equal(codes, expected["output/codes"])
    torch.testing.assert_close(audio, expected["output/audio"], rtol=1e-4, atol=2e-5)
    print("kyutai: Moshi and Mimi as one folder of transformers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="the s2s-run to ask")
    parser.add_argument("--case", action="append", choices=[*MODELS, "kyutai"],
                        help="default: all")
    args = parser.parse_args()
    logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as folder:
        for name in args.case or [*MODELS, "kyutai"]:
            work = Path(folder) / name
            work.mkdir()
            if name == "kyutai":
                check_kyutai(args.run, Path(folder) / "data", work)
                continue
            check(args.run, name, Path(folder) / "data", work)


if __name__ == "__main__":
    main()
