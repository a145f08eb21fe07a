#include "src/store/mixed_store.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/store/pruning.hpp"

namespace celld::store {

using namespace cells;  // NOLINT: the whole file is about the port's messages.

namespace {

/// (Customer, idempotency key).
using KeyName = std::pair<std::string, std::string>;

/// Joins the answers of both stores, which order backlogs alike.
BacklogsListed merge_backlogs(const BacklogsListed& one, const BacklogsListed& other,
                              std::size_t limit) {
  std::map<StoredBacklog, std::uint64_t> jobs;
  for (const auto* listed : {&one, &other}) {
    for (std::size_t i = 0; i < listed->backlogs.size(); ++i) {
      jobs[listed->backlogs[i]] += listed->jobs[i];
    }
  }
  BacklogsListed merged;
  for (const auto& [backlog, count] : jobs) {
    if (merged.backlogs.size() == limit) break;
    merged.backlogs.push_back(backlog);
    merged.jobs.push_back(count);
  }
  return merged;
}

/// Counts the jobs in memory as they are now; the batch may know an earlier state of them.
void count_in_memory(const BatchesInMemory& batches, Batch& batch) {
  if (const auto jobs = batches.find(batch.id)) cells::count_in_memory(batch, *jobs);
}

class MixedStoreActor final : public JobStore::base {
 public:
  MixedStoreActor(caf::actor_config& config, std::shared_ptr<SharedMemory> memory, JobStore other)
      : JobStore::base(config),
        memory_(std::move(memory)),
        other_(std::move(other)),
        jobs_(memory_->content.content()) {}

  behavior_type make_behavior() override {
    link_to(other_);
    return {
        // CAF tries the handlers in this order, so those that each job needs come first.
        [this](InsertJob& request) { return insert(request); },
        [this](const ClaimJob& request) {
          request.job->durability == Durability::memory ? note(request) : send(other_, request);
        },
        [this](const RecordJob& request) { return record(request); },
        [this](const FlushStore& request) {
          if (!request.durability) note_batches(memory_->batches.take_unnoted());
          return by_kind<StoreFlushed>(request.durability.value_or(Durability::disk), request);
        },
        [this](const FetchRunnable& request) {
          return by_kind<RunnableFetched>(request.durability, request);
        },
        [this](const StartEpoch& request) { return start_epoch(request); },
        [this](const LoadCells& request) { return load_cells(request); },
        [this](const ListBacklogs& request) { return list_backlogs(request); },
        [this](const MoveJobs& request) { return by_kind<JobsMoved>(request.durability, request); },
        [this](const CountNeeds& request) { return count_needs(request); },
        [this](const LoadCell& request) {
          return by_kind<CellLoaded>(request.durability, request);
        },
        [this](const FindKeyHolder& request) { return find_key_holder(request); },
        [this](const CancelWaiting& request) {
          return by_kind<WaitingCancelled>(kind_of(request.id), request);
        },
        [this](const ReopenEnded& request) {
          return by_kind<EndedReopened>(kind_of(request.id), request);
        },
        [this](const HoldJob& request) {
          kind_of(request.id) == Durability::memory ? note(request) : send(other_, request);
        },
        [this](const ReleaseHolds& request) {
          return by_kind<HoldsReleased>(request.durability, request);
        },
        [this](const ChangeLane& request) {
          kind_of(request.id) == Durability::memory ? note(request) : send(other_, request);
        },
        [this](const AdvanceDue& request) {
          return by_kind<DueAdvanced>(request.durability, request);
        },
        [this](const PruneEnded& request) { return prune(request); },
        [this](const OpenBatch& request) { return delegate(other_, request); },
        [this](const CloseBatch& request) { return close_batch(request); },
        [this](const MarkCancelled& request) { return delegate(other_, request); },
        [this](const NoteInMemory& request) { return delegate(other_, request); },
        [this](const LoadSchedules& request) { return delegate(other_, request); },
        [this](const SaveSchedule& request) { return delegate(other_, request); },
        [this](const RemoveSchedule& request) {
          passed_without_job_.erase(request.name);
          return delegate(other_, request);
        },
        [this](const AdvanceSchedule& request) {
          const auto order = as_on_disk(request.advance);
          passed_without_job_.erase(request.advance.schedule);
          return delegate(other_, order);
        },
        [this](const SetCellOverride& request) { return delegate(other_, request); },
    };
  }

