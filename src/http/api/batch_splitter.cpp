#include "src/http/api/batch_splitter.hpp"

#include <utility>

namespace celld::api {
namespace {

constexpr std::string_view blank = " \t\r\n";

bool is_blank(char c) {
  return blank.find(c) != std::string_view::npos;
}

/// A text that arrives in parts.
class PartialText {
 public:
  explicit PartialText(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  void add(std::string_view part) {
    if (too_long_) return;
    too_long_ = kept_.size() + part.size() > bytes_max_;
    if (too_long_) {
      kept_ = {};
    } else {
      // A long text is not copied as it grows, which would touch twice the memory.
      if (kept_.size() + part.size() > kept_capacity_max) kept_.reserve(bytes_max_);
      kept_ += part;
    }
  }

  /// The item whose last part this is. A text that came in one part is not copied.
  BatchItem complete(std::uint64_t line, std::string_view last) {
    if (kept_.empty() && !too_long_ && last.size() <= bytes_max_) return {line, last, false};
    add(last);
    return {line, kept_, too_long_};
  }

  bool is_blank() const {
    return !too_long_ && kept_.find_first_not_of(blank) == std::string::npos;
  }

  void clear() {
    kept_.clear();
    if (kept_.capacity() > kept_capacity_max) kept_ = {};
    too_long_ = false;
  }

 private:
  static constexpr std::size_t kept_capacity_max = 64 << 10;

  const std::size_t bytes_max_;
  std::string kept_;
  bool too_long_ = false;
};

class LineSplitter final : public BatchSplitter {
 public:
  explicit LineSplitter(std::size_t bytes_max) : text_(bytes_max) {}

  std::string split(std::string_view piece, const Take& take) override {
    for (auto end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
      complete(piece.substr(0, end), take);
      piece.remove_prefix(end + 1);
    }
    if (!piece.empty()) text_.add(piece);
    return "";
  }

  /// The body has one line more if anything but blanks follows its last line break.
  std::string end(const Take& take) override {
    if (!text_.is_blank()) complete({}, take);
    return "";
  }

  std::uint64_t line() const override { return line_; }

 private:
  void complete(std::string_view last, const Take& take) {
    const auto item = text_.complete(line_, last);
    if (item.too_long || item.text.find_first_not_of(blank) != std::string_view::npos) take(item);
    text_.clear();
    ++line_;
  }

  PartialText text_;
  std::uint64_t line_ = 1;
};

class ArraySplitter final : public BatchSplitter {
 public:
  explicit ArraySplitter(std::size_t bytes_max) : text_(bytes_max) {}

  std::string split(std::string_view piece, const Take& take) override {
    std::size_t begin = 0;  // Of the element, in this piece.
    for (std::size_t at = 0; at < piece.size(); ++at) {
      const char c = piece[at];
      if (state_ == State::in_element) {
        if (!ends_element(c)) {
          note(c);
          continue;
        }
        complete(piece.substr(begin, at - begin), take);
        state_ = c == ',' ? State::before_next : State::after_array;
      } else if (!is_blank(c)) {
        if (auto fault = take_between(c); !fault.empty()) return fault;
        begin = at;
      }
    }
    if (state_ == State::in_element) text_.add(piece.substr(begin));
    return "";
  }

  std::string end(const Take&) override {
    if (state_ == State::before_array) return "The body is not a JSON array.";
    if (state_ != State::after_array) return "The array is not closed.";
    return "";
  }

  std::uint64_t line() const override { return line_; }

 private:
  enum class State { before_array, before_first, before_next, in_element, after_array };

  bool ends_element(char c) const { return depth_ == 0 && !in_string_ && (c == ',' || c == ']'); }

  /// Takes a character outside the elements; the first character of an element begins that element.
  /// Returns a fault; empty: there is none.
  std::string take_between(char c) {
    if (state_ == State::before_array && c != '[') return "The body is not a JSON array.";
    if (state_ == State::after_array) return "The body goes on after its array.";
    if (state_ == State::before_array) {
      state_ = State::before_first;
    } else if (state_ == State::before_first && c == ']') {
      state_ = State::after_array;
    } else if (c == ',' || c == ']') {
      return "A comma in the array has no element before or after it.";
    } else {
      state_ = State::in_element;
      note(c);
    }
    return "";
  }

  /// Takes a character of an element. Does not check that brackets match: the parser does.
  void note(char c) {
    if (in_string_) {
      in_string_ = escaped_ || c != '"';
      escaped_ = !escaped_ && c == '\\';
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && depth_ > 0) {
      --depth_;
    }
  }

  void complete(std::string_view last, const Take& take) {
    take(text_.complete(line_, last));
    text_.clear();
    ++line_;
  }

  PartialText text_;
  std::uint64_t line_ = 1;
  State state_ = State::before_array;
  std::size_t depth_ = 0;  ///< Of open brackets within the element.
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace

std::unique_ptr<BatchSplitter> make_line_splitter(std::size_t text_bytes_max) {
  return std::make_unique<LineSplitter>(text_bytes_max);
}

std::unique_ptr<BatchSplitter> make_array_splitter(std::size_t text_bytes_max) {
  return std::make_unique<ArraySplitter>(text_bytes_max);
}

}  // namespace celld::api
