#include "core/npz.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "gradus/error.hpp"

namespace gradus::core {

namespace {

constexpr std::string_view ending = ".npy";
constexpr std::size_t local_size = 30;  ///< size of a local file header without the file's name, in bytes

void append(std::string& text, std::uint64_t value, int bytes) {
  for (int byte = 0; byte < bytes; ++byte) text += static_cast<char>(value >> (8 * byte) & 0xff);
}

/// The two headers of a file in a ZIP archive. One header precedes the file, and the other header is in the directory
/// at the end.
struct Headers {
  std::string local;
  std::string directory;
};

Headers headers_of(std::string_view name, std::uint32_t checksum, std::uint64_t size, std::uint64_t offset) {
  std::string facts;
  append(facts, 20, 2);  // required ZIP version: 2.0
  append(facts, 0, 2);
  append(facts, 0, 2);           // no compression
  append(facts, 0, 2);           // time: 0:00
  append(facts, 1 << 5 | 1, 2);  // date: January 1, 1980
  append(facts, checksum, 4);
  append(facts, size, 4);
  append(facts, size, 4);
  append(facts, name.size(), 2);
  append(facts, 0, 2);
  Headers headers{.local = "PK\x03\x04" + facts + std::string(name), .directory = "PK\x01\x02"};
  append(headers.directory, 20, 2);
  headers.directory += facts;
  append(headers.directory, 0, 10);
  append(headers.directory, offset, 4);
  headers.directory += name;
  return headers;
}

std::string end_of(std::size_t files, std::size_t directory, std::uint64_t offset) {
  std::string end = "PK\x05\x06";
  append(end, 0, 4);
  append(end, files, 2);
  append(end, files, 2);
  append(end, directory, 4);
  append(end, offset, 4);
  append(end, 0, 2);
  return end;
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

bool begins_with(std::span<const std::byte> bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::ranges::equal(bytes.first(text.size()), bytes_of(text));
}

}  // namespace

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string result = "(";
  for (std::size_t dim = 0; dim < shape.size(); ++dim) result += (dim ? ", " : "") + std::to_string(shape[dim]);
  return result + (shape.size() == 1 ? ",)" : ")");
}

std::string npy_header(std::string_view descr, std::span<const std::int64_t> shape) {
  std::string text =
      "{'descr': " + std::string(descr) + ", 'fortran_order': False, 'shape': " + shape_text(shape) + ", }";
  constexpr std::size_t prefix = 10;
  text.append(63 - (prefix + text.size()) % 64, ' ');
  text += '\n';
  const char head[] = {'\x01', '\x00', static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
  return std::string("\x93NUMPY").append(head, sizeof head).append(text);
}

void NpzContent::add_file(std::string_view name, const std::string& header, const void* elements, std::size_t bytes) {
  Entry entry{std::string(name) + std::string(ending), std::vector<std::byte>(header.size() + bytes)};
  std::memcpy(entry.bytes.data(), header.data(), header.size());
  if (bytes > 0) std::memcpy(entry.bytes.data() + header.size(), elements, bytes);
  entries_.push_back(std::move(entry));
}

template <class Write>
void NpzContent::write_parts(const std::string& where, const Write& write) const {
  std::string directory;
  std::uint64_t offset = 0;
  for (const Entry& entry : entries_) {
    const Headers headers = headers_of(entry.name, crc32(entry.bytes), entry.bytes.size(), offset);
    write(bytes_of(headers.local));
    write(std::span(entry.bytes));
    directory += headers.directory;
    offset += headers.local.size() + entry.bytes.size();
    if (offset + directory.size() > std::numeric_limits<std::uint32_t>::max())
      throw Error("cannot write " + where + ": its arrays take more than the 4 GiB that such a file holds");
  }
  write(bytes_of(directory));
  write(bytes_of(end_of(entries_.size(), directory.size(), offset)));
}

void NpzContent::write(AtomicFile& file) const {
  write_parts("'" + file.path() + "'", [&](std::span<const std::byte> part) { file.write(part); });
}

std::vector<std::byte> NpzContent::bytes() const {
  std::vector<std::byte> archive;
  write_parts("an archive",
              [&](std::span<const std::byte> part) { archive.insert(archive.end(), part.begin(), part.end()); });
  return archive;
}

NpzArrays::NpzArrays(std::span<const std::byte> bytes, std::string name) : name_(std::move(name)) {
  const auto number = [&](std::size_t at, int length) {
    std::size_t value = 0;
    for (int byte = length; byte-- > 0;)
      value = value << 8 | std::to_integer<std::size_t>(bytes[at + static_cast<std::size_t>(byte)]);
    return value;
  };
  // Parses the archive file by file, and rebuilds its headers and directory as NpzContent writes them. The archive must
  // match them to the byte.
  std::string directory;
  std::size_t offset = 0;
  while (begins_with(bytes.subspan(offset), "PK\x03\x04")) {
    if (bytes.size() - offset < local_size) refuse("it is cut off");
    const std::size_t size = number(offset + 18, 4);
    const std::size_t name_size = number(offset + 26, 2);
    const std::size_t begin = offset + local_size + name_size;
    if (bytes.size() < begin || bytes.size() - begin < size) refuse("it is cut off");
    const std::string_view file(reinterpret_cast<const char*>(bytes.data()) + offset + local_size, name_size);
    const Entry entry{file, bytes.subspan(begin, size)};
    const Headers headers = headers_of(file, crc32(entry.bytes), size, offset);
    if (!begins_with(bytes.subspan(offset), headers.local)) refuse("it is damaged: a checksum does not match");
    directory += headers.directory;
    entries_.push_back(entry);
    offset = begin + size;
  }
  const std::string end = directory + end_of(entries_.size(), directory.size(), offset);
  if (entries_.empty() || bytes.size() < offset + end.size()) refuse("it is cut off, or a file of another kind");
  if (bytes.size() > offset + end.size() || !begins_with(bytes.subspan(offset), end))
    refuse("it is damaged: its directory does not match its files");
}

const NpzArrays::Entry* NpzArrays::find(std::string_view name) const {
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.name.size() == name.size() + ending.size() && entry.name.starts_with(name) &&
           entry.name.ends_with(ending);
  });
  return found == entries_.end() ? nullptr : &*found;
}

