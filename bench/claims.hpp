// Published claims without figures, such as "stops scaling at 2 threads" or "is best in tiles of 64". Each has a rule
// that judges it by the measured rows.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/group.hpp"

namespace gradus::bench {

/// A time counts as less than another only if the ratio of their medians exceeds this.
inline constexpr double clear_ratio = 1.1;

struct Claim {
  enum class Kind {
    stops_at,     ///< not faster with more than `threads` threads
    scales_to,    ///< faster with each number of threads than with the next lower one, up to `threads`
    drops_at,     ///< slower with `threads` threads than with the next lower number
    best_at,      ///< no measured value of `axis` is faster than `value`
    worst_at,     ///< no measured value of `axis` is slower than `value`
    faster_than,  ///< faster than variant `than` with each number of threads up to `threads`
    like,         ///< neither faster nor slower than variant `than`, up to `threads`
    at_least,     ///< `figure` is at least `least`, up to `threads`
    less_than,    ///< `figure` is less than the figure of variant `than`, up to `threads`
  };
  std::string variant;
  Kind kind = Kind::stops_at;
  /// For best_at and worst_at, 0 means each value's best number of threads.
  int threads = 0;
  int from = 1;                       ///< lowest number of threads of the claims that compare by threads
  std::string axis{};                 ///< axis of best_at and worst_at, with underscores
  std::string value{};                ///< as on the command line
  std::vector<std::string> except{};  ///< values that are not compared
  std::string than{};
  std::string figure{};  ///< key of the figure in the JSON of a row
  double least = 0;
  std::vector<std::string> shapes{};  ///< labels; empty: all shapes. Unused by best_at and worst_at
};

bool is_about_axis(Claim::Kind kind);
bool compares_by_threads(Claim::Kind kind);
bool names_another(Claim::Kind kind);
bool is_about_figure(Claim::Kind kind);

enum class Verdict { confirmed, refuted, undecided };

/// A median time or figure at a number of threads, or a time at a value of the axis. In claims about two variants, the
/// other variant's point follows.
struct Point {
  std::string at;
  double value = 0;
};

/// The verdict of one input on a claim.
struct Finding {
  std::string input;  ///< the label of its shape; for best_at, the labels of all shapes that differ only in the axis
  Verdict verdict = Verdict::undecided;
  std::string because;
  std::vector<Point> points;
};

/// Confirmed if all findings are, refuted if one is.
struct Judgement {
  Verdict verdict = Verdict::undecided;
  std::vector<Finding> findings;  ///< one for each input
};

/// The axes that each shape sets, by the shape's label.
using ShapeSettings = std::map<std::string, std::map<std::string, std::string>>;

/// Judges the claim. Except for drops_at, ignores rows with more threads than cores.
Judgement judge(const Claim& claim, const Report& report, const ShapeSettings& shapes, int cores);

std::string_view to_string(Claim::Kind kind);
/// Throws InputError for an unknown name.
Claim::Kind claim_kind_called(std::string_view name);
/// Returns "confirmed", "refuted" or "not decided here".
std::string_view to_string(Verdict verdict);
/// Returns for example "stops at 2 threads" or "best at tile 64".
std::string claim_text(const Claim& claim);
std::string rule_text(const Claim& claim);
/// Returns for example "1: 42 ms, 2: 21.5 ms" or, for a figure, "1: 0.98, 2: 0.99".
std::string points_text(const Claim& claim, const std::vector<Point>& points);

nlohmann::ordered_json to_json(const Claim& claim, const Judgement& judgement);

}  // namespace gradus::bench
