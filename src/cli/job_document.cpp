#include "src/cli/job_document.hpp"

#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "src/cli/commands.hpp"
#include "src/cli/failure.hpp"
#include "src/cli/input.hpp"
#include "src/cli/members.hpp"
#include "src/cli/text.hpp"
#include "src/json/json.hpp"

namespace celld::cli {
namespace {

constexpr std::size_t file_bytes_max = 64 << 20;  // celld has a lower limit of its own.
constexpr std::string_view key_member = "idempotency_key";

struct File {
  std::string text;
  json::Value value = json::Value::object();
  bool has_number_faults = false;
};

File read_file(const std::string& path) {
  File file{.text = read_input(path, file_bytes_max, "; if it has one job a line, add --batch")};
  const std::string name = path == "-" ? "standard input" : cleaned(path);
  auto parsed = json::parse(file.text, {.depth_max = 128, .nodes_max = 20'000'000});
  if (const auto* error = std::get_if<json::SyntaxError>(&parsed)) {
    // If the first line alone is a document, the file probably has one job a line.
    const auto first = json::parse(std::string_view(file.text).substr(0, file.text.find('\n')));
    const bool has_lines = !std::holds_alternative<json::SyntaxError>(first);
    throw usage_failure(name + ": " + error->detail +
                        (has_lines ? "\n  If it has one job a line, add --batch." : ""));
  }
  auto& document = std::get<json::Document>(parsed);
  if (document.value.is_array()) {
    throw usage_failure(
        name + " is a JSON array; to submit several jobs, write one job a line, and add --batch");
  }
  if (!document.value.is_object()) throw usage_failure(name + " is not a JSON object");
  file.has_number_faults = !document.number_faults.empty();
  file.value = std::move(document.value);
  return file;
}

/// Reads the text as JSON, or else as a string. Text that begins with {, [ or " must be JSON.
json::Value parameter_value(const std::string& name, const std::string& text) {
  auto parsed = json::parse(text);
  if (auto* document = std::get_if<json::Document>(&parsed)) {
    if (document->number_faults.empty()) return std::move(document->value);
    throw usage_failure("--parameter " + cleaned(name) + " has a number that is out of range");
  }
  if (text.find_first_of("{[\"") == 0)
    throw usage_failure("--parameter " + cleaned(name) + ": " +
                        std::get<json::SyntaxError>(parsed).detail);
  return text;
}

/// The member as an object; replaces a member of another type.
json::Value& object_in(json::Value& job, const char* name) {
  json::Value& member = job[name];
  if (!member.is_object()) member = json::Value::object();
  return member;
}

/// Applies the flags to a job.
class Overlay {
 public:
  Overlay(const Arguments& arguments, json::Value& job) : arguments_(arguments), job_(job) {}

  void apply() {
    for (const auto& [flag, member] :
         {std::pair{"--customer", "customer"}, std::pair{"--product", "product"},
          std::pair{"--action", "action"}, std::pair{"--on-failure", "on_failure"}})
      if (auto text = arguments_.text(flag)) job_[member] = std::move(*text);
    apply_entity();
    if (arguments_.has("--service")) job_["services"] = arguments_.list("--service");
    if (const auto priority = arguments_.integer("--priority")) job_["priority"] = *priority;
    if (const auto most = arguments_.integer("--max-attempts"))
      object_in(job_, "retry")["max_attempts"] = *most;
    if (const auto timeout = arguments_.duration("--timeout"))
      job_["timeout_ms"] = timeout->count();
    for (const std::string& text : arguments_.texts("--parameter")) {
      const auto [name, value] = name_and_value(text);
      object_in(job_, "parameters")[name] = parameter_value(name, value);
    }
    for (const std::string& text : arguments_.texts("--label")) {
      auto [name, value] = name_and_value(text);
      object_in(job_, "labels")[name] = std::move(value);
    }
  }

