#include "src/providers/http/transport.hpp"

#include <curl/curl.h>
#include <mutex>
#include <utility>

#include "src/providers/http/loop.hpp"
#include "src/providers/signal_free_thread.hpp"

namespace celld::providers {
namespace {

void initialise_libcurl_once() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

}  // namespace

HttpTransport::HttpTransport(HttpLimits limits, HelpActors help_actors)
    : calls_(std::make_shared<HttpCallQueue>()) {
  initialise_libcurl_once();
  auto loop = std::make_shared<HttpLoop>(limits, calls_, std::move(help_actors));
  thread_ = start_without_signals([loop] { loop->run(); });
}

HttpTransport::~HttpTransport() {
  calls_->request_stop();
  thread_.join();
}

}  // namespace celld::providers
