// A preloaded library that counts the instructions of SQLite's virtual machine for each statement,
// while the first byte of the file that STATEMENT_COUNTER names is '1'. At the end of the process
// it appends a line for each statement to that file: the executed steps, the instructions, the most
// instructions of one step, and the statement's text, separated by tabs.
#include <dlfcn.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

namespace {

struct Count {
  std::int64_t steps = 0;
  std::int64_t instructions = 0;
  std::int64_t most = 0;
};

/// A text on one line.
std::string joined(const char* text) {
  std::string result;
  for (; *text != '\0'; ++text) {
    const bool is_space = std::isspace(static_cast<unsigned char>(*text)) != 0;
    if (!is_space) result += *text;
    if (is_space && !result.empty() && result.back() != ' ') result += ' ';
  }
  return result;
}

class Counter {
 public:
  Counter() {
    const char* const path = std::getenv("STATEMENT_COUNTER");
    if (path == nullptr) return;
    path_ = path;
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    void* const mapped = ::mmap(nullptr, 1, PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
    if (mapped != MAP_FAILED) flag_ = static_cast<const volatile char*>(mapped);
  }

  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  ~Counter() {
    if (flag_ == nullptr) return;
    const std::lock_guard lock(mutex_);
    std::ofstream file(path_, std::ios::app);
    for (const auto& [text, count] : counts_) {
      file << '\n'
           << count.steps << '\t' << count.instructions << '\t' << count.most << '\t' << text;
    }
  }

  bool is_on() const { return flag_ != nullptr && *flag_ == '1'; }

  void add(const char* text, std::int64_t instructions) {
    const std::lock_guard lock(mutex_);
    auto& count = counts_[joined(text)];
    count.steps += 1;
    count.instructions += instructions;
    count.most = std::max(count.most, instructions);
  }

 private:
  std::string path_;
  const volatile char* flag_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, Count> counts_;
};

Counter& counter() {
  static Counter instance;
  return instance;
}

}  // namespace

extern "C" int sqlite3_step(sqlite3_stmt* statement) {
  static const auto step =
      reinterpret_cast<int (*)(sqlite3_stmt*)>(::dlsym(RTLD_NEXT, "sqlite3_step"));
  if (!counter().is_on()) return step(statement);
  sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1);
  const int result = step(statement);
  const char* const text = sqlite3_sql(statement);
  if (text != nullptr)
    counter().add(text, sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0));
  return result;
}