  void on_exit() override {
    for (auto& [name, waiting] : std::exchange(claimed_keys_, {})) {
      for (const auto& each : waiting) each.fail();
    }
    for (auto& [line, waiting] : std::exchange(insertions_, {})) {
      for (const auto& each : waiting) each.fail();
    }
    other_ = nullptr;
  }

 private:
  // --- Jobs in memory --------------------------------------------------------------------------

  template <class Answer, class Request>
  caf::result<Answer> by_kind(Durability kind, const Request& request) {
    if (kind == Durability::memory) return apply(request);
    return delegate(other_, request);
  }

  Durability kind_of(JobId id) const {
    return jobs_.find(id) ? Durability::memory : Durability::disk;
  }

  template <class Request>
  auto apply(const Request& request) {
    auto answer = jobs_.apply(request);
    publish();
    return answer;
  }

  template <class Request>
  void note(const Request& request) {
    jobs_.apply(request);
    publish();
  }

  /// Shows the readers what has changed.
  void publish() {
    if (jobs_.changed() || jobs_.claims() != 0) memory_->content.commit(jobs_);
    note_batches(memory_->batches.take_due());
  }

  void note_batches(const std::vector<BatchesInMemory::Noted>& batches) {
    for (const auto& noted : batches) {
      this->request(other_, caf::infinite, NoteInMemory{noted.first, noted.second})
          .then([this, noted](const InMemoryNoted&) { memory_->batches.noted(noted); },
                [](const caf::error&) {});  // The other store has failed, and ends this one.
    }
  }

  caf::result<BatchClosed> close_batch(const CloseBatch& request) {
    if (!memory_->batches.close(request.id)) return delegate(other_, request);
    note_batches(memory_->batches.take_due());
    return ask_other<BatchClosed>(request, [this](BatchClosed& closed) {
      if (closed.batch) count_in_memory(memory_->batches, *closed.batch);
      return std::move(closed);
    });
  }

  void remove(const std::vector<JobId>& ended) {
    for (const auto id : ended) jobs_.remove_ended(id);
    publish();
  }

  /// A job may grow with each attempt.
  caf::result<JobRecorded> record(const RecordJob& request) {
    if (request.job->durability == Durability::disk) return delegate(other_, request);
    auto answer = apply(request);
    remove(memory_->budget.excess(request.job->cell));
    return answer;
  }

  // --- New jobs, and idempotency keys ----------------------------------------------------------
  //
  // A key belongs to one job of its customer, whatever its kind. A new job in memory claims its key
  // while the other store is asked for a holder. Requests with a claimed key wait.

  struct Waiting {
    std::function<void()> go_on;  ///< Empty while the other store is asked.
    std::function<void()> fail;
  };

  caf::result<JobInserted> insert(InsertJob& request) {
    const bool in_memory = request.job->durability == Durability::memory;
    if (in_memory && request.firing) return insert_firing(request);
    if (!request.idempotency) {
      if (in_memory) return insert_now(request);
      return delegate(other_, std::move(request));
    }
    const FindKeyHolder question{request.job->spec->customer, *request.idempotency};
    if (is_claimed(question)) return wait_for_key<JobInserted>(question, request);
    if (auto holder = jobs_.apply(question); holder.job) {
      return JobInserted{request.job->id, false, std::move(holder), {}};
    }
    if (!in_memory) return delegate(other_, std::move(request));
    claimed_keys_[name_of(question)];
    return ask_before<KeyHolder>(
        request, question,
        [this, request, question](const KeyHolder& holder, Inserting& promise) {
          if (holder.job) {
            promise.deliver(JobInserted{request.job->id, false, holder, {}});
          } else {
            deliver(promise, add(request));
          }
          release_key(question);
        },
        [this, question] { release_key(question); });
  }

