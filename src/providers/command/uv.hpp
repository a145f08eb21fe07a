// RAII for libuv's handles.
#pragma once

#include <uv.h>

#include <utility>

namespace celld::providers {

/// Owns a libuv handle, or none. Destruction closes the handle: after that, none of its callbacks
/// runs, except those of writes, which report that they were cancelled. The memory is freed once
/// the loop has released the handle. Use it on the loop's thread only.
template <typename Handle>
class Uv {
 public:
  Uv() = default;
  /// `init` receives the handle and adds it to a loop.
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
