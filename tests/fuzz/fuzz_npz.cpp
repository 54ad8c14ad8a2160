// Parses any bytes with find_npz_array(). The function must return a part of the archive, or decompressed bytes of the
// declared size, or throw InputError. parse_npy() must accept or refuse the returned bytes.
#include <cstdint>
#include <cstdlib>

#include "files/npy.hpp"
#include "files/npz.hpp"
#include "gradus/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  for (const char* const array : {"", "x", "y"}) {
    try {
      const gradus::files::ArrayBytes found = gradus::files::find_npz_array(bytes, "input", array, {});
      if (!found.owner &&
          (found.bytes.data() < bytes.data() || found.bytes.data() + found.bytes.size() > bytes.data() + bytes.size()))
        std::abort();
      volatile unsigned sum = 0;
      for (const std::byte byte : found.bytes) sum = sum + std::to_integer<unsigned>(byte);
      (void)gradus::files::parse_npy(found.bytes, found.name, found.owner);
    } catch (const gradus::InputError&) {
      // expected for invalid input
    }
  }
  return 0;
}
