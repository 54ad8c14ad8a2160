// Tools of the writers of patterns: text, optionally gzip-compressed, and the live cells of a grid or tree as runs.
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

/// The destination of a pattern: its name for messages, and a stop token.
struct LifeTarget {
  std::string name;
  std::stop_token stop;
};

/// Writes text to memory or to a file. Compresses it with gzip if `packed` is set.
class TextOutput {
 public:
  TextOutput(core::AtomicFile& file, bool packed);
  TextOutput(std::string& memory, LifeTarget target);
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;
  ~TextOutput();
  void write(std::string_view text);
  /// Ends the text. The caller must commit the file.
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

/// The live cells of a pattern as runs. The caller must keep the pattern alive.
class LifeRuns {
 public:
  /// Throws Error with the target's name if the cells are too numerous or too far apart for all formats except
  /// Macrocell.
  LifeRuns(const LifePattern& pattern, const LifeTarget& target);
  const life_detail::LifeBox& box() const { return box_; }
  /// Calls use(x, y, count) for all runs, row by row from the top, and from left to right within a row. Two runs may be
  /// adjacent. Throws InterruptedError after a stop request.
  void for_each(const std::function<void(std::int64_t x, std::int64_t y, std::int64_t count)>& use) const;

 private:
  void find_box_of_grid();

  const LifePattern& pattern_;
  const LifeTarget& target_;
  life_detail::LifeBox box_;
  std::vector<life_detail::LifeBlock> blocks_;
};

/// Returns "B3/S23", followed by the topology if there is one.
std::string rule_text(const LifePattern& pattern);
/// Writes each comment as a line. Replaces its first character by `mark`. If the line would have another meaning with
/// the mark '#', writes "#C " instead.
void write_comments(TextOutput& output, const LifePattern& pattern, std::string_view mark);

}  // namespace gradus::files
