#pragma once
// Tests of what the SDK's interfaces promise. A plugin's own tests link s2s::conformance, build
// their component and check that no violation is returned:
//
//   CHECK(s2s::conformance::broken_promises(my_codec).empty());
//
// Each returned string describes one violation in a sentence. The checks change the component:
// afterwards it is in eval mode, and models have gradients.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "s2s/kinds/backbone.h"
#include "s2s/kinds/codec.h"
#include "s2s/kinds/data_source.h"
#include "s2s/kinds/encoder.h"
#include "s2s/kinds/logger.h"
#include "s2s/kinds/metric.h"
#include "s2s/kinds/model.h"
#include "s2s/kinds/optimizer.h"
#include "s2s/kinds/schedule.h"
#include "s2s/kinds/scorer.h"
#include "s2s/kinds/tokenizer.h"

namespace s2s::conformance {

using Answers = std::vector<std::string>;

/// Checks a materialized language model: output shapes; causality; decoding with the cache equals
/// one forward pass; logits equal hidden states times the head; every parameter gets a gradient;
/// the plan is valid on every small mesh, or reports sizes that the mesh does not divide;
/// checkpoint names map both ways.
Answers broken_promises(Backbone& model);

/// Checks a materialized encoder: lengths and widths are as announced; padding does not change
/// valid frames; streaming equals the offline forward, unless it is refused with
/// [encoder/not-streamable]; gradients (if there are parameters), plan and names as for language
/// models.
Answers broken_promises(Encoder& encoder);

/// Checks a fitted codec: codes are in range, and 0 beyond a row's length; neighbors and padding do
/// not change them; decoding returns whole frames; streaming equals offline decoding for every
/// chunk size; silence has codes; names map both ways. Random weights (`is_trained` false) are not
/// asked what silence sounds like.
Answers broken_promises(Codec& codec, bool is_trained = true);

/// Checks a tokenizer: ids are in range; the three special ids differ, and encoding never returns
/// them; decoding the ids of each text of `texts` returns the text.
Answers broken_promises(const Tokenizer& tokenizer, const std::vector<std::string>& texts);

/// Checks a data source, which each call of `open` opens again: every time it yields the same
/// batches; `restore` of a state continues with the batches that followed that state; `restore("")`
/// starts from the beginning. Reads `num_batches` batches.
Answers broken_promises(const std::function<std::unique_ptr<DataSource>()>& open, int num_batches);

/// Checks an optimizer, which each call of `make` builds anew: three updates change what has
/// gradients, and nothing else; its state, restored in another instance, gives the same next
/// update, bit by bit; a state that lacks a tensor is refused with [checkpoint/optimizer];
/// `step_scaled`, if there is one, divides gradients and skips updates.
Answers broken_promises(const std::function<std::unique_ptr<Optimizer>()>& make);

/// Checks a schedule: the rate of each step is a number, not negative, and depends on nothing but
/// the step and the base rate.
Answers broken_promises(const Schedule& schedule, double base_learning_rate);

/// Checks a metric, which each call of `make` builds anew: it takes dialogues and texts alone,
/// equal, different and empty ones in any script; it always lists the same values; they are finite
/// or NaN, the same when asked again, and the same in another instance that was given the same.
Answers broken_promises(const std::function<std::unique_ptr<Metric>()>& make);

/// Checks a logger, which each call of `make` builds anew: it takes values, texts, sounds, pictures
/// and histograms of a run, a stop, and the same run resumed by another instance. Nothing throws.
/// `folder`: an existing folder, which becomes that of the run.
Answers broken_promises(const std::function<std::unique_ptr<RunLogger>()>& make,
                        const std::string& folder);

/// Checks a scorer: it returns one text for each clip, also for silence, for a clip of another
/// sample rate, and for no clips.
Answers broken_promises(Scorer& scorer);

/// Checks a materialized model on a batch: the total loss is a finite number with a gradient, the
/// same with the same random numbers, and the other losses are detached; evaluate() always measures
/// the same, and metric_names() knows it; every parameter has one row in the plan, one name in
/// checkpoints, and is in one part of stages(), if there are any.
Answers broken_promises(Model& model, const Batch& batch);
/// The same on a batch that the model makes (MakesProbeBatches).
Answers broken_promises(Model& model);

}  // namespace s2s::conformance
