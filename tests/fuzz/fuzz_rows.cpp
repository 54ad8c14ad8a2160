// Parses any bytes as a file of the format GRADUS_POINTS_FORMAT, under each of its endings. The format must find rows
// that are within the bytes, or throw InputError. Every element must be readable, whether the rows are read in one
// block or in two.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "files/points_format.hpp"
#include "fuzz_points.hpp"
#include "gradus/error.hpp"

namespace gradus::files {

extern constinit const PointsFormat GRADUS_POINTS_FORMAT;

namespace {

void parse(std::span<const std::byte> bytes, const std::string& path) {
  try {
    const std::optional<RowsInFile> all = GRADUS_POINTS_FORMAT.rows_in(bytes, path, {});
    if (!all || all->columns < 1) std::abort();
    read_rows_of(*all, 0, all->rows);
    read_rows_of(*all, 0, all->rows / 2);
    read_rows_of(*all, all->rows / 2, all->rows);
  } catch (const InputError&) {
    // expected for invalid input
  }
}

}  // namespace

}  // namespace gradus::files

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using gradus::files::GRADUS_POINTS_FORMAT;
  const auto bytes = std::as_bytes(std::span(data, size));
  std::string endings(GRADUS_POINTS_FORMAT.file.endings);
  while (!endings.empty()) {
    const std::string path = "input" + endings.substr(0, endings.find(' '));
    endings.erase(0, std::min(path.size() - 5 + 1, endings.size()));
    gradus::files::parse(bytes, path);
    if (GRADUS_POINTS_FORMAT.has_arrays) gradus::files::parse(bytes, path + ":x");
  }
  return 0;
}
