#include <sstream>
#include <string>

#include "src/cli/table.hpp"
#include "src/cli/text.hpp"
#include "tests/unit/catch.hpp"

using namespace celld::cli;

namespace {

Table a_table() {
  Table table({{"ID"}, {"ENTITY", false, true}, {"AGE", true}});
  table.add({{"a1"}, {"zone/日本.example"}, {"3m"}});
  table.add({{"b22"}, {"zone/x"}, {"119s"}});
  return table;
}

}  // namespace

TEST_CASE("columns are aligned by terminal width, numbers to the right") {
  CHECK(a_table().text({}) ==
        "ID   ENTITY              AGE\n"
        "a1   zone/日本.example    3m\n"
        "b22  zone/x             119s\n");
}

TEST_CASE("a table is cut to the terminal, at the columns that may shrink") {
  CHECK(a_table().text({.width = 22}) ==
        "ID   ENTITY        AGE\n"
        "a1   zone/日本.…    3m\n"
        "b22  zone/x       119s\n");
  for (std::size_t width = 1; width < 30; ++width) {
    std::istringstream lines(a_table().text({.width = width}));
    for (std::string line; std::getline(lines, line);) CHECK(width_of(line) <= width);
  }
}

TEST_CASE("a value beside its name is cut to the terminal") {
  CHECK(list_text({{"job", {"1"}}, {"error", {"no answer within 30 s"}}}, {.width = 24}) ==
        "job         1\n"
        "error       no answer w…\n");
}

TEST_CASE("cell texts cannot break the lines of a table") {
  Table table({{"A"}, {"B"}});
  table.add({{"x\ny"}, {"\x1b[2J"}});
  CHECK(table.text({}) == "A    B\nx y  \uFFFD[2J\n");
}

TEST_CASE("colours surround the text but not the padding") {
  Table table({{"STATE"}, {"X"}});
  table.add({{"ok", Tone::good}, {"1"}});
  CHECK(table.text({.width = 0, .colour = true}).ends_with("\n\x1b[32mok\x1b[0m     1\n"));
}
