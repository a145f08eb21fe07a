// libuv's handles under the rules of C++.
#pragma once

#include <uv.h>

#include <utility>

namespace celld::providers {

/// Owns a handle of libuv, or none. Destruction closes it: from then on none of its callbacks comes
/// (but those of writes, which are told that they were cancelled), and its memory goes when the
/// loop has let go of it. Only on the loop's thread.
template <typename Handle>
class Uv {
 public:
  Uv() = default;
  /// `init` is called with the handle and makes it one of a loop.
  template <typename Init>
  Uv(void* data, Init init) : handle_(new Handle) {
    init(handle_);
    handle_->data = data;
  }
  Uv(Uv&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Uv& operator=(Uv&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Uv() { reset(); }

  void reset() {
    auto* handle = std::exchange(handle_, nullptr);
    if (handle == nullptr) return;
    handle->data = nullptr;
    uv_close(reinterpret_cast<uv_handle_t*>(handle),
             [](uv_handle_t* closed) { delete reinterpret_cast<Handle*>(closed); });
  }
  Handle* get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  Handle* handle_ = nullptr;
};

}  // namespace celld::providers
