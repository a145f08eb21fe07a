// Faults in certificate files are reported with the file and its fault.
#include <string>
#include <variant>

#include "src/http/tls.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/certificates.hpp"

namespace celld::http::test {
namespace {

struct Settings {
  PemFiles files;
  Identity authority = make_authority("the authority");
  TlsSettings settings = files.settings_of("server", make_identity("server", authority));

  /// The reported fault; empty when there is none.
  std::string fault() const {
    const auto loaded = TlsContext::load(settings);
    const auto* text = std::get_if<std::string>(&loaded);
    return text == nullptr ? std::string() : *text;
  }
};

bool reports(const std::string& fault, const std::string& path, const std::string& what) {
  INFO(fault);
  const bool both = fault.find(path + ": ") == 0 && fault.find(what) != std::string::npos;
  CHECK(both);
  return both;
}

TEST_CASE("a certificate, its key and a client CA are accepted") {
  Settings given;
  CHECK(given.fault().empty());
  given.settings.client_ca_path = given.files.write_certificate("ca.crt", given.authority);
  CHECK(given.fault().empty());
}

TEST_CASE("a missing file is named") {
  for (auto file :
       {&TlsSettings::certificate_path, &TlsSettings::key_path, &TlsSettings::client_ca_path}) {
    Settings given;
    given.settings.*file = given.files.path("nowhere");
    CHECK(reports(given.fault(), given.files.path("nowhere"), "No such file"));
  }
}

TEST_CASE("a directory in place of a file is named") {
  Settings given;
  given.settings.certificate_path = given.files.path("");
  CHECK(reports(given.fault(), given.files.path(""), "Is a directory"));
}

TEST_CASE("a file without PEM is named, with what it should contain") {
  for (const auto* text : {"", "no PEM\n"}) {
    Settings given;
    const auto path = given.files.write("text", text);
    given.settings.certificate_path = path;
    CHECK(reports(given.fault(), path, "no certificate in PEM"));
    Settings keyless;
    const auto other = keyless.files.write("text", text);
    keyless.settings.key_path = other;
    CHECK(reports(keyless.fault(), other, "no private key in PEM"));
    Settings authorless;
    const auto third = authorless.files.write("text", text);
    authorless.settings.client_ca_path = third;
    CHECK(reports(authorless.fault(), third, "no certificate in PEM"));
  }
}

TEST_CASE("a broken PEM file is named") {
  Settings given;
  const auto path =
      given.files.write("broken", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  given.settings.certificate_path = path;
  CHECK(reports(given.fault(), path, "certificate cannot be used"));
}

TEST_CASE("a key in place of a certificate is reported, and vice versa") {
  Settings given;
  std::swap(given.settings.certificate_path, given.settings.key_path);
  CHECK(reports(given.fault(), given.settings.certificate_path, "no certificate in PEM"));
  Settings twice;
  twice.settings.key_path = twice.settings.certificate_path;
  CHECK(reports(twice.fault(), twice.settings.key_path, "no private key in PEM"));
}

TEST_CASE("a key of another certificate is reported") {
  Settings given;
  const auto other = make_identity("other", given.authority);
  given.settings.key_path = given.files.write_key("other.key", other);
  CHECK(reports(given.fault(), given.settings.key_path,
                "does not match the certificate in " + given.settings.certificate_path));
}

TEST_CASE("a key with a passphrase is reported") {
  Settings given;
  const auto identity = make_identity("server", given.authority);
  given.settings.certificate_path = given.files.write_certificate("locked.crt", identity);
  given.settings.key_path = given.files.write_key("locked.key", identity, "secret");
  CHECK(reports(given.fault(), given.settings.key_path, "passphrase"));
}

TEST_CASE("a key too short to be safe is reported") {
  Settings given;
  given.settings = given.files.settings_of("weak", make_weak_identity("weak", given.authority));
  CHECK(reports(given.fault(), given.settings.certificate_path, "too weak"));
}

}  // namespace
}  // namespace celld::http::test
