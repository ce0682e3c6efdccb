// The key functions of the interfaces that the data layer uses (see plugin/interfaces.cc).

#include "s2s/kinds/data_source.h"
#include "s2s/kinds/tokenizer.h"

namespace s2s {

DataSource::~DataSource() = default;
Tokenizer::~Tokenizer() = default;

}  // namespace s2s
