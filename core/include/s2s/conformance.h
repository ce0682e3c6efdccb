#pragma once
// The promises of the SDK's interfaces, as tests. A plugin's own tests link s2s::conformance, build
// their component and check that nothing is returned:
//
//   CHECK(s2s::conformance::broken_promises(my_codec).empty());
//
// Each answer is one sentence about what does not hold. Components are changed: they come out in
// eval mode, models with gradients.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "s2s/kinds/backbone.h"
#include "s2s/kinds/codec.h"
#include "s2s/kinds/data_source.h"
#include "s2s/kinds/encoder.h"
#include "s2s/kinds/tokenizer.h"

namespace s2s::conformance {

using Answers = std::vector<std::string>;

/// A materialized language model: shapes; no position sees a later one; decoding with the cache
/// equals the whole; logits are products with the head; gradients reach every parameter; the plan
/// holds on every small mesh, or says numbers that do not divide; checkpoint names lead there and
/// back.
Answers broken_promises(Backbone& model);

/// A materialized encoder: lengths and widths as announced; padding changes nothing before it; a
/// live stream equals the whole recording, unless streaming is refused with
/// [encoder/not-streamable]; gradients, plan and names as above.
Answers broken_promises(Encoder& encoder);

/// A codec with its statistics: codes in range, 0 beyond a row's length, not changed by neighbors
/// or padding; decoding gives whole frames; a stream equals the whole, whatever the pieces; silence
/// has codes; names as above.
Answers broken_promises(Codec& codec);

/// Ids in range, special ids three different ones that encoding never gives, `texts` come back
/// from their ids.
Answers broken_promises(const Tokenizer& tokenizer, const std::vector<std::string>& texts);

/// A source that `open` opens anew each time: the same batches each time; `restore` of a state goes
/// on with the batches that followed it; `restore("")` begins again. Reads `num_batches` batches.
Answers broken_promises(const std::function<std::unique_ptr<DataSource>()>& open, int num_batches);

}  // namespace s2s::conformance
