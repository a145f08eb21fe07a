#include "src/json/number_faults.hpp"

#include <algorithm>

namespace celld::json {

bool has_null(const Value& value) {
  if (value.is_structured()) return std::any_of(value.begin(), value.end(), has_null);
  return value.is_null();
}

bool has_number_fault(const Document& document, const std::string& pointer, const Value& value) {
  return std::any_of(document.number_faults.begin(), document.number_faults.end(),
                     [&](const Fault& fault) {
                       if (fault.detail == more_number_faults) return has_null(value);
                       return fault.pointer == pointer || fault.pointer.starts_with(pointer + "/");
                     });
}

}  // namespace celld::json
