// Declarations that the files of the Life commands share.
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

/// Parses a size: "64" or "64x48", columns first.
LifeSize parse_life_size(const std::string& name, const std::string& text, std::int64_t most);

/// A pattern that is advanced step by step.
class LifeSteps {
 public:
  /// Uses only rule, boundary and generations of `options`. `size` is the size of a bounded world. `execution` must
  /// outlive the object.
  LifeSteps(LifePattern pattern, const LifeOptions& options, const LifeSize& size, const Execution& execution);
  LifeSteps(const LifeSteps&) = delete;
  LifeSteps& operator=(const LifeSteps&) = delete;
  ~LifeSteps();

  /// Advances the pattern. Throws the errors of life(). Throws UnsupportedError if the infinitely many cells around the
  /// pattern have become alive.
  void advance(std::int64_t generations);
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
  /// Results of earlier steps, which speed up the next steps. Null if the tree algorithm is not used.
  std::unique_ptr<life_detail::Universe> universe_;
  bool is_read_ = true;  ///< true if `pattern_` is the current state of the universe
};

/// Throws UnsupportedError if the infinitely many cells around the result are alive.
void require_no_background(const LifeResult& result, const LifeRule& rule);

/// Throws UsageError if standard input or standard output is no terminal. Also throws UsageError if `input` is standard
/// input, because the keys are read from there.
void require_terminal(const std::string& input);
/// Shows the pattern in the terminal, `every` generations per frame, until the user quits. If `until` is not negative,
/// the view pauses once, after that many generations.
int view_life(LifeSteps& steps, const LifeOptions& options, const LifeSize& size, std::int64_t every,
              std::int64_t until, Session& session);

Generator life_soup_generator();

}  // namespace gradus::cli