  caf::result<JobInserted> insert_now(const InsertJob& request) {
    const auto ahead = insertions_.find(line_of(request));
    if (ahead != insertions_.end()) {
      auto promise = make_response_promise<JobInserted>();
      ahead->second.push_back(
          {[this, request, promise]() mutable { deliver(promise, add(request)); }, fails(promise)});
      return promise;
    }
    if (auto inserted = add(request)) return std::move(*inserted);
    return id_in_use();
  }

  /// Advances the schedule on disk before it adds the job, which a crash would lose: a due time
  /// fires at most once.
  caf::result<JobInserted> insert_firing(const InsertJob& request) {
    if (auto refused = refuse(request)) return std::move(*refused);
    AdvanceSchedule order = as_on_disk(*request.firing);
    order.advance.after.last_job = request.job->id;
    return ask_before<ScheduleAdvanced>(
        request, order,
        [this, request](const ScheduleAdvanced& answer, Inserting& promise) {
          if (answer.applied) {
            deliver(promise, add_fired(request));
          } else {
            promise.deliver(JobInserted{request.job->id, false, {}, {}, true});
          }
        },
        [] {});
  }

  /// Adds the job of a due time that the schedule has passed. If there is no longer room, the
  /// sender tries that time again. None if the id is in use.
  std::optional<JobInserted> add_fired(const InsertJob& request) {
    auto inserted = add(request);
    const auto& firing = *request.firing;
    if (inserted && (inserted->full || inserted->customer_full)) {
      passed_without_job_[firing.schedule] = time_of(firing);
    } else {
      passed_without_job_.erase(firing.schedule);
    }
    return inserted;
  }

  /// Of a schedule: its revision, and the due time.
  using DueTime = std::pair<std::uint64_t, std::optional<WallTime>>;
  static DueTime time_of(const ScheduleAdvance& advance) {
    return {advance.revision, advance.next};
  }

  /// If the schedule has passed the due time on disk without a job, the progress of that time is
  /// replaced: with another last job, or, if the sender has given up, as if it had not fired.
  AdvanceSchedule as_on_disk(ScheduleAdvance advance) const {
    const auto passed = passed_without_job_.find(advance.schedule);
    if (passed != passed_without_job_.end() && passed->second == time_of(advance))
      advance.next = advance.after.next;
    return {std::move(advance)};
  }

  // The jobs of a line are added in the order of their requests: those that need no answer of the
  // other store wait behind those that do.

  using Inserting = caf::typed_response_promise<JobInserted>;
  /// Customer, product, type and id of an entity.
  using Line = std::tuple<std::string, std::string, std::string, std::string>;

  static Line line_of(const InsertJob& request) {
    const auto& spec = *request.job->spec;
    return {spec.customer, spec.product, spec.entity.type, spec.entity.id};
  }

  /// Asks the other store, whose answers come in the order of the questions, and then acts.
  template <class Answer, class Question, class Act, class Fail>
  caf::result<JobInserted> ask_before(const InsertJob& request, const Question& question,
                                      const Act& act, const Fail& fail) {
    auto promise = make_response_promise<JobInserted>();
    const Line line = line_of(request);
    auto& waiting = insertions_[line];
    const auto place = waiting.insert(waiting.end(), {nullptr, fails(promise)});
    this->request(other_, caf::infinite, question)
        .then(
            [this, line, place, act, promise](const Answer& answer) {
              place->go_on = [act, answer, promise]() mutable { act(answer, promise); };
              go_on_in(line);
            },
            [this, line, place, fail, promise](const caf::error& error) {
              place->go_on = [fail, error, promise]() mutable {
                promise.deliver(error);
                fail();
              };
              go_on_in(line);
            });
    return promise;
  }

