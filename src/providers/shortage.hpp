// Failures of celld's own, which say nothing about a provider.
#pragma once

#include <cerrno>

namespace celld::providers {

/// Whether the error says that descriptors, processes, threads or memory are used up.
constexpr bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS ||
         error == EAGAIN || error == ETOOMANYREFS;
}

}  // namespace celld::providers
