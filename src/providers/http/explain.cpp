#include "src/providers/http/explain.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "src/config/secrets.hpp"
#include "src/providers/http/document.hpp"
#include "src/providers/http/mapped_call.hpp"
#include "src/providers/http/mapping/request.hpp"

namespace celld::providers {
namespace {

HttpService with_masked_headers(HttpService service) {
  for (auto& [name, secret] : service.headers) secret.value = config::masked;
  return service;
}

/// A header line for libcurl as it is sent; empty if it suppresses a header.
std::string sent_line(std::string line) {
  if (line.ends_with(';') && line.find(':') == std::string::npos)
    line.back() = ':';
  else if (line.ends_with(':'))
    return "";
  return line + "\n";
}

std::string show(const HttpRequest& request) {
  std::string text = request.method + " " + request.url + "\n";
  for (const auto& line : request.headers) text += sent_line(line);
  if (!request.body.empty()) text += "\n" + request.body + "\n";
  return text;
}

std::string url_stand_in(std::size_t index) {
  return "URL-FROM-ANSWER-" + std::to_string(index + 1);
}

/// Explains the text that stands for the URL of a poll.
std::string explain_url(const mappings::UrlSource& source, std::size_t index) {
  const auto where = source.header.empty() ? "at `" + mappings::pointer_of(source.pointer) + "`"
                                           : "in its header " + source.header;
  return "# " + url_stand_in(index) + " stands for the URL that the answer to request " +
         std::to_string(index + 1) + " has " + where + ".\n";
}

std::string stand_ins_of(const mappings::AnswerRules& answer, std::size_t index,
                         const mappings::Scope& scope) {
  std::string text;
  for (const auto& [name, path] : answer.properties) {
    text += "# " + scope.stand_ins.at(name) + " stands for the property \"" + name +
            "\", which the answer to request " + std::to_string(index + 1) + " sets.\n";
  }
  return text;
}

std::variant<Explanation, ExplainedRefusal> explain_mapping(const std::string& name,
                                                            const HttpService& service,
                                                            const cells::Job& job) {
  auto scope = scope_of(*service.mapping, job);
  auto refused = refusal_of(name, *service.mapping, job, scope);
  if (!refused) refused = refusal_of_undo(name, *service.mapping, job);
  if (refused) return ExplainedRefusal{std::move(*refused)};
  scope.mask_secrets = true;
  const auto masked = with_masked_headers(service);
  const auto& requests = *find_requests(*service.mapping, job);
  if (requests.empty()) return Explanation{"# No request: the action succeeds at once.\n"};
  std::string text;
  /// The reason if the request cannot be made.
  const auto add = [&](const mappings::Request& request, std::size_t i,
                       bool is_poll) -> std::optional<ExplainedRefusal> {
    auto rendered = mappings::render(request, scope);
    if (const auto* refusal = std::get_if<mappings::Refusal>(&rendered))
      return ExplainedRefusal{refusal->text};
    const auto index = is_poll ? std::nullopt : std::optional(i);
    auto made = mapped_request(masked, job, std::get<mappings::Rendered>(std::move(rendered)),
                               index, milliseconds{0});
    if (is_poll && requests[i].poll->url) made.url = url_stand_in(i);
    text += show(made);
    mappings::expect_properties(request.answer, i, scope);
    const bool is_last = i + 1 == requests.size() && !request.poll;
    if (!is_last) text += stand_ins_of(request.answer, i, scope);
    return std::nullopt;
  };
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto& poll = requests[i].poll;
    if (i > 0) text += "\n";
    if (requests.size() > 1) text += "# Request " + std::to_string(i + 1) + "\n";
    if (auto refusal = add(requests[i], i, false)) return std::move(*refusal);
    if (!poll) continue;
    if (poll->url) text += explain_url(*poll->url, i);
    text += "\n# Then every " + std::to_string(poll->interval.count()) +
            " ms, until the operation has ended:\n";
    if (auto refusal = add(poll->request, i, true)) return std::move(*refusal);
  }
  return Explanation{std::move(text)};
}

}  // namespace

std::variant<Explanation, ExplainedRefusal> explain(const std::string& name,
                                                    const HttpService& service,
                                                    const cells::Job& job) {
  if (service.mapping) return explain_mapping(name, service, job);
  const cells::StartCall call{{}, std::make_shared<const cells::Job>(job), {}};
  return Explanation{show(call_request(with_masked_headers(service), call))};
}

}  // namespace celld::providers