  void go_on_in(const Line& line) {
    const auto found = insertions_.find(line);
    auto& waiting = found->second;
    for (; !waiting.empty() && waiting.front().go_on; waiting.pop_front()) waiting.front().go_on();
    if (waiting.empty()) insertions_.erase(found);
  }

  static void deliver(Inserting& promise, std::optional<JobInserted> inserted) {
    if (inserted) {
      promise.deliver(std::move(*inserted));
    } else {
      promise.deliver(id_in_use());
    }
  }

  template <class Promise>
  static std::function<void()> fails(Promise promise) {
    return
        [promise]() mutable { promise.deliver(caf::make_error(caf::sec::request_receiver_down)); };
  }

  /// None if there is room for the job.
  std::optional<JobInserted> refuse(const InsertJob& request) {
    const auto& job = *request.job;
    if (auto full = jobs_.refuse_room(job.cell, *job.spec, request.room)) {
      return JobInserted{job.id, false, {}, {}, false, full};
    }
    auto room = memory_->budget.room_for(job, request.bytes_max);
    if (room.full) return JobInserted{job.id, false, {}, room.full};
    return std::nullopt;
  }

  /// None if the id is in use.
  std::optional<JobInserted> add(const InsertJob& request) {
    if (auto refused = refuse(request)) return refused;
    remove(memory_->budget.room_for(*request.job, request.bytes_max).to_remove);
    return apply(InsertJob{request.job, request.idempotency});
  }

  static caf::error id_in_use() {
    return caf::make_error(caf::sec::invalid_argument, "the job id is in use");
  }

  caf::result<KeyHolder> find_key_holder(const FindKeyHolder& question) {
    if (is_claimed(question)) return wait_for_key<KeyHolder>(question, question);
    if (auto holder = jobs_.apply(question); holder.job) return holder;
    return delegate(other_, question);
  }

  static KeyName name_of(const FindKeyHolder& question) {
    return {question.customer, question.idempotency.key};
  }
  bool is_claimed(const FindKeyHolder& question) const {
    return claimed_keys_.contains(name_of(question));
  }

  /// Asks this actor again once the claim of the key is decided.
  template <class Answer, class Request>
  caf::result<Answer> wait_for_key(const FindKeyHolder& question, const Request& request) {
    auto promise = make_response_promise<Answer>();
    claimed_keys_.at(name_of(question))
        .push_back(
            {[this, request, promise] {
               this->request(caf::actor_cast<JobStore>(this), caf::infinite, request)
                   .then(
                       [promise](Answer& answer) mutable { promise.deliver(std::move(answer)); },
                       [promise](caf::error& error) mutable { promise.deliver(std::move(error)); });
             },
             fails(promise)});
    return promise;
  }

  void release_key(const FindKeyHolder& question) {
    const auto claim = claimed_keys_.extract(name_of(question));
    for (const auto& waiting : claim.mapped()) waiting.go_on();
  }

  // --- Requests about jobs of both kinds -------------------------------------------------------

  /// Asks the other store, and answers with what `merge` makes of its answer.
  template <class Answer, class Request, class Merge>
  caf::result<Answer> ask_other(const Request& request, Merge merge) {
    auto promise = make_response_promise<Answer>();
    this->request(other_, caf::infinite, request)
        .then([promise, merge = std::move(merge)](
                  Answer& answer) mutable { promise.deliver(merge(answer)); },
              [promise](caf::error& error) mutable { promise.deliver(std::move(error)); });
    return promise;
  }

  caf::result<EpochStarted> start_epoch(const StartEpoch& request) {
    StartEpoch order = request;
    order.kept.merge(memory_->batches.all());
    memory_->batches.take_unnoted();  // They need no note of their own: `order.kept` has them.
    const auto last_id = apply(request).last_id;
    return ask_other<EpochStarted>(order, [last_id](const EpochStarted& started) {
      return EpochStarted{started.epoch, std::max(started.last_id, last_id)};
    });
  }

