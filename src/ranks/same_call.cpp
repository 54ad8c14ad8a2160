#include "ranks/same_call.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/text.hpp"

namespace gradus::core {

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

void require_same_call(Ranks& ranks, const std::string& call, const std::string& way_out) {
  using Name = std::array<char, 48>;
  const std::vector<Name> names = ranks.gather([&] {
    Name name{};
    call.copy(name.data(), name.size() - 1);
    return name;
  });
  const auto other = std::ranges::find_if(names, [&](const Name& name) { return name != names.front(); });
  if (other != names.end())
    throw UsageError(std::string("'") + other->data() + "' here, but '" + names.front().data() + "' on rank 0",
                     {.remedy = way_out, .rank = static_cast<int>(other - names.begin()), .ranks = ranks.size()});
}

void require_same_options(Ranks& ranks, const std::string& own) {
  const std::uint64_t hash = hash_of(own);
  const std::vector<std::uint64_t> hashes = ranks.gather([&] { return hash; });
  if (std::ranges::all_of(hashes, [&](std::uint64_t other) { return other == hash; })) return;
  const std::vector<char> first = ranks.from(0, [&] { return std::vector<char>(own.begin(), own.end()); });
  ranks.agree([&] {
    std::vector<std::string> mine = lines_of(own);
    std::vector<std::string> theirs = lines_of({first.begin(), first.end()});
    const std::size_t lines = std::max(mine.size(), theirs.size());
    mine.resize(lines, "nothing of that");
    theirs.resize(lines, "nothing of that");
    for (std::size_t index = 0; index < lines; ++index)
      if (mine[index] != theirs[index])
        throw UsageError("'" + mine[index] + "' here, but '" + theirs[index] +
                         "' on rank 0; all ranks must make the same call with the same options");
  });
}

}  // namespace gradus::core
