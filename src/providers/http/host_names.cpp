#include "src/providers/http/host_names.hpp"

#include <algorithm>
#include <utility>

namespace celld::providers {

std::optional<cells::SteadyTime> HostNames::wait_for(const std::string& name, cells::SteadyTime now,
                                                     cells::SteadyTime at_most) {
  auto& known = names_[name];
  const bool usable = has_addresses(known, now);
  if (usable && now < known.next_look_up) return std::nullopt;
  if (!known.looked_up_since) {
    known.looked_up_since = now;
    look_up_(name);
  }
  if (!usable) return at_most;
  const auto until = std::min(*known.looked_up_since + patience, now + (at_most - now) / 2);
  return until > now ? std::optional(until) : std::nullopt;
}

const std::vector<std::string>& HostNames::addresses(const std::string& name,
                                                     cells::SteadyTime now) {
  auto& known = names_[name];
  if (!has_addresses(known, now)) known.addresses.clear();
  return known.addresses;
}

void HostNames::ended(const std::string& name, HostAddresses found, cells::SteadyTime now) {
  auto& known = names_[name];
  known.looked_up_since.reset();
  switch (found.end) {
    case HostAddresses::End::found:
      known.addresses = std::move(found.addresses);
      known.found_at = now;
      known.next_look_up = now + fresh_for;
      break;
    case HostAddresses::End::unknown:
      known.addresses.clear();
      break;
    case HostAddresses::End::failed:
      known.next_look_up = now + recheck_after;
      break;
  }
}

bool HostNames::has_addresses(const Name& name, cells::SteadyTime now) {
  return !name.addresses.empty() && now - name.found_at <= kept_for;
}

}  // namespace celld::providers
