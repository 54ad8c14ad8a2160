// The ladder of a problem: a row for each variant, and functions that find a row by name. Rows have the same form in
// every problem. The source file of each variant ends with the row of the variant. Each problem has one explicit list
// of pointers to its rows, in ladder order (src/<problem>/variants.cpp). No row registers itself.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/names.hpp"
#include "gradus/error.hpp"
#include "gradus/execution.hpp"
#include "gradus/run_report.hpp"
#include "gradus/variants.hpp"

namespace gradus::execution {
struct Machine;
}

namespace gradus::core {

struct OptionTable;

using gradus::Backend;

/// States that a job is supported, or the reason why it is not.
struct Support {
  bool supported = true;
  std::string reason;

  static Support yes() { return {}; }
  static Support no(std::string reason) { return {false, std::move(reason)}; }
  explicit operator bool() const { return supported; }
};

/// The accuracy that a variant guarantees, relative to the oracle. Each problem has one function that checks the
/// contract: compare() in cases.hpp. The tests, `gradus verify` and `gradus bench` use this function.
struct Contract {
  enum Kind : std::uint8_t {
    same_bits,  ///< identical to the result of the oracle: labels, centroids, counts, distances, cells
    within,     ///< computed with the textbook's arithmetic: the quantity named by `of` differs from the oracle's by at
                ///< most `bound`
    invariants  ///< several results are correct; the checks examine properties that every correct result has
  };
  Kind kind = same_bits;
  double bound = 0;          ///< relative bound if the kind is `within`
  std::string_view of = {};  ///< the bounded quantity, or the identical part of the result

  friend bool operator==(const Contract& contract, Kind kind) { return contract.kind == kind; }
  /// Returns true if `value` satisfies a contract of the kind `within`; NaN never does. `slack` is added to the
  /// magnitude of `truth`.
  bool allows(double value, double truth, double slack = 0) const {
    return std::abs(value - truth) <= bound * (std::abs(truth) + slack);
  }
};
std::string_view to_string(Contract::Kind kind);
/// Returns the kind of the contract, with the identical part if only a part is identical: "same bits of integers".
std::string kind_text(const Contract& contract);
/// Returns kind_text(), or for `within` the bound: "within 0.0001".
std::string text(const Contract& contract);

using Memory = MemoryEstimate;

/// The element types of a room's data. Every variant of the room exists for each of these types.
template <class... T>
struct Elements {};
/// The list of a room whose problem has no data, such as locks. The room's templates are instantiated with `void`.
using NoElements = Elements<void>;

/// The function that runs a variant. It does the whole job. `execution` gives the number of threads, the device and the
/// progress callback. The function adds the seconds of its phases to `phases`.
///
/// `Room` is a struct that names the types of a problem: `Shape`, `Elements`, and for each element type T `Problem<T>`
/// and `Result<T>`. Its member `name` is the name of the problem.
template <class Room, class T>
using Run = typename Room::template Result<T> (*)(const typename Room::template Problem<T>& problem,
                                                  const Execution& execution, std::vector<Phase>& phases);

/// Takes the place of a run if this build does not compile the variant. Calling it throws UnsupportedError. `supports`
/// in the variant's row reports the same reason.
struct NotCompiled {};

template <class Room, class T>
struct RunOf {
  using Problem = typename Room::template Problem<T>;
  using Result = typename Room::template Result<T>;
  Run<Room, T> run;

  Result operator()(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) const {
    return run(problem, execution, phases);
  }
  static Result refuse(const Problem&, const Execution&, std::vector<Phase>&) {
    throw UnsupportedError("this build has no CUDA: the variant is not compiled");
  }
};

/// A callable object with an overload for each element type. Each overload is the run of the variant for this type.
template <class Room, class List = typename Room::Elements>
struct Runs;
template <class Room, class... T>
struct Runs<Room, Elements<T...>> : RunOf<Room, T>... {
  constexpr Runs(Run<Room, T>... runs) : RunOf<Room, T>{runs}... {}
  constexpr Runs(NotCompiled) : RunOf<Room, T>{RunOf<Room, T>::refuse}... {}
  using RunOf<Room, T>::operator()...;
};

// The runs of a GPU variant, one per element type. In a build without CUDA, the variant still has a row in the table.
#ifdef GRADUS_HAS_CUDA
#define GRADUS_CUDA_RUNS(...) \
  { __VA_ARGS__ }
#else
#define GRADUS_CUDA_RUNS(...) core::NotCompiled()
#endif

/// The properties of a row that do not depend on the problem.
struct VariantInfo {
  std::string_view name;
  std::string_view summary;
  std::string_view change = {};
  Backend backend = Backend::sequential;
  Contract contract = {};
  bool deterministic = true;
  bool device_input = false;
  bool baseline = false;
  const OptionTable* options = nullptr;
};

template <class Shape>
Support everywhere(const Shape&, const execution::Machine&) {
  return Support::yes();
}
template <class Shape>
Memory nothing(const Shape&, int /*threads*/) {
  return {};
}

/// Additional columns of a room's rows: Room::RowFacts, if the room has such a struct.
struct NoRowFacts {};
template <class Room>
struct RowFactsOf {
  using Type = NoRowFacts;
};
template <class Room>
  requires requires { typename Room::RowFacts; }
struct RowFactsOf<Room> {
  using Type = typename Room::RowFacts;
};

/// A row of a room's table. Every row must state the members without a default.
template <class Room>
struct Variant {
  using Shape = typename Room::Shape;

