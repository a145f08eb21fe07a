// A queue in a table of PostgreSQL. A worker deletes a job with SELECT ... FOR UPDATE SKIP LOCKED,
// and commits at the job's end. Packages: postgresql, libpq-dev.
#include <memory>
#include <stdexcept>
#include <string>

#include <libpq-fe.h>
#include <poll.h>

#include "tests/bench/daemon.hpp"
#include "tests/bench/peers/server.hpp"
#include "tests/bench/peers/worker_threads.hpp"

namespace celld::bench {
namespace {

/// How often a worker without a job polls the table. A worker that is notified does not poll.
constexpr std::int64_t poll_interval_ms = 5;
constexpr std::chrono::seconds start_timeout{30};
constexpr int notice_timeout_ms = 1'000;

constexpr const char* user_name = "bench";

struct EndConnection {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
struct EndResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Connection = std::unique_ptr<PGconn, EndConnection>;
using Result = std::unique_ptr<PGresult, EndResult>;

std::string server_at(std::uint16_t port) {
  return "host=127.0.0.1 sslmode=disable gssencmode=disable dbname=postgres user=" +
         std::string(user_name) + " port=" + std::to_string(port);
}

/// The server refuses clients for a moment after it has begun to listen.
void await_ready(std::uint16_t port) {
  Ticker ticker{poll_interval_ms};
  const auto begin = Clock::now();
  while (PQping(server_at(port).c_str()) != PQPING_OK) {
    if (Clock::now() - begin > start_timeout) throw std::runtime_error("postgresql is not ready");
    ticker.await_tick();
  }
}

class Session {
 public:
  explicit Session(std::uint16_t port) : connection_(PQconnectdb(server_at(port).c_str())) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) fail();
  }

  void execute(const char* statement) { check(Result(PQexec(connection_.get(), statement))); }

  /// All executions are of this statement.
  void prepare(const char* statement) {
    check(Result(PQprepare(connection_.get(), "job", statement, 0, nullptr)));
  }

  Result execute_prepared(const char* parameter = nullptr) {
    return check(Result(PQexecPrepared(connection_.get(), "job", parameter == nullptr ? 0 : 1,
                                       &parameter, nullptr, nullptr, 0)));
  }

  /// Whether the server notified this session before the timeout.
  bool await_notice() {
    for (;;) {
      if (auto* notice = PQnotifies(connection_.get())) {
        PQfreemem(notice);
        return true;
      }
      pollfd readable{PQsocket(connection_.get()), POLLIN, 0};
      if (::poll(&readable, 1, notice_timeout_ms) != 1) return false;
      if (PQconsumeInput(connection_.get()) != 1) fail();
    }
  }

 private:
  Result check(Result result) {
    const auto status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail();
    return result;
  }

  [[noreturn]] void fail() {
    throw std::runtime_error("postgresql: " + std::string(PQerrorMessage(connection_.get())));
  }

  Connection connection_;
};

class PostgresqlProducer : public Producer {
 public:
  /// Notifications serialise the commits of all producers, so only the load that needs them uses
  /// them.
  PostgresqlProducer(std::uint16_t port, Purpose purpose, std::uint64_t seed)
      : session_(port), jobs_("", 0, seed) {
    session_.prepare(purpose == Purpose::notice
                         ? "WITH job AS (INSERT INTO jobs (body) VALUES ($1)) "
                           "SELECT pg_notify('jobs', '')"
                         : "INSERT INTO jobs (body) VALUES ($1)");
  }

  void submit() override { session_.execute_prepared(std::string(jobs_.next_body()).c_str()); }

 private:
  Session session_;
  JobRequests jobs_;
};

/// Always in a transaction, except while it waits.
class PostgresqlWorker : public Worker {
 public:
  PostgresqlWorker(std::uint16_t port, Purpose purpose)
      : session_(port), is_notified_(purpose == Purpose::notice), ticker_(poll_interval_ms) {
    session_.prepare(
        "DELETE FROM jobs WHERE id = "
        "(SELECT id FROM jobs ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING body");
    if (is_notified_) session_.execute("LISTEN jobs");
    session_.execute("BEGIN");
  }

  std::size_t take() override {
    if (PQntuples(session_.execute_prepared().get()) == 1) return 1;
    session_.execute("COMMIT");
    if (is_notified_) {
      session_.await_notice();
    } else {
      ticker_.await_tick();
    }
    session_.execute("BEGIN");
    return 0;
  }

  void end() override { session_.execute("COMMIT AND CHAIN"); }

 private:
  Session session_;
  const bool is_notified_;
  Ticker ticker_;
};

/// Holds the newest version's programs.
std::filesystem::path program_directory(const std::filesystem::path& root) {
  std::filesystem::path newest;
  std::error_code absent;
  for (const auto& version :
       std::filesystem::directory_iterator(root / "usr/lib/postgresql", absent)) {
    const auto directory = version.path() / "bin";
    if (std::filesystem::exists(directory / "postgres")) newest = std::max(newest, directory);
  }
  if (newest.empty()) throw std::runtime_error("postgresql is not installed");
  return newest;
}

class Postgresql : public ThreadedPeer {
 public:
  explicit Postgresql(const PeerSetup& setup)
      : root_(root_of(setup.unpacked, "postgresql")),
        directory_(setup.directory, true),
        server_(command()) {
    server_.await_port(port_);
    await_ready(port_);
    Session{port_}.execute(
        "CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
        "body text NOT NULL)");
  }

  std::unique_ptr<Producer> producer(Purpose purpose, std::uint64_t seed) override {
    return std::make_unique<PostgresqlProducer>(port_, purpose, seed);
  }

  std::unique_ptr<Workers> workers(Purpose purpose, std::size_t count) override {
    return worker_threads(count,
                          [&] { return std::make_unique<PostgresqlWorker>(port_, purpose); });
  }

 private:
  /// Makes the database, and returns how to start its server.
  ServerCommand command() const {
    const auto programs = program_directory(root_);
    const auto data = (directory_.path() / "data").string();
    ServerCommand command;
    command.name = "initdb";
    command.directory = directory_.path();
    command.variables = variables_of(root_);
    command.unprivileged = true;
    command.arguments = {
        (programs / "initdb").string(),         "--pgdata=" + data, "--auth=trust",
        "--username=" + std::string(user_name), "--locale=C",       "--encoding=UTF8"};
    Server{command}.await_success();
    command.name = "postgres";
    command.arguments = {(programs / "postgres").string(),
                         "-D",
                         data,
                         "-p",
                         std::to_string(port_),
                         "-c",
                         "listen_addresses=127.0.0.1",
                         "-c",
                         "unix_socket_directories="};
    command.stop_signal = SIGQUIT;  // The data is not needed, but its server processes must end.
    return command;
  }

  const std::uint16_t port_ = free_port();
  const std::filesystem::path root_;
  DataDirectory directory_;
  Server server_;
};

}  // namespace

PeerKind postgresql_kind() {
  return {"postgresql", "PostgreSQL, SKIP LOCKED", true,
          [](const PeerSetup& setup) -> std::unique_ptr<Peer> {
            return std::make_unique<Postgresql>(setup);
          }};
}

}  // namespace celld::bench
