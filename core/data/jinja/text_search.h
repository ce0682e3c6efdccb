#pragma once
// Methods of Python's str that search for a part of a text. They have Python's names, except
// split_from_right (rsplit), find_right (rfind), text_index (index), count_text (count) and
// partition_right (rpartition).

#include "jinja/value.h"

namespace s2s::jinja::methods {

Value split(const Value& self, const Arguments& arguments);
Value split_from_right(const Value& self, const Arguments& arguments);
Value split_lines(const Value& self, const Arguments& arguments);
Value replace(const Value& self, const Arguments& arguments);
Value starts_with(const Value& self, const Arguments& arguments);
Value ends_with(const Value& self, const Arguments& arguments);
Value find(const Value& self, const Arguments& arguments);
Value find_right(const Value& self, const Arguments& arguments);
Value text_index(const Value& self, const Arguments& arguments);
Value text_index_right(const Value& self, const Arguments& arguments);
Value count_text(const Value& self, const Arguments& arguments);
Value partition(const Value& self, const Arguments& arguments);
Value partition_right(const Value& self, const Arguments& arguments);

}  // namespace s2s::jinja::methods
