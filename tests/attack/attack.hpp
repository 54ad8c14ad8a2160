// Shared parts of the attacks on all problems: options, outcomes, the report, and the search for smaller inputs.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ladder.hpp"
#include "execution/machine.hpp"
#include "execution/ways.hpp"
#include "gradus/error.hpp"
#include "tests/attack/random.hpp"

namespace gradus::attack {

struct AttackOptions {
  std::uint64_t seed = 1;
  std::uint64_t first = 0;  ///< number of the first case
  std::uint64_t cases = 1000;
  std::string variant;  ///< name of the only variant to run; if empty, all variants run
  std::vector<int> threads = {1, 2, 3, 7};
  Device device = Device::cpu;
  std::string instructions = "best";  ///< the most that k-means may use; see kmeans/assign/limited_instructions.hpp
  bool shrink = false;
  bool verbose = false;
  std::uint64_t faults_to_show = 10;
};

struct AttackReport {
  std::uint64_t cases = 0;
  std::uint64_t refused = 0;  ///< number of cases that the library must refuse
  std::uint64_t runs = 0;
  std::uint64_t faulty_cases = 0;
};

/// The result of a call: an answer, or the exit status of the error that was thrown. The status is -1 for an exception
/// that is not a gradus::Error.
template <class Answer>
struct Outcome {
  std::optional<Answer> answer;
  int status = 0;
  std::string message;
};

template <class Run>
auto outcome_of(const Run& run) {
  Outcome<decltype(run())> outcome;
  try {
    outcome.answer.emplace(run());
  } catch (const Error& error) {
    outcome.status = error.exit_status();
    outcome.message = error.what();
  } catch (const std::exception& error) {
    outcome.status = -1;
    outcome.message = error.what();
  }
  return outcome;
}

/// Returns "" if both outcomes are answers or both are the same kind of error, otherwise a description of the
/// difference.
template <class A, class B>
std::string status_difference(const Outcome<A>& is, const Outcome<B>& expected) {
  const auto text = [](const auto& outcome) {
    return outcome.answer ? "an answer" : fmt::format("error {} ({})", outcome.status, outcome.message);
  };
  if (is.status == expected.status) return "";
  return fmt::format("there is {} instead of {}", text(is), text(expected));
}

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Returns "" if all elements have the same bits, otherwise a description of the difference.
template <class A, class B>
std::string difference(const char* what, const A& is, const B& expected) {
  if (is.size() != expected.size())
    return fmt::format("{}: there are {} instead of {}", what, is.size(), expected.size());
  for (std::size_t index = 0; index < is.size(); ++index)
    if (!same_bits(is[index], expected[index]))
      return fmt::format("{} {}: {} instead of {}", what, index, is[index], expected[index]);
  return "";
}

template <class T>
std::string difference_of_one(const char* what, T is, T expected) {
  return same_bits(is, expected) ? "" : fmt::format("{}: {} instead of {}", what, is, expected);
}

/// Calls the checks in order until one returns a non-empty text, and returns this text.
template <class... Checks>
std::string first_difference(const Checks&... checks) {
  std::string found;
  (void)((found = checks(), !found.empty()) || ...);
  return found;
}

struct Run {
  Execution execution;
  core::Contract contract;
  std::string text;  ///< variant and threads, for reports
};

/// Adds runs of case `number` by a variant. A variant can run in several ways, for example with several numbers of
/// threads. Every eighth case uses all ways. All other cases use one thread (on a GPU, the variant's default block
/// size) and one other way.
void add_runs(std::vector<Run>& runs, const core::VariantInfo& variant, const AttackOptions& options,
              std::uint64_t number);

/// Returns all runs of case `number` of this shape, for the variants that support it.
template <class Variant, class Shape>
std::vector<Run> runs_of(core::Rows<Variant> variants, const Shape& shape, const AttackOptions& options,
                         std::uint64_t number) {
  std::vector<Run> runs;
  for (const Variant& variant : variants)
    if (variant.supports(shape, execution::this_machine())) add_runs(runs, variant, options, number);
  if (options.variant.empty()) {  // adds a run in which the library chooses the variant
    Run chosen;
    chosen.execution.device = options.device;
    chosen.execution.threads = 2;
    chosen.text = "the chosen variant";
    runs.push_back(chosen);
  }
  return runs;
}

/// Counts and prints the faults of one case.
class CaseReport {
 public:
  CaseReport(const char* problem, const AttackOptions& options, std::uint64_t number, AttackReport& report)
      : problem_(problem), options_(options), number_(number), report_(report) {
    ++report_.cases;
  }

  /// Records the result of a run. `wrong` describes the fault, or is empty. Returns true for the first fault of the
  /// case.
  bool judge(const std::string& what, const std::string& wrong, const std::string& headline);
  /// Prints the summary of the case. Call it after the last run.
  void finish() const;

 private:
  bool is_shown() const { return report_.faulty_cases <= options_.faults_to_show; }

  const char* problem_;
  const AttackOptions& options_;
  std::uint64_t number_;
  AttackReport& report_;
  int faults_ = 0;
};

/// Returns the text of `value` with all digits, so that the text can be pasted as input.
template <class T>
std::string listing(const char* name, const std::vector<T>& values) {
  std::string text = fmt::format("  {} = [", name);
  for (std::size_t index = 0; index < values.size(); ++index)
    text += fmt::format("{}{}", index ? ", " : "", values[index]);
  return text + "]\n";
}

template <class T>
std::string listing(const char* name, const Rows<T>& rows) {
  std::string text = fmt::format("  {} = [", name);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    text += row > 0 ? ", [" : "[";
    for (std::size_t dim = 0; dim < rows[row].size(); ++dim)
      text += fmt::format("{}{}", dim ? ", " : "", rows[row][dim]);
    text += "]";
  }
  return text + "]\n";
}

/// Simplifies a failing case step by step, as long as `fails` returns true for the simpler case. `smaller`(case, n)
/// makes the case simpler in the n-th way, or returns false if there is no n-th way.
template <class Case>
Case shrunk(Case made, const std::function<bool(Case&, std::int64_t)>& smaller,
            const std::function<bool(const Case&)>& fails) {
  for (int budget = 4000; budget > 0;) {
    bool found = false;
    for (std::int64_t step = 0; budget > 0; ++step, --budget) {
      Case candidate = made;
      if (!smaller(candidate, step)) break;
      if (!fails(candidate)) continue;
      made = std::move(candidate);
      found = true;
      --step;  // tries the same step again
    }
    if (!found) break;
  }
  return made;
}

/// Removes the elements [begin, end) from each vector that is long enough.
template <class... Vectors>
void remove_at(std::size_t begin, std::size_t end, Vectors&... vectors) {
  const auto remove = [&](auto& values) {
    if (values.size() < end) return;
    values.erase(values.begin() + static_cast<std::ptrdiff_t>(begin),
                 values.begin() + static_cast<std::ptrdiff_t>(end));
  };
  (remove(vectors), ...);
}

}  // namespace gradus::attack
