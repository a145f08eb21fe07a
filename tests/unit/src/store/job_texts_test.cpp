// The JSON texts in the columns of a job: what is written is read again, and nothing else is.
#include "src/store/job_texts.hpp"

#include "src/store/sqlite.hpp"
#include "tests/unit/catch.hpp"

using namespace celld::store;

TEST_CASE("a new job's parts are kept as nothing") {
  CHECK(steps_text({cells::Step{}, cells::Step{}}).empty());
  CHECK(labels_text({}).empty());
  CHECK(messages_text({}).empty());
  CHECK(error_text({}).empty());
  CHECK(properties_text({}).empty());
  CHECK(read_steps("", 2) == std::vector<cells::Step>(2));
  CHECK(read_properties("").empty());
}

TEST_CASE("properties come back to the byte, whatever their values hold") {
  const cells::Properties properties{{"a", "{\"x\" : [1.0, \"}],\\\"\"]}"},
                                     {"b\"\\", " [ ] "},
                                     {"c", "123456789012345678901234567890"},
                                     {"d", "\"\\\\\""}};
  CHECK(read_properties(properties_text(properties)) == properties);
}

TEST_CASE("a NUL, which the strict parser refuses, is replaced") {
  const std::string text("a\0b", 3);
  CHECK(read_services(services_text({text})) == std::vector<std::string>{"a\xEF\xBF\xBD"
                                                                         "b"});
}

TEST_CASE("text of another form is an error, never a guess") {
  CHECK_THROWS_AS(read_services("[1]"), SqliteFailure);
  CHECK_THROWS_AS(read_labels("[]"), SqliteFailure);
  CHECK_THROWS_AS(read_steps("[{\"state\":\"asleep\",\"attempts\":1}]", 1), SqliteFailure);
  CHECK_THROWS_AS(read_steps("[]", 1), SqliteFailure);
  CHECK_THROWS_AS(read_messages("[{}]"), SqliteFailure);
  CHECK_THROWS_AS(read_error("{"), SqliteFailure);
  CHECK_THROWS_AS(read_properties("{a:1}"), SqliteFailure);
}