std::span<const std::byte> NpzArrays::elements(std::string_view name, std::string_view descr, std::size_t size,
                                               std::int64_t columns) const {
  const Entry* const entry = find(name);
  if (entry == nullptr) refuse("it has no array '" + std::string(name) + "'");
  // position of the two bytes that contain the number of further bytes in the header
  constexpr std::size_t length_at = 8;
  std::size_t header = length_at + 2;
  if (entry->bytes.size() >= header)
    header += std::to_integer<std::size_t>(entry->bytes[length_at]) |
              std::to_integer<std::size_t>(entry->bytes[length_at + 1]) << 8;
  if (entry->bytes.size() >= header) {
    const std::span<const std::byte> bytes = entry->bytes.subspan(header);
    const auto count = static_cast<std::int64_t>(bytes.size() / size);
    const std::array<std::int64_t, 2> shape{columns > 0 ? count / columns : count, columns};
    if (begins_with(entry->bytes, npy_header(descr, std::span(shape).first(columns > 0 ? 2 : 1))) &&
        bytes.size() == static_cast<std::size_t>(columns > 0 ? shape[0] * columns : count) * size)
      return bytes;
  }
  refuse("its array '" + std::string(name) + "' has another type or shape");
}

void NpzArrays::refuse(const std::string& what) const {
  throw InputError("'" + name_ + "': " + what, {.code = error_code::file_format, .file = name_});
}

}  // namespace gradus::core
