// The names of leases in the API, which a client cannot guess.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <openssl/evp.h>

#include "cells/model/ids.hpp"

namespace celld::api {

/// What the name of a lease says.
struct NamedLease {
  cells::JobId job = 0;
  cells::Lease lease;

  bool operator==(const NamedLease&) const = default;
};

/// A name contains the job, the lease and a message authentication code (HMAC-SHA-256, RFC 2104,
/// cut to 128 bits) over both, in base64url (RFC 4648). Immutable: any thread may use it.
class LeaseNames {
 public:
  /// With the same secret, names keep their meaning across restarts. Throws std::runtime_error
  /// where OpenSSL has no HMAC or no SHA-256.
  explicit LeaseNames(const std::array<std::uint64_t, 2>& secret);

  std::string name(const NamedLease& lease) const;
  /// Nothing if no LeaseNames with this secret made the name.
  std::optional<NamedLease> parse(std::string_view name) const;

 private:
  /// Has the key, and nothing to authenticate. The preparation of a key costs more than a code.
  std::shared_ptr<const EVP_MAC_CTX> keyed_;
};

}  // namespace celld::api
