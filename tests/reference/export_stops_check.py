"""Trains language models to end their answers, exports them, and lets others generate.

    python tests/reference/export_stops_check.py build/bin/s2s-run

A base model of transformers, whose tokenizer has an EOS and the tokens of chats, learns a few
answers: as chats, whose turns end in another token than EOS, and as prompts with responses. Then
transformers' generate has to stop where the model was trained to: from the whole folder, and from
config.json alone. generation_config.json, config.json and tokenizer_config.json name the same
tokens, and gguf finds the first of them. A run with adapters names the base that it came from, and
PEFT generates the same.
Exit code 77 where transformers, gguf or PEFT is missing.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import gguf
    import torch
    from peft import AutoPeftModelForCausalLM
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM
    from transformers import PreTrainedTokenizerFast
    from transformers.utils import logging
except ImportError as missing:
    print(f"skipped: {missing}; pip install transformers peft gguf")
    sys.exit(77)

END, START, TURN = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
CHATML = ("{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] +"
          " '<|im_end|>\\n' }}{% endfor %}"
          "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
ANSWERS = {"What is hot?": "The sun is hot.", "Who is there?": "It is me.",
           "Where is it?": "Under the chair, as always."}
MOST = 40

CONFIG = """
model:
  type: causal_lm
  llm: {{ path: {base} }}
  tokenizer: {{ name: hf, path: {base} }}
  optimizer: {{ name: adamw, lr: {rate} }}
data:
  train_ds: {{ path: {data}, labels: response, batch_size: 3, max_seq_len: 64, seed: 1 {more} }}
trainer: {{ accelerator: cpu, max_steps: {steps}, seed: 1, strategy: {{ name: single }} }}
exp_manager: {{ explicit_log_dir: {run} }}
"""


def s2s(*words) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        command = " ".join(map(str, words))
        sys.exit(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def write_base(folder: Path) -> None:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator([q + a for q, a in ANSWERS.items()], trainers.BpeTrainer(
        vocab_size=300, special_tokens=[END, START, TURN],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=END)
    fast.chat_template = CHATML
    torch.manual_seed(3)
    config = LlamaConfig(vocab_size=len(fast), hidden_size=64, intermediate_size=128,
                         num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                         max_position_embeddings=128, bos_token_id=None, eos_token_id=0)
    LlamaForCausalLM(config).save_pretrained(folder)
    fast.save_pretrained(folder)


def write_data(path: Path, as_chats: bool) -> None:
    with path.open("w") as file:
        for question, answer in ANSWERS.items():
            chat = [{"role": "user", "content": question},
                    {"role": "assistant", "content": answer}]
            pair = {"prompt": question, "response": " " + answer}
            file.write(json.dumps({"messages": chat} if as_chats else pair) + "\n")


def train(run: str, work: Path, name: str, as_chats: bool, more="", steps=120, rate=3e-3) -> Path:
    data, config = work / f"{name}.jsonl", work / f"{name}.yaml"
    write_data(data, as_chats)
    config.write_text(CONFIG.format(base=work / "base", data=data, run=work / name, more=more,
                                    steps=steps, rate=rate))
    s2s(run, "train", config)
    return work / name / "checkpoints/last"


def ids_of(tokenizer, question: str, as_chats: bool):
    if not as_chats:
        return torch.tensor([tokenizer(question)["input_ids"]])
    text = tokenizer.apply_chat_template([{"role": "user", "content": question}], tokenize=False,
                                         add_generation_prompt=True)
    return torch.tensor([tokenizer(text, add_special_tokens=False)["input_ids"]])


def check_answers(model, tokenizer, as_chats: bool, end: int) -> None:
    """The answer, then the end, then nothing."""
    for question, answer in ANSWERS.items():
        ids = ids_of(tokenizer, question, as_chats)
        with torch.no_grad():
            said = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids),
                                  max_new_tokens=MOST, do_sample=False)[0, ids.shape[1]:]
        text = tokenizer.decode(said, skip_special_tokens=True).strip()
        assert len(said) < MOST and said[-1] == end, (question, tokenizer.decode(said))
        assert text == answer, (text, answer)


def check_folder(folder: Path, as_chats: bool, first: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    end = tokenizer.convert_tokens_to_ids(first)
    config = json.loads((folder / "config.json").read_text())["eos_token_id"]
    generation = json.loads((folder / "generation_config.json").read_text())["eos_token_id"]
    ends = config if isinstance(config, list) else [config]
    assert config == generation and ends[0] == end, (config, generation, end)
    assert tokenizer.eos_token == first and tokenizer.eos_token_id == end
    assert gguf.SpecialVocab(folder).special_token_ids["eos"] == end
    check_answers(AutoModelForCausalLM.from_pretrained(folder), tokenizer, as_chats, end)
    (folder / "generation_config.json").unlink()
    check_answers(AutoModelForCausalLM.from_pretrained(folder), tokenizer, as_chats, end)


def check_adapter(run: str, work: Path) -> None:
    lora = ["model.lora.r=16", "model.lora.target_modules=[all-linear]"]
    config = work / "pairs.yaml"
    s2s(run, "train", config, f"exp_manager.explicit_log_dir={work / 'lora'}", *lora,
        "trainer.max_steps=300", "model.optimizer.lr=1e-2")
    s2s(run, "checkpoint", "export", "--adapter", work / "lora", work / "adapter")
    settings = json.loads((work / "adapter/adapter_config.json").read_text())
    assert settings["base_model_name_or_path"] == str(work / "base"), settings
    assert not (work / "adapter/base").exists()
    tokenizer = AutoTokenizer.from_pretrained(work / "base")
    model = AutoPeftModelForCausalLM.from_pretrained(work / "adapter").eval()
    check_answers(model, tokenizer, False, tokenizer.eos_token_id)
    s2s(run, "checkpoint", "export", "--adapter", "--base-model", "acme/base", work / "lora",
        work / "named")
    settings = json.loads((work / "named/adapter_config.json").read_text())
    assert settings["base_model_name_or_path"] == "acme/base", settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="the s2s-run to ask")
    args = parser.parse_args()
    logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name).resolve()
        write_base(work / "base")
        for case, as_chats, more, first in (
            ("chats", True, ", format: messages", TURN),
            ("auto", True, "", END),  # the template may end turns; EOS ends documents
            ("pairs", False, "", END),
        ):
            last = train(args.run, work, case, as_chats, more)
            s2s(args.run, "checkpoint", "export", last, work / f"{case}-hf")
            if case == "auto":  # the first end is not the one of the answers
                folder = work / "auto-hf"
                tokenizer = AutoTokenizer.from_pretrained(folder)
                model = AutoModelForCausalLM.from_pretrained(folder)
                check_answers(model, tokenizer, True, tokenizer.convert_tokens_to_ids(TURN))
            else:
                check_folder(work / f"{case}-hf", as_chats, first)
            print(f"{case}: ok")
        check_adapter(args.run, work)
        print("adapter: ok")


if __name__ == "__main__":
    main()
