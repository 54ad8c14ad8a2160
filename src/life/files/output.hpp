// What the writers of patterns share: text, packed or not, and the runs of live cells of a grid or a tree.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/atomic_file.hpp"
#include "gradus/life.hpp"
#include "life/quadtree.hpp"

namespace gradus::files {

/// Where a pattern goes: what it is called, and whether it is to stop.
struct LifeTarget {
  std::string name;
  std::stop_token stop;
};

/// Text on its way to a file, packed by gzip if asked for, or into memory.
class TextOutput {
 public:
  TextOutput(core::AtomicFile& file, bool packed);
  TextOutput(std::string& memory, LifeTarget target);
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;
  ~TextOutput();
  void write(std::string_view text);
  /// After the last text; the file is not committed.
  void finish();
  const LifeTarget& target() const { return target_; }

 private:
  struct Packing;
  void flush(bool last);

  LifeTarget target_;
  core::AtomicFile* file_ = nullptr;
  std::string* memory_ = nullptr;
  std::string text_;
  std::unique_ptr<Packing> packing_;
};

/// The live cells of a pattern as runs. The pattern stays with the caller.
class LifeRuns {
 public:
  /// Error, with the target's name, where they lie so far apart or are so many that only Macrocell can hold them.
  LifeRuns(const LifePattern& pattern, const LifeTarget& target);
  /// The smallest rectangle that holds them.
  const life_detail::LifeBox& box() const { return box_; }
  /// Calls use(x, y, count) row by row from the top, each row from the left. Runs may touch each other.
  /// InterruptedError after a stop request.
  void for_each(const std::function<void(std::int64_t x, std::int64_t y, std::int64_t count)>& use) const;

 private:
  void find_box_of_grid();

  const LifePattern& pattern_;
  const LifeTarget& target_;
  life_detail::LifeBox box_;
  std::vector<life_detail::LifeBlock> blocks_;
};

/// "B3/S23", with the topology behind it where there is one.
std::string rule_text(const LifePattern& pattern);
/// A line for each comment, whose first character becomes `mark`; "#C " where '#' alone would make more of it.
void write_comments(TextOutput& output, const LifePattern& pattern, std::string_view mark);

}  // namespace gradus::files
