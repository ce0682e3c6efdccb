"""A reference file of NVIDIA NeMo's DuplexEARTTS (nemo_toolkit 3.0.0, CPU, float32).

    python tests/reference/nemo_eartts_duplex.py --out tests/reference/data

kind=model, name=duplex_eartts. `options`: `model` (NeMo's block), `data`, `tokens` (bos, eos, pad;
pieces: the texts of all ids), `trainer`. Random weights, fixed by seeds, also of the codec, which
runs. The batch is made by NeMo's data set (DuplexEARTTSDataset.maybe_add_audio_prompt).

  input/speech_*             what the data set is given: target audio, its lengths, and text tokens.
  input/audio_prompt, audio_prompt_lens   the speaker's voice, shorter than the prompt: it is
                             repeated, and no random piece of it is chosen.
  input/target_audio, target_audio_lens, target_text_tokens, non_prompt_mask, prompt_lens,
  aligned_attention_mask, aligned_position_ids   NeMo's batch.
  input/draw_*               the random draws of a training step, as in nemo_eartts.py.
  output/code                codes after prepare_inputs, 0 where a row is padding.
  output/hidden_states, lm_loss, c_loss, k_loss, loss, losses, grad/*, after/3/*   as in
                             nemo_eartts.py; the optimizer is configure_optimizers', which excludes
                             norms and biases from weight decay.
  output/tokens_audio        eval mode: codes of offline_inference, [B,N,K], behind a prompt that
                             set_init_inputs makes. Text that ends a turn makes the code before it
                             silent. Greedy: top-k of 1, no noise; 8 rounds, guidance 0.5.
"""

import argparse
import copy
import json
import tempfile
from pathlib import Path

import torch

import nemo_eartts as tts
import reference_file as rf
from nemo_eartts_cases import ADAMW, FULL, PIECES, T5GEMMA
from nemo_rvq_vae import BASE as CODEC
from nemo_rvq_vae import draw_weights as draw_codec

SEED = 81
RATE, RATIO = 1000, CODEC["wav_to_token_ratio"]
DATA = {"source_sample_rate": RATE, "target_sample_rate": RATE, "frame_length": RATIO / RATE,
        "audio_prompt_duration": 0.5}
SMALL_T5GEMMA = {**T5GEMMA, "encoder": {**T5GEMMA["encoder"], "num_hidden_layers": 1}}
TTS = {k: v for k, v in FULL.items() if k != "optimizer"}
TTS.update(latent_size=CODEC["latent_size"], codebook_size=CODEC["codebook_size"],
           num_quantizers=CODEC["num_quantizers"],
           cas_config={"backbone_type": "t5gemma", "backbone_config": SMALL_T5GEMMA})
MODEL = {
    "codec_config": CODEC, "tts_config": TTS, "freeze_params": ["^audio_codec\\..+$"],
    "exclude_norm_from_wd": True, "inference_guidance_scale": 0.5, "inference_noise_scale": 0.0,
    "inference_top_p_or_k": 1, "inference_force_speech_silence_on_eos": True,
    "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "optimizer": ADAMW,
}
TOKENS = {"bos": 1, "eos": 2, "pad": 3, "pieces": PIECES}
OPTIONS = {"model": MODEL, "data": DATA, "tokens": TOKENS, "trainer": tts.TRAINER}
SPEECH_FRAMES = (11, 8)
NEXT_TEXT = [[1, 14, 22, 5, 2, 3], [14, 19, 3, 2, 3, 3]]


def build():
    from nemo.collections.speechlm2.models import DuplexEARTTS

    with tempfile.TemporaryDirectory() as name:
        tts.write_tokenizer(Path(name), PIECES)
        block = {**MODEL, "tokenizer_path": name, "pretrained_lm_name": None}
        options = {"model": block, "data": DATA, "exp_manager": {"explicit_log_dir": name}}
        model = DuplexEARTTS(json.loads(json.dumps(options)))
    assert (model.text_bos_id, model.text_eos_id, model.text_pad_id) == (1, 2, 3)
    draw_codec(model.audio_codec, SEED)
    tts.draw_weights(model.tts_model, SEED)
    books = torch.stack([x.detach() for x in model.audio_codec.prvq.mus_list], 0)
    model.tts_model.set_rvq_embs(books)
    model.codec_silence_tokens = model.get_codec_silence_frame()
    return model


def make_batch(model) -> dict:
    """What the data set makes of speech, tokens and a voice."""
    from nemo.collections.speechlm2.data.duplex_ear_tts_dataset import DuplexEARTTSDataset

    lengths = torch.tensor([n * RATIO - 7 * row for row, n in enumerate(SPEECH_FRAMES)])
    frames = torch.tensor(SPEECH_FRAMES)
    audio = rf.synthetic_audio(2, lengths.tolist(), SEED, sample_rate=8000) * 2
    generator = torch.Generator().manual_seed(SEED)
    text = torch.randint(4, len(PIECES), (2, max(SPEECH_FRAMES)), generator=generator)
    text[:, 0], text[0, 7], text[1, 5] = 1, 2, 2
    text[0, 3], text[1, 8:] = 3, 3
    voice_lens = torch.tensor([310, 253])
    voice = rf.synthetic_audio(2, voice_lens.tolist(), SEED + 1, sample_rate=8000) * 2
    data = DuplexEARTTSDataset(
        model.tokenizer, DATA["frame_length"], RATE, RATE,
        audio_prompt_duration=DATA["audio_prompt_duration"],
    )
    speech = {"speech_audio": audio, "speech_audio_lens": lengths, "speech_tokens": text}
    (tokens, token_lens, _, _, source, source_lens, target, target_lens, prompt_lens) = (
        data.maybe_add_audio_prompt(
            text.clone(), frames.clone(), text.clone(), frames.clone(), audio.clone(),
            lengths.clone(), audio.clone(), lengths.clone(), voice, voice_lens,
        )
    )
    width = int(token_lens.max())
    inside = torch.arange(width) < token_lens.unsqueeze(1)
    mask = inside.clone()
    for row, frame in enumerate(prompt_lens):
        mask[row, : frame - 1] = False
    same = inside.unsqueeze(1) == inside.unsqueeze(2)
    causal = torch.arange(width).unsqueeze(0) <= torch.arange(width).unsqueeze(1)
    return {
        **speech,
        "target_audio": target, "target_audio_lens": target_lens, "target_text_tokens": tokens,
        "non_prompt_mask": mask, "prompt_lens": torch.tensor(prompt_lens),
        "aligned_attention_mask": (same & causal).unsqueeze(1),
        "aligned_position_ids": torch.where(inside, torch.arange(width), 0),
        "audio_prompt": voice, "audio_prompt_lens": voice_lens,
        "source_audio": source, "source_audio_lens": source_lens,
    }


