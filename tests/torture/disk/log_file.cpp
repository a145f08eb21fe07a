#include "tests/torture/disk/log_file.hpp"

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace celld::disk {

std::string read_file(const std::string& path) {
  std::ifstream file{path, std::ios::binary | std::ios::ate};
  if (!file) throw std::runtime_error("cannot read " + path);
  std::string bytes(static_cast<std::size_t>(file.tellg()), '\0');
  file.seekg(0);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw std::runtime_error("cannot read " + path);
  return bytes;
}

LogFile::LogFile(const std::string& path) : bytes_(read_file(path)) {
  for (std::size_t at = 0; at < bytes_.size();) {
    RecordHead head;
    if (bytes_.size() - at < sizeof head) throw std::runtime_error(path + " ends within a record");
    std::memcpy(&head, bytes_.data() + at, sizeof head);
    at += sizeof head;
    if (bytes_.size() - at < head.bytes) throw std::runtime_error(path + " ends within a record");
    records_.push_back({head, std::string_view{bytes_}.substr(at, head.bytes)});
    at += head.bytes;
  }
}

}  // namespace celld::disk
