// The body of an upload, which may come slowly.
#pragma once

#include <string>

namespace celld::cli {

class UploadBody {
 public:
  virtual ~UploadBody() = default;
  /// The next piece; empty: there is none yet, or the body has ended.
  virtual std::string next() = 0;
  virtual bool has_ended() const = 0;
  /// What `read` reads from; can be polled for input.
  virtual int descriptor() const = 0;
  /// Reads more. Blocks until `descriptor` has input.
  virtual void read() = 0;
  /// What may be sent during a pause without changing the meaning of the body; empty: nothing.
  virtual std::string filler() const = 0;
};

}  // namespace celld::cli