  caf::result<CellsLoaded> load_cells(const LoadCells& request) {
    return ask_other<CellsLoaded>(request, [ours = apply(request)](CellsLoaded& loaded) {
      std::set<CellKey> keys{ours.with_jobs.begin(), ours.with_jobs.end()};
      keys.insert(loaded.with_jobs.begin(), loaded.with_jobs.end());
      loaded.with_jobs.assign(keys.begin(), keys.end());
      return std::move(loaded);
    });
  }

  // An earlier submission may still wait for an answer of the other store, which answers in order:
  // once it answers these requests, that job is in memory.

  caf::result<BacklogsListed> list_backlogs(const ListBacklogs& request) {
    if (request.durability == Durability::disk) return delegate(other_, request);
    return ask_other<BacklogsListed>(request, [this, request](const BacklogsListed& listed) {
      return merge_backlogs(apply(request), listed, request.limit);
    });
  }

  caf::result<NeedsCounted> count_needs(const CountNeeds& request) {
    return ask_other<NeedsCounted>(request, [this, request](NeedsCounted& needs) {
      const auto ours = memory_->content.read(request);
      for (const auto& [service, jobs] : ours.jobs) needs.jobs[service] += jobs;
      for (const auto& [service, jobs] : ours.undos) needs.undos[service] += jobs;
      return std::move(needs);
    });
  }

  caf::result<EndedPruned> prune(const PruneEnded& request) {
    return ask_other<EndedPruned>(request, [ours = apply(request)](EndedPruned& pruned) {
      add_step(pruned, ours);
      return pruned;
    });
  }

  const std::shared_ptr<SharedMemory> memory_;
  JobStore other_;
  MemoryJobs jobs_;
  /// Keys that new jobs in memory have claimed, with the requests that wait for the decision.
  std::map<KeyName, std::vector<Waiting>> claimed_keys_;
  /// By line: the jobs that are to be added to it. The first one waits for the other store.
  std::map<Line, std::list<Waiting>> insertions_;
  /// By schedule: the due time that has passed according to the disk, but whose job found no room.
  std::map<std::string, DueTime> passed_without_job_;
};

// --- Reading ---------------------------------------------------------------------------------

OldestQueued merge_oldest(const OldestQueued& one, const OldestQueued& other) {
  OldestQueued merged;
  std::transform(
      one.places.begin(), one.places.end(), other.places.begin(), std::back_inserter(merged.places),
      [](JobId a, JobId b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); });
  return merged;
}

/// Asks the other reader, and answers with what `merge` makes of its answer.
template <class Answer, class Request, class Merge>
caf::result<Answer> ask_other(JobReader::pointer self, const JobReader& other,
                              const Request& request, const Merge& merge) {
  auto promise = self->make_response_promise<Answer>();
  self->request(other, caf::infinite, request)
      .then([promise, merge](const Answer& answer) mutable { promise.deliver(merge(answer)); },
            [promise](caf::error& error) mutable { promise.deliver(std::move(error)); });
  return promise;
}

JobReader::behavior_type mixed_reader(JobReader::pointer self,
                                      const std::shared_ptr<const SharedMemory>& memory,
                                      const JobReader& other) {
  self->link_to(other);
  return {
      [=](const FindJob& request) -> caf::result<JobFound> {
        if (auto found = memory->content.read(request); found.job) return found;
        return self->delegate(other, request);
      },
      [=](const ListJobs& request) -> caf::result<JobsListed> {
        auto ours = memory->content.read(request);
        if (ours.jobs.empty() && ours.next == 0) return self->delegate(other, request);
        return ask_other<JobsListed>(self, other, request,
                                     [ours = std::move(ours), request](const JobsListed& theirs) {
                                       return merge_pages(ours, theirs, request);
                                     });
      },
      [=](const FindBatch& request) {
        return ask_other<BatchFound>(self, other, request, [memory](BatchFound found) {
          if (found.batch) count_in_memory(memory->batches, *found.batch);
          return found;
        });
      },
      [=](const ListBatches& request) {
        return ask_other<BatchesListed>(self, other, request, [memory](BatchesListed page) {
          for (auto& batch : page.batches) count_in_memory(memory->batches, batch);
          return page;
        });
      },
      [=](const FindOldestQueued& request) -> caf::result<OldestQueued> {
        if (memory->budget.bytes() == 0) return self->delegate(other, request);
        return ask_other<OldestQueued>(
            self, other, request,
            [ours = memory->content.read(request)](const OldestQueued& theirs) {
              return merge_oldest(ours, theirs);
            });
      },
  };
}

}  // namespace

