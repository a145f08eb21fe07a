#include "src/http/api/backup_sender.hpp"

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/fixture.hpp"

namespace celld::api {
namespace {

/// What the maker has not answered.
using Owed = std::vector<caf::typed_response_promise<store::BackupMade>>;

/// Its copies cannot be read, or are never complete.
store::BackupMaker::behavior_type broken_maker(store::BackupMaker::pointer self,
                                               const std::shared_ptr<Owed>& owed, bool completes) {
  return {
      [=](const store::MakeBackup&) -> caf::result<store::BackupMade> {
        auto promise = self->make_response_promise<store::BackupMade>();
        if (completes) {
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

class Sender {
 public:
  explicit Sender(bool completes)
      : sender_(spawn_backup_sender(
            system_, system_.spawn(broken_maker, std::make_shared<Owed>(), completes))) {}
  ~Sender() { end(); }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  void end() { caf::anon_send_exit(sender_, caf::exit_reason::user_shutdown); }
  /// Asks for a backup for a new client.
  http::test::Client ask() {
    auto client = server_.connect();
    REQUIRE(client.send(http::test::request_text("POST", "/parked")));
    caf::anon_send(sender_, SendBackup{server_.parked.take().value()});
    return client;
  }

 private:
  http::test::RunningServer server_;
  caf::actor_system_config config_;
  caf::actor_system system_{config_};
  BackupSender sender_;
};

}  // namespace

TEST_CASE("a copy that cannot be read ends short, and the next one is made") {
  Sender sender{true};
  for (int n = 0; n < 2; ++n) {
    auto client = sender.ask();
    const auto head = client.receive(true);
    REQUIRE(head);
    CHECK(head->status == 200);
    CHECK(client.receive_to_end() == "");
  }
}

TEST_CASE("a client whose copy is being made gets a 503 when celld shuts down") {
  Sender sender{false};
  auto client = sender.ask();
  sender.end();
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 503);
  CHECK(answer->body.find("/problems/draining") != std::string::npos);
}

}  // namespace celld::api
