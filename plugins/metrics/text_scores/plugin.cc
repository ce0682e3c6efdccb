#include "s2s/plugin.h"

#include "text_scores.h"

// The order of the rows in tables.
S2S_PLUGIN("text_scores", "0.1.0", "Apache-2.0",
           "metric:bleu\nmetric:wer\nmetric:cer\nmetric:exact\nmetric:named_answers") {
  using namespace s2s::text_scores;
  registrar.add(bleu());
  registrar.add(wer());
  registrar.add(cer());
  registrar.add(exact());
  registrar.add(named_answers());
}