/// A page that its bounds cut short says nothing about the jobs below its `next`, so the merged
/// page ends there too.
JobsListed merge_pages(const JobsListed& one, const JobsListed& other, const ListJobs& request) {
  JobsListed merged;
  const auto& shorter = one.next > other.next ? one : other;
  const JobId floor = shorter.next;
  std::vector<JobPtr> jobs;
  std::merge(one.jobs.begin(), one.jobs.end(), other.jobs.begin(), other.jobs.end(),
             std::back_inserter(jobs),
             [](const JobPtr& a, const JobPtr& b) { return a->id > b->id; });
  std::size_t bytes = 0;
  for (auto& job : jobs) {
    if (job->id < floor) break;
    if (merged.jobs.size() == request.limit || bytes > request.bytes_max) {
      merged.next = merged.jobs.empty() ? job->id + 1 : merged.jobs.back()->id;
      merged.full = true;
      return merged;
    }
    bytes += approximate_bytes(*job);
    merged.jobs.push_back(std::move(job));
  }
  merged.next = floor;
  merged.full = floor != 0 && shorter.full;
  return merged;
}

void SharedMemory::fill(StoreContent jobs) {
  for (const auto& [id, stored] : jobs.jobs) {
    budget.changed(nullptr, stored.job.get());
    batches.changed(nullptr, stored.job.get());
    batches.close(stored.job->batch);  // The request that filled it ended with the daemon.
  }
  content.fill(std::move(jobs));
}

cells::JobStore MixedStore::spawn_writer(caf::actor_system& system) {
  return spawn_mixed_store(system, memory_, other_->spawn_writer(system));
}

cells::JobReader MixedStore::spawn_reader(caf::actor_system& system) const {
  return spawn_mixed_reader(system, memory_, other_->spawn_reader(system));
}

std::function<StoreStatistics()> MixedStore::statistics() const {
  return [memory = memory_, others = other_->statistics()] {
    auto statistics = others();
    statistics.job_memory_bytes = memory->budget.bytes();
    return statistics;
  };
}

cells::JobStore spawn_mixed_store(caf::actor_system& system, std::shared_ptr<SharedMemory> memory,
                                  cells::JobStore other) {
  auto& content = memory->content;
  auto* shared = memory.get();  // It outlives its content.
  content.on_commit = [shared](const JobPtr& before, const Job& after) {
    shared->budget.changed(before.get(), &after);
    shared->batches.changed(before.get(), &after);
  };
  content.on_prune = [shared](const Job& job) {
    shared->budget.changed(&job, nullptr);
    shared->batches.changed(&job, nullptr);
  };
  return system.spawn<MixedStoreActor>(std::move(memory), std::move(other));
}

cells::JobReader spawn_mixed_reader(caf::actor_system& system,
                                    std::shared_ptr<const SharedMemory> memory,
                                    cells::JobReader other) {
  return system.spawn(mixed_reader, std::move(memory), std::move(other));
}

}  // namespace celld::store
