// What the files of the commands of Life share.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/command.hpp"
#include "gradus/life.hpp"

namespace gradus::life_detail {
class Universe;
}

namespace gradus::cli {

struct LifeSize {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

/// "64" or "64x48", columns first.
LifeSize parse_life_size(const std::string& name, const std::string& text, std::int64_t most);

/// A pattern on its way, some generations at a time.
class LifeSteps {
 public:
  /// What is asked for in `options` besides rule, boundary and generations is left alone. Of a bounded world `size` is
  /// its size. `execution` stays with the caller.
  LifeSteps(LifePattern pattern, const LifeOptions& options, const LifeSize& size, const Execution& execution);
  LifeSteps(const LifeSteps&) = delete;
  LifeSteps& operator=(const LifeSteps&) = delete;
  ~LifeSteps();

  /// Errors as those of life(); UnsupportedError where the cells beyond the pattern have come alive.
  void advance(std::int64_t generations);
  /// As it is now, with its rule, boundary and generation.
  const LifePattern& now();
  const LifePopulation& population();
  const RunReport& report() const { return report_; }

 private:
  void take(LifeResult result);

  LifePattern pattern_;
  LifeOptions options_;
  LifeSize size_;
  const Execution& execution_;
  LifePopulation population_;
  RunReport report_;
  /// Keeps what it knows from one step to the next.
  std::unique_ptr<life_detail::Universe> universe_;
  bool is_read_ = true;  ///< `pattern_` is what the universe holds
};

/// UnsupportedError where that is so.
void require_no_background(const LifeResult& result, const LifeRule& rule);

/// UsageError where there is no terminal to show `input` in, or it comes from where keys are read.
void require_terminal(const std::string& input);
/// Shows the pattern in the terminal, `every` generations a frame, until the person has seen enough. It pauses once
/// after `until` generations, unless that is negative.
int view_life(LifeSteps& steps, const LifeOptions& options, const LifeSize& size, std::int64_t every,
              std::int64_t until, Session& session);

Generator life_soup_generator();

}  // namespace gradus::cli
