#include "src/http/api/backup_sender.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "src/http/api/problem.hpp"

namespace celld::api {
namespace {

using http::Responder;

constexpr std::chrono::seconds retry_after{10};

void answer(const Responder& responder, ProblemKind kind, std::string detail) {
  responder.answer(
      to_response({.kind = kind, .detail = std::move(detail), .retry_after = retry_after}));
}

class BackupSenderActor final : public BackupSender::base {
 public:
  BackupSenderActor(caf::actor_config& config, store::BackupMaker maker,
                    std::function<void(const std::string&)> on_failure, std::size_t piece_bytes)
      : BackupSender::base(config),
        maker_(std::move(maker)),
        on_failure_(std::move(on_failure)),
        piece_bytes_(piece_bytes) {}

  behavior_type make_behavior() override {
    return {
        [this](const SendBackup& order) { begin(order.responder); },
        [this](const BackupTaken& taken) {
          if (taken.number == number_ && sending_) send_next(taken.bytes);
        },
    };
  }

  void on_exit() override {
    if (waiting_) answer(*waiting_, ProblemKind::shutting_down, "celld is shutting down.");
    waiting_.reset();
    sending_.reset();
    caf::anon_send_exit(maker_, caf::exit_reason::user_shutdown);
    maker_ = nullptr;
  }

 private:
  /// A copy that is being sent to its client.
  struct Sending {
    http::AnswerStream stream;
    std::uint64_t bytes = 0;  ///< The whole copy.
    std::uint64_t written = 0;
    bool reading = false;
  };

  void begin(const Responder& responder) {
    if (waiting_ || sending_) {
      return answer(responder, ProblemKind::backup_under_way,
                    "Another backup is under way; celld makes one at a time.");
    }
    waiting_ = responder;
    ++number_;
    request(maker_, caf::infinite, store::MakeBackup{})
        .then([this](const store::BackupMade& made) { send_begin(made); },
              [this](const caf::error& error) {
                const auto why = text_of(error);
                on_failure_(why);
                answer(*waiting_, ProblemKind::backup_failed,
                       "The database could not be copied: " + why + ".");
                waiting_.reset();
              });
  }

  void send_begin(const store::BackupMade& made) {
    http::Response head;
    head.content_type = made.media_type;
    head.headers = {{"Repr-Digest", made.digest},
                    {"Content-Disposition", "attachment; filename=\"celld.db\""},
                    {"Cache-Control", "no-store"}};
    http::StreamOptions options;
    options.length = made.bytes;
    // The stream must not keep this actor alive.
    options.on_taken = [address = address(), number = number_](std::uint64_t bytes) {
      if (const auto self = caf::actor_cast<caf::strong_actor_ptr>(address)) {
        caf::anon_send(caf::actor_cast<BackupSender>(self), BackupTaken{number, bytes});
      }
    };
    sending_ = Sending{waiting_->begin_stream(std::move(head), std::move(options)), made.bytes};
    waiting_.reset();
    if (!sending_->stream.connected()) finish();
  }

  /// Reads the next piece once the client has taken all previous ones.
  void send_next(std::uint64_t taken) {
    if (!sending_->stream.connected()) return finish();
    if (sending_->reading || taken != sending_->written) return;
    sending_->reading = true;
    request(maker_, caf::infinite, store::ReadBackup{piece_bytes_})
        .then([this, number = number_](
                  const store::BackupPiece& piece) { send_piece(number, piece.data); },
              [this, number = number_](const caf::error& error) {
                on_failure_(text_of(error));
                if (number == number_ && sending_) finish();
              });
  }

  void send_piece(std::uint64_t number, const std::string& data) {
    if (number != number_ || !sending_) return;
    sending_->reading = false;
    sending_->written += data.size();
    const bool sent = !data.empty() && sending_->stream.write(data);
    if (!sent || sending_->written >= sending_->bytes) finish();
  }

  /// Ending a stream short of its announced length closes the connection.
  void finish() {
    sending_->stream.end();
    sending_.reset();
    caf::anon_send(maker_, store::DropBackup{});
  }

  static std::string text_of(const caf::error& error) {
    const auto& context = error.context();
    const bool is_text =
        context.size() == 1 && context.type(0).first == caf::type_nr<std::string>::value;
    return is_text ? context.get_as<std::string>(0) : "unknown";
  }

  store::BackupMaker maker_;
  const std::function<void(const std::string&)> on_failure_;
  const std::size_t piece_bytes_;
  std::uint64_t number_ = 0;          ///< Of the current copy.
  std::optional<Responder> waiting_;  ///< The client, while its copy is being made.
  std::optional<Sending> sending_;
};

}  // namespace

BackupSender spawn_backup_sender(caf::actor_system& system, store::BackupMaker maker,
                                 std::function<void(const std::string&)> on_failure,
                                 std::size_t piece_bytes) {
  return system.spawn<BackupSenderActor>(std::move(maker), std::move(on_failure), piece_bytes);
}

}  // namespace celld::api
