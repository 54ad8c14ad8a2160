// Compresses any bytes with gzip and decompresses the result. The bytes are divided into gzip members in any way. Also
// decompresses the bytes themselves.
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "files/text_input.hpp"
#include "fuzz_graph.hpp"

namespace {

using gradus::fuzz::require;

std::string gzipped(const std::uint8_t* data, std::size_t size) {
  z_stream stream{};
  require(::deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(::deflateBound(&stream, size) + 64, '\0');
  stream.next_in = const_cast<Bytef*>(data);
  stream.avail_in = static_cast<uInt>(size);
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  require(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  return packed;
}

/// Decompresses in pieces of a few bytes and returns up to a megabyte.
std::string unpacked(std::string_view packed, std::size_t piece) {
  std::size_t done = 0;
  const gradus::files::ReadBytes read = gradus::files::gunzip(
      [&](char* into, std::size_t room) {
        const std::size_t count = std::min({room, piece, packed.size() - done});
        std::memcpy(into, packed.data() + done, count);
        done += count;
        return count;
      },
      "input");
  std::string content;
  char buffer[97];
  while (content.size() < std::size_t{1} << 20) {
    const std::size_t got = read(buffer, sizeof buffer);
    if (got == 0) break;
    content.append(buffer, got);
  }
  return content;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t half = size / 2;
  const std::string members = gzipped(data, half) + gzipped(data + half, size - half);
  require(unpacked(members, 13) == text);
  for (const std::string& bytes : {text, "\x1f\x8b" + text, members.substr(0, members.size() - 1) + text}) {
    try {
      unpacked(bytes, 1 + size % 7);
    } catch (const gradus::InputError&) {
      // expected for invalid input
    }
  }
  return 0;
}
