"""A reference file of NVIDIA NeMo's NemotronVoiceChat (nemo_toolkit 3.0.0, CPU, float32).

    python tests/reference/nemo_voicechat.py --out tests/reference/data

kind=model, name=nemotron_voicechat. `options`: `model` (`stt.model` and `speech_generation`, NeMo's
blocks), `data`, `llm_config` (of the model that listens) and `tokens`, as in nemo_duplex_stt.py and
nemo_eartts_duplex.py. Random weights, fixed by seeds. The class does not train.
In no frame do all rows have tokens without characters (NeMo's subword encoder ends there).

  input/source_audio, source_audio_lens   what the user says; one row is shorter.
  input/audio_prompt, audio_prompt_lens   the speaker's voices.
  output/tokens_text, tokens_len          offline_inference: the agent's text channel.
  output/tokens_audio, audio              its codes [B,T,K], 0 in the first frame, and their audio.
                                          Greedy: top-k of 1, no noise; guidance 0.5.
"""

import argparse
import copy
import json
import tempfile
from pathlib import Path

import torch

import nemo_duplex_stt as stt
import nemo_eartts as tts
import nemo_eartts_duplex as speaker
import reference_file as rf
from nemo_duplex_cases import llm_config, preprocessor
from nemo_duplex_stt_cases import SMALL_STREAM
from nemo_duplex_stt_cases import options as stt_options
from nemo_eartts_cases import PIECES

SEED = 167
LENGTHS = (25600, 21760)
TOKENS = speaker.TOKENS
IDS = {key: TOKENS[key] for key in ("bos", "eos", "pad")}
STT = stt_options(
    pre=preprocessor(normalize="NA"), enc=SMALL_STREAM, llm=llm_config(vocab_size=len(PIECES)),
    tokens=IDS, predict_user_text=True, duplex_asr_text_weight=0.6, inference_pad_boost=0.4,
    force_turn_taking=True, force_turn_taking_threshold=4, force_turn_taking_pad_window=2,
)
OPTIONS = {
    "model": {
        "stt": {"model": {k: v for k, v in STT["model"].items()
                          if k not in ("optimizer", "lr_scheduler")}},
        "speech_generation": {
            "model": {k: v for k, v in speaker.MODEL.items() if k != "optimizer"},
            "data": speaker.DATA,
        },
    },
    "data": {"source_sample_rate": 16000, "target_sample_rate": speaker.RATE,
             "frame_length": speaker.RATIO / speaker.RATE},
    "llm_config": STT["llm_config"],
    "tokens": TOKENS,
}


def build():
    from nemo.collections.speechlm2.models.nemotron_voicechat import NemotronVoiceChat

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.json").write_text(json.dumps(OPTIONS["llm_config"]))
        tts.write_tokenizer(folder, PIECES)
        options = json.loads(json.dumps(OPTIONS))
        options["exp_manager"] = {"explicit_log_dir": name}
        options["model"]["scoring_asr"] = "none"
        options["model"]["stt"]["model"]["pretrained_llm"] = name
        speech = options["model"]["speech_generation"]
        speech["exp_manager"] = options["exp_manager"]
        speech["model"].update(tokenizer_path=name, pretrained_lm_name=None)
        model = NemotronVoiceChat(options)
    for part in (model.stt_model, model.tts_model):
        assert (part.text_bos_id, part.text_eos_id, part.text_pad_id) == (1, 2, 3)
    draw_listener(model.stt_model, SEED)
    speaker.draw_codec(model.tts_model.audio_codec, SEED)
    tts.draw_weights(model.tts_model.tts_model, SEED)
    books = torch.stack([x.detach() for x in model.tts_model.audio_codec.prvq.mus_list], 0)
    model.tts_model.tts_model.set_rvq_embs(books)
    model.tts_model.codec_silence_tokens = model.tts_model.get_codec_silence_frame()
    return model.eval()


def draw_listener(model, seed) -> None:
    rf.randomize(model, seed)
    stt.make_loud(model, IDS)


def make_inputs() -> dict:
    voice_lens = torch.tensor([310, 253])
    return {
        "source_audio": rf.synthetic_audio(2, list(LENGTHS), SEED),
        "source_audio_lens": torch.tensor(LENGTHS),
        "audio_prompt": rf.synthetic_audio(2, voice_lens.tolist(), SEED + 1, sample_rate=8000) * 2,
        "audio_prompt_lens": voice_lens,
    }


def run(model, inputs) -> tuple[dict, float]:
    margins, seen = [], []
    hook = model.stt_model.register_forward_hook(
        lambda m, a, r: margins.extend(
            rf.greedy_margin(r[k]) for k in ("text_logits", "asr_logits") if k in r
        )
    )
    codec = model.tts_model.audio_codec
    decode = codec.decode
    codec.decode = lambda codes, lens: (seen.append(codes), decode(codes, lens))[1]
    result = model.offline_inference(
        inputs["source_audio"].clone(), inputs["source_audio_lens"].clone(),
        speaker_audio=inputs["audio_prompt"], speaker_audio_lens=inputs["audio_prompt_lens"],
    )
    del codec.decode
    hook.remove()
    return {
        "output/tokens_text": result["tokens_text"].clone(),
        "output/tokens_len": result["tokens_len"].long().clone(),
        "output/tokens_audio": seen[-1].clone(),
        "output/audio": result["audio"].clone(),
    }, min(margins)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=str(Path(__file__).parent / "data"))
    args = parser.parse_args()
    torch.manual_seed(SEED)
    model = build()
    inputs = make_inputs()
    weights = rf.weights_of(model)
    twin = copy.deepcopy(model)
    twin.stt_model.streaming_inference.model = twin.stt_model
    for part in (twin.stt_model, twin.tts_model.tts_model):
        rf.nudge(part, SEED)
    tensors, margin = run(model, inputs)
    for name, other in run(twin, inputs)[0].items():
        noise = (other.float() - tensors[name].float()).abs().max().item()
        print(f"  noise of {name}: {noise:.1e}")
        assert noise < tts.ATOL / 2, f"{name} is noise, give it another seed"
    assert margin > 1e-3, f"margin {margin}, give it another seed"
    text = tensors["output/tokens_text"]
    assert all((text == id).any() for id in IDS.values()), text
    changed, _ = run(model, {**inputs, "audio_prompt": inputs["audio_prompt"] * 0.3})
    count = (changed["output/tokens_audio"] != tensors["output/tokens_audio"]).sum().item()
    print(f"  the voice decides {count} codes")
    assert count > 0
    tensors.update({f"weights/{k}": v for k, v in weights.items()})
    tensors.update({f"input/{k}": v for k, v in inputs.items()})
    path = Path(args.out) / "nemo_voicechat.safetensors"
    size = rf.write_small(
        path, "model", "nemotron_voicechat", OPTIONS, tensors, tts.RTOL, tts.ATOL
    )
    rf.report(path, size, margin=margin, kinds=len(tensors["output/tokens_audio"].unique()))


if __name__ == "__main__":
    main()
