// Published claims without figures, such as "stops scaling at 2 threads" or "is best in tiles of 64". Each kind of
// claim has a rule that judges it by the measured rows.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/group.hpp"

namespace gradus::bench {

/// A time counts as less than another only if the ratio of their medians exceeds this value.
inline constexpr double clear_ratio = 1.1;

struct Claim {
  enum class Kind {
    stops_at,     ///< not faster with more than `threads` threads
    scales_to,    ///< each measured number of threads up to `threads` is faster than the next lower one
    drops_at,     ///< slower with `threads` threads than with the next lower measured number of threads
    best_at,      ///< no measured value of `axis` is faster than `value`
    worst_at,     ///< no measured value of `axis` is slower than `value`
    faster_than,  ///< faster than variant `than` with each number of threads up to `threads`
    like,         ///< neither faster nor slower than variant `than` with each number of threads up to `threads`
    at_least,     ///< `figure` is at least `least` with each number of threads up to `threads`
    less_than,    ///< `figure` is less than the figure of variant `than` with each number of threads up to `threads`
  };
  std::string variant;
  Kind kind = Kind::stops_at;
  /// The number of threads of the claim. For best_at and worst_at, 0 means the best number of threads for each value.
  int threads = 0;
  /// for claims about a range of threads: the lowest number of threads that is compared
  int from = 1;
  std::string axis{};                 ///< for best_at and worst_at: the axis, spelled with underscores
  std::string value{};                ///< value of the axis, as on the command line
  std::vector<std::string> except{};  ///< values of the axis that are not compared
  std::string than{};
  std::string figure{};  ///< key of the figure in the JSON of a row
  double least = 0;
  /// Labels of the shapes that are judged; empty: all. Not used by best_at and worst_at.
  std::vector<std::string> shapes{};
};

bool is_about_axis(Claim::Kind kind);
bool compares_by_threads(Claim::Kind kind);
bool names_another(Claim::Kind kind);
bool is_about_figure(Claim::Kind kind);

enum class Verdict { confirmed, refuted, undecided };

/// A measured value. It is a median time or a figure for a number of threads, or a median time for a value of the axis.
/// If the claim is about two variants, each point of the first variant is followed by the corresponding point of the
/// second one.
struct Point {
  std::string at;
  double value = 0;
};

/// The verdict on a claim for one input.
struct Finding {
  /// Label of the input's shape. For best_at and worst_at: the labels of all shapes that differ only in the axis.
  std::string input;
  Verdict verdict = Verdict::undecided;
  std::string because;
  std::vector<Point> points;
};

/// The verdict on a claim for all inputs: confirmed if all findings are confirmed, refuted if at least one is refuted,
/// otherwise undecided.
struct Judgement {
  Verdict verdict = Verdict::undecided;
  std::vector<Finding> findings;  ///< one finding for each input
};

/// Maps the label of each shape to the axes that the shape sets and to their values.
using ShapeSettings = std::map<std::string, std::map<std::string, std::string>>;

/// Judges the claim. Ignores rows with more threads than cores, except for drops_at.
Judgement judge(const Claim& claim, const Report& report, const ShapeSettings& shapes, int cores);

std::string_view to_string(Claim::Kind kind);
/// Throws InputError for an unknown name.
Claim::Kind claim_kind_called(std::string_view name);
/// Returns "confirmed", "refuted" or "not decided here".
std::string_view to_string(Verdict verdict);
/// Returns a text such as "stops at 2 threads" or "best at tile 64".
std::string claim_text(const Claim& claim);
std::string rule_text(const Claim& claim);
/// Returns a text such as "1: 42 ms, 2: 21.5 ms" or, for a figure, "1: 0.98, 2: 0.99".
std::string points_text(const Claim& claim, const std::vector<Point>& points);

nlohmann::ordered_json to_json(const Claim& claim, const Judgement& judgement);

}  // namespace gradus::bench
