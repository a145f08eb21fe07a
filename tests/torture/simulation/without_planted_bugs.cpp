// The list of planted bugs of a program that has none.
#include "tests/torture/simulation/planted.hpp"

namespace simulation {

const std::vector<std::string_view> planted_bugs;
const std::vector<Control> controls;

}  // namespace simulation
