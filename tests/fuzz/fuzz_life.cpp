// Parses any bytes as a Life pattern in the format GRADUS_LIFE_FORMAT. parse_life() must return cells within the plane
// that stay the same if they are written and read again, or throw InputError.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/error.hpp"
#include "life/files/pattern.hpp"
#include "life/quadtree.hpp"

namespace gradus::fuzz {

namespace {

void require(bool is_so) {
  if (!is_so) std::abort();
}

/// Returns the blocks of the pattern, or nothing if they are too many to list.
std::optional<std::vector<life_detail::LifeBlock>> blocks_of(const LifePattern& pattern) {
  constexpr std::size_t most = 1 << 16;
  if (pattern.tree) {
    for (std::size_t index = 1; index < pattern.tree->nodes.size(); ++index)
      for (const std::uint32_t quarter : pattern.tree->nodes[index].quarters) require(quarter < index);
    if (!life_detail::bounding_box(*pattern.tree, pattern.left, pattern.top)) return std::nullopt;
    return life_detail::blocks_of(life_detail::moved(*pattern.tree, pattern.left, pattern.top), most);
  }
  require(pattern.cells.width() >= 0 && pattern.cells.height() >= 0);
  return life_detail::blocks_of(life_detail::life_tree(pattern.cells.view(), pattern.left, pattern.top), most);
}

void parse(const std::uint8_t* data, std::size_t size) {
  const auto format =
      std::ranges::find(files::life_formats(), std::string_view(GRADUS_LIFE_FORMAT), &files::LifeFormat::id);
  require(format != files::life_formats().end());
  files::LifeReadOptions options;
  options.memory_limit = std::uint64_t{1} << 20;
  try {
    const LifePattern pattern = files::parse_life(std::as_bytes(std::span(data, size)), "input", *format, options);
    if (pattern.boundary && *pattern.boundary != LifeBoundary::plane) require(pattern.width > 0 && pattern.height > 0);
    const auto blocks = blocks_of(pattern);
    if (!blocks) return;
    for (const char* const output : {".rle", ".mc"}) {
      const std::string text = files::life_text(pattern, output);
      const LifePattern again = files::parse_life(std::as_bytes(std::span(text)), "written", nullptr, options);
      require(again.rule.value_or(LifeRule{}) == pattern.rule.value_or(LifeRule{}));
      const auto same = blocks_of(again);
      require(same &&
              std::ranges::equal(*same, *blocks, [](const life_detail::LifeBlock& a, const life_detail::LifeBlock& b) {
                return a.x == b.x && a.y == b.y && a.cells == b.cells;
              }));
    }
  } catch (const InputError&) {
    // expected for invalid input
  } catch (const Error& error) {
    const std::string_view why = error.what();
    require(why.find("take more than") != std::string_view::npos ||  // the message states the allowed memory
            why.find("does not read back") != std::string_view::npos);
  }
}

}  // namespace

}  // namespace gradus::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gradus::fuzz::parse(data, size);
  return 0;
}
