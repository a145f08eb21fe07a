#include "src/token_command.hpp"

#include <cstdio>
#include <optional>
#include <set>

#include "src/config/checks.hpp"
#include "src/config/config.hpp"
#include "src/http/api/digest.hpp"
#include "src/http/api/tokens.hpp"
#include "src/json/json.hpp"

namespace celld {
namespace {

std::string name_fault(const std::string& text) {
  return config::is_name(text) ? "" : "must match [A-Za-z0-9][A-Za-z0-9._-]{0,62}";
}

std::string scope_fault(const std::string& text) {
  return config::parse_scope(text) ? "" : "must be submit, read, work or admin";
}

/// Each scope once, in the order of the documentation.
std::set<config::Scope> parse_scopes(const std::vector<std::string>& texts) {
  std::set<config::Scope> scopes;
  for (const std::string& text : texts)
    if (const auto scope = config::parse_scope(text)) scopes.insert(*scope);
  return scopes;
}

/// An element of `auth.tokens`, its members in the order of the documentation.
std::string entry_of(const std::string& name, const std::string& sha256,
                     const std::set<config::Scope>& scopes, const std::set<std::string>& services,
                     const std::string& customer) {
  std::string list;
  for (const config::Scope scope : scopes)
    list += (list.empty() ? "" : ", ") + json::quote(config::to_string(scope));
  std::string names;
  for (const std::string& service : services)
    names += (names.empty() ? "" : ", ") + json::quote(service);
  std::string entry = R"({"name": )" + json::quote(name) + R"(, "sha256": ")" + sha256 +
                      R"(", "scopes": [)" + list + "]";
  if (!names.empty()) entry += R"(, "services": [)" + names + "]";
  if (!customer.empty()) entry += R"(, "customer": )" + json::quote(customer);
  return entry + "}";
}

}  // namespace

TokenCommand::TokenCommand(CLI::App& app)
    : command_(app.add_subcommand("token", "make an API token")) {
  command_->footer(
      "Prints the token and, on the next line, its entry for `auth.tokens` in the configuration.\n"
      "celld stores neither: give the token to the client, and add the entry to the file.");
  command_->add_option("--name", name_, "the name of the token in the configuration")
      ->check(name_fault, "NAME")
      ->capture_default_str();
  command_->add_option("--scopes,--scope", scopes_, "the scopes: submit, read, work, admin")
      ->check(scope_fault, "SCOPE")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->take_all()
      ->capture_default_str();
  command_
      ->add_option("--services,--service", services_, "restrict the scope work to these services")
      ->check(name_fault, "NAME")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->take_all();
  command_->add_option("--customer", customer_, "restrict the token to this customer")
      ->check(name_fault, "NAME");
  command_->add_flag("--json", json_, R"(print one line: {"token": ..., "entry": ...})");
  command_->callback([this] {
    if (!services_.empty() && !parse_scopes(scopes_).contains(config::Scope::work))
      throw CLI::ValidationError("--services", "needs the scope work, which it restricts");
  });
}

bool TokenCommand::run() const {
  const auto token = api::make_token();
  if (!token) {
    std::fputs("celld: OpenSSL returned no random bytes\n", stderr);
    return false;
  }
  const std::string entry = entry_of(name_, api::sha256_hex(*token), parse_scopes(scopes_),
                                     {services_.begin(), services_.end()}, customer_);
  const std::string output = json_ ? R"({"token": ")" + *token + R"(", "entry": )" + entry + "}\n"
                                   : *token + "\n" + entry + "\n";
  if (std::fputs(output.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    std::perror("celld: the token could not be printed");
    return false;
  }
  return true;
}

}  // namespace celld
