#include "s2s/nn/text_decoding.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "s2s/error.h"

namespace s2s {
namespace {

bool contains(const std::vector<int64_t>& ids, int64_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

bool is_ended(const std::vector<int64_t>& tokens, const TextDecoding& decoding) {
  if (tokens.empty()) return false;
  return contains(decoding.end_tokens, tokens.back()) ||
         (decoding.is_stopped && decoding.is_stopped(tokens));
}

/// Logits [B, V] float32 of the last position of x [B, T, H].
at::Tensor last_logits(Backbone& llm, const at::Tensor& x_BTH, SequenceState& state) {
  SequenceInfo info;
  info.state = &state;
  const at::Tensor hidden_BTH = llm(x_BTH, info);
  const at::Tensor last = hidden_BTH.narrow(1, hidden_BTH.size(1) - 1, 1);
  return llm.logits(last).squeeze(1).to(at::kFloat);
}

/// The rows of a batch that advance together, one position at a time.
class Rows {
 public:
  Rows(Backbone& llm, const std::vector<PromptEmbeddings>& prompts, const TextDecoding& decoding)
      : llm_(llm),
        prompts_(prompts),
        decoding_(decoding),
        state_(llm.shape().num_layers),
        sampler_(decoding.sampling),
        answers_(prompts.size()),
        done_(prompts.size(), false) {
    shortest_ = prompts.front().x_TH.size(0);
    int64_t longest = 0;
    for (const PromptEmbeddings& prompt : prompts) {
      shortest_ = std::min(shortest_, prompt.x_TH.size(0));
      longest = std::max(longest, prompt.x_TH.size(0));
    }
    S2S_ASSERT(shortest_ > 0, "the first token follows something");
    so_far_ = at::full({num_rows(), longest + decoding.max_new_tokens}, -1, at::kLong);
    for (int64_t b = 0; b < num_rows(); ++b) {
      const std::vector<int64_t>& ids = prompts[static_cast<size_t>(b)].ids;
      if (ids.empty()) continue;
      so_far_[b].narrow(0, 0, static_cast<int64_t>(ids.size())).copy_(at::tensor(ids, at::kLong));
    }
  }

  std::vector<std::vector<int64_t>> run() {
    state_.reserve(so_far_.size(1), device());
    std::vector<at::Tensor> begins;
    for (const PromptEmbeddings& prompt : prompts_) {
      begins.push_back(prompt.x_TH.narrow(0, 0, shortest_));
    }
    at::Tensor logits_BV = last_logits(llm_, at::stack(begins), state_);
    choose(logits_BV, shortest_);
    for (int64_t position = shortest_; goes_on();) {
      if (is_done()) {  // a pass that only other ranks need
        SequenceState unused(llm_.shape().num_layers);
        last_logits(llm_, inputs(position), unused);
        continue;
      }
      logits_BV = last_logits(llm_, inputs(position), state_);
      choose(logits_BV, ++position);
    }
    return answers_;
  }

 private:
  int64_t num_rows() const { return static_cast<int64_t>(prompts_.size()); }
  at::Device device() const { return prompts_.front().x_TH.device(); }
  bool is_done() const {
    return std::all_of(done_.begin(), done_.end(), [](bool d) { return d; });
  }
  bool goes_on() const { return decoding_.goes_on ? decoding_.goes_on(!is_done()) : !is_done(); }
  bool answers(size_t row, int64_t position) const {
    return position >= prompts_[row].x_TH.size(0);
  }

  /// Chooses the token at `position` of every row whose prompt has ended.
  void choose(const at::Tensor& logits_BV, int64_t position) {
    const at::Tensor history = so_far_.narrow(1, 0, position).to(device());
    const at::Tensor chosen_B = sampler_.next(logits_BV, history).cpu().contiguous();
    for (size_t b = 0; b < done_.size(); ++b) {
      if (done_[b] || !answers(b, position)) continue;
      const int64_t token = chosen_B.const_data_ptr<int64_t>()[b];
      answers_[b].push_back(token);
      so_far_[static_cast<int64_t>(b)][position] = token;
      done_[b] = is_ended(answers_[b], decoding_) ||
                 static_cast<int64_t>(answers_[b].size()) >= decoding_.max_new_tokens;
    }
  }

  /// [B, 1, H]: the rest of a prompt, or the newest token. Rows that are done repeat theirs.
  at::Tensor inputs(int64_t position) {
    const at::Tensor ids_B = at::zeros({num_rows()}, at::kLong);
    for (size_t b = 0; b < done_.size(); ++b) {
      if (!answers_[b].empty()) ids_B[static_cast<int64_t>(b)] = answers_[b].back();
    }
    at::Tensor x_B1H = llm_.embed(ids_B.to(device()).unsqueeze(1));
    for (size_t b = 0; b < done_.size(); ++b) {
      if (answers(b, position)) continue;
      x_B1H[static_cast<int64_t>(b)].copy_(prompts_[b].x_TH.narrow(0, position, 1));
    }
    return x_B1H;
  }

  Backbone& llm_;
  const std::vector<PromptEmbeddings>& prompts_;
  const TextDecoding& decoding_;
  SequenceState state_;
  Sampler sampler_;
  int64_t shortest_ = 0;
  at::Tensor so_far_;  // [B, positions] on the host
  std::vector<std::vector<int64_t>> answers_;
  std::vector<bool> done_;
};

/// Beam search for one prompt.
class Beams {
 public:
  Beams(Backbone& llm, const PromptEmbeddings& prompt, const TextDecoding& decoding)
      : llm_(llm),
        prompt_(prompt),
        decoding_(decoding),
        state_(llm.shape().num_layers),
        running_(static_cast<size_t>(decoding.num_beams)) {
    for (size_t i = 1; i < running_.size(); ++i) running_[i].score = kNever;  // all are the same
  }

  std::vector<int64_t> run() {
    const int64_t num_beams = decoding_.num_beams;
    at::Tensor x_BTH = prompt_.x_TH.unsqueeze(0).expand({num_beams, -1, -1}).contiguous();
    while (true) {
      const at::Tensor log_probs = last_logits(llm_, x_BTH, state_).log_softmax(-1);
      const at::Tensor parents = advance(log_probs);
      if (!parents.defined()) break;
      state_.select_rows(parents);
      std::vector<int64_t> newest;
      for (const Beam& beam : running_) newest.push_back(beam.tokens.back());
      x_BTH = llm_.embed(at::tensor(newest, at::kLong).to(x_BTH.device()).unsqueeze(1));
    }
    const Beam* best = finished_.empty() ? &running_.front() : &finished_.front();
    return best->tokens;
  }

 private:
  static constexpr double kNever = -1e9;
  struct Beam {
    std::vector<int64_t> tokens;
    double score = 0;  // sum of log probabilities; of a finished one, with the length penalty
    int64_t parent = 0;
    bool ends = false;
  };

  static bool is_better(const Beam& a, const Beam& b) { return a.score > b.score; }

  /// log_probs: scores of the next token, after repetition penalties, of each beam.
  std::vector<Beam> candidates(const at::Tensor& log_probs_BV) {
    const int64_t vocab_size = log_probs_BV.size(1);
    const int64_t per_beam =
        std::max<int64_t>(2, 1 + static_cast<int64_t>(decoding_.end_tokens.size()));
    const int64_t kept = std::min(per_beam * decoding_.num_beams, log_probs_BV.numel());
    const auto [top, index] = sums_of(log_probs_BV).flatten().topk(kept);
    const at::Tensor scores = top.cpu(), places = index.cpu();
    std::vector<Beam> found;
    for (int64_t i = 0; i < kept; ++i) {
      const int64_t place = places.const_data_ptr<int64_t>()[i];
      Beam beam = running_[static_cast<size_t>(place / vocab_size)];
      beam.parent = place / vocab_size;
      beam.tokens.push_back(place % vocab_size);
      beam.score = scores.const_data_ptr<float>()[i];
      beam.ends = is_ended(beam.tokens, decoding_) ||
                  static_cast<int64_t>(beam.tokens.size()) >= decoding_.max_new_tokens;
      found.push_back(std::move(beam));
    }
    return found;
  }

  at::Tensor sums_of(const at::Tensor& log_probs_BV) {
    std::vector<float> before;
    for (const Beam& beam : running_) before.push_back(static_cast<float>(beam.score));
    SamplingOptions penalties = decoding_.sampling;
    penalties.temperature = 0;
    const at::Tensor scores_BV =
        sampling_scores(log_probs_BV, history(log_probs_BV.device()), penalties);
    return scores_BV + at::tensor(before).to(scores_BV.device()).unsqueeze(1);
  }

  at::Tensor history(at::Device device) const {
    std::vector<at::Tensor> rows;
    for (const Beam& beam : running_) {
      std::vector<int64_t> ids = prompt_.ids;
      ids.insert(ids.end(), beam.tokens.begin(), beam.tokens.end());
      rows.push_back(at::tensor(ids, at::kLong));
    }
    return at::stack(rows).to(device);
  }

  /// Takes one step. Returns the beams [B] that the next step continues; undefined at the end.
  at::Tensor advance(const at::Tensor& log_probs_BV) {
    std::vector<Beam> found = candidates(log_probs_BV);
    const auto length = static_cast<double>(found.front().tokens.size());
    const double divisor = std::pow(length, decoding_.length_penalty);
    const size_t num_beams = running_.size();
    if (can_improve_) {
      for (size_t i = 0; i < num_beams && i < found.size(); ++i) {
        if (!found[i].ends) continue;
        finished_.push_back(found[i]);
        finished_.back().score /= divisor;
      }
      std::stable_sort(finished_.begin(), finished_.end(), is_better);
      if (finished_.size() > num_beams) finished_.resize(num_beams);
    }
    const bool all_end =
        std::all_of(found.begin(), found.end(), [](const Beam& b) { return b.ends; });
    for (Beam& beam : found) beam.score += beam.ends ? kNever : 0;
    std::stable_sort(found.begin(), found.end(), is_better);
    found.resize(std::min(num_beams, found.size()));
    running_ = std::move(found);
    // The best running beam, were it to end now, against the worst finished one.
    const double worst = finished_.size() < num_beams ? kNever : finished_.back().score;
    can_improve_ = can_improve_ && running_.front().score / divisor > worst;
    if (all_end || !can_improve_) return {};
    std::vector<int64_t> parents;
    for (const Beam& beam : running_) parents.push_back(beam.parent);
    return at::tensor(parents, at::kLong).to(log_probs_BV.device());
  }

  Backbone& llm_;
  const PromptEmbeddings& prompt_;
  const TextDecoding& decoding_;
  SequenceState state_;
  std::vector<Beam> running_, finished_;  // best first
  bool can_improve_ = true;
};

}  // namespace

std::vector<std::vector<int64_t>> decode_text(Backbone& llm,
                                              const std::vector<PromptEmbeddings>& prompts,
                                              const TextDecoding& decoding) {
  const at::NoGradGuard no_grad;
  if (prompts.empty() || decoding.max_new_tokens <= 0) {
    return std::vector<std::vector<int64_t>>(prompts.size());
  }
  if (decoding.num_beams <= 1) return Rows(llm, prompts, decoding).run();
  std::vector<std::vector<int64_t>> answers;
  for (const PromptEmbeddings& prompt : prompts) {
    answers.push_back(Beams(llm, prompt, decoding).run());
  }
  return answers;
}

namespace {

/// The first place of any of `stops` in `text`; npos: none.
size_t first_stop(const std::string& text, const std::vector<std::string>& stops) {
  size_t first = std::string::npos;
  for (const std::string& stop : stops) first = std::min(first, text.find(stop));
  return first;
}

}  // namespace

std::vector<TextAnswer> answer_texts(Backbone& llm, const std::vector<PromptEmbeddings>& prompts,
                                     const TextGenerationOptions& options,
                                     const std::vector<int64_t>& end_tokens,
                                     const SamplingOptions& sampling, const Tokenizer& tokenizer) {
  TextDecoding decoding{options.max_new_tokens, end_tokens, sampling, options.num_beams,
                        options.length_penalty};
  decoding.goes_on = options.goes_on;
  if (!options.stop.empty()) {
    decoding.is_stopped = [&](const std::vector<int64_t>& tokens) {
      return first_stop(tokenizer.decode(tokens), options.stop) != std::string::npos;
    };
  }
  std::vector<TextAnswer> answers;
  for (std::vector<int64_t>& tokens : decode_text(llm, prompts, decoding)) {
    TextAnswer answer;
    const bool ends = !tokens.empty() && contains(end_tokens, tokens.back());
    answer.text = tokenizer.decode({tokens.begin(), tokens.end() - (ends ? 1 : 0)});
    const size_t stop = first_stop(answer.text, options.stop);
    answer.is_ended = ends || stop != std::string::npos;
    if (stop != std::string::npos) answer.text.resize(stop);
    answer.tokens = std::move(tokens);
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace s2s
