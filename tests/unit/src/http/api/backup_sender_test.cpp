#include "src/http/api/backup_sender.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/fixture.hpp"

namespace celld::api {
namespace {

/// What the maker has not answered.
using Owed = std::vector<caf::typed_response_promise<store::BackupMade>>;

enum class Copies { unreadable, unending, failing };

store::BackupMaker::behavior_type broken_maker(store::BackupMaker::pointer self,
                                               const std::shared_ptr<Owed>& owed, Copies copies) {
  return {
      [=](const store::MakeBackup&) -> caf::result<store::BackupMade> {
        if (copies == Copies::failing) {
          return caf::make_error(caf::sec::runtime_error, "the disk failed");
        }
        auto promise = self->make_response_promise<store::BackupMade>();
        if (copies == Copies::unreadable) {
          promise.deliver(store::BackupMade{100, "sha-256=:x:", "application/vnd.sqlite3"});
        } else {
          owed->push_back(promise);
        }
        return promise;
      },
      [](const store::ReadBackup&) -> caf::result<store::BackupPiece> {
        return caf::make_error(caf::sec::runtime_error, "the disk failed");
      },
      [](const store::DropBackup&) {},
  };
}

/// A copy with this content. Notes the size of each piece, and 0 when the copy is dropped.
struct Copy {
  std::string content;
  std::function<void()> before = [] {};  ///< The copy is made.
  std::size_t read = 0;
  http::test::Events<std::size_t> pieces;
};

store::BackupMaker::behavior_type maker_of(store::BackupMaker::pointer,
                                           const std::shared_ptr<Copy>& copy) {
  return {
      [=](const store::MakeBackup&) {
        copy->before();
        return store::BackupMade{copy->content.size(), "sha-256=:x:", "application/vnd.sqlite3"};
      },
      [=](const store::ReadBackup& order) {
        auto data = copy->content.substr(copy->read, order.bytes_max);
        copy->read += data.size();
        copy->pieces.put(data.size());
        return store::BackupPiece{std::move(data)};
      },
      [=](const store::DropBackup&) { copy->pieces.put(0); },
  };
}

class Sender {
 public:
  explicit Sender(Copies copies)
      : sender_(spawn_backup_sender(
            system_, system_.spawn(broken_maker, std::make_shared<Owed>(), copies), noted())) {}
  Sender(const std::shared_ptr<Copy>& copy, std::size_t piece_bytes)
      : sender_(spawn_backup_sender(system_, system_.spawn(maker_of, copy), noted(), piece_bytes)) {
  }
  ~Sender() { end(); }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  http::test::Events<std::string> failures;

  void end() { caf::anon_send_exit(sender_, caf::exit_reason::user_shutdown); }
  /// Asks for a backup for a new client.
  http::test::Client ask() {
    auto client = server_.connect();
    ask(park(client));
    return client;
  }
  http::test::Client connect() { return server_.connect(); }
  http::Responder park(http::test::Client& client) { return server_.park(client); }
  void ask(const http::Responder& responder) { caf::anon_send(sender_, SendBackup{responder}); }

 private:
  std::function<void(const std::string&)> noted() {
    return [this](const std::string& why) { failures.put(why); };
  }

  caf::actor_system_config config_;
  caf::actor_system system_{config_};
  http::test::RunningServer server_;  // Its thread sends to the sender until it is destroyed.
  BackupSender sender_;
};

}  // namespace

TEST_CASE("a copy that cannot be read ends short, and the next one is made") {
  Sender sender{Copies::unreadable};
  for (int n = 0; n < 2; ++n) {
    auto client = sender.ask();
    const auto head = client.receive(true);
    REQUIRE(head);
    CHECK(head->status == 200);
    CHECK(client.receive_to_end() == "");
    CHECK(sender.failures.take() == "the disk failed");
  }
}

TEST_CASE("a copy in small pieces arrives whole, and is dropped after its last piece") {
  const auto [content, sizes] =
      GENERATE(table<std::string, std::vector<std::size_t>>({{"12", {2, 0}},
                                                             {"123", {3, 0}},
                                                             {"123456789", {3, 3, 3, 0}},
                                                             {"123456789a", {3, 3, 3, 1, 0}}}));
  const auto copy = std::make_shared<Copy>();
  copy->content = content;
  Sender sender{copy, 3};
  auto client = sender.ask();
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(answer->body == content);
  for (const auto size : sizes) CHECK(copy->pieces.take() == size);
  CHECK(copy->pieces.size() == 0);
}

TEST_CASE("a copy whose client leaves while it is made is dropped, and the next one is made") {
  const auto copy = std::make_shared<Copy>();
  copy->content = "12";
  http::test::Events<bool> left;
  copy->before = [&] { left.take(); };
  Sender sender{copy, 3};
  auto client = sender.connect();
  const auto responder = sender.park(client);
  sender.ask(responder);
  client.reset();
  REQUIRE(http::test::eventually([&] { return !responder.connected(); }));
  left.put(true);
  REQUIRE(copy->pieces.take() == std::size_t{0});
  left.put(true);
  const auto answer = sender.ask().receive();
  REQUIRE(answer);
  CHECK(answer->body == "12");
}

TEST_CASE("a copy that cannot be made is reported to the client and to the daemon") {
  Sender sender{Copies::failing};
  auto client = sender.ask();
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 503);
  CHECK(answer->headers.at("retry-after") == "10");
  CHECK(answer->body.find("/problems/backup-failed") != std::string::npos);
  CHECK(answer->body.find("the disk failed") != std::string::npos);
  CHECK(sender.failures.take() == "the disk failed");
}

TEST_CASE("a client that asks for a copy while another is being made takes no one's place") {
  Sender sender{Copies::unending};
  auto first = sender.ask();
  CHECK(sender.ask().receive().value().status == 409);
  sender.end();
  CHECK(first.receive().value().status == 503);
}

TEST_CASE("a client whose copy is being made gets a 503 when celld shuts down") {
  Sender sender{Copies::unending};
  auto client = sender.ask();
  sender.end();
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 503);
  CHECK(answer->body.find("/problems/draining") != std::string::npos);
}

}  // namespace celld::api
