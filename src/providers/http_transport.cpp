#include "src/providers/http_transport.hpp"

#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>

#include <mutex>
#include <utility>

#include "src/providers/http_loop.hpp"

namespace celld::providers {
namespace {

void initialise_libcurl_once() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

// The main thread handles signals; and a TLS write to a closed connection must not raise SIGPIPE.
std::thread start_without_signals(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

HttpTransport::HttpTransport(HttpLimits limits) : calls_(std::make_shared<HttpCallQueue>()) {
  initialise_libcurl_once();
  auto loop = std::make_shared<HttpLoop>(limits, *calls_);
  thread_ = start_without_signals([loop, calls = calls_] { loop->run(); });
}

HttpTransport::~HttpTransport() {
  calls_->request_stop();
  thread_.join();
}

}  // namespace celld::providers
