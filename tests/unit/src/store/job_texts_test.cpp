// The JSON texts in the columns of a job: what was written is read back, and other text is an
// error.
#include "src/store/job_texts.hpp"

#include "src/store/sqlite.hpp"
#include "tests/unit/catch.hpp"

using namespace celld::store;

TEST_CASE("the parts of a new job are stored as empty text") {
  CHECK(steps_text({cells::Step{}, cells::Step{}}).empty());
  CHECK(labels_text({}).empty());
  CHECK(messages_text({}).empty());
  CHECK(error_text({}).empty());
  CHECK(properties_text({}).empty());
  CHECK(read_steps("", 2) == std::vector<cells::Step>(2));
  CHECK(read_properties("").empty());
}

TEST_CASE("properties are read back byte for byte") {
  const cells::Properties properties{{"a", "{\"x\" : [1.0, \"}],\\\"\"]}"},
                                     {"b\"\\", " [ ] "},
                                     {"c", "123456789012345678901234567890"},
                                     {"d", "\"\\\\\""}};
  CHECK(read_properties(properties_text(properties)) == properties);
}

TEST_CASE("a NUL, which the strict parser rejects, is replaced") {
  const std::string text("a\0b", 3);
  CHECK(read_services(services_text({text})) == std::vector<std::string>{"a\xEF\xBF\xBD"
                                                                         "b"});
}

TEST_CASE("malformed text is an error") {
  CHECK_THROWS_AS(read_services("[1]"), SqliteFailure);
  CHECK_THROWS_AS(read_labels("[]"), SqliteFailure);
  CHECK_THROWS_AS(read_steps("[{\"state\":\"asleep\",\"attempts\":1}]", 1), SqliteFailure);
  CHECK_THROWS_AS(read_steps("[]", 1), SqliteFailure);
  for (const std::string part : {"lease_epoch", "lease_counter"}) {
    const auto step = R"([{"state":"running","attempts":1,"report":"fail",")" + part + "\":1}]";
    CHECK_THROWS_AS(read_steps(step, 1), SqliteFailure);  // A lease has both.
  }
  CHECK_THROWS_AS(read_messages("[{}]"), SqliteFailure);
  CHECK_THROWS_AS(read_error("{"), SqliteFailure);
  CHECK_THROWS_AS(read_properties("{a:1}"), SqliteFailure);
  CHECK_THROWS_AS(read_properties("{\"a\":1,\"a\":2}"), SqliteFailure);
  CHECK_THROWS_AS(read_properties("{\"a\":1} "), SqliteFailure);
}

TEST_CASE("a list that is stored as an object, and a number out of range, are errors") {
  CHECK_THROWS_AS(read_services(R"({"a":"dns"})"), SqliteFailure);
  CHECK_THROWS_AS(read_messages("{}"), SqliteFailure);
  for (const char* attempts : {"-1", "4294967296", "18446744073709551615"}) {
    INFO(attempts);
    const std::string step = R"([{"state":"running","attempts":)" + std::string(attempts) + "}]";
    CHECK_THROWS_AS(read_steps(step, 1), SqliteFailure);
  }
}