def make_inputs(model) -> dict:
    inputs = make_batch(model)
    rows, width = inputs["target_text_tokens"].shape
    generator = torch.Generator().manual_seed(SEED + 2)
    books = TTS["num_quantizers"]
    inputs.update(
        draw_source=torch.rand(rows, width, generator=generator),
        draw_dropout=torch.rand(rows, width, 1, generator=generator),
        draw_books=torch.randint(0, books + 1, (rows, width, 1), generator=generator),
        draw_uncond=torch.tensor([0.7, 0.2]).view(2, 1, 1),
        next_subword_ids=torch.tensor(NEXT_TEXT),
    )
    return inputs


def generate(model, inputs) -> dict:
    model.eval()
    model.set_init_inputs(
        speaker_audio=inputs["audio_prompt"], speaker_audio_lens=inputs["audio_prompt_lens"]
    )
    seen = []
    decode = model.audio_codec.decode
    model.audio_codec.decode = lambda codes, lens: (seen.append(codes), decode(codes, lens))[1]
    with torch.no_grad():
        audio, _ = model.offline_inference(
            inputs["next_subword_ids"], model.get_init_inputs(B=2)
        )
    del model.audio_codec.decode
    return {"output/tokens_audio": seen[0].clone(), "output/audio": audio.clone()}


def train(model, inputs) -> tuple[dict, float]:
    model._trainer = None
    optimizer = model.configure_optimizers()["optimizer"]
    assert len(optimizer.param_groups) == 2
    trainable = [p for group in optimizer.param_groups for p in group["params"]]
    model.train()
    model.audio_codec.eval()
    model.log_dict = lambda *a, **k: None
    tensors, losses, norm = {}, [], 0.0

    def watch(module, args, kwargs, result):
        tensors.setdefault("seen", (kwargs["code"].clone(), result.hidden_states.detach()))

    hook = model.tts_model.register_forward_hook(watch, with_kwargs=True)
    for step in range(tts.NUM_STEPS):
        optimizer.zero_grad()
        with tts.given_draws(inputs):
            result = model.training_step({k: v.clone() for k, v in inputs.items()}, step)
        result["loss"].backward()
        losses.append(result["loss"].detach().clone())
        if step == 0:
            for name in ("loss", "lm_loss", "c_loss", "k_loss"):
                value = torch.as_tensor(result[name], dtype=torch.float32)
                tensors[f"output/{name}"] = value.detach().clone()
            for name, parameter in model.named_parameters():
                if parameter.requires_grad:
                    tensors[f"grad/{name}"] = parameter.grad.detach().clone()
        clip = torch.nn.utils.clip_grad_norm_(trainable, tts.TRAINER["gradient_clip_val"])
        norm = norm or clip.item()
        optimizer.step()
    hook.remove()
    code, hidden = tensors.pop("seen")
    valid = inputs["aligned_position_ids"].gt(0)
    valid[:, 0] = True
    tensors["output/code"] = code * valid.unsqueeze(-1)
    tensors["output/hidden_states"] = hidden * valid.unsqueeze(-1)
    tensors["output/losses"] = torch.stack(losses)
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            tensors[f"after/{tts.NUM_STEPS}/{name}"] = parameter.detach().clone()
    return tensors, norm


def run(model, inputs) -> tuple[dict, float]:
    generated = generate(model, inputs)
    tensors, norm = train(model, inputs)
    return {**generated, **tensors}, norm


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=str(Path(__file__).parent / "data"))
    args = parser.parse_args()
    torch.manual_seed(SEED)
    model = build()
    inputs = make_inputs(model)
    weights = rf.weights_of(model)
    twin = copy.deepcopy(model)
    rf.nudge(twin.tts_model, SEED)
    tensors, norm = run(model, inputs)
    for key in tts.noise_check(tensors, run(twin, inputs)[0]):
        print(f"  left out: {key}")
        del tensors[key]
    tensors.update({f"weights/{k}": v for k, v in weights.items()})
    tensors.update({f"input/{k}": v for k, v in inputs.items()})
    path = Path(args.out) / "nemo_eartts_duplex.safetensors"
    size = rf.write_small(path, "model", "duplex_eartts", OPTIONS, tensors, tts.RTOL, tts.ATOL)
    parts = {k: tensors[f"output/{k}"].item() for k in ("c_loss", "k_loss")}
    rf.report(path, size, norm=norm, **parts,
              kinds=len(tensors["output/tokens_audio"].unique()))


if __name__ == "__main__":
    main()