  void apply_times() {
    if (const auto delay = arguments_.duration("--delay")) {
      job_["delay_ms"] = delay->count();
      if (!arguments_.has("--at")) job_.erase("run_at");
    }
    if (auto at = arguments_.moment("--at", 1)) {
      job_["run_at"] = std::move(*at);
      if (!arguments_.has("--delay")) job_.erase("delay_ms");
    }
    if (auto expires = arguments_.moment("--expires", 1)) job_["expires_at"] = std::move(*expires);
  }

 private:
  void apply_entity() {
    if (const auto entity = arguments_.text("--entity")) {
      const std::size_t slash = entity->find('/');
      object_in(job_, "entity")["type"] = entity->substr(0, slash);
      object_in(job_, "entity")["id"] = entity->substr(slash + 1);
    }
    if (auto subtype = arguments_.text("--subtype"))
      object_in(job_, "entity")["subtype"] = std::move(*subtype);
  }

  const Arguments& arguments_;
  json::Value& job_;
};

std::string entity_fault(const std::string& text) {
  return text.find('/') == std::string::npos ? "needs TYPE/ID, such as zone/example.com" : "";
}

}  // namespace

void add_job_flags(CLI::App& verb) {
  add_value(verb, "-f,--file", "FILE",
            "read the job as JSON, - for standard input; flags override it");
  add_value(verb, "--customer", "NAME", "set the customer");
  add_value(verb, "--product", "NAME", "set the product");
  add_value(verb, "--action", "TEXT", "set the action");
  add_value(verb, "--entity", "TYPE/ID", "set the entity; also as two words")->check(entity_fault);
  add_value(verb, "--subtype", "TEXT", "set the subtype of the entity");
  add_value(verb, "--service", "NAME,...", "call these services, in this order");
  add_value(verb, "--parameter", "KEY=VALUE", "set a parameter; VALUE is JSON or text; repeatable");
  add_value(verb, "--priority", "1-9", "set the priority; 9 runs first (5)")->check(integer_fault);
  add_value(verb, "--timeout", "DURATION", "limit each attempt at a service");
  add_value(verb, "--max-attempts", "N", "limit the attempts at each service")
      ->check(integer_fault);
  add_value(verb, "--on-failure", "WHAT", "choose what happens after a failure: stop, compensate");
  add_value(verb, "--label", "KEY=VALUE", "set a label; repeatable");
}

void add_time_flags(CLI::App& verb) {
  add_value(verb, "--delay", "DURATION", "start no earlier than this long from now");
  add_value(verb, "--at", "TIME", "start no earlier than this time");
  add_value(verb, "--expires", "TIME", "fail the job if it has not ended by this time");
}

namespace {

/// A job of a schedule takes no times and no key from flags. celld refuses those of a file.
JobDocument read_job(const Arguments& arguments, bool of_schedule) {
  File file;
  if (const auto path = arguments.text("--file")) file = read_file(*path);
  const json::Value given = file.value;
  Overlay overlay(arguments, file.value);
  overlay.apply();
  JobDocument job{.body = {}, .idempotency_key = text_at(file.value, {key_member})};
  if (!of_schedule) {
    overlay.apply_times();
    if (auto key = arguments.text("--key")) {
      file.value.erase(key_member);
      job.idempotency_key = std::move(*key);
    }
  }
  // An unchanged file is sent as it is, so that the faults that celld reports refer to it. The job
  // of a schedule becomes a part of another document.
  const bool is_unchanged = !file.text.empty() && file.value == given;
  if (file.has_number_faults && (of_schedule || !is_unchanged)) {
    throw usage_failure("the file has a number that is out of range");
  }
  job.body = is_unchanged ? std::move(file.text) : json::dump(file.value);
  return job;
}

}  // namespace

JobDocument job_document(const Arguments& arguments) {
  return read_job(arguments, false);
}

std::string schedule_job(const Arguments& arguments) {
  return read_job(arguments, true).body;
}

}  // namespace celld::cli
