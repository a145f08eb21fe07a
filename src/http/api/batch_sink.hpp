// The receiving side of POST /v1/batches: parses lines on handler threads and passes them to the
// desk. Each piece of the body is one step, and no further piece arrives before the desk has taken
// all lines of the last one.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "src/http/api/access.hpp"
#include "src/http/api/batch_desk.hpp"
#include "src/http/api/batch_splitter.hpp"
#include "src/http/api/bound_customer.hpp"
#include "src/http/api/settings.hpp"
#include "src/http/server.hpp"

namespace celld::api {

enum class BatchFormat : std::uint8_t { lines, array };

/// A line or element of a batch has at most this many bytes.
inline constexpr std::size_t batch_text_bytes_max = 1 << 20;

class BatchSink final : public http::BodySink {
 public:
  /// Pauses the flow and begins the batch. `request` has been admitted for `only_customer`. A
  /// reload may change that: then the batch ends early.
  BatchSink(BatchDesk desk, std::shared_ptr<const LiveSettings> settings, BatchPostPtr post,
            BatchFormat format, http::Request request, const BoundCustomer& only_customer);

  bool on_data(std::string_view piece) override;
  void on_end() override;
  bool on_timeout() override;
  void on_abort() override;

 private:
  void stop_at(std::uint64_t line, Problem why, SubmitLines& lines);
  void take(const BatchItem& item, const SubmissionRules& rules, SubmitLines& lines);
  void reject(std::uint64_t line, Problem problem, SubmitLines& lines);

  const BatchDesk desk_;
  const std::shared_ptr<const LiveSettings> settings_;
  const BatchPostPtr post_;
  const BatchFormat format_;
  const BoundCustomer only_customer_;
  std::string traceparent_;
  const std::unique_ptr<BatchSplitter> splitter_;
  std::size_t listed_ = 0;  ///< Lines that were rejected with a problem to list.
  bool has_begun_ = false;  ///< Some of the body has come.
  bool is_broken_ = false;  ///< The rest cannot be read.
};

}  // namespace celld::api
