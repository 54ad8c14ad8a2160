// Published claims without figures: "stops scaling at 2 threads", "is best in tiles of 64". Each has a rule that
// decides from measured rows whether it holds here.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/group.hpp"

namespace gradus::bench {

/// A time is less than another only where the ratio of their medians is more than this.
inline constexpr double clear_ratio = 1.1;

struct Claim {
  enum class Kind {
    stops_at,     ///< with more than `threads` threads not faster than with these
    scales_to,    ///< faster with each number of threads than with the next lower one, up to `threads`
    best_at,      ///< `axis` at `value`: at no other measured value faster
    faster_than,  ///< than the variant `than`, with each number of threads up to `threads`
  };
  std::string variant;
  Kind kind = Kind::stops_at;
  int threads = 0;                    ///< of all but best_at
  std::string axis{};                 ///< of best_at, with underscores
  std::string value{};                ///< as a person would write it
  std::string than{};                 ///< of faster_than
  std::vector<std::string> shapes{};  ///< by their labels, of all but best_at; empty: of all shapes
};

enum class Verdict { confirmed, refuted, undecided };

/// The median time at a number of threads (of faster_than followed by that of the other variant), or at a value of the
/// axis: then with the best number of threads.
struct Point {
  std::string at;
  double seconds = 0;
};

/// What one input says about a claim.
struct Finding {
  std::string input;  ///< the label of its shape; of best_at of all shapes that differ in the axis only
  Verdict verdict = Verdict::undecided;
  std::string because;
  std::vector<Point> points;
};

/// Confirmed where all findings are, refuted where one is.
struct Judgement {
  Verdict verdict = Verdict::undecided;
  std::vector<Finding> findings;  ///< one for each input
};

/// Of each shape by its label: the axes that it sets, by their names.
using ShapeSettings = std::map<std::string, std::map<std::string, std::string>>;

/// Rows with more threads than there are cores tell nothing and are left out.
Judgement judge(const Claim& claim, const Report& report, const ShapeSettings& shapes, int cores);

std::string_view to_string(Claim::Kind kind);
/// InputError where there is none of this name.
Claim::Kind claim_kind_called(std::string_view name);
/// "confirmed", "refuted" or "not decided here".
std::string_view to_string(Verdict verdict);
/// "stops at 2 threads", "best at tile 64".
std::string claim_text(const Claim& claim);
/// What decides, in words.
std::string rule_text(const Claim& claim);
/// "1: 42 ms, 2: 21.5 ms".
std::string points_text(const std::vector<Point>& points);

nlohmann::ordered_json to_json(const Claim& claim, const Judgement& judgement);

}  // namespace gradus::bench
