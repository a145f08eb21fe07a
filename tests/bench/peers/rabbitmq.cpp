// RabbitMQ: a quorum queue with one member, publisher confirms, and a prefetch of one, so that a
// worker has its next job only after the queue has applied the acknowledgement of the one before.
// Packages: rabbitmq-server, librabbitmq-dev.
#include <array>
#include <fstream>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#if __has_include(<rabbitmq-c/amqp.h>)
#include <rabbitmq-c/amqp.h>
#include <rabbitmq-c/tcp_socket.h>
#else
#include <amqp.h>
#include <amqp_tcp_socket.h>
#endif

#include "tests/bench/peers/server.hpp"
#include "tests/bench/peers/worker_threads.hpp"

namespace celld::bench {
namespace {

constexpr amqp_channel_t channel = 1;
constexpr int frame_bytes_max = 131'072;
constexpr std::uint8_t persistent = 2;
constexpr timeval take_timeout{1, 0};
constexpr timeval no_timeout{0, 0};
constexpr timeval answer_timeout{30, 0};

amqp_bytes_t bytes(std::string_view text) {
  return {text.size(), const_cast<char*>(text.data())};
}

const amqp_bytes_t queue = amqp_cstring_bytes("jobs");

void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(std::string("rabbitmq: ") + what);
}

void require(const amqp_rpc_reply_t& reply, const char* what) {
  require(reply.reply_type == AMQP_RESPONSE_NORMAL, what);
}

struct EndConnection {
  void operator()(amqp_connection_state_t_* connection) const {
    amqp_destroy_connection(connection);
  }
};

/// A connection with one channel.
class Session {
 public:
  explicit Session(std::uint16_t port) : connection_(amqp_new_connection()) {
    auto* const socket = amqp_tcp_socket_new(get());
    require(socket != nullptr && amqp_socket_open(socket, "127.0.0.1", port) == AMQP_STATUS_OK,
            "no connection");
    require(amqp_login(get(), "/", 0, frame_bytes_max, 0, AMQP_SASL_METHOD_PLAIN, "guest", "guest"),
            "no login");
    amqp_channel_open(get(), channel);
    check("no channel");
  }

  amqp_connection_state_t get() const { return connection_.get(); }

  /// Throws if the last request failed.
  void check(const char* what) const { require(amqp_get_rpc_reply(get()), what); }

 private:
  std::unique_ptr<amqp_connection_state_t_, EndConnection> connection_;
};

class RabbitmqProducer : public Producer {
 public:
  RabbitmqProducer(std::uint16_t port, std::uint64_t seed) : session_(port), jobs_("", 0, seed) {
    amqp_confirm_select(session_.get(), channel);
    session_.check("no confirms");
  }

  void submit() override {
    publish();
    await_confirm();
  }

  /// Publishes on while confirms are under way.
  bool submit_many(std::size_t count) override {
    for (std::size_t i = 0; i < count; ++i) {
      publish();
      while (unconfirmed_.size() >= unconfirmed_max) await_confirm();
    }
    while (!unconfirmed_.empty()) await_confirm();
    return true;
  }

 private:
  /// Of one connection; enough to keep the queue's log busy.
  static constexpr std::size_t unconfirmed_max = 5'000;

  void publish() {
    amqp_basic_properties_t properties{};
    properties._flags = AMQP_BASIC_DELIVERY_MODE_FLAG;
    properties.delivery_mode = persistent;
    require(amqp_basic_publish(session_.get(), channel, amqp_empty_bytes, queue, 0, 0, &properties,
                               bytes(jobs_.next_body())) == AMQP_STATUS_OK,
            "a job was not published");
    unconfirmed_.insert(++published_);
  }

  /// A confirm is of one job, or of all jobs up to one.
  void await_confirm() {
    amqp_frame_t frame;
    const timeval* timeout = &answer_timeout;
    require(amqp_simple_wait_frame_noblock(session_.get(), &frame, timeout) == AMQP_STATUS_OK &&
                frame.frame_type == AMQP_FRAME_METHOD &&
                frame.payload.method.id == AMQP_BASIC_ACK_METHOD,
            "a job was not confirmed");
    const auto& confirm = *static_cast<const amqp_basic_ack_t*>(frame.payload.method.decoded);
    const auto first =
        confirm.multiple ? unconfirmed_.begin() : unconfirmed_.lower_bound(confirm.delivery_tag);
    unconfirmed_.erase(first, unconfirmed_.upper_bound(confirm.delivery_tag));
    amqp_maybe_release_buffers(session_.get());
  }

  Session session_;
  JobRequests jobs_;
  std::uint64_t published_ = 0;
  std::set<std::uint64_t> unconfirmed_;  ///< By their numbers in the order of publication.
};

class RabbitmqWorker : public Worker {
 public:
  RabbitmqWorker(std::uint16_t port, std::size_t at_once) : session_(port), at_once_(at_once) {
    // While a worker of many acknowledges a portion, the next one is on its way.
    const std::size_t prefetch = at_once == 1 ? 1 : 2 * at_once;
    amqp_basic_qos(session_.get(), channel, 0, static_cast<std::uint16_t>(prefetch), 0);
    session_.check("no prefetch");
    amqp_basic_consume(session_.get(), channel, queue, amqp_empty_bytes, 0, 0, 0, amqp_empty_table);
    session_.check("no consumer");
  }

  std::size_t take() override {
    std::size_t taken = 0;
    while (taken < at_once_ && receive(taken == 0 ? take_timeout : no_timeout)) ++taken;
    return taken;
  }

  /// Acknowledges all deliveries up to the last one.
  void end() override {
    require(amqp_basic_ack(session_.get(), channel, delivery_, at_once_ > 1) == AMQP_STATUS_OK,
            "a job was not acknowledged");
  }