  std::string_view name;         ///< the name of the variant, of its file and of its function; --variant selects it
  std::string_view summary;      ///< the idea in one line
  std::string_view change = {};  ///< the difference from the previous rung, and its benefit
  Contract contract = {};
  Backend backend;
  bool deterministic = true;  ///< two runs with the same number of threads give the same bits; with the contract
                              ///< `same_bits`, even two runs with different numbers of threads do
  bool device_input = false;  ///< accepts views of GPU memory; the driver copies views of host memory to the GPU
  bool on_ranks = false;      ///< several ranks can share the work: see Execution::communicator
  /// the variant calls another library, which may be missing on a machine; never chosen automatically
  bool baseline = false;
  const OptionTable* options = nullptr;  ///< the variant-specific options: see core/variant_options.hpp
  /// Reports whether the variant supports a job of this shape on this machine.
  Support (*supports)(const Shape& shape, const execution::Machine& machine) = everywhere<Shape>;
  /// Returns the memory that the job needs with this number of threads.
  Memory (*memory)(const Shape& shape, int threads) = nothing<Shape>;
  typename RowFactsOf<Room>::Type facts = {};
  Runs<Room> run;

  operator VariantInfo() const {
    return {name, summary, change, backend, contract, deterministic, device_input, baseline, options};
  }
};

/// The rows of a ladder, in order. The object contains pointers, but its iterators refer to the rows.
template <class Row>
class Rows {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Row;
    using difference_type = std::ptrdiff_t;

    constexpr Iterator() = default;
    constexpr explicit Iterator(const Row* const* place) : place_(place) {}
    constexpr const Row& operator*() const { return **place_; }
    constexpr const Row* operator->() const { return *place_; }
    constexpr Iterator& operator++() { return ++place_, *this; }
    constexpr Iterator operator++(int) { return Iterator(place_++); }
    friend constexpr bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const Row* const* place_ = nullptr;
  };

  constexpr Rows(std::span<const Row* const> rows) : rows_(rows) {}
  template <std::size_t n>
  constexpr Rows(const Row* const (&rows)[n]) : rows_(rows) {}

  constexpr Iterator begin() const { return Iterator(rows_.data()); }
  constexpr Iterator end() const { return Iterator(rows_.data() + rows_.size()); }
  constexpr std::size_t size() const { return rows_.size(); }
  constexpr bool empty() const { return rows_.empty(); }
  constexpr const Row& operator[](std::size_t index) const { return *rows_[index]; }

 private:
  std::span<const Row* const> rows_;
};

// Declares the row of a variant. The variant's file defines the row at its end. Rows are constant-initialized, so the
// initialization order of files does not matter.
#define GRADUS_DECLARE_RUNG(name) extern constinit const Variant name##_rung;
#define GRADUS_POINT_TO_RUNG(name) &name##_rung,

/// A ladder for code that does not know the problem.
struct Ladder {
  std::string_view problem;
  std::vector<VariantInfo> (*variants)();  ///< in table order
  /// Returns Support::yes() if the variant supports at least one of the problem's usual shapes on the machine. Detects
  /// GPUs if the variant needs a GPU. Throws UsageError for an unknown name.
  Support (*support)(std::string_view variant, const execution::Machine& machine);
};

/// Returns the row called `name` (hyphens count as underscores). If there is none, throws UsageError, which suggests
/// the most similar name.
template <class List>
const auto& find_variant(const List& variants, std::string_view name, std::string_view problem) {
  const std::string wanted = with_underscores(name);
  std::vector<std::string_view> names;
  for (const auto& variant : variants) {
    if (variant.name == wanted) return variant;
    names.push_back(variant.name);
  }
  throw UsageError("there is no " + std::string(problem) + " variant '" + std::string(name) + "'" +
                       did_you_mean(wanted, names) + "; 'gradus list " + std::string(problem) + "' shows all of them",
                   {.code = error_code::unknown_variant, .argument = "variant", .value = std::string(name)});
}

/// Returns Support::yes() if the variant supports one of the shapes. Otherwise returns the reason why it does not
/// support the last shape.
template <class Variant, class Shapes>
Support supports_any(const Variant& variant, const Shapes& shapes, const execution::Machine& machine) {
  Support support;
  for (const typename Variant::Shape& shape : shapes)
    if (support = variant.supports(shape, machine); support) break;
  return support;
}

/// The ladder of a room, made from the rows of variants() and the shapes of usual_shapes().
template <class Room, auto variants, auto usual_shapes>
inline constexpr Ladder ladder_of{
    .problem = Room::name,
    .variants =
        [] {
          const auto rows = variants();
          return std::vector<VariantInfo>(rows.begin(), rows.end());
        },
    .support =
        [](std::string_view name, const execution::Machine& machine) {
          return supports_any(find_variant(variants(), name, Room::name), usual_shapes(), machine);
        },
};

/// Returns the names of the rows in which `capability` is true, for a message: "'one', 'another'".
template <class Variant>
std::string names_with(bool Variant::*capability, Rows<Variant> variants) {
  std::string names;
  for (const Variant& variant : variants)
    if (variant.*capability) names += (names.empty() ? "'" : ", '") + std::string(variant.name) + "'";
  return names;
}

}  // namespace gradus::core
