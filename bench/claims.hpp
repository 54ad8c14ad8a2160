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
    drops_at,     ///< slower with `threads` threads than with the next lower number
    best_at,      ///< `axis` at `value`: at no other measured value faster
    worst_at,     ///< likewise: at no other measured value slower
    faster_than,  ///< than the variant `than`, with each number of threads up to `threads`
    like,         ///< the variant `than`: likewise, neither is faster
    at_least,     ///< its `figure` is `least`, likewise
    less_than,    ///< its `figure` is less than that of the variant `than`, likewise
  };
  std::string variant;
  Kind kind = Kind::stops_at;
  /// Of best_at and worst_at 0: each value with its best number of threads.
  int threads = 0;
  int from = 1;                       ///< of those that compare with each number of threads: the least one
  std::string axis{};                 ///< of best_at and worst_at, with underscores
  std::string value{};                ///< as a person would write it
  std::vector<std::string> except{};  ///< other values with which they do not compare
  std::string than{};                 ///< another variant
  std::string figure{};               ///< by its key in the JSON of a row
  double least = 0;
  std::vector<std::string> shapes{};  ///< by their labels, of all but best_at and worst_at; empty: of all shapes
};

/// best_at and worst_at.
bool is_about_axis(Claim::Kind kind);
/// Those that compare with each number of threads.
bool compares_by_threads(Claim::Kind kind);
/// Those that name another variant.
bool names_another(Claim::Kind kind);
/// Those about a figure.
bool is_about_figure(Claim::Kind kind);

enum class Verdict { confirmed, refuted, undecided };

/// The median time, or the figure, at a number of threads (followed by that of the other variant, if there is one), or
/// the time at a value of the axis.
struct Point {
  std::string at;
  double value = 0;
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

/// Rows with more threads than there are cores tell nothing and are left out, except of drops_at.
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
/// "1: 42 ms, 2: 21.5 ms"; of a figure "1: 0.98, 2: 0.99".
std::string points_text(const Claim& claim, const std::vector<Point>& points);

nlohmann::ordered_json to_json(const Claim& claim, const Judgement& judgement);

}  // namespace gradus::bench