 private:
  bool receive(const timeval& timeout) {
    amqp_maybe_release_buffers(session_.get());
    amqp_envelope_t envelope;
    const auto reply = amqp_consume_message(session_.get(), &envelope, &timeout, 0);
    if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION &&
        reply.library_error == AMQP_STATUS_TIMEOUT) {
      return false;
    }
    require(reply, "no job was delivered");
    delivery_ = envelope.delivery_tag;
    amqp_destroy_envelope(&envelope);
    return true;
  }

  Session session_;
  const std::size_t at_once_;
  std::uint64_t delivery_ = 0;
};

class Rabbitmq : public ThreadedPeer {
 public:
  explicit Rabbitmq(const PeerSetup& setup)
      : root_(root_of(setup.unpacked, "rabbitmq-server")),
        directory_(setup.directory, true),
        names_(names_command()),
        server_(server_command()) {
    names_.await_port(names_port_);
    server_.await_port(port_);
    const Session session{port_};
    amqp_table_entry_t type{};
    type.key = amqp_cstring_bytes("x-queue-type");
    type.value.kind = AMQP_FIELD_KIND_UTF8;
    type.value.value.bytes = amqp_cstring_bytes("quorum");
    amqp_queue_declare(session.get(), channel, queue, 0, 1, 0, 0, {1, &type});
    session.check("no queue");
  }

  std::unique_ptr<Producer> producer(Purpose /*purpose*/, std::uint64_t seed) override {
    return std::make_unique<RabbitmqProducer>(port_, seed);
  }

  std::unique_ptr<Workers> workers(Purpose purpose, std::size_t count) override {
    const std::size_t at_once = purpose == Purpose::pull_many ? jobs_at_once : 1;
    return worker_threads(count, [&] { return std::make_unique<RabbitmqWorker>(port_, at_once); });
  }

 private:
  ServerCommand base_command() const {
    ServerCommand command;
    command.directory = directory_.path();
    command.unprivileged = true;
    command.stop_signal = SIGKILL;  // The data is not needed.
    command.variables = variables_of(root_);
    command.variables.push_back("HOME=" + directory_.path().string());
    command.variables.push_back("ERL_EPMD_ADDRESS=127.0.0.1");
    command.variables.push_back("ERL_EPMD_PORT=" + std::to_string(names_port_));
    return command;
  }

  /// Erlang's name server. RabbitMQ would start one that outlives it.
  ServerCommand names_command() const {
    auto command = base_command();
    command.name = "epmd";
    command.arguments = {(root_ / "usr/bin/epmd").string()};
    return command;
  }

  ServerCommand server_command() const {
    auto command = base_command();
    const auto& directory = directory_.path();
    const auto programs = write_erl();
    command.name = "rabbitmq-server";
    command.arguments = {(root_ / "usr/lib/rabbitmq/bin/rabbitmq-server").string(), "-noinput"};
    for (const auto& variable : {
             "PATH=" + programs.string() + ":/usr/bin:/bin",
             std::string("RABBITMQ_ALLOW_INPUT=1"),  // Makes Erlang replace the shell.
             std::string("RABBITMQ_CONF_ENV_FILE=/dev/null"),
             std::string("RABBITMQ_LOGS=-"),
             std::string("RABBITMQ_NODENAME=celld-bench@localhost"),
             std::string("RABBITMQ_NODE_IP_ADDRESS=127.0.0.1"),
             "RABBITMQ_NODE_PORT=" + std::to_string(port_),
             "RABBITMQ_DIST_PORT=" + std::to_string(free_port()),
             "RABBITMQ_MNESIA_BASE=" + (directory / "data").string(),
             "RABBITMQ_LOG_BASE=" + (directory / "logs").string(),
             "RABBITMQ_CONFIG_FILE=" + (directory / "rabbitmq").string(),
             "RABBITMQ_ENABLED_PLUGINS_FILE=" + (directory / "plugins").string(),
         }) {
      command.variables.push_back(variable);
    }
    return command;
  }

  /// Debian's `erl` runs what is below /usr/lib/erlang, wherever it was unpacked. Returns the
  /// directory of one that does not.
  std::filesystem::path write_erl() const {
    const auto erlang = root_ / "usr/lib/erlang";
    std::filesystem::path runtime;
    std::error_code absent;
    for (const auto& entry : std::filesystem::directory_iterator(erlang, absent)) {
      if (entry.path().filename().string().starts_with("erts-")) runtime = entry.path() / "bin";
    }
    if (runtime.empty()) throw std::runtime_error("rabbitmq: Erlang is not installed");
    const auto programs = directory_.path() / "bin";
    std::filesystem::create_directory(programs);
    const auto program = programs / "erl";
    std::ofstream{program} << "#!/bin/sh\nexport ROOTDIR='" << erlang.string() << "' BINDIR='"
                           << runtime.string()
                           << "' EMU=beam PROGNAME=erl\nexec \"$BINDIR/erlexec\" \"$@\"\n";
    using std::filesystem::perms;
    std::filesystem::permissions(program, perms::owner_all | perms::group_read | perms::group_exec |
                                              perms::others_read | perms::others_exec);
    return programs;
  }

  const std::uint16_t port_ = free_port();
  const std::uint16_t names_port_ = free_port();
  const std::filesystem::path root_;
  DataDirectory directory_;
  Server names_;
  Server server_;
};

}  // namespace

PeerKind rabbitmq_kind() {
  return {"rabbitmq", "RabbitMQ quorum queue", true,
          [](const PeerSetup& setup) -> std::unique_ptr<Peer> {
            return std::make_unique<Rabbitmq>(setup);
          }};
}

}  // namespace celld::bench
