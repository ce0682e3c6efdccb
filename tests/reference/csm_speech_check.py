"""What CSM says: `s2s-run generate` beside transformers' generate(output_audio=True).

    python tests/reference/csm_speech_check.py build/bin/s2s-run

A tiny folder with random weights and Mimi, as save_pretrained writes it, is imported. Texts alone
and conversations of texts with audio, as CSM's processor and chat template write them: the codes
are equal, and the audio up to the rounding of 16 bits. Exit code 77 where transformers is missing.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import soundfile
    import torch
    from transformers import (
        CsmConfig,
        CsmForConditionalGeneration,
        CsmProcessor,
        EncodecFeatureExtractor,
        PreTrainedTokenizerFast,
    )
    from transformers.utils import logging
except ImportError as missing:
    print(f"skipped: {missing}; pip install transformers torch soundfile")
    sys.exit(77)

import hf_csm
import hf_two_level as two

DATA = Path(__file__).resolve().parent / "data"
RATE, NEW = 24000, 12
# The part of CSM's template that writes; it also checks the messages.
TEMPLATE = (
    "{%- for message in messages %}{{- bos_token }}{{- '[' + message['role'] + ']' }}"
    "{{- message['content'][0]['text'] }}{{- eos_token }}"
    "{%- if message['content']|length > 1 %}{{- '<|AUDIO|><|audio_eos|>' }}{%- endif %}"
    "{%- endfor %}"
)


def turn(role, text, path=None) -> dict:
    content = [{"type": "text", "text": text}]
    if path is not None:
        content.append({"type": "audio", "path": str(path)})
    return {"role": role, "content": content}


def make_folder(folder: Path):
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(DATA / "hf_tokenizer_tinyllama.json"), bos_token="<s>",
        eos_token="</s>", unk_token="<unk>", pad_token="<|AUDIO|>",
        additional_special_tokens=["<|AUDIO|>", "<|audio_eos|>"])
    audio, audio_eos = tokenizer.convert_tokens_to_ids(["<|AUDIO|>", "<|audio_eos|>"])
    codes = hf_csm.MIMI["codebook_size"]  # all that the model has, as the class decodes all of them
    config = hf_csm.config(
        vocab_size=codes, codebook_pad_token_id=codes - 1,
        depth_decoder_config={**hf_csm.DEPTH, "vocab_size": codes},
        text_vocab_size=len(tokenizer), audio_token_id=audio, audio_eos_token_id=audio_eos,
        bos_token_id=tokenizer.bos_token_id, pad_token_id=tokenizer.pad_token_id)
    model = hf_csm.build(config, 61)
    model.generation_config.max_new_tokens = NEW
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    extractor = EncodecFeatureExtractor(feature_size=1, sampling_rate=RATE)
    return model, CsmProcessor(extractor, tokenizer, chat_template=TEMPLATE)


def write_audio(folder: Path) -> list[Path]:
    generator = torch.Generator().manual_seed(3)
    paths = []
    for number, length in enumerate((9000, 5761)):
        samples = 0.2 * torch.randn(length, generator=generator)
        paths.append(folder / f"{number}.wav")
        soundfile.write(paths[-1], samples.numpy(), RATE)
    return paths


def generate(run, folder: Path, conversations, work: Path) -> list:
    config = {
        "model": {
            "type": "csm", "path": str(folder), "codec": {"name": "mimi", "path": str(folder)},
            "tokenizer": {"name": "hf", "path": str(folder)}, "optimizer": {"name": "adamw"},
            "lr_scheduler": {"name": "cosine_annealing", "max_steps": 1}},
        "data": {"source_sample_rate": RATE, "target_sample_rate": RATE,
                 "train_ds": {"name": "cuts", "cuts_path": "none.jsonl"}},
        "trainer": {"accelerator": "cpu", "max_steps": 1, "strategy": {"name": "single"}},
    }
    (work / "csm.json").write_text(json.dumps(config))
    lines = [json.dumps({"messages": messages}) for messages in conversations]
    (work / "turns.jsonl").write_text("\n".join(lines) + "\n")
    for words in (
        ["checkpoint", "import", folder, work / "first", "--config", work / "csm.json"],
        ["generate", "--checkpoint", work / "first", "--input", work / "turns.jsonl",
         "--prompt", "[0]a b", "--output", work / "out", "--max-new-tokens", str(NEW)],
    ):
        done = subprocess.run([run, *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return [json.loads(line) for line in (work / "out/answers.jsonl").read_text().splitlines()]


@torch.no_grad()
def check(run, work: Path) -> None:
    folder = work / "hf"
    model, processor = make_folder(folder)
    first, second = write_audio(work)
    conversations = [
        [turn("0", "a b")],  # also given as a text
        [turn("1", "the river", first), turn("0", "the weather is cold", second), turn("1", "yes")],
        [turn("3", "good morning to all of you")],
        [turn("0", "what is it", second), turn("1", "it")],
    ]
    answers = generate(run, folder, conversations[1:], work)
    for messages, answer in zip(conversations, answers, strict=True):
        audio = [part["path"] for m in messages for part in m["content"] if "path" in part]
        inputs = processor(
            text=processor.apply_chat_template(messages, tokenize=False),
            audio=[soundfile.read(path, dtype="float32")[0] for path in audio] or None,
        )
        out = model.generate(
            **inputs, output_audio=True, return_dict_in_generate=True, do_sample=False,
            depth_decoder_do_sample=False, max_new_tokens=NEW)
        codes = torch.tensor(answer["audio_tokens"])
        frames = out.sequences[0] if out.sequences.dim() == 3 else out.sequences
        assert torch.equal(codes, frames[-len(codes) :]), (answer["prompt"], codes, frames)
        samples = torch.from_numpy(soundfile.read(work / "out" / answer["output"])[0]).float()
        expected = out.audio[0].clamp(-1, 1)
        assert samples.shape == expected.shape, (samples.shape, expected.shape)
        difference = (samples - expected).abs().max().item()
        print(f"{answer['prompt']!r}: {len(codes)} frames equal, audio within {difference:.1e}")
        assert difference < 6e-5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="the s2s-run to ask")
    arguments = parser.parse_args()
    logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as folder:
        check(arguments.run, Path(folder))


if __name__ == "__main__":
    main()
