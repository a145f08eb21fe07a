// The actor that copies the database. It is detached because it blocks on the disk.
#include <optional>
#include <utility>

#include "src/store/backup.hpp"
#include "src/store/backup_copy.hpp"
#include "src/store/sqlite_store.hpp"

namespace celld::store {

/// Continues the copy of this number.
struct BackupStep {
  std::uint64_t number = 0;
};

}  // namespace celld::store

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::store::BackupStep)

namespace celld::store {
namespace {

using MakerActor = BackupMaker::extend<caf::reacts_to<BackupStep>>;

class Maker {
 public:
  using Pointer = MakerActor::stateful_pointer<Maker>;

  void start(Pointer self, std::string source, std::string path, const BackupOptions& options) {
    self_ = self;
    source_ = std::move(source);
    path_ = std::move(path);
    options_ = options;
  }

  caf::typed_response_promise<BackupMade> make() {
    drop("a newer backup request replaced this one");
    made_ = self_->make_response_promise<BackupMade>();
    auto promise = *made_;
    ++number_;
    guard([this] {
      copy_.emplace(source_, path_, options_);
      self_->send(self_, BackupStep{number_});
    });
    return promise;
  }

  /// One step per message, so that a DropBackup can come between two steps.
  void step(std::uint64_t number) {
    if (number != number_ || !copy_ || !made_) return;
    guard([this] {
      if (!copy_->step()) return self_->send(self_, BackupStep{number_});
      made_->deliver(BackupMade{copy_->bytes(), copy_->digest(), "application/vnd.sqlite3"});
      made_.reset();
    });
  }

  caf::result<BackupPiece> read(const ReadBackup& request) {
    if (!copy_ || made_) return failure("there is no copy");
    try {
      return BackupPiece{copy_->read(request.bytes_max)};
    } catch (const std::exception& error) {
      drop("");
      return failure(error.what());
    }
  }

  void drop(const char* why) {
    copy_.reset();
    if (made_) made_->deliver(failure(why));
    made_.reset();
  }

 private:
  static caf::error failure(std::string text) {
    return caf::make_error(caf::sec::runtime_error, std::move(text));
  }

  template <class Work>
  void guard(Work work) {
    try {
      work();
    } catch (const std::exception& error) {
      drop(error.what());
    }
  }

  Pointer self_ = nullptr;
  std::string source_;
  std::string path_;
  BackupOptions options_;
  std::uint64_t number_ = 0;
  std::optional<BackupCopy> copy_;
  std::optional<caf::typed_response_promise<BackupMade>> made_;  ///< Set during a copy.
};

MakerActor::behavior_type backup_maker(Maker::Pointer self, const std::string& source,
                                       const std::string& path, const BackupOptions& options) {
  auto& maker = self->state;
  maker.start(self, source, path, options);
  return {
      [&maker](MakeBackup) { return maker.make(); },
      [&maker](const ReadBackup& request) { return maker.read(request); },
      [&maker](DropBackup) { maker.drop("the copy was dropped"); },
      [&maker](BackupStep due) { maker.step(due.number); },
  };
}

}  // namespace

BackupMaker SqliteStore::spawn_backup_maker(caf::actor_system& system) const {
  return system.spawn<caf::detached>(backup_maker, path_, backup_path_, options_.backup);
}

}  // namespace celld::store
